//! How a program enters a game: its settings, and its attempts.

#[cfg(all(not(target_arch = "wasm32"), feature = "direct"))]
use std::net::{IpAddr, Ipv4Addr};

use samovar_peer::{PathPolicy, PeerConfig, Purpose};
use samovar_session::EndReason;
use samovar_wire::limits::{LOCKSTEP_STATE_MAX, MEMBERS_MAX, STATE_MAX};
use samovar_wire::relay::Refusal;
use samovar_wire::view::SPECTATOR;
use samovar_wire::{CloseCode, GameCode};

use crate::dynamic::Context;
use crate::error::Error;
use crate::game::{Game, MaybeSend, params, rules};
use crate::hosted;
use crate::keeper::{End, Identity, OnStatus, may_come_back};
use crate::memory::Memory;
use crate::raw::Raw;
use crate::secret::Secret;
use crate::status::Status;
use crate::world;

/// How often in a row a program tries again without having become a member.
const TRIES: u32 = 20;
/// The number of games that a quick match tries before it makes one.
const MATCHES_MAX: u32 = 3;

/// Joins the game with this code, and makes it when there is none. `url` is the relay's address
/// (`ws://host:port/ws`, or `wss:`), `code` has 3 to 12 letters, digits and `-`; small letters are as good as capitals.
///
/// A private game has a secret behind its code and a dot, as in `TEA-4.K7M2QXW9PRTD`: 8 to 32 letters and digits. The
/// relay and the host refuse those who have another secret or none, and no list shows the game. A private and a public
/// game cannot have the same code at a time.
///
/// This does not connect yet. [`Entry::run`] does, and it returns an error if the address or the code is wrong.
pub fn join_or_create(url: &str, code: &str, name: &str) -> Entry {
    Entry::new(url, Some(code), name, Way::JoinOrCreate)
}

/// Joins the game with this code. If there is none, that is an error, except for a player who had a seat in it: after
/// all players have gone, the first who comes back makes the game anew. See [`join_or_create`].
pub fn join(url: &str, code: &str, name: &str) -> Entry {
    Entry::new(url, Some(code), name, Way::Join)
}

/// Makes a game; the relay draws its code ([`Room::code`](crate::Room::code)). A program that is started again finds
/// its seat only by that code, by [`join`] or [`join_or_create`].
pub fn create(url: &str, name: &str) -> Entry {
    Entry::new(url, None, name, Way::Create)
}

/// Makes a private game, which no list shows. [`Room::code`](crate::Room::code) is then its code with a secret behind
/// it, and whoever knows both can join. See [`join_or_create`].
pub fn create_private(url: &str, name: &str) -> Entry {
    Entry::new(url, None, name, Way::CreatePrivate)
}

/// Joins the public game with the most players that is open and has a free place, and makes one when there is none.
/// Only games of the same name, version and types count. A program that is started again finds its seat only by the
/// code ([`Room::code`](crate::Room::code)), by [`join`] or [`join_or_create`].
pub fn quick_match(url: &str, name: &str) -> Entry {
    Entry::new(url, None, name, Way::Match)
}

/// A way into a game, and the settings for it.
#[must_use = "nothing happens before it runs"]
pub struct Entry {
    pub(crate) url: String,
    code: Option<String>,
    name: String,
    way: Way,
    capacity: usize,
    watches: bool,
    ends_with_host: bool,
    forks: bool,
    paths: PathPolicy,
    #[cfg(all(not(target_arch = "wasm32"), feature = "direct"))]
    pub(crate) bind: Vec<IpAddr>,
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) seat_file: Option<std::path::PathBuf>,
    pub(crate) on_status: Option<OnStatus>,
    /// Is called after each turn that a message or a timer causes.
    #[cfg(target_arch = "wasm32")]
    pub(crate) on_wake: Option<Box<dyn FnMut()>>,
    /// The values in place of those of the game's types: see [`raw`](crate::raw).
    pub(crate) raw: Option<Raw>,
    /// The data that a dynamic game needs in each run.
    pub(crate) context: Option<Context>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Join,
    Create,
    CreatePrivate,
    JoinOrCreate,
    Match,
}

impl core::fmt::Debug for Entry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Entry")
            .field("url", &self.url)
            .field("code", &self.code.as_deref().map(without_secret))
            .field("name", &self.name)
            .finish()
    }
}

impl Entry {
    fn new(url: &str, code: Option<&str>, name: &str, way: Way) -> Self {
        Self {
            url: url.to_owned(),
            code: code.map(str::to_owned),
            name: name.to_owned(),
            way,
            capacity: 8,
            watches: false,
            ends_with_host: false,
            forks: false,
            paths: PathPolicy::Auto,
            #[cfg(all(not(target_arch = "wasm32"), feature = "direct"))]
            bind: vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::UNSPECIFIED)],
            #[cfg(not(target_arch = "wasm32"))]
            seat_file: None,
            on_status: None,
            #[cfg(target_arch = "wasm32")]
            on_wake: None,
            raw: None,
            context: None,
        }
    }

    /// The code of the game that [`create`] makes, in place of one that the relay draws. If a game has it already, that
    /// is an error.
    pub fn code(mut self, code: &str) -> Self {
        self.code = Some(code.to_owned());
        self
    }

    /// The most players, if this program makes the game: 1 to 32, 8 unless set. Spectators do not count. A game has at
    /// most 32 members, so 32 players leave no room for spectators.
    pub const fn capacity(mut self, players: usize) -> Self {
        self.capacity = players;
        self
    }

    /// Joins as a spectator: a member that takes no player's place, makes no objects, and asks the host for nothing. The
    /// others see it as a [`Member`](crate::Member) that [watches](crate::Member::watches). A game lets in as many as it
    /// says in [`game!`](crate::game), as `spectators = 4`: none unless it does. Spectators may host and vote like every
    /// member, so let in fewer of them than players. As the host a spectator may do what a player may. The program that
    /// makes a game may watch in any case, for example on a server.
    pub const fn watch(mut self) -> Self {
        self.watches = true;
        self
    }

    /// A game that this program makes ends with its host: no other member hosts, and the others get
    /// [`Error::HostLost`]. Those who join need not say so.
    pub const fn ends_with_host(mut self) -> Self {
        self.ends_with_host = true;
        self
    }

    /// In a game that this program makes, each part of a network that falls apart plays on under a host of its own: see
    /// [`Rules::forks`](crate::Rules::forks). Those who join need not say so.
    pub const fn forks(mut self) -> Self {
        self.forks = true;
        self
    }

    /// Which paths packets may take: direct ones and the relay's unless set. Members that have direct paths learn each
    /// other's network address; with [`PathPolicy::Relayed`] only the relay does.
    pub const fn paths(mut self, paths: PathPolicy) -> Self {
        self.paths = paths;
        self
    }

    /// The local addresses for direct paths. `0.0.0.0` stands for all networks of this machine without the machine
    /// itself. Unless set they are `127.0.0.1` and `0.0.0.0`.
    #[cfg(all(not(target_arch = "wasm32"), feature = "direct"))]
    pub fn bind(mut self, addresses: impl Into<Vec<IpAddr>>) -> Self {
        self.bind = addresses.into();
        self
    }

    /// Keeps the seat in a file, so that a program that is started again gets it back, with its objects. This holds
    /// after the program was killed or interrupted (Ctrl-C), and not after it left
    /// ([`Room::leave`](crate::Room::leave)). Each program that runs at a time needs a file of its own. The file is
    /// secret: anybody who has it can take the seat.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn seat_file(mut self, path: impl Into<std::path::PathBuf>) -> Self {
        self.seat_file = Some(path.into());
        self
    }

    /// Calls this function when the connection changes. Without such a function, a native program prints the change
    /// to its error output, and a page to the browser's console. A relay that cannot be reached is such a change: the
    /// program tries again, a native one until it is interrupted.
    pub fn on_status(mut self, listener: impl FnMut(&Status) + MaybeSend + 'static) -> Self {
        self.on_status = Some(Box::new(listener));
        self
    }

    /// Checks the settings, and gives the listener back.
    ///
    /// # Errors
    /// `BadAddress`, `BadCode`, `BadCapacity`, `NoDirectPaths`, `TooLarge`, `BadRaw`.
    pub(crate) fn attempts<G: Game>(mut self) -> Result<(Attempts, OnStatus), Error> {
        check_address(&self.url)?;
        let (code, mut secret) = match &self.code {
            Some(text) => parse(text).map(|(code, secret)| (Some(code), secret))?,
            None => (None, None),
        };
        if self.way == Way::CreatePrivate {
            secret = Some(Secret::draw(crate::entropy()));
        }
        if !(1..=MEMBERS_MAX).contains(&self.capacity) {
            return Err(Error::BadCapacity(self.capacity));
        }
        let has_direct = cfg!(any(target_arch = "wasm32", feature = "direct"));
        if self.paths == PathPolicy::Direct && !has_direct {
            return Err(Error::NoDirectPaths);
        }
        let comes_back = self.raw.as_ref().is_some_and(|raw| raw.comes_back);
        let raw = match self.raw {
            Some(raw) if G::IS_RAW || G::IS_DYNAMIC => raw,
            None if !G::IS_RAW && !G::IS_DYNAMIC => {
                let schemas = hosted::schemas::<G>();
                Raw::new(params::<G>(&schemas), schemas, rules::<G>())
            }
            _ => return Err(Error::BadRaw),
        };
        let Raw { params, schemas, mut rules, attributes, .. } = raw;
        rules.migrates &= !self.ends_with_host;
        rules.forks |= self.forks;
        if let Some((what, bytes)) = hosted::too_large(&schemas).filter(|_| !G::IS_RAW) {
            return Err(Error::TooLarge(what, bytes, STATE_MAX));
        }
        let bytes = world::bytes_max::<G::World>();
        if bytes > LOCKSTEP_STATE_MAX {
            return Err(Error::TooLarge("the world".to_owned(), bytes, LOCKSTEP_STATE_MAX));
        }
        let config = PeerConfig {
            entropy: [0; 32],
            purpose: Purpose::Create(None),
            ticket: None,
            kept: None,
            name: self.name,
            attributes: if self.watches { attributes | SPECTATOR } else { attributes },
            params: secret.as_ref().map_or(params, |secret| secret.params(params)),
            schemas,
            paths: self.paths,
            capacity: self.capacity as u8,
            public: secret.is_none(),
            rules,
        };
        let creates = matches!(self.way, Way::Create | Way::CreatePrivate);
        let listener = self.on_status.take();
        let listener = listener.unwrap_or_else(|| Box::new(|status| crate::log(&status.to_string())));
        let way = self.way;
        let attempts = Attempts {
            config,
            way,
            code,
            secret,
            creates,
            has_played: false,
            vain: 0,
            shows_pass: true,
            tries: 0,
            comes_back,
            context: self.context,
        };
        Ok((attempts, listener))
    }
}

/// The code that a person typed, and the secret behind it if the game is private.
///
/// # Errors
/// `BadCode`.
fn parse(text: &str) -> Result<(GameCode, Option<Secret>), Error> {
    let bad = || Error::BadCode(without_secret(text));
    let (code, secret) = text.split_once('.').map_or((text, None), |(code, secret)| (code, Some(secret)));
    let code = GameCode::parse(code).ok_or_else(bad)?;
    let secret = secret.map(|secret| Secret::parse(secret).ok_or_else(bad)).transpose()?;
    Ok((code, secret))
}

/// The code that a person typed, without the secret behind it.
fn without_secret(text: &str) -> String {
    text.split_once('.').map_or_else(|| text.to_owned(), |(code, _)| format!("{code}.***"))
}

/// # Errors
/// `BadAddress`.
fn check_address(url: &str) -> Result<(), Error> {
    let bad = |why| Err(Error::BadAddress(url.to_owned(), why));
    let Some((scheme, rest)) = url.split_once("://") else {
        return bad("it begins with ws:// or wss://");
    };
    if !["ws", "wss"].contains(&scheme) {
        return bad("it begins with ws:// or wss://, as in ws://127.0.0.1:8080/ws");
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() || host.contains(char::is_whitespace) {
        return bad("it names no host");
    }
    if path.is_empty() {
        return bad("it lacks the path, which is /ws unless the operator says otherwise");
    }
    Ok(())
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
        Refusal::BadPass => Error::Misbehaved("the relay does not know this player's pass".to_owned()),
        Refusal::Misbehaved => Error::Misbehaved("the relay says that this program did".to_owned()),
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
    fn settings_that_cannot_work_fail_at_the_start_and_say_why() {
        let said = |entry: Entry| entry.attempts::<Idle>().err().map(|error| error.to_string()).unwrap();
        for (url, why) in [
            ("http://tea.example/ws", "begins with ws:// or wss://"),
            ("tea.example", "begins with ws:// or wss://"),
            ("ws:///ws", "names no host"),
            ("ws://tea.example", "lacks the path"),
            ("wss://tea.example/", "lacks the path"),
        ] {
            assert!(said(join(url, "TEA", "Ann")).contains(why), "{url}: {}", said(join(url, "TEA", "Ann")));
        }
        let url = "ws://tea.example/ws";
        assert!(said(join(url, "T E A", "Ann")).contains("3 to 12 letters"));
        for capacity in [0, 33, 200] {
            assert!(said(create(url, "Ann").capacity(capacity)).contains("1 to 32 players"));
        }
    }

    #[test]
    fn only_a_raw_game_gets_values_of_a_raw_game() {
        let raw = Raw::new(7, crate::Schemas::new(), crate::Rules::default());
        let entry = join("ws://tea.example/ws", "TEA", "Ann").raw(raw);
        assert_eq!(entry.attempts::<Idle>().err(), Some(Error::BadRaw));
    }

    #[test]
    fn state_that_may_outgrow_an_object_fails_at_the_start() {
        #[derive(crate::Value, Clone, Default)]
        #[object(crate = crate)]
        struct Page {
            #[field(bound = 255)]
            lines: String,
        }
        #[derive(crate::Value, Clone, Default)]
        #[object(crate = crate)]
        struct Book(Page8, Page8, Page8, Page8);
        #[derive(crate::Value, Clone, Default)]
        #[object(crate = crate)]
        struct Page8(Page, Page, Page, Page, Page, Page, Page, Page);
        struct Library;
        crate::game! { Library: name = "library", version = 1, state = Book }
        impl Game for Library {
            fn frame(&mut self, _: &mut Room<'_, Self>, _: f64) {}
        }
        let refused = join("ws://tea.example/ws", "TEA", "Ann").attempts::<Library>().err();
        let said = refused.map(|error| error.to_string()).unwrap();
        assert!(said.starts_with("the state may take 8592 bytes"), "{said}");
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
    fn secret_is_in_no_error_and_no_debug_output() {
        let entry = join("ws://tea.example/ws", "TEA-4.k7m2qxw9prtd", "Ann");
        assert!(!format!("{entry:?}").contains("k7m2"), "{entry:?}");
        let said = join("ws://tea.example/ws", "T-4.k7m2!", "Ann").attempts::<Idle>().err().unwrap();
        assert!(!said.to_string().contains("k7m2"), "{said}");
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
        let pass = PeerPass { session: SessionId(1), peer: PeerId(2), signature: Signature([0; 64]) };
        let memory = Memory { pass: Some(pass), ..Memory::default() };
        assert!(matches!(attempts.config([0; 32], &memory).purpose, Purpose::Rejoin(..)));
        attempts.next(End::Refused(Refusal::BadPass), false).unwrap();
        assert!(matches!(attempts.config([0; 32], &memory).purpose, Purpose::Join(_)));
    }
}
