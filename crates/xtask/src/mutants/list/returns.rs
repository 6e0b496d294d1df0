//! Planted bugs of the relay's directory: the peers that bring a game back to a relay that restarted.

use super::Finder::Test;
use super::{Mutant, Promise};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "passes-name-everybody",
        package: "directory",
        text: "(game.code.clone(), game.has_named(peer))",
        instead: "(game.code.clone(), true)",
        breaks: "whoever joined once brings the game back to a relay that restarted, and counts as a member",
        guards: Promise::RelayRestart,
        finder: Test(&[
            "-p",
            "samovar-directory",
            "--test",
            "pair",
            "members_that_the_disk_does_not_know_bring_their_game_back",
        ]),
    },
    Mutant {
        name: "named-pass-is-not-believed",
        package: "directory",
        text: "pass.is_named || record.has_named(pass.peer)",
        instead: "record.has_named(pass.peer)",
        breaks: "a relay that died before its disk knew the members gives their code to somebody else",
        guards: Promise::RelayRestart,
        finder: Test(&[
            "-p",
            "samovar-directory",
            "--test",
            "pair",
            "members_that_the_disk_does_not_know_bring_their_game_back",
        ]),
    },
    Mutant {
        name: "former-members-pass-has-a-vote",
        package: "directory",
        text: "let is_newer = !$.has_named(peer) && $.former.len() < MEMBERS_MAX;",
        instead: "let is_newer = true;",
        breaks: "a peer that the members went on without takes their game when the relay restarts",
        guards: Promise::RelayRestart,
        finder: Test(&["-p", "samovar-directory", "--test", "pair", "a_former_members_pass_gives_no_vote"]),
    },
    Mutant {
        name: "relisted-by-a-joiner",
        package: "directory",
        text: ".is_some_and(|record| !$.may_relist(conn, record, &pass))",
        instead: ".is_some_and(|record| false && !$.may_relist(conn, record, &pass))",
        breaks: "whoever joined once brings the game back to a relay that restarted, and takes it when no member is back in time",
        guards: Promise::RelayRestart,
        finder: Test(&[
            "-p",
            "samovar-directory",
            "--test",
            "pair",
            "fifty_joiners_that_come_back_first_get_no_term",
        ]),
    },
];
