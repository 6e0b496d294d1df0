//! `samovar-relay bots`: native robot players, each a full peer that can become host.
//!
//! Each prints its status as one line of JSON a second on the standard output, in the shape of the page's
//! `samovar.status()` (docs/automation.md). One that the others went on without takes its seat back by itself.

use std::fmt;
use std::io::Write as _;
use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::join_all;
use samovar_duel::game;
use samovar_duel::player::Glaze;
use samovar_peer::{PathPolicy, Peer};
use samovar_peer_native::entropy;
use samovar_session::{Session, Topology};
use samovar_wire::GameCode;
use samovar_wire::relay::Purpose;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::player::{Fate, Player};
use crate::seat::{Looks, Seat};

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

/// Lets robots play, and prints their statuses until the time is over or `stop` is done; then they leave, and hand over
/// before.
///
/// # Errors
/// See [`BotsError`].
pub async fn run(config: BotsConfig, stop: impl Future<Output = ()>) -> Result<(), BotsError> {
    let mut stop = pin!(stop);
    let url = web_socket_url(&config.relay).ok_or_else(|| BotsError::Address(config.relay.clone()))?;
    let mut seats = Vec::new();
    let mut code = config.game.clone();
    let [high, low, ..] = entropy();
    let tag = u16::from_be_bytes([high, low]);
    for number in 0..config.count {
        let seat = take_seat(&url, &config, code.clone(), (tag, number));
        if code.is_none() {
            let founded = tokio::select! {
                founded = founded_code(&seat) => founded?,
                () = &mut stop => {
                    seat.stop().await;
                    return Ok(());
                }
            };
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
        let now = tokio::select! {
            now = looks.tick() => now,
            () = &mut stop => break,
        };
        if now >= end {
            break;
        }
        let is_line_due = now >= next_line;
        if is_line_due {
            next_line = now + LINE_EVERY;
        }
        for seat in &mut seats {
            let Some((line, fate)) = look(seat, is_line_due).await else { continue };
            if let Some(line) = line {
                // Whoever reads this through a pipe may have gone; the robots play on for the others.
                let _ = writeln!(std::io::stdout(), "{line}");
            }
            match fate {
                Fate::Playing => seat.is_taken(),
                Fate::Waiting => {}
                Fate::Away => drop(seat.come_back(now, || Purpose::Join(code.clone())).await),
                Fate::Over(why) => refusal = refusal.or(Some(why)),
            }
        }
    }
    leave(seats).await;
    refusal.map_or(Ok(()), |why| Err(BotsError::NotIn(why)))
}

/// All robots leave; one that hosts does last, so that none of the others is its heir.
async fn leave(seats: Vec<Seat>) {
    let (mut hosts, mut others) = (Vec::new(), Vec::new());
    for seat in seats {
        let is_host = |_, peer: &mut Peer, _: &mut Player| peer.session().is_some_and(Session::is_host);
        let side = if seat.with(is_host).await == Some(true) { &mut hosts } else { &mut others };
        side.push(seat);
    }
    join_all(others.into_iter().map(Seat::stop)).await;
    join_all(hosts.into_iter().map(Seat::stop)).await;
}

/// One robot's place in the game.
fn take_seat(url: &str, config: &BotsConfig, code: Option<GameCode>, (tag, number): (u16, u8)) -> Seat {
    // Robots of several processes shall not all look the same.
    let [some, ..] = entropy();
    let glaze = Glaze::new(usize::from(number) + usize::from(some % 3));
    let looks = Looks {
        url: url.to_owned(),
        paths: config.paths,
        bind: config.bind.clone(),
        name: bot_name(tag, number),
        attributes: game::attributes(glaze, true),
        capacity: CAPACITY,
        robots: 0,
        topology: Topology::Mesh,
    };
    Seat::take(looks, code.map_or(Purpose::Create(None), Purpose::Join))
}

/// The status line, if it is wanted, and how the robot is; nothing when its peer has broken down.
async fn look(seat: &Seat, wants_line: bool) -> Option<(Option<String>, Fate)> {
    let look = move |now, peer: &mut Peer, bot: &mut Player| {
        (wants_line.then(|| bot.status(now, peer)), bot.fate.clone())
    };
    seat.with(look).await
}

/// Waits until the founder's game has a code.
async fn founded_code(founder: &Seat) -> Result<GameCode, BotsError> {
    let deadline = Instant::now() + FOUNDED_WITHIN;
    loop {
        let looked = founder.with(|_, peer, bot| (peer.code().cloned(), bot.fate.clone())).await;
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

/// Its own also among robots of other processes.
fn bot_name(tag: u16, number: u8) -> String {
    format!("Bot {tag:04x}-{}", number + 1)
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
