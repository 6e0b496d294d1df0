//! The referee: a member of the relay's own that keeps tables open for all players (`samovar-relay serve --referee`).
//!
//! At each table it sits as a spectator and is the host from the start: it owns the scoreboard and the robots and
//! decides the hits. It is a peer like any other. When it dies, with its relay or alone, the players elect one of
//! themselves. If they still play when it is back, it joins them again.
//!
//! Its packets go through the relay only: the two live and die together, no stranger's packet reaches a WebRTC stack in
//! the relay's process, and no further port has to be open. Players still have direct paths with each other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use futures_util::future::join_all;
use samovar_duel::game::{attributes, is_spectator};
use samovar_duel::mode::Mode;
use samovar_duel::player::Glaze;
use samovar_peer::{PathPolicy, Peer};
use samovar_peer_native::Trust;
use samovar_session::Session;
use samovar_wire::relay::Purpose;
use samovar_wire::view::SPECTATOR;
use samovar_wire::{GameCode, name};
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::player::{Fate, Player};
use crate::seat::{Looks, Seat};

/// The most players at a table.
const PLAYERS: u8 = 8;
/// Robots at a table, so that the first player has an opponent.
const ROBOTS: u8 = 1;
/// The most tables at a time. When all are full, further players have to found a game of their own.
const TABLES_MAX: usize = 8;
/// The time between two looks at the tables.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The time for which a table that is being set counts as one with room.
const SET_WITHIN: Duration = Duration::from_secs(5);
/// The time that a table other than the first may be empty, or out of reach, before it is given up.
const KEPT_FOR: Duration = Duration::from_secs(30);

/// The settings of a referee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefereeConfig {
    /// The code of the first table.
    pub code: GameCode,
    /// Whether players have paths with the referee and its backup only, at the tables that it founds.
    pub by_host: bool,
}

/// A host of tables.
#[derive(Debug)]
pub(crate) struct Referee {
    url: String,
    config: RefereeConfig,
}

struct Table {
    seat: Seat,
    /// `None` until the relay has drawn it.
    code: Option<GameCode>,
    state: State,
    since: Instant,
    /// Whether the next try to come back joins the game by its code, instead of founding it. Tries alternate.
    joins_next: bool,
}

/// The state of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The referee is about to sit down.
    Setting,
    /// The referee is not at the table.
    Lost,
    /// No player is there.
    Empty,
    /// There is a player, and room.
    Open,
    /// No seat is free.
    Full,
}

impl Referee {
    /// The referee of the relay that listens at `address`. The relay recognises it by this token.
    pub(crate) fn new(address: SocketAddr, token: &str, config: RefereeConfig) -> Self {
        Self { url: format!("{}?own={token}", web_socket_url(address)), config }
    }

    /// Keeps tables until told to stop, or the sender is dropped; then hands them over and leaves.
    pub(crate) async fn run(self, stop: oneshot::Receiver<()>) {
        let mut tables = Vec::new();
        let work = async {
            let mut looks = interval(LOOK_EVERY);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                let now = looks.tick().await;
                self.look(now, &mut tables).await;
            }
        };
        tokio::select! {
            _ = stop => {}
            () = work => {}
        }
        join_all(tables.into_iter().map(|table| table.seat.stop())).await;
    }

    /// Looks at all tables, gives up one that is no longer needed, and sets another one if players need it. The first
    /// table has the referee's code, and is never given up.
    async fn look(&self, now: Instant, tables: &mut Vec<Table>) {
        for table in &mut *tables {
            table.look(now).await;
        }
        let states: Vec<_> = tables.iter().map(|table| (table.state, now - table.since)).collect();
        if let Some(index) = surplus(&states) {
            tables.remove(index).seat.stop().await;
        }
        if is_table_wanted(&states) {
            let code = tables.is_empty().then(|| self.config.code.clone());
            tables.push(Table::set(now, self, code));
        }
    }
}

impl Table {
    fn set(now: Instant, referee: &Referee, code: Option<GameCode>) -> Self {
        let looks = Looks {
            url: referee.url.clone(),
            paths: PathPolicy::Relayed,
            bind: Vec::new(),
            trust: Trust::default(),
            mode: Mode::Duel,
            is_last_guess: true,
            name: name::RELAY.to_owned(),
            attributes: attributes(Glaze::default(), true) | SPECTATOR,
            capacity: PLAYERS,
            robots: ROBOTS,
            by_host: referee.config.by_host,
        };
        let seat = Seat::take(looks, Purpose::Create(code.clone()));
        Self { seat, code, state: State::Setting, since: now, joins_next: true }
    }

    async fn look(&mut self, now: Instant) {
        let seen = self.seat.with(|_, peer, player| see(peer, player)).await;
        let (fate, code, state) = seen.unwrap_or((Fate::Away, None, State::Lost));
        if self.state != state {
            (self.state, self.since) = (state, now);
        }
        match fate {
            Fate::Playing => {
                self.seat.is_taken();
                self.joins_next = true;
                self.code = code;
            }
            Fate::Waiting if now - self.since < KEPT_FOR => {}
            Fate::Waiting | Fate::Away | Fate::OtherGame | Fate::Over(_) => self.come_back(now, &fate).await,
        }
    }

    /// Comes back to the players under the code, or to an empty table if there are none.
    async fn come_back(&mut self, now: Instant, fate: &Fate) {
        let (code, joins) = (self.code.clone(), self.joins_next);
        let purpose = move || match code {
            Some(code) if joins => Purpose::Join(code),
            code => Purpose::Create(code),
        };
        if self.seat.come_back(now, purpose).await {
            let code = self.code.as_ref().map(ToString::to_string);
            tracing::info!(code, ?fate, "the referee was not at its table, and tries again");
            self.joins_next = !joins;
            self.since = now;
        }
    }
}

/// The referee's state at a table, the table's code, and the table's state.
fn see(peer: &Peer, player: &Player) -> (Fate, Option<GameCode>, State) {
    let state = match (&player.fate, peer.session().filter(|session| session.is_member())) {
        (Fate::Playing, Some(session)) => state_of(session),
        (Fate::Playing | Fate::Waiting, _) => State::Setting,
        (Fate::Away | Fate::OtherGame | Fate::Over(_), _) => State::Lost,
    };
    (player.fate.clone(), peer.code().cloned(), state)
}

fn state_of(session: &Session) -> State {
    let view = session.view();
    let spectators = view.members().filter(|member| is_spectator(member.record.attributes)).count();
    match view.members().count() - spectators {
        players if players >= usize::from(view.capacity()) => State::Full,
        0 => State::Empty,
        _ => State::Open,
    }
}

/// Whether to set another table: a new player would find no seat, and there may be more tables.
fn is_table_wanted(states: &[(State, Duration)]) -> bool {
    let has_room = |&(state, time): &(State, Duration)| match state {
        State::Empty | State::Open => true,
        State::Setting => time < SET_WITHIN,
        State::Lost | State::Full => false,
    };
    states.len() < TABLES_MAX && !states.iter().any(has_room)
}

/// The first table that is no longer needed: it has been out of reach for a while, or empty while an earlier table
/// has room. The table at index 0 is always needed.
fn surplus(states: &[(State, Duration)]) -> Option<usize> {
    let is_old = |index: usize| states[index].1 >= KEPT_FOR;
    let has_room = |index: usize| matches!(states[index].0, State::Empty | State::Open);
    (1..states.len()).filter(|&index| is_old(index)).find(|&index| match states[index].0 {
        State::Empty => (0..index).any(has_room),
        State::Setting | State::Lost => true,
        State::Open | State::Full => false,
    })
}

/// The relay's own WebSocket, for a peer on the same machine.
fn web_socket_url(mut address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("ws://{address}/ws")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(1);

    #[test]
    fn another_table_is_set_while_none_has_room() {
        assert!(is_table_wanted(&[]));
        for (state, wanted) in [
            (State::Setting, false),
            (State::Empty, false),
            (State::Open, false),
            (State::Lost, true),
            (State::Full, true),
        ] {
            assert_eq!(is_table_wanted(&[(State::Full, SOON), (state, SOON)]), wanted, "{state:?}");
        }
        assert!(is_table_wanted(&[(State::Setting, KEPT_FOR)]), "the relay may keep it waiting");
        assert!(!is_table_wanted(&[(State::Full, SOON); TABLES_MAX]));
    }

    #[test]
    fn unneeded_tables_are_given_up_except_the_first() {
        let old = |states: &[State]| states.iter().map(|&state| (state, KEPT_FOR)).collect::<Vec<_>>();
        assert_eq!(surplus(&old(&[State::Lost])), None);
        assert_eq!(surplus(&old(&[State::Empty, State::Empty])), Some(1));
        assert_eq!(surplus(&old(&[State::Full, State::Empty, State::Empty])), Some(2));
        assert_eq!(surplus(&old(&[State::Lost, State::Open, State::Lost])), Some(2));
        assert_eq!(surplus(&old(&[State::Open, State::Full, State::Open])), None);
        assert_eq!(
            surplus(&[(State::Empty, KEPT_FOR), (State::Empty, SOON)]),
            None,
            "somebody may be about to come"
        );
    }

    #[test]
    fn the_referee_reaches_the_relay_at_any_listen_address() {
        for (listens, url) in [
            ("0.0.0.0:8080", "ws://127.0.0.1:8080/ws"),
            ("[::]:8080", "ws://[::1]:8080/ws"),
            ("10.0.0.7:80", "ws://10.0.0.7:80/ws"),
        ] {
            assert_eq!(web_socket_url(listens.parse().expect("an address")), url);
        }
    }
}
