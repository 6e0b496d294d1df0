//! Links and paths.

use super::Finder::{Sim, Test};
use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "reached-by-any-packet",
        file: "crates/link/src/link.rs",
        text: "if left >= at && are_delivered && bulk_out.acked() >= bulk {",
        instead: "if left >= at && (are_delivered || bulk_out.acked() >= bulk) {",
        breaks: "the other end counts as reached while what was queued before has not all arrived",
        finder: Test(&[
            "-p",
            "samovar-link",
            "--test",
            "pair",
            "what_was_queued_before_the_other_end_was_reached_has_arrived",
        ]),
    },
    Mutant {
        name: "close-of-a-former-link",
        file: "crates/link/src/link.rs",
        text: "if verdict == Verdict::Unlinked || self.is_of_this_link(now, header.generations, verdict)",
        instead: "if verdict == Verdict::Unlinked || self.is_of_this_link(now, header.generations, verdict) || verdict == Verdict::Former",
        breaks: "the close of a link that was given up ends the one after it",
        finder: Test(&[
            "-p",
            "samovar-link",
            "--test",
            "pair",
            "a_close_under_a_former_generation_ends_nothing",
        ]),
    },
    Mutant {
        name: "outage-is-a-run",
        file: "crates/link/src/link/received.rs",
        text: "        if (1..=RUN_MAX).contains(&missing) {\n",
        instead: "        if missing > 0 {\n",
        breaks: "after one outage a link reckons with the next, and a death is noticed seconds later",
        finder: Test(&[
            "-p",
            "samovar-link",
            "--lib",
            "runs_of_losses_teach_that_they_come_in_runs_and_an_outage_teaches_nothing",
        ]),
    },
    Mutant {
        name: "segment-delivered-twice",
        file: "crates/link/src/link/receive_lane.rs",
        text: "        if number < self.next {\n            return Ok(());\n        }\n",
        instead: "        if number < self.next {\n            if last {\n                deliver(buffers.copy_of(bytes));\n            }\n            return Ok(());\n        }\n",
        breaks: "a reliable message that was sent again is delivered again",
        finder: Sim("flapping-link"),
    },
    Mutant {
        name: "generation-ignored",
        file: "crates/link/src/link/association.rs",
        text: "generations.receiver.map_or(self.own == Generation::FIRST, |to| to == self.own)",
        instead: "generations.receiver.is_none_or(|to| to == self.own || self.own != Generation::FIRST)",
        breaks: "packets that are meant for a former link are taken for those of the present one",
        finder: Test(&[
            "-p",
            "samovar-link",
            "--test",
            "pair",
            "ends_that_begin_anew_at_random_hear_each_other_again_from_the_first_message_on",
        ]),
    },
    Mutant {
        name: "denial-is-never-heard",
        file: "crates/peer/src/peer/relay.rs",
        text: "session.handle_denial(now, term, denial);",
        instead: "let _ = (session, denial);",
        breaks: "the relay's answer to a claim does not reach the session, which takes the relay for silent",
        finder: Sim("relay-gone-and-host-hesitates"),
    },
    Mutant {
        name: "returns-with-an-old-warrant",
        file: "crates/peer/src/peer/relay.rs",
        text: "self.client.set_warrant(now, warrant);",
        instead: "let _ = (&self.client, warrant);",
        breaks: "who comes back to the relay shows the warrant it entered with and not the highest it knows",
        finder: Sim("host-crash"),
    },
    Mutant {
        name: "sequenced-and-late",
        file: "crates/link/src/link/loose.rs",
        text: "newest.is_some_and(|newest| number <= newest)",
        instead: "newest.is_some_and(|newest| number == newest)",
        breaks: "a sequenced message that comes behind a newer one is heard",
        finder: Sim("host-crash"),
    },
];
