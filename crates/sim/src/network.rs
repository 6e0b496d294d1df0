//! The simulated network: conditions of paths, datagrams, streams, and cuts between places.

mod cuts;
mod pipe;
mod stream;
mod weather;

pub(crate) use cuts::Cuts;
pub use cuts::{Place, Side};
pub(crate) use pipe::Pipe;
pub(crate) use stream::Stream;
pub use weather::{Loss, Weather};
