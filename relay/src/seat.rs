//! One native member's place in a game. The peer takes its seat back by itself when the others went on without it. If
//! it was not let in, another peer is started, with the previous one's memory.

use std::net::IpAddr;
use std::time::Duration;

use samovar_duel::game::DuelConfig;
use samovar_duel::mode::Mode;
use samovar_peer::{PathPolicy, Peer, PeerConfig, Rules};
use samovar_peer_native::{NativeConfig, NativePeer, Trust, entropy};
use samovar_wire::Time;
use samovar_wire::relay::Purpose;
use tokio::time::Instant;

use crate::player::{Memory, Player};

/// The pause before a member comes back; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(8);

/// The settings that a member has in each of its peers.
#[derive(Clone, Debug)]
pub(crate) struct Looks {
    /// The relay's WebSocket.
    pub(crate) url: String,
    pub(crate) paths: PathPolicy,
    /// Local addresses for direct paths; with none, loopback alone.
    pub(crate) bind: Vec<IpAddr>,
    /// The authorities whose certificates are accepted from a relay with TLS.
    pub(crate) trust: Trust,
    /// The game to found, or the one that is probably played.
    pub(crate) mode: Mode,
    /// Whether no other game is left to try.
    pub(crate) is_last_guess: bool,
    pub(crate) name: String,
    pub(crate) attributes: u32,
    /// The capacity of a game that the member founds.
    pub(crate) capacity: u8,
    /// The number of robots in a game that the member founds.
    pub(crate) robots: u8,
    /// Whether a game that the member founds is client-server.
    pub(crate) by_host: bool,
}

/// A place in a game.
pub(crate) struct Seat {
    looks: Looks,
    peer: NativePeer<Player>,
    /// The pause before the next try, and the end of the present pause.
    pause: Duration,
    again: Option<Instant>,
}

impl Seat {
    pub(crate) fn take(looks: Looks, purpose: Purpose) -> Self {
        let peer = looks.start(purpose, Memory::default());
        Self { looks, peer, pause: FIRST_PAUSE, again: None }
    }

    /// Calls `look` with the peer, and returns its result; `None` if the peer has broken down.
    pub(crate) async fn with<R: Send + 'static>(
        &self,
        look: impl FnOnce(Time, &mut Peer, &mut Player) -> R + Send + 'static,
    ) -> Option<R> {
        self.peer.with(look).await
    }

    /// Notes that the member has its seat: a later return begins with the short pause.
    pub(crate) const fn is_taken(&mut self) {
        (self.pause, self.again) = (FIRST_PAUSE, None);
    }

    /// Starts another peer, with the previous one's memory, when the pause is over. Returns whether it did so now.
    pub(crate) async fn come_back(&mut self, now: Instant, purpose: impl FnOnce() -> Purpose) -> bool {
        if *self.again.get_or_insert(now + self.pause) > now {
            return false;
        }
        self.again = None;
        self.pause = (2 * self.pause).min(LAST_PAUSE);
        let memory = self.peer.with(|_, _, player| player.memory()).await.unwrap_or_default();
        self.peer = self.looks.start(purpose(), memory);
        true
    }

    /// Tries the other game under the same code.
    pub(crate) fn try_the_other_game(&mut self, purpose: Purpose) {
        (self.looks.mode, self.looks.is_last_guess) = (self.looks.mode.other(), true);
        self.peer = self.looks.start(purpose, Memory::default());
    }

    /// Leaves for good; a host hands over first.
    pub(crate) async fn stop(self) {
        self.peer.stop().await;
    }
}

impl Looks {
    fn start(&self, purpose: Purpose, memory: Memory) -> NativePeer<Player> {
        let [a, b, c, d, e, f, g, h, ..] = entropy();
        let seed = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let ticket = memory.ticket;
        // With its pass, the peer founds the game anew if no member is left to join.
        let purpose = match (purpose, &memory.table) {
            (Purpose::Join(code), Some(table)) => Purpose::Rejoin(code, table.pass),
            (purpose, _) => purpose,
        };
        let (params, schemas, rules) = self.mode.agreed();
        let peer = PeerConfig {
            entropy: entropy(),
            purpose,
            token: None,
            ticket,
            kept: memory.table.as_ref().map(|table| table.kept.clone()),
            name: self.name.clone(),
            attributes: self.attributes,
            params,
            schemas,
            paths: self.paths,
            capacity: self.capacity,
            public: true,
            rules: Rules { by_host: self.by_host, ..rules },
        };
        let duel = DuelConfig { seed, robots: self.robots, ..DuelConfig::default() };
        let player = Player::new(peer.name.clone(), (self.mode, duel), memory);
        let player = player.with_last_guess(self.is_last_guess);
        let mut native = NativeConfig { trust: self.trust.clone(), ..NativeConfig::default() };
        if !self.bind.is_empty() {
            native.bind.clone_from(&self.bind);
        }
        NativePeer::start(self.url.clone(), peer, native, player)
    }
}
