//! The orders to a running relay.

use crate::limits::Limits;

/// An order to a running relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Found no more games, and stop when no game is left or the time is over. A second one by signal means: stop now.
    Drain,
    /// Stop now.
    Stop,
    /// Keep to these limits from now on.
    Limit(Box<Limits>),
    /// Read the certificate again, if it is in files, and the keys of join tokens.
    Renew,
}
