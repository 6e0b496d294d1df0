//! `samovar-relay bots`: native robot players, each a full peer that can become host.
//!
//! Each prints its status as one line of JSON a second on the standard output, in the shape of the page's
//! `samovar.status()` (docs/automation.md). One without which the others went on takes its seat back by its ticket.

use std::fmt;
use std::io::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use samovar_duel::game::{self, Duel, DuelConfig};
use samovar_duel::journal::Journal;
use samovar_duel::player::Glaze;
use samovar_duel::robot::Robot;
use samovar_duel::status::{Outside, PathWord, Status, TrafficCount};
use samovar_peer::{Path, PathPolicy, Peer, PeerConfig, PeerEvent};
use samovar_peer_native::{Game, NativeConfig, NativePeer, entropy};
use samovar_session::{EndReason, Event};
use samovar_wire::relay::{Purpose, Refusal};
use samovar_wire::{GameCode, PeerId, Ticket, Time};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

/// Robots in one process at most: one game's members.
pub const BOTS_MAX: u8 = 8;
/// Members of a game that a robot founds.
const CAPACITY: u8 = 8;
/// How long the founder may take to found its game.
const FOUNDED_WITHIN: Duration = Duration::from_secs(10);
/// How soon a robot that was removed asks for its seat.
const COMES_BACK_AFTER: Duration = Duration::from_millis(250);
/// The same when the relay does not know the game, which its host may be about to tell it.
const ASKS_AGAIN_AFTER: Duration = Duration::from_secs(1);

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
    let (returns, mut returning) = unbounded_channel();
    let entrance = Entrance { url, config, returns };
    let config = &entrance.config;
    let mut bots = Vec::new();
    let mut code = config.game.clone();
    for number in 0..config.count {
        let bot = entrance.start(number, code.clone(), None);
        if code.is_none() {
            let founded = founded_code(&bot).await?;
            eprintln!("playing in {founded}");
            code = Some(founded);
        }
        bots.push(bot);
    }
    let end = Instant::now() + Duration::from_secs(config.seconds);
    let mut lines = interval_at(Instant::now() + Duration::from_secs(1), Duration::from_secs(1));
    lines.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut refusal = None;
    while Instant::now() < end && refusal.is_none() {
        tokio::select! {
            Some(number) = returning.recv() => {
                if let Some(bot) = bots.get_mut(usize::from(number)) {
                    entrance.come_back(number, bot).await;
                }
                continue;
            }
            _ = lines.tick() => {}
        }
        for bot in &bots {
            let Some((line, refused)) =
                bot.with(|now, peer, bot| (bot.status(now, peer), bot.refused.clone())).await
            else {
                continue;
            };
            // Whoever reads this through a pipe may have gone; the robots play on for the others.
            let _ = writeln!(std::io::stdout(), "{line}");
            refusal = refusal.or(refused);
        }
    }
    for bot in bots {
        bot.stop().await;
    }
    refusal.map_or(Ok(()), |why| Err(BotsError::NotIn(why)))
}

/// How robots get into their game.
struct Entrance {
    url: String,
    config: BotsConfig,
    /// Takes the numbers of those who are to come back.
    returns: UnboundedSender<u8>,
}

/// What a robot brings along that comes back.
struct Return {
    ticket: Ticket,
    journal: Journal,
}

impl Entrance {
    fn start(&self, number: u8, code: Option<GameCode>, returning: Option<Return>) -> NativePeer<Bot> {
        let config = &self.config;
        let [a, b, c, d, e, f, g, h, ..] = entropy();
        let seed = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let glaze = Glaze::new(usize::from(number) + (seed % 3) as usize);
        let ticket = returning.as_ref().map(|returning| returning.ticket);
        let peer = PeerConfig {
            entropy: entropy(),
            purpose: code.clone().map_or(Purpose::Create(None), Purpose::Join),
            ticket,
            name: format!("Bot {}", number + 1),
            attributes: game::attributes(glaze, true),
            params: game::params(),
            schemas: game::schemas(),
            paths: config.paths,
            capacity: CAPACITY,
            rules: samovar_peer::Rules::default(),
        };
        let bot = Bot {
            number,
            duel: Duel::new(DuelConfig { seed, robots: 0, is_resuming: ticket.is_some() }),
            mind: Robot::new(seed),
            journal: returning.map(|returning| returning.journal).unwrap_or_default(),
            name: peer.name.clone(),
            ticks: 0,
            code,
            ticket,
            returns: self.returns.clone(),
            refused: None,
        };
        let mut native = NativeConfig::default();
        if !config.bind.is_empty() {
            native.bind.clone_from(&config.bind);
        }
        NativePeer::start(self.url.clone(), peer, native, bot)
    }

    /// Lets a robot that was removed enter again, as a peer that shows its ticket and has everything to learn.
    async fn come_back(&self, number: u8, bot: &mut NativePeer<Bot>) {
        let kept = bot.with(|_, _, bot| {
            let journal = std::mem::take(&mut bot.journal);
            (bot.code.clone(), bot.ticket.map(|ticket| Return { ticket, journal }))
        });
        if let Some((code @ Some(_), returning @ Some(_))) = kept.await {
            let former = std::mem::replace(bot, self.start(number, code, returning));
            // It is over and has nothing to say; its sockets close meanwhile.
            tokio::spawn(former.stop());
        }
    }
}

/// Waits until the founder's game has a code.
async fn founded_code(bot: &NativePeer<Bot>) -> Result<GameCode, BotsError> {
    let deadline = Instant::now() + FOUNDED_WITHIN;
    loop {
        let looked = bot.with(|_, peer, bot| (peer.code().cloned(), bot.refused.clone())).await;
        match looked {
            Some((Some(code), _)) => return Ok(code),
            Some((None, Some(why))) => return Err(BotsError::NotIn(why)),
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

/// One robot player.
struct Bot {
    number: u8,
    duel: Duel,
    mind: Robot,
    journal: Journal,
    name: String,
    ticks: u64,
    /// The game that it is in, and what takes its seat there back.
    code: Option<GameCode>,
    ticket: Option<Ticket>,
    returns: UnboundedSender<u8>,
    refused: Option<String>,
}

impl Game for Bot {
    fn on_event(&mut self, now: Time, peer: &mut Peer, event: PeerEvent) {
        match event {
            PeerEvent::Entered(code) => self.code = Some(code),
            PeerEvent::Session(event) => {
                self.journal.on_event(&event);
                if let Some(session) = peer.session() {
                    self.duel.on_event(now, session, &event);
                    self.ticket = session.seat().map(|(_, ticket)| ticket).or(self.ticket);
                }
                match event {
                    Event::Ended(EndReason::Removed) if self.ticket.is_some() => {
                        self.come_back_after(COMES_BACK_AFTER);
                    }
                    Event::Ended(reason) => self.refused = Some(format!("{reason:?}")),
                    _ => {}
                }
            }
            PeerEvent::Refused(Refusal::UnknownGame) if self.ticket.is_some() => {
                self.come_back_after(ASKS_AGAIN_AFTER);
            }
            PeerEvent::Refused(refusal) if peer.session().is_none() => {
                self.refused = Some(format!("the relay refused: {refusal:?}"));
            }
            PeerEvent::Refused(refusal) => self.journal.error(format!("the relay refused: {refusal:?}")),
            PeerEvent::Failed(fault) => {
                self.journal.error(format!("the relay breaks the protocol: {fault:?}"))
            }
            _ => {}
        }
    }

    fn on_tick(&mut self, now: Time, peer: &mut Peer) {
        self.ticks += 1;
        let Some(session) = peer.session_mut().filter(|session| session.is_member()) else { return };
        let controls = self.duel.steer(now, session, &mut self.mind);
        self.duel.step(now, session, controls);
        while self.duel.poll_event().is_some() {}
    }
}

impl Bot {
    fn come_back_after(&self, delay: Duration) {
        let (returns, number) = (self.returns.clone(), self.number);
        tokio::spawn(async move {
            sleep(delay).await;
            // Nobody waits for it any more when the time is over.
            let _ = returns.send(number);
        });
    }

    fn status(&self, now: Time, peer: &Peer) -> String {
        let relay_connected = peer.is_relay_connected();
        let Some(session) = peer.session() else {
            return Status::outside(&self.name, relay_connected, &self.journal).to_json();
        };
        let me = session.me();
        let path = |other: PeerId| path_word(me, other, peer.path(now, other));
        let traffic = peer.traffic();
        let traffic = TrafficCount {
            packets_out: traffic.packets_out,
            packets_in: traffic.packets_in,
            bytes_out: traffic.bytes_out,
            bytes_in: traffic.bytes_in,
        };
        let outside = Outside { relay_connected, path: &path, frames: self.ticks, traffic };
        Status::of(now, session, &self.duel, &self.journal, &outside).to_json()
    }
}

fn path_word(me: PeerId, other: PeerId, path: Path) -> PathWord {
    match path {
        _ if me == other => PathWord::Myself,
        Path::Direct => PathWord::Direct,
        Path::Relayed | Path::None => PathWord::Relayed,
    }
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
