//! Numbers that a game can show: how good the connections are, and how old the data is.

use samovar_peer::{Path, Peer};
use samovar_session::{Session, ShownAges, Spread};
use samovar_wire::{Duration, PeerId, SeatId, Time};

use crate::member::Member;

/// The most hosts that are remembered.
const HOSTS_MAX: usize = 16;
/// The least time between two looks at the paths.
const LOOKS_EVERY: Duration = Duration::from_millis(500);
/// The quality of the connections, and the ages of the others' data: see [`Room::stats`](crate::Room::stats).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoomStats {
    /// The connection to each other member that is not away.
    pub members: Vec<MemberStats>,
    /// The last 16 hosts, the present one last.
    pub hosts: Vec<HostTerm>,
    /// The ages of the states of others' objects at each stage.
    pub ages: AgeStages,
}

/// The connection to another member.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MemberStats {
    /// The member.
    pub seat: SeatId,
    /// The path that packets take, as of half a second ago at most.
    pub route: Route,
    /// The round trip in seconds, without the time that either end was busy; `None` before the first.
    pub round_trip: Option<f64>,
    /// The share of the packets to the member that was lost lately, 0 to 1.
    pub loss_out: f64,
    /// The share of the packets from the member that was lost lately, 0 to 1.
    pub loss_in: f64,
    /// Bytes sent to the member, without the network's own.
    pub bytes_out: u64,
    /// Bytes that came from the member, without the network's own.
    pub bytes_in: u64,
}

/// The path that packets take to a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Route {
    /// From peer to peer.
    Direct,
    /// Over the host, or over its backup.
    ByHost,
    /// Over the relay, by UDP.
    RelayByUdp,
    /// Over the relay, by its WebSocket.
    Relay,
    /// There is no path for now, or it is not known yet.
    #[default]
    Unknown,
}

/// A host's time in office.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HostTerm {
    /// The number of the term.
    pub term: u64,
    /// The host's name.
    pub name: String,
    /// Session time in seconds at which this program heard of the term.
    pub since: f64,
}

/// The ages of the states of others' moving objects, at four stages of their way to the screen: over the last 5 to 10
/// seconds. An age counts from the time at which the owner changed the object. Members' clocks agree within some
/// milliseconds, and so do these ages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AgeStages {
    /// The ages when the owners sent the states.
    pub sent: AgeSummary,
    /// The ages when the states arrived at this program.
    pub received: AgeSummary,
    /// The ages when the game could read the states for the first time.
    pub applied: AgeSummary,
    /// The ages in each frame that showed a state.
    pub drawn: AgeSummary,
}

/// How old data was, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AgeSummary {
    /// The number of states that were measured. Without any, the ages are zero.
    pub samples: u32,
    /// The mean.
    pub mean: f64,
    /// Half of the states were at most this old. Percentiles are rounded up by an eighth at most.
    pub p50: f64,
    /// 99 of 100 states were at most this old.
    pub p99: f64,
}

impl AgeSummary {
    fn of(spread: &Spread) -> Self {
        let seconds = |time: Option<Duration>| time.map_or(0.0, |time| time.as_micros() as f64 / 1e6);
        Self {
            samples: spread.samples(),
            mean: seconds(spread.mean()),
            p50: seconds(spread.percentile(0.5)),
            p99: seconds(spread.percentile(0.99)),
        }
    }
}

/// The measurements of a program beside those of its session.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub(crate) shown: ShownAges,
    hosts: Vec<HostTerm>,
    routes: Vec<(PeerId, Route)>,
    looked: Time,
}

impl Meter {
    /// Notes the present host, if it is another than before.
    pub(crate) fn note_host(&mut self, session: &Session, time: f64) {
        let term = session.term().0;
        if self.hosts.last().is_some_and(|office| office.term == term) {
            return;
        }
        let Some(record) = session.seat_of(session.host()) else { return };
        if self.hosts.len() == HOSTS_MAX {
            self.hosts.remove(0);
        }
        self.hosts.push(HostTerm { term, name: record.name.clone(), since: time });
    }

    /// Looks at the routes to the others, every [`LOOKS_EVERY`] at most.
    pub(crate) fn look_at_routes(&mut self, now: Time, peer: &Peer) {
        if now < self.looked + LOOKS_EVERY {
            return;
        }
        self.looked = now;
        let others = peer.session().into_iter().flat_map(others);
        self.routes = others.map(|(_, other)| (other, route(peer.path(now, other)))).collect();
    }

    /// All that is measured, at session time `now`.
    pub(crate) fn stats(&self, session: &Session, now: Time) -> RoomStats {
        let member = |(seat, other)| {
            let known = self.routes.iter().find(|(peer, _)| *peer == other);
            let link = session.link(other)?;
            let stats = link.stats();
            Some(MemberStats {
                seat,
                route: known.map_or(Route::Unknown, |known| known.1),
                round_trip: link.round_trip().map(|trip| trip.as_micros() as f64 / 1e6),
                loss_out: f64::from(stats.loss_out),
                loss_in: f64::from(stats.loss_in),
                bytes_out: stats.bytes_out,
                bytes_in: stats.bytes_in,
            })
        };
        let [sent, received, applied, drawn] =
            [&session.ages().sent, &session.ages().received, &self.shown.applied, &self.shown.drawn]
                .map(|ages| AgeSummary::of(&ages.over(now)));
        RoomStats {
            members: others(session).filter_map(member).collect(),
            hosts: self.hosts.clone(),
            ages: AgeStages { sent, received, applied, drawn },
        }
    }
}

/// The other members that are not away.
fn others(session: &Session) -> impl Iterator<Item = (SeatId, PeerId)> + '_ {
    let members = session.view().members().map(|member| Member::of(session, member.record));
    members.filter(|member| !member.is_me).filter_map(|member| Some((member.seat, member.peer?)))
}

const fn route(path: Path) -> Route {
    match path {
        Path::Direct => Route::Direct,
        Path::ByHost => Route::ByHost,
        Path::RelayedUdp => Route::RelayByUdp,
        Path::Relayed => Route::Relay,
        Path::None => Route::Unknown,
    }
}
