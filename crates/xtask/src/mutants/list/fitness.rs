//! Planted bugs of a member's fitness to host: the steps of its game, its page, and whether it has the session's state.

use super::Finder::{Sim, Test};
use super::{Mutant, Promise};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "still-host-stays",
        package: "session",
        text: "within.is_some_and(|within| $.stands(within))",
        instead: "within.is_some_and(|within| $.stands(within.times(100)))",
        breaks: "a host whose game stands still keeps its office while others play",
        guards: Promise::Playing,
        finder: Sim("game-stands-still"),
    },
    Mutant {
        name: "hidden-host-stays",
        package: "session",
        text: "else if $.is_hidden()",
        instead: "else if false && $.is_hidden()",
        breaks: "a host whose page is hidden keeps its office while others are seen",
        guards: Promise::Playing,
        finder: Test(&[
            "-p",
            "samovar-session",
            "--test",
            "session",
            "hidden_host_hands_over_to_a_later_newcomer",
        ]),
    },
    Mutant {
        name: "absence-is-stillness",
        package: "session",
        text: "time.min(AWAY)",
        instead: "time",
        breaks: "a driver that did not run takes its own absence for a game that stands still",
        guards: Promise::Playing,
        finder: Test(&[
            "-p",
            "samovar-session",
            "--test",
            "session",
            "time_without_calls_of_the_driver_is_no_standstill",
        ]),
    },
    Mutant {
        name: "heir-without-state",
        package: "session",
        text: "!link.joined || judges &&",
        instead: "judges &&",
        breaks: "a host hands over to a newcomer without the session's state, which founds the game anew",
        guards: Promise::Seat,
        finder: Test(&[
            "-p",
            "samovar-session",
            "--test",
            "session",
            "host_hands_over_to_no_member_without_the_state",
        ]),
    },
];
