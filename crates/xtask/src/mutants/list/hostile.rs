//! Bugs that let one peer take something from the others.

use super::Finder::Test;
use super::{Mutant, Promise};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "flood-drops-what-others-say",
        package: "session",
        text: "|old| old.by == Some(by) && old.is_lossy()",
        instead: "|_| true",
        breaks: "a peer that sends many unreliable messages takes the reliable ones of others out of the queue",
        guards: Promise::UntrustedBytes,
        finder: Test(&[
            "-p",
            "samovar-session",
            "--test",
            "session",
            "a_flood_of_unreliable_messages_takes_no_other_event",
        ]),
    },
    Mutant {
        name: "events-without-bound",
        package: "session",
        text: "while $.core.out.events.has_room(from) &&",
        instead: "while",
        breaks: "a peer that sends many reliable messages fills the queue of a game that does not ask for them",
        guards: Promise::Memory,
        finder: Test(&[
            "-p",
            "samovar-session",
            "--test",
            "session",
            "a_flood_of_reliable_messages_waits_at_its_sender",
        ]),
    },
];
