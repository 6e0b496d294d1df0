//! The harness of the tests that cross crates: real browsers, a real relay and real robots, each in a process that
//! can be killed.
//!
//! All helpers panic if a condition fails. They run in tests only, and the message can have the last output of a
//! process. No helper trusts in a fixed sleep: [`wait::until`] polls a condition and reports its last state.
//!
//! | module | content |
//! |---|---|
//! | [`process`] | children that end with the test, by `SIGKILL` and with all their own children |
//! | [`scratch`] | directories that end with the test |
//! | [`place`], [`network`] | the place of a process: the loopback, or a name space of a network made for the test |
//! | [`pair`] | two players in such a network |
//! | [`gateway`] | a reverse proxy in front of the relay, with a path of its own |
//! | [`relay`], [`bots`] | `samovar-relay serve` and `samovar-relay bots` |
//! | [`flaky`] | a proxy in front of the relay that fails on purpose |
//! | [`chromium`], [`devtools`] | one browser process each, and the protocol that drives it |
//! | [`player`] | a person in the game: a tab, its `window.samovar`, its texts |
//! | [`hands`] | what a person does to a page: mouse, wheel, keys, fingers |
//! | [`status`] | `samovar.status()` as values, and what all members must agree on |
//! | [`sampler`] | a tab's view of the game every few milliseconds, for measurements |
//! | [`watch`] | what a tab sees of the other player: the path, ages, reliable messages |
//! | [`extent`] | the part of all possible histories that a model checker runs |
//! | [`stranger`] | a WebSocket to the relay that sends any message a test wants |

pub mod bots;
pub mod chromium;
pub mod devtools;
pub mod extent;
pub mod flaky;
pub mod gateway;
pub mod hands;
pub mod network;
pub mod pair;
pub mod place;
pub mod player;
pub mod process;
pub mod relay;
pub mod sampler;
pub mod scratch;
pub mod status;
pub mod stranger;
pub mod wait;
pub mod watch;
