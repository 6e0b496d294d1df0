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
    Mutant {
        name: "ticket-shown-to-another-session",
        package: "wire",
        text: "if session == self.session { ShownTicket(self.secret) } else { ShownTicket(self.hash().0) }",
        instead: "let _ = session;\n        ShownTicket(self.secret)",
        breaks: "whoever founds another session under the code of a game learns what opens the seats of its members",
        guards: Promise::UntrustedBytes,
        finder: Test(&[
            "-p",
            "samovar-session",
            "--lib",
            "another_session_of_the_code_learns_nothing_that_opens_the_seat",
        ]),
    },
    Mutant {
        name: "ticket-of-another-drawn",
        package: "roster",
        text: "if others.any(|record| record.ticket == hello.ticket) {",
        instead: "if false && others.any(|record| record.ticket == hello.ticket) {",
        breaks: "who copies the hash of another member's ticket sits where that one's ticket leads",
        guards: Promise::UntrustedBytes,
        finder: Test(&["-p", "samovar-roster", "--lib", "nobody_draws_the_ticket_of_another_seat"]),
    },
    Mutant {
        name: "tickets-between-forgotten",
        package: "session",
        text: "self.earlier = self.candidates();",
        instead: "self.earlier.truncate(1);",
        breaks: "a seat that went by the answer of a host which died is lost to who had it",
        guards: Promise::Seat,
        finder: Test(&[
            "-p",
            "samovar-session",
            "--test",
            "session",
            "a_seat_that_went_by_the_answer_of_a_dead_host_is_found_by_the_next",
        ]),
    },
    Mutant {
        name: "put-out-keeps-its-ticket",
        package: "roster",
        text: "record.attributes |= LEFT | PUT_OUT;\n        record.ticket = ShownTicket(entropy.half()).hash();",
        instead: "record.attributes |= LEFT | PUT_OUT;\n        let _ = entropy;",
        breaks: "whom the host has put out sits on the same seat again at once",
        guards: Promise::Seat,
        finder: Test(&[
            "-p",
            "samovar-session",
            "--test",
            "session",
            "who_is_put_out_ends_and_its_ticket_opens_nothing",
        ]),
    },
];
