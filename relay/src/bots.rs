//! `samovar-relay bots`: native robot players, each a full peer that can become host.
//!
//! Each prints its status as one line of JSON a second on the standard output, in the shape of the page's
//! `samovar.status()` (docs/automation.md). One that the others went on without takes its seat back by itself.

mod player;

use std::fmt;
use std::io::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use samovar_duel::game::{self, Duel, DuelConfig};
use samovar_duel::player::Glaze;
use samovar_duel::robot::Robot;
use samovar_peer::{PathPolicy, Peer, PeerConfig};
use samovar_peer_native::{NativeConfig, NativePeer, entropy};
use samovar_wire::GameCode;
use samovar_wire::relay::Purpose;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use player::{Bot, Fate, Memory};

/// Robots in one process at most: one game's members.
pub const BOTS_MAX: u8 = 8;
/// Members of a game that a robot founds.
const CAPACITY: u8 = 8;
/// How long the founder may take to found its game.
const FOUNDED_WITHIN: Duration = Duration::from_secs(10);
/// How often the robots are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often each prints its status.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// How long a robot waits before it comes back, which doubles with each time that it did not get in.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(8);

/// What robots are to do.
#[derive(Clone, Debug)]
pub struct BotsConfig {
    /// The relay's address, as for a browser (`http://host:port/`) or of its WebSocket.
    pub relay: String,
    /// The game to join; `None` founds one.
    pub game: Option<GameCode>,
    /// How many.
    pub count: u8,
    /// How long they play.
    pub seconds: u64,
    /// Which paths they use.
    pub paths: PathPolicy,
    /// Local addresses that direct links are made from and to; with none, loopback alone.
    pub bind: Vec<IpAddr>,
}

/// Why robots do not play.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BotsError {
    /// The relay's address is none.
    Address(String),
    /// The game could not be founded or joined; in the relay's or the host's word.
    NotIn(String),
}

impl fmt::Display for BotsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(text) => {
                write!(
                    f,
                    "“{text}” is no address of a relay: give one like http://127.0.0.1:8080/ with --relay"
                )
            }
            Self::NotIn(why) => write!(f, "the robots are not in the game: {why}"),
        }
    }
}

impl std::error::Error for BotsError {}

/// Lets robots play, and prints their statuses until the time is over.
///
/// # Errors
/// See [`BotsError`].
pub async fn run(config: BotsConfig) -> Result<(), BotsError> {
    let url = web_socket_url(&config.relay).ok_or_else(|| BotsError::Address(config.relay.clone()))?;
    let mut seats = Vec::new();
    let mut code = config.game.clone();
    for number in 0..config.count {
        let seat = Seat::take(&url, &config, code.clone(), number);
        if code.is_none() {
            let founded = founded_code(&seat.peer).await?;
            eprintln!("playing in {founded}");
            code = Some(founded);
        }
        seats.push(seat);
    }
    let Some(code) = code else { return Ok(()) };
    let end = Instant::now() + Duration::from_secs(config.seconds);
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next_line = Instant::now() + LINE_EVERY;
    let mut refusal = None;
    while refusal.is_none() {
        let now = looks.tick().await;
        if now >= end {
            break;
        }
        let is_line_due = now >= next_line;
        if is_line_due {
            next_line = now + LINE_EVERY;
        }
        for seat in &mut seats {
            let Some((line, fate)) = seat.look(is_line_due).await else { continue };
            if let Some(line) = line {
                // Whoever reads this through a pipe may have gone; the robots play on for the others.
                let _ = writeln!(std::io::stdout(), "{line}");
            }
            match fate {
                Fate::Playing => seat.pause = FIRST_PAUSE,
                Fate::Waiting => {}
                Fate::Away => seat.come_back(now, &code).await,
                Fate::Over(why) => refusal = refusal.or(Some(why)),
            }
        }
    }
    for seat in seats {
        seat.peer.stop().await;
    }
    refusal.map_or(Ok(()), |why| Err(BotsError::NotIn(why)))
}

/// One robot's place in the game, whichever peer it is at present.
struct Seat {
    looks: Looks,
    peer: NativePeer<Bot>,
    /// How long it waits before it tries to come back, and until when it waits now.
    pause: Duration,
    again: Option<Instant>,
}

/// What a robot is in each of its peers.
struct Looks {
    url: String,
    paths: PathPolicy,
    bind: Vec<IpAddr>,
    number: u8,
    glaze: Glaze,
}

impl Seat {
    fn take(url: &str, config: &BotsConfig, code: Option<GameCode>, number: u8) -> Self {
        // Robots of several processes shall not all look the same.
        let [some, ..] = entropy();
        let glaze = Glaze::new(usize::from(number) + usize::from(some % 3));
        let looks =
            Looks { url: url.to_owned(), paths: config.paths, bind: config.bind.clone(), number, glaze };
        let peer = looks.start(code.map_or(Purpose::Create(None), Purpose::Join), Memory::default());
        Self { looks, peer, pause: FIRST_PAUSE, again: None }
    }

    /// The status line, if it is wanted, and how the robot is; nothing when its peer has broken down.
    async fn look(&self, wants_line: bool) -> Option<(Option<String>, Fate)> {
        let look = move |now, peer: &mut Peer, bot: &mut Bot| {
            (wants_line.then(|| bot.status(now, peer)), bot.fate.clone())
        };
        self.peer.with(look).await
    }

    /// As another peer, with the ticket, when it has waited for long enough: they may be busy with each other.
    async fn come_back(&mut self, now: Instant, code: &GameCode) {
        if *self.again.get_or_insert(now + self.pause) > now {
            return;
        }
        self.again = None;
        self.pause = (2 * self.pause).min(LAST_PAUSE);
        let memory = self.peer.with(|_, _, bot| bot.memory()).await.unwrap_or_default();
        self.peer = self.looks.start(Purpose::Join(code.clone()), memory);
    }
}

impl Looks {
    fn start(&self, purpose: Purpose, memory: Memory) -> NativePeer<Bot> {
        let [a, b, c, d, e, f, g, h, ..] = entropy();
        let seed = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let ticket = memory.ticket;
        let peer = PeerConfig {
            entropy: entropy(),
            purpose,
            ticket,
            name: format!("Bot {}", self.number + 1),
            attributes: game::attributes(self.glaze, true),
            params: game::params(),
            schemas: game::schemas(),
            paths: self.paths,
            capacity: CAPACITY,
            rules: samovar_peer::Rules::default(),
        };
        let duel = Duel::new(DuelConfig { seed, robots: 0, is_resuming: ticket.is_some() });
        let bot = Bot::new(peer.name.clone(), duel, Robot::new(seed), memory);
        let mut native = NativeConfig::default();
        if !self.bind.is_empty() {
            native.bind.clone_from(&self.bind);
        }
        NativePeer::start(self.url.clone(), peer, native, bot)
    }
}

/// Waits until the founder's game has a code.
async fn founded_code(bot: &NativePeer<Bot>) -> Result<GameCode, BotsError> {
    let deadline = Instant::now() + FOUNDED_WITHIN;
    loop {
        let looked = bot.with(|_, peer, bot| (peer.code().cloned(), bot.fate.clone())).await;
        match looked {
            Some((Some(code), _)) => return Ok(code),
            Some((None, Fate::Over(why))) => return Err(BotsError::NotIn(why)),
            _ if Instant::now() >= deadline => {
                return Err(BotsError::NotIn("the relay does not answer".to_owned()));
            }
            _ => sleep(Duration::from_millis(20)).await,
        }
    }
}

/// The WebSocket's address from the relay's.
fn web_socket_url(relay: &str) -> Option<String> {
    let (scheme, rest) = relay.trim().split_once("://")?;
    let scheme = match scheme {
        "http" | "ws" => "ws",
        "https" | "wss" => "wss",
        _ => return None,
    };
    let host = rest.split('/').next().filter(|host| !host.is_empty())?;
    Some(format!("{scheme}://{host}/ws"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_web_socket_is_found_beside_the_page() {
        for relay in [
            "http://127.0.0.1:8080",
            "http://127.0.0.1:8080/",
            "ws://127.0.0.1:8080/ws",
            " http://127.0.0.1:8080/?x ",
        ] {
            assert_eq!(web_socket_url(relay).as_deref(), Some("ws://127.0.0.1:8080/ws"), "{relay}");
        }
        assert_eq!(web_socket_url("https://tea.example/").as_deref(), Some("wss://tea.example/ws"));
        for bad in ["", "127.0.0.1:8080", "ftp://x/", "http:///"] {
            assert_eq!(web_socket_url(bad), None, "{bad}");
        }
    }
}
