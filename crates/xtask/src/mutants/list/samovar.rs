//! Planted bugs of the crate `samovar`, and of the native driver below it.

use super::Finder::Test;
use super::{Mutant, Promise};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "asks-carried-out-again",
        package: "samovar",
        text: "(is_known && number <= last)",
        instead: "false",
        breaks: "a new host carries out asks that had their effect under the former one",
        guards: Promise::Accepted,
        finder: Test(&["-p", "samovar", "--lib", "each_ask_counts_once_when_a_host_is_lost"]),
    },
    Mutant {
        name: "late-objects-are-kept",
        package: "samovar",
        text: "let is_late = is_another && !player.made.contains(&id);",
        instead: "let is_late = is_another && false;",
        breaks: "a player whose object came back late has two of them for good",
        guards: Promise::Seat,
        finder: Test(&["-p", "samovar", "--lib", "chaos_repeats_no_ask_and_loses_no_cursor"]),
    },
    Mutant {
        name: "labels-are-believed",
        package: "samovar",
        text: "&& label != seat",
        instead: "&& false",
        breaks: "a member plants objects on another player",
        guards: Promise::UntrustedBytes,
        finder: Test(&["-p", "samovar", "--lib", "no_player_receives_objects_that_another_labelled"]),
    },
    Mutant {
        name: "leaver-without-a-word",
        package: "peer-native",
        text: "self.peer.leave_at_once(self.now()); self.drain();",
        instead: "",
        breaks: "a native host that nobody succeeds leaves without a word, and its code stays taken",
        guards: Promise::Seat,
        finder: Test(&[
            "-p",
            "samovar-peer-native",
            "--test",
            "peer-native",
            "a_code_is_free_when_all_have_left_at_once",
        ]),
    },
];
