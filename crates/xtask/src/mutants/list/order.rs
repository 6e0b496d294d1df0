//! Orders.

use super::Finder::{Sim, Test};
use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "ends-at-what-the-host-has",
        file: "crates/order/src/group/flush.rs",
        text: "if report.counts[at] > *most {",
        instead: "if report.counts[at] > *most && at > told.members.len() {",
        breaks: "an epoch ends where its new host has heard of the gone, and others were told more",
        finder: Sim("sequencer-crash"),
    },
    Mutant {
        name: "said-to-others-is-sent",
        file: "crates/order/src/timestamp.rs",
        text: "message.number > begins_behind",
        instead: "message.number > begins_behind.min(0)",
        breaks: "a new link begins with what its sender has promised not to tell, and is closed for it",
        finder: Test(&[
            "-p",
            "samovar-order",
            "--test",
            "timestamp",
            "what_was_said_while_another_was_no_member_is_not_sent_to_it_behind_a_promise",
        ]),
    },
    Mutant {
        name: "dropped-sender-forgotten",
        file: "crates/order/src/timestamp/gone.rs",
        text: "former.insert(id, peer.newest);",
        instead: "former.insert(id, 0);",
        breaks: "what was delivered by time of a member that a view dropped is delivered again when it is back",
        finder: Test(&[
            "-p",
            "samovar-order",
            "--test",
            "timestamp",
            "what_was_delivered_of_a_member_is_not_delivered_again_when_a_view_dropped_it_in_between",
        ]),
    },
];
