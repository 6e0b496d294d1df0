//! The runs of a program in one game: what each begins with, and whether another follows.

use samovar_peer::{PeerConfig, Purpose};
use samovar_session::EndReason;
use samovar_wire::relay::{Refusal, TokenFault};
use samovar_wire::{CloseCode, GameCode};

use crate::dynamic::Context;
use crate::error::Error;
use crate::keeper::{End, Identity, may_come_back};
use crate::memory::Memory;
use crate::secret::Secret;

/// How often in a row a program tries again without having become a member.
const TRIES: u32 = 20;
/// The number of games that a quick match tries before it makes one.
const MATCHES_MAX: u32 = 3;

/// A way into a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Join,
    Create,
    CreatePrivate,
    JoinOrCreate,
    Match,
}

/// The runs of a program, each with a peer of its own. If a run's peer is not let in, another run may follow.
pub(crate) struct Attempts {
    config: PeerConfig,
    way: Way,
    code: Option<GameCode>,
    /// The secret of a private game.
    secret: Option<Secret>,
    /// Whether the next run makes the game.
    creates: bool,
    /// Whether any run became a member.
    has_played: bool,
    /// The number of games that a quick match found, and that did not let this program in.
    vain: u32,
    /// Whether the next run shows its pass to the relay, to prove that this player was a member.
    shows_pass: bool,
    /// Runs in a row that did not become members.
    tries: u32,
    /// Whether a player who left may take its seat back.
    comes_back: bool,
    /// The data that a dynamic game needs in each run.
    context: Option<Context>,
}

impl Attempts {
    pub(super) fn new(
        (way, code): (Way, Option<GameCode>),
        secret: Option<Secret>,
        config: PeerConfig,
        (comes_back, context): (bool, Option<Context>),
    ) -> Self {
        Self {
            config,
            way,
            code,
            secret,
            creates: matches!(way, Way::Create | Way::CreatePrivate),
            has_played: false,
            vain: 0,
            shows_pass: true,
            tries: 0,
            comes_back,
            context,
        }
    }

    /// The code, if the program named one.
    pub(crate) const fn code(&self) -> Option<&GameCode> {
        self.code.as_ref()
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    /// The hash of all that the members agree on.
    pub(crate) const fn params(&self) -> u64 {
        self.config.params
    }

    /// Whether the next run takes any game, and leaves one whose host does not answer.
    const fn seeks(&self) -> bool {
        matches!(self.way, Way::Match) && !self.has_played && !self.creates
    }

    /// The identity of this program for the keeper of the next run.
    pub(crate) fn identity(&self, name: String, seed: u64) -> Identity {
        Identity {
            name,
            seed,
            secret: self.secret.clone(),
            seeks: self.seeks(),
            comes_back: self.comes_back,
            schemas: self.config.schemas.clone(),
            context: self.context.clone(),
        }
    }

    /// The configuration of the next run.
    pub(crate) fn config(&self, entropy: [u8; 32], memory: &Memory) -> PeerConfig {
        let purpose = match (&self.code, memory.pass.filter(|_| self.shows_pass), self.creates) {
            (Some(code), Some(pass), _) => Purpose::Rejoin(code.clone(), pass),
            (Some(code), None, false) => Purpose::Join(code.clone()),
            (None, _, false) if self.way == Way::Match => Purpose::Match,
            (code, _, _) => Purpose::Create(code.clone()),
        };
        let (ticket, kept) = (memory.ticket, memory.kept.clone());
        PeerConfig { entropy, purpose, ticket, kept, ..self.config.clone() }
    }

    /// Notes the game's code, which the relay has told. Further runs go to that game.
    pub(crate) fn note_code(&mut self, code: &str) {
        if let Some(code) = GameCode::parse(code) {
            (self.code, self.creates) = (Some(code), false);
        }
    }

    /// Whether this program makes the game of its code if there is none.
    const fn makes_missing(&self) -> bool {
        matches!(self.way, Way::JoinOrCreate | Way::Match)
    }

    /// Handles the end of a run. Returns the pause in milliseconds before the next run, or `None` if this program left.
    ///
    /// # Errors
    /// The reason why there is no next run.
    pub(crate) fn next(&mut self, end: End, was_member: bool) -> Result<Option<u64>, Error> {
        self.tries = if was_member { 1 } else { self.tries + 1 };
        self.has_played |= was_member;
        let code = || self.code.as_ref().map_or_else(String::new, |code| code.as_str().to_owned());
        let error = match &end {
            End::Left => return Ok(None),
            End::Unreachable(why) => return Err(Error::Unreachable(why.clone())),
            End::NotAdmitted => Error::Full,
            End::NotAllowed(why) => return Err(Error::NotAllowed(why.clone())),
            End::Failed(what) => return Err(Error::Misbehaved(what.clone())),
            End::Refused(refusal) => of_refusal(*refusal, code()),
            End::Session(reason) => of_session(*reason),
        };
        if self.tries > TRIES {
            return Err(error);
        }
        let pause = 100 * u64::from(self.tries);
        if self.seeks() && is_no_place(&end) {
            // The game that the relay found is full, closed or gone, or its host answers nothing. The next run asks for
            // another. A host that lets nobody in must not keep this program from playing.
            self.vain += 1;
            (self.code, self.creates) = (None, self.vain >= MATCHES_MAX);
            return Ok(Some(pause));
        }
        match end {
            // The relay has another key, or has forgotten the session. The next run shows no pass.
            End::Refused(Refusal::BadPass) if self.shows_pass => self.shows_pass = false,
            End::Refused(Refusal::UnknownGame) if self.makes_missing() => {
                (self.shows_pass, self.creates) = (false, true);
            }
            // Another program has made the game first, so the next run joins it.
            End::Refused(Refusal::CodeTaken) if self.makes_missing() => self.creates = false,
            End::Refused(Refusal::Draining) => return Ok(Some(1_000)),
            End::Session(reason) if may_come_back(reason) => {}
            _ => return Err(error),
        }
        Ok(Some(pause))
    }
}

/// Whether a run ended because its game let no newcomer in.
const fn is_no_place(end: &End) -> bool {
    matches!(
        end,
        End::Refused(Refusal::UnknownGame | Refusal::Full | Refusal::Closed)
            | End::Session(EndReason::Refused(_))
            | End::NotAdmitted
    )
}

pub(crate) fn of_refusal(refusal: Refusal, code: String) -> Error {
    match refusal {
        Refusal::UnknownGame => Error::NoSuchGame(code),
        Refusal::CodeTaken => Error::CodeTaken(code),
        Refusal::Full => Error::Full,
        Refusal::Closed => Error::Closed,
        Refusal::Version(_) => Error::OtherVersion,
        Refusal::Parameters => Error::OtherGame,
        Refusal::Busy | Refusal::Draining => Error::Busy,
        Refusal::Barred => Error::PutOut,
        Refusal::Reserved => Error::Reserved,
        Refusal::Banned => Error::Banned,
        Refusal::Ended => Error::Ended,
        Refusal::NotAllowed => Error::NotAllowed(String::new()),
        Refusal::Token(fault) => Error::BadToken(of_token(fault)),
        Refusal::BadPass => Error::Misbehaved("the relay does not know this player's pass".to_owned()),
        Refusal::Misbehaved => Error::Misbehaved("the relay says that this program did".to_owned()),
    }
}

/// The fault of a token, in words that follow "the token".
const fn of_token(fault: TokenFault) -> &'static str {
    match fault {
        TokenFault::Missing => "is missing: this relay lets in players with one",
        TokenFault::Malformed => "is no token, or lacks its end",
        TokenFault::Forged => "is of no key that the relay trusts",
        TokenFault::Expired => "has ended",
        TokenFault::NotYet => "does not count yet",
        TokenFault::OtherGame => "is for another game",
        TokenFault::Used => "was used already",
    }
}

fn of_session(reason: EndReason) -> Error {
    match reason {
        EndReason::SeatTaken => Error::SeatTaken,
        EndReason::HostLost => Error::HostLost,
        EndReason::Removed => Error::Removed,
        EndReason::Misbehaviour(code) => Error::Misbehaved(code.to_string()),
        EndReason::Refused(code) => match code {
            CloseCode::Full => Error::Full,
            CloseCode::Closed => Error::Closed,
            CloseCode::PutOut => Error::PutOut,
            CloseCode::VersionMismatch => Error::OtherVersion,
            CloseCode::ParameterMismatch => Error::OtherGame,
            code => Error::Misbehaved(code.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use samovar_wire::{PeerId, PeerPass, SessionId, Signature};

    use super::*;
    use crate::entry::{Entry, join_or_create, quick_match};
    use crate::game::Game;
    use crate::room::Room;

    struct Idle;

    crate::game! { Idle: name = "idle", version = 1 }

    impl Game for Idle {
        fn frame(&mut self, _room: &mut Room<'_, Self>, _time: f64) {}
    }

    fn attempts(entry: Entry) -> Attempts {
        entry.attempts::<Idle>().unwrap_or_else(|error| panic!("{error}")).0
    }

    #[test]
    fn missing_game_is_made_and_a_taken_one_is_joined() {
        let mut attempts = attempts(join_or_create("ws://a/ws", "tea-4", "Ann"));
        let (code, none) = (GameCode::parse("TEA-4").unwrap(), Memory::default());
        assert_eq!(attempts.config([0; 32], &none).purpose, Purpose::Join(code.clone()));
        assert!(attempts.next(End::Refused(Refusal::UnknownGame), false).unwrap().is_some());
        assert_eq!(attempts.config([0; 32], &none).purpose, Purpose::Create(Some(code.clone())));
        assert!(attempts.next(End::Refused(Refusal::CodeTaken), false).unwrap().is_some());
        assert_eq!(attempts.config([0; 32], &none).purpose, Purpose::Join(code));
        assert_eq!(attempts.next(End::Refused(Refusal::Full), false), Err(Error::Full));
        assert_eq!(attempts.next(End::Left, true), Ok(None));
    }

    #[test]
    fn quick_match_makes_a_game_after_three_that_let_nobody_in() {
        let mut attempts = attempts(quick_match("ws://a/ws", "Ann"));
        let none = Memory::default();
        let ends = [
            End::Session(EndReason::Refused(CloseCode::Full)),
            End::NotAdmitted,
            End::Session(EndReason::Refused(CloseCode::PutOut)),
        ];
        for end in ends {
            assert_eq!(attempts.config([0; 32], &none).purpose, Purpose::Match);
            attempts.note_code("LURE");
            assert!(attempts.next(end, false).unwrap().is_some());
        }
        assert_eq!(attempts.config([0; 32], &none).purpose, Purpose::Create(None));
        attempts.note_code("MINE");
        assert!(attempts.next(End::Session(EndReason::Removed), true).unwrap().is_some());
        let mine = GameCode::parse("MINE").unwrap();
        assert_eq!(attempts.config([0; 32], &none).purpose, Purpose::Join(mine));
    }

    #[test]
    fn alternating_refusals_end_with_an_error() {
        let mut attempts = attempts(join_or_create("ws://a/ws", "tea-4", "Ann"));
        let mut turns = [Refusal::UnknownGame, Refusal::CodeTaken].into_iter().cycle();
        let ended = (0..100).find_map(|_| attempts.next(End::Refused(turns.next()?), false).err());
        assert!(ended.is_some());
    }

    #[test]
    fn player_shows_its_pass_until_the_relay_does_not_know_it() {
        let mut attempts = attempts(join_or_create("ws://a/ws", "tea-4", "Ann"));
        let pass = PeerPass {
            session: SessionId(1),
            peer: PeerId(2),
            is_named: false,
            signature: Signature([0; 64]),
        };
        let memory = Memory { pass: Some(pass), ..Memory::default() };
        assert!(matches!(attempts.config([0; 32], &memory).purpose, Purpose::Rejoin(..)));
        attempts.next(End::Refused(Refusal::BadPass), false).unwrap();
        assert!(matches!(attempts.config([0; 32], &memory).purpose, Purpose::Join(_)));
    }
}
