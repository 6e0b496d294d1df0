//! Numbers that a game can show: how good the connections are, and how old the data is.

use samovar_peer::{Path, Peer};
use samovar_session::{RecentSpread, Session, Spread};
use samovar_wire::{Duration, PeerId, SeatId, Time};

use crate::member::Member;

/// Changes of the host that are remembered.
const HOSTS_MAX: usize = 16;
/// The time between two looks at the paths.
const LOOKS_EVERY: Duration = Duration::from_millis(500);
/// A state that is shown for so long is one of an object at rest: its age says nothing.
const RESTS_AFTER: Duration = Duration::from_millis(1_000);

/// How good the connections are, and how old the data of the others is: see [`Room::stats`](crate::Room::stats).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoomStats {
    /// How good the connection to each other member is that is here.
    pub members: Vec<MemberStats>,
    /// The last 16 hosts, the present one last.
    pub hosts: Vec<HostTerm>,
    /// How old the states of the others' objects are at each stage.
    pub ages: AgeStages,
}

/// The connection to another member.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MemberStats {
    /// The member.
    pub seat: SeatId,
    /// The way that packets take, as of half a second ago at most.
    pub route: Route,
    /// The round trip in seconds, without the time that either end was busy; `None` before the first.
    pub round_trip: Option<f64>,
    /// The part of the packets to the member that was lost lately, 0 to 1.
    pub loss_out: f64,
    /// The part of the packets from the member that was lost lately, 0 to 1.
    pub loss_in: f64,
    /// Bytes sent to the member, without the network's own.
    pub bytes_out: u64,
    /// Bytes that came from the member, without the network's own.
    pub bytes_in: u64,
}

/// The way that packets take to a member.
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
    /// Not at all for now, or it is not known yet.
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
    /// Session time in seconds at which this program heard of it.
    pub since: f64,
}

/// How old the states of the others' moving objects were at each stage, since their owners changed them: the last 5 to 10
/// seconds. Members' clocks agree within some milliseconds, and so do these ages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AgeStages {
    /// When the owner sent them.
    pub sent: AgeSummary,
    /// When they arrived at this program.
    pub received: AgeSummary,
    /// When the game could read them for the first time.
    pub applied: AgeSummary,
    /// In each frame that showed them.
    pub drawn: AgeSummary,
}

/// How old data was, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AgeSummary {
    /// The states that were measured. Without any, the ages are zero.
    pub samples: u32,
    /// The mean.
    pub mean: f64,
    /// Half of the states were at most so old. Percentiles are rounded up by an eighth at most.
    pub p50: f64,
    /// 99 of 100 were at most so old.
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
    applied: RecentSpread,
    drawn: RecentSpread,
    hosts: Vec<HostTerm>,
    routes: Vec<(PeerId, Route)>,
    looked: Time,
}

impl Meter {
    /// A frame begins at session time `now` that shows a state sampled at `sampled`, for the first time if it `is_new`.
    pub(crate) fn note_shown(&mut self, now: Time, sampled: Time, is_new: bool) {
        let age = now.since(sampled);
        if is_new {
            self.applied.note(now, age);
        }
        if age < RESTS_AFTER {
            self.drawn.note(now, age);
        }
    }

    /// Notes the present host, if it is another one than before.
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

    /// Looks at the routes to the others, now and then.
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
            [&session.ages().sent, &session.ages().received, &self.applied, &self.drawn]
                .map(|ages| AgeSummary::of(&ages.over(now)));
        RoomStats {
            members: others(session).filter_map(member).collect(),
            hosts: self.hosts.clone(),
            ages: AgeStages { sent, received, applied, drawn },
        }
    }
}

/// The other members that are here.
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
