//! How a program enters a game: the ways in, and their settings.

mod attempts;

#[cfg(all(not(target_arch = "wasm32"), feature = "direct"))]
use std::net::{IpAddr, Ipv4Addr};

use samovar_peer::{PathPolicy, PeerConfig, Purpose};
use samovar_wire::limits::{LOCKSTEP_STATE_MAX, MEMBERS_MAX, STATE_MAX};
use samovar_wire::view::SPECTATOR;
use samovar_wire::{GameCode, JoinToken};

use attempts::Way;
pub(crate) use attempts::{Attempts, of_refusal};

use crate::dynamic::Context;
use crate::error::Error;
use crate::game::{Game, MaybeSend, params, rules};
use crate::hosted;
use crate::keeper::OnStatus;
use crate::raw::Raw;
use crate::secret::Secret;
use crate::status::Status;
use crate::world;

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
    token: Option<String>,
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
            token: None,
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

    /// The token of the game's own server that lets this player in, for relays that ask for one: a JSON Web Token, see
    /// "Who may enter" in the operators' guide. The name and the role in it count before those given here. It makes one
    /// member; a program that comes back to its seat needs no other.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
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
            token: self.token.map(JoinToken),
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
        let listener = self.on_status.take();
        let listener = listener.unwrap_or_else(|| Box::new(|status| crate::log(&status.to_string())));
        let attempts = Attempts::new((self.way, code), secret, config, (comes_back, self.context));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::Room;

    struct Idle;

    crate::game! { Idle: name = "idle", version = 1 }

    impl Game for Idle {
        fn frame(&mut self, _room: &mut Room<'_, Self>, _time: f64) {}
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
    fn secret_is_in_no_error_and_no_debug_output() {
        let entry = join("ws://tea.example/ws", "TEA-4.k7m2qxw9prtd", "Ann");
        assert!(!format!("{entry:?}").contains("k7m2"), "{entry:?}");
        let said = join("ws://tea.example/ws", "T-4.k7m2!", "Ann").attempts::<Idle>().err().unwrap();
        assert!(!said.to_string().contains("k7m2"), "{said}");
    }
}
