//! The targets that can be fuzzed: their names, their bounds on memory, and their functions.

mod decoders;
mod group;
mod link;
mod owner;
mod session;
#[path = "../../crates/objects/tests/objects/random/typed.rs"]
mod typed;

/// A name, the most bytes that a run may hold at once, and the run.
pub(crate) type Target = (&'static str, usize, fn(&[u8]));

/// A decoder holds what it decodes, and at most a name in the text of an error besides. The largest record between
/// peer and relay has 16,448 bytes.
const DECODER: usize = 64 * 1024;

/// The documentation of a link lists what the link may hold at once: mostly both windows and the queue behind them.
const LINK: usize = 16 * 1024 * 1024;

/// The objects of three peers, or of one peer with the most that it may own, and all that is known of these objects.
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
