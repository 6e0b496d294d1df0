//! What can be fuzzed: names, bounds on memory, and what is run.

mod decoders;
mod group;
mod link;
mod owner;
mod session;
#[path = "../../crates/objects/tests/objects/random/typed.rs"]
mod typed;

/// A name, the most bytes that a run may hold at once, and the run.
pub(crate) type Target = (&'static str, usize, fn(&[u8]));

/// Decoders hold what they decode, a name in an error's text at most besides. The largest record between peer and relay
/// has 16,448 bytes.
const DECODER: usize = 64 * 1024;

/// What a link may hold at once is listed in its documentation: mostly both windows and the queue behind them.
const LINK: usize = 16 * 1024 * 1024;

/// The objects of three peers, or of one with the most that a peer may own, and all that is known of them.
const OBJECTS: usize = 32 * 1024 * 1024;

pub(crate) const TARGETS: [Target; 15] = [
    ("packets", DECODER, decoders::packets),
    ("chunks", DECODER, decoders::chunks),
    ("carried", DECODER, decoders::carried),
    ("messages", DECODER, decoders::messages),
    ("control", DECODER, decoders::control),
    ("view", DECODER, decoders::view),
    ("relay", DECODER, decoders::relay),
    ("addressed", DECODER, decoders::addressed),
    ("description", DECODER, decoders::description),
    ("warrants", DECODER, decoders::warrants),
    ("duel", DECODER, decoders::duel),
    ("link", LINK, link::run),
    ("owner", OBJECTS, owner::run),
    ("group", OBJECTS, group::run),
    ("session", OBJECTS, session::run),
];
