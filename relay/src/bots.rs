//! `samovar-relay bots`: native robot players, each a full peer that can become host.
//!
//! Each prints its status as one line of JSON a second on the standard output, in the shape of the page's
//! `samovar.status()` (docs/automation.md). A robot takes its seat back by itself when the game went on without it.

use std::fmt;
use std::io::Write as _;
use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::join_all;
use samovar_duel::game;
use samovar_duel::mode::Mode;
use samovar_duel::player::Glaze;
use samovar_peer::{PathPolicy, Peer};
use samovar_peer_native::{OpenError, Trust, entropy};
use samovar_session::Session;
use samovar_wire::GameCode;
use samovar_wire::relay::Purpose;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::player::{Fate, Player};
use crate::seat::{Looks, Seat};

/// The most robots in one process: one game's members.
pub const BOTS_MAX: u8 = 8;
/// The capacity of a game that a robot founds, in members.
const CAPACITY: u8 = 8;
/// The longest time that a robot tries to reach the relay at first.
const REACHED_WITHIN: Duration = Duration::from_secs(10);
/// The longest time that a robot waits until the relay and the game's host let it in at first.
const LET_IN_WITHIN: Duration = Duration::from_secs(30);
/// The time between two looks at the robots.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The time between two status lines of a robot.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// The settings of robots.
#[derive(Clone, Debug)]
pub struct BotsConfig {
    /// The relay's address, as for a browser (`https://host/path/`) or of its WebSocket.
    pub relay: String,
    /// The authorities whose certificates are accepted from a relay with TLS.
    pub trust: Trust,
    /// The game to join; `None` founds one.
    pub game: Option<GameCode>,
    /// The game to found; where `game` is joined, a guess that saves time.
    pub mode: Mode,
    /// The number of robots.
    pub count: u8,
    /// The time that they play, in seconds.
    pub seconds: u64,
    /// The paths that they use.
    pub paths: PathPolicy,
    /// Local addresses for direct paths; with none, loopback alone.
    pub bind: Vec<IpAddr>,
}

/// The reason why robots do not play.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BotsError {
    /// The relay's address is invalid.
    Address(String),
    /// The game could not be founded or joined, with the reason of the relay or the host.
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

/// A robot, and whether it was ever in the game.
struct Robot {
    seat: Seat,
    since: Instant,
    was_in: bool,
}

/// The result of a look at a robot.
struct Seen {
    line: Option<String>,
    fate: Fate,
    unreachable: Option<OpenError>,
}

/// Lets robots play, and prints their statuses until the time is over or `stop` is done. Then they hand over and
/// leave.
///
/// # Errors
/// See [`BotsError`]. When one robot never gets in, all of them end.
pub async fn run(config: BotsConfig, stop: impl Future<Output = ()>) -> Result<(), BotsError> {
    let mut stop = pin!(stop);
    let url = web_socket_url(&config.relay).ok_or_else(|| BotsError::Address(config.relay.clone()))?;
    let mut robots = Vec::new();
    let mut code = config.game.clone();
    let [high, low, ..] = entropy();
    let tag = u16::from_be_bytes([high, low]);
    for number in 0..config.count {
        let robot = Robot::new(take_seat(&url, &config, code.clone(), (tag, number)));
        if code.is_none() {
            let founded = tokio::select! {
                founded = founded_code(&robot) => founded?,
                () = &mut stop => {
                    robot.seat.stop().await;
                    return Ok(());
                }
            };
            eprintln!("playing in {founded}");
            code = Some(founded);
        }
        robots.push(robot);
    }
    let Some(code) = code else { return Ok(()) };
    let end = Instant::now() + Duration::from_secs(config.seconds);
    let refusal = tokio::select! {
        refusal = play(&mut robots, &code, end) => refusal,
        () = stop => None,
    };
    leave(robots).await;
    refusal.map_or(Ok(()), |why| Err(BotsError::NotIn(why)))
}

/// Lets the robots play until the end. Returns the reason if one of them does not get in.
async fn play(robots: &mut [Robot], code: &GameCode, end: Instant) -> Option<String> {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next_line = Instant::now() + LINE_EVERY;
    loop {
        let now = looks.tick().await;
        let is_line_due = now >= next_line;
        if is_line_due {
            next_line = now + LINE_EVERY;
        }
        for robot in &mut *robots {
            let Some(seen) = look(&robot.seat, is_line_due).await else { continue };
            if let Some(line) = &seen.line {
                // The reader of this pipe may have gone; the robots play on for the others.
                let _ = writeln!(std::io::stdout(), "{line}");
            }
            match seen.fate {
                Fate::Playing => robot.is_in(),
                Fate::Waiting => {}
                Fate::OtherGame => robot.seat.try_the_other_game(Purpose::Join(code.clone())),
                Fate::Away => drop(robot.seat.come_back(now, || Purpose::Join(code.clone())).await),
                Fate::Over(why) => return Some(why),
            }
            if let Some(why) = robot.is_out(now, now >= end, seen.unreachable.as_ref()) {
                return Some(why);
            }
        }
        if now >= end {
            return None;
        }
    }
}

impl Robot {
    fn new(seat: Seat) -> Self {
        Self { seat, since: Instant::now(), was_in: false }
    }

    fn is_in(&mut self) {
        self.was_in = true;
        self.seat.is_taken();
    }

    /// The reason why the robot will not get in; `None` if it once was in, or may still wait.
    fn is_out(&self, now: Instant, is_over: bool, unreachable: Option<&OpenError>) -> Option<String> {
        if self.was_in {
            return None;
        }
        let waited = now.saturating_duration_since(self.since);
        match unreachable {
            Some(error) => {
                (is_over || error.is_final() || waited >= REACHED_WITHIN).then(|| error.to_string())
            }
            None => (is_over || waited >= LET_IN_WITHIN).then(|| {
                format!(
                    "nobody let one in for {} s; does the game's host play, and may the paths be used?",
                    waited.as_secs()
                )
            }),
        }
    }
}

/// Lets all robots leave. A hosting robot leaves last, so that it does not hand over to a robot that leaves, too.
async fn leave(robots: Vec<Robot>) {
    let (mut hosts, mut others) = (Vec::new(), Vec::new());
    for Robot { seat, .. } in robots {
        let is_host = |_, peer: &mut Peer, _: &mut Player| peer.session().is_some_and(Session::is_host);
        let side = if seat.with(is_host).await == Some(true) { &mut hosts } else { &mut others };
        side.push(seat);
    }
    join_all(others.into_iter().map(Seat::stop)).await;
    join_all(hosts.into_iter().map(Seat::stop)).await;
}

/// Takes one robot's seat in the game.
fn take_seat(url: &str, config: &BotsConfig, code: Option<GameCode>, (tag, number): (u16, u8)) -> Seat {
    // Robots of several processes shall differ in their looks.
    let [some, ..] = entropy();
    let glaze = Glaze::new(usize::from(number) + usize::from(some % 3));
    let looks = Looks {
        url: url.to_owned(),
        paths: config.paths,
        bind: config.bind.clone(),
        trust: config.trust.clone(),
        mode: config.mode,
        is_last_guess: config.game.is_none(),
        name: bot_name(tag, number),
        attributes: game::attributes(glaze, true),
        capacity: CAPACITY,
        robots: 0,
        by_host: false,
    };
    Seat::take(looks, code.map_or(Purpose::Create(None), Purpose::Join))
}

/// A look at a robot, with its status line if wanted; `None` if its peer has broken down.
async fn look(seat: &Seat, wants_line: bool) -> Option<Seen> {
    let look = move |now, peer: &mut Peer, bot: &mut Player| Seen {
        line: wants_line.then(|| bot.status(now, peer)),
        fate: bot.fate.clone(),
        unreachable: bot.unreachable.clone(),
    };
    seat.with(look).await
}

/// Waits until the founder's game has a code.
async fn founded_code(founder: &Robot) -> Result<GameCode, BotsError> {
    loop {
        let looked = founder
            .seat
            .with(|_, peer, bot| (peer.code().cloned(), bot.fate.clone(), bot.unreachable.clone()));
        match looked.await {
            Some((Some(code), ..)) => return Ok(code),
            Some((None, Fate::Over(why), _)) => return Err(BotsError::NotIn(why)),
            looked => {
                let unreachable = looked.and_then(|(_, _, unreachable)| unreachable);
                let is_late = founder.since.elapsed() >= REACHED_WITHIN;
                if let Some(why) = founder.is_out(Instant::now(), is_late, unreachable.as_ref()) {
                    return Err(BotsError::NotIn(why));
                }
                sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// A name that no robot of another process has.
fn bot_name(tag: u16, number: u8) -> String {
    format!("Bot {tag:04x}-{}", number + 1)
}

/// The address of the relay's WebSocket, made from the relay's address: the path `ws` beside the page. An address
/// that is already the WebSocket's stays as it is.
fn web_socket_url(relay: &str) -> Option<String> {
    let (scheme, rest) = relay.trim().split_once("://")?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" => "ws",
        "https" | "wss" => "wss",
        _ => return None,
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() {
        return None;
    }
    let (above, last) = path.rsplit_once('/').map_or(("", path), |(above, last)| (above, last));
    // A last part with a dot is the page's file. A last part without a dot is a directory whose slash was left out.
    let parts = [host, above, if last.contains('.') || last == "ws" { "" } else { last }];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Some(format!("{scheme}://{}/ws", parts.join("/")))
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
            "HTTP://127.0.0.1:8080/index.html?game=TEA#x",
        ] {
            assert_eq!(web_socket_url(relay).as_deref(), Some("ws://127.0.0.1:8080/ws"), "{relay}");
        }
        assert_eq!(web_socket_url("https://tea.example/").as_deref(), Some("wss://tea.example/ws"));
        for relay in ["tea/", "tea", "tea/index.html", "tea/ws", "tea/?game=A/B"] {
            let relay = format!("https://example.org/{relay}");
            assert_eq!(web_socket_url(&relay).as_deref(), Some("wss://example.org/tea/ws"), "{relay}");
        }
        assert_eq!(web_socket_url("https://a.example/b/c/").as_deref(), Some("wss://a.example/b/c/ws"));
        for bad in ["", "127.0.0.1:8080", "ftp://x/", "http:///"] {
            assert_eq!(web_socket_url(bad), None, "{bad}");
        }
    }
}
