//! A peer's status as plain JSON: the result of `samovar.status()` in the page, and a line that a robot prints
//! (docs/automation.md).

use samovar_session::{Object, Role, Session, Suspension};
use samovar_wire::control::Presence;
use samovar_wire::{Duration, ObjectId, PeerId, Stamp, Time};

use crate::game::{Duel, is_program, is_spectator, kind_name, kinematics};
use crate::journal::{Journal, cause_word};
use crate::player::PlayerKey;

mod ages;
mod duel;
mod json;
mod maze;

pub use ages::AgeStatus;
pub use duel::{BowlStatus, MatchStatus};
pub use maze::MazeStatus;

use crate::maze::game::MazeGame;
use json::Json;

/// The game that a status describes.
#[derive(Clone, Copy, Debug)]
pub enum Played<'a> {
    /// The duel.
    Duel(&'a Duel),
    /// The maze.
    Maze(&'a MazeGame),
}

/// Whether the relay can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayState {
    /// The peer is connecting to the relay.
    Connecting,
    /// The peer is connected to the relay.
    Connected,
    /// The connection was lost, or never came about.
    Lost,
}

impl RelayState {
    /// The state in a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Lost => "lost",
        }
    }
}

/// How packets reach a member, in a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathWord {
    /// The member is this peer itself.
    Myself,
    /// Packets go over data channels to the member.
    Direct,
    /// The host or a backup carries the packets.
    ByHost,
    /// Packets go over data channels to the relay.
    RelayedUdp,
    /// Packets go over the relay's WebSocket, or do not arrive at the moment.
    Relayed,
}

/// Packets and bytes since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrafficCount {
    /// Packets sent.
    pub packets_out: u64,
    /// Packets received.
    pub packets_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Bytes received.
    pub bytes_in: u64,
}

/// The parts of a status that the session does not know.
pub struct Outside<'a> {
    /// Whether the relay is connected.
    pub relay_connected: bool,
    /// The path of packets to a member.
    pub path: &'a dyn Fn(PeerId) -> PathWord,
    /// Frames drawn, or ticks of a robot.
    pub frames: u64,
    /// The traffic over all paths.
    pub traffic: TrafficCount,
}

/// A peer's status.
#[derive(Clone, Debug)]
pub struct Status {
    peer: String,
    name: String,
    role: &'static str,
    suspension: Option<&'static str>,
    term: u64,
    host: String,
    backup: Option<String>,
    topology: &'static str,
    migrates: bool,
    forks: bool,
    relay: &'static str,
    mode: &'static str,
    r#match: Option<MatchStatus>,
    bowl: Option<BowlStatus>,
    maze: Option<MazeStatus>,
    members: Vec<MemberStatus>,
    objects: Vec<ObjectStatus>,
    session_time_ms: f64,
    frames: u64,
    migrations: Vec<MigrationStatus>,
    traffic: TrafficCount,
    ages: Option<AgeStatus>,
    errors: Vec<String>,
}

#[derive(Clone, Debug)]
struct MemberStatus {
    peer: String,
    name: String,
    score: u16,
    is_self: bool,
    is_robot: bool,
    /// The member that drives this robot, if it is no peer of its own.
    driver: Option<String>,
    is_spectator: bool,
    path: PathWord,
    rtt_ms: Option<f64>,
    /// How long the member has been silent.
    silence_ms: Option<f64>,
    /// The numbers of reliable messages sent to the member and received from it.
    reliable: Option<(u64, u64)>,
    visible: bool,
}

#[derive(Clone, Debug)]
struct ObjectStatus {
    id: String,
    kind: &'static str,
    owner: String,
    stamp: (u64, u32),
    position: Option<[f32; 3]>,
    velocity: Option<[f32; 3]>,
    /// The time since the owner sampled the newest value, in milliseconds; negative only if clocks disagree.
    age_ms: f64,
}

#[derive(Clone, Debug)]
struct MigrationStatus {
    term: u64,
    from: String,
    to: String,
    cause: &'static str,
    detected_ms: f64,
    resumed_ms: f64,
}

impl Status {
    /// The status of a peer whose session has not begun: it waits for the relay or for admission.
    #[must_use]
    pub fn outside(name: &str, relay: RelayState, journal: &Journal) -> Self {
        Self {
            peer: String::new(),
            name: name.to_owned(),
            role: "Idle",
            suspension: None,
            term: 0,
            host: String::new(),
            backup: None,
            topology: "mesh",
            migrates: true,
            forks: true,
            relay: relay.word(),
            mode: "duel",
            r#match: None,
            bowl: None,
            maze: None,
            members: Vec::new(),
            objects: Vec::new(),
            session_time_ms: 0.0,
            frames: 0,
            migrations: Vec::new(),
            traffic: TrafficCount::default(),
            ages: None,
            errors: journal.errors().map(str::to_owned).collect(),
        }
    }

    /// The status of a peer in its session.
    #[must_use]
    pub fn of(
        now: Time,
        session: &Session,
        game: Played<'_>,
        journal: &Journal,
        outside: &Outside<'_>,
    ) -> Self {
        let time = session.session_time(now);
        let me = session.me();
        Self {
            peer: me.to_string(),
            name: session.seat_of(me).map(|seat| seat.name.clone()).unwrap_or_default(),
            role: role_word(session.role(now)),
            suspension: session.suspension(now).map(suspension_word),
            term: session.term().0,
            host: session.host().to_string(),
            backup: session.view().backup().map(|backup| backup.to_string()),
            topology: if session.view().is_by_host() { "byHost" } else { "mesh" },
            migrates: session.rules().migrates,
            forks: session.rules().forks,
            relay: if outside.relay_connected { RelayState::Connected } else { RelayState::Lost }.word(),
            mode: match game {
                Played::Duel(_) => "duel",
                Played::Maze(_) => "maze",
            },
            r#match: match game {
                Played::Duel(duel) => Some(MatchStatus::of(duel)),
                Played::Maze(_) => None,
            },
            bowl: match game {
                Played::Duel(duel) => Some(BowlStatus::of(duel, time)),
                Played::Maze(_) => None,
            },
            maze: match game {
                Played::Duel(_) => None,
                Played::Maze(maze) => Some(MazeStatus::of(session, maze)),
            },
            members: members(now, session, game, outside),
            objects: session.objects().map(|object| object_status(object, time)).collect(),
            session_time_ms: millis(time),
            frames: outside.frames,
            migrations: journal.migrations().map(MigrationStatus::from).collect(),
            traffic: outside.traffic,
            ages: match game {
                Played::Duel(duel) => Some(AgeStatus::of(session, duel, time)),
                Played::Maze(_) => None,
            },
            errors: journal.errors().map(str::to_owned).collect(),
        }
    }

    /// The status as one line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = Json::default();
        json.object(|json| self.write(json));
        json.into_text()
    }

    fn write(&self, json: &mut Json) {
        json.key("peer").text(&self.peer);
        json.key("name").text(&self.name);
        json.key("role").text(self.role);
        json.key("suspension").maybe(self.suspension, Json::text);
        json.key("term").count(self.term);
        json.key("host").text(&self.host);
        json.key("backup").maybe(self.backup.as_deref(), Json::text);
        json.key("topology").text(self.topology);
        json.key("migrates").flag(self.migrates);
        json.key("forks").flag(self.forks);
        json.key("relay").text(self.relay);
        json.key("mode").text(self.mode);
        json.key("match").maybe(self.r#match.as_ref(), |json, it| json.object(|json| it.write(json)));
        json.key("bowl").maybe(self.bowl.as_ref(), |json, it| json.object(|json| it.write(json)));
        json.key("maze").maybe(self.maze.as_ref(), |json, it| json.object(|json| it.write(json)));
        json.key("members").list(&self.members, |json, it| json.object(|json| it.write(json)));
        json.key("objects").list(&self.objects, |json, it| json.object(|json| it.write(json)));
        json.key("sessionTimeMs").number(self.session_time_ms);
        json.key("frames").count(self.frames);
        json.key("migrations").list(&self.migrations, |json, it| json.object(|json| it.write(json)));
        json.key("traffic").object(|json| {
            json.key("packetsOut").count(self.traffic.packets_out);
            json.key("packetsIn").count(self.traffic.packets_in);
            json.key("bytesOut").count(self.traffic.bytes_out);
            json.key("bytesIn").count(self.traffic.bytes_in);
        });
        json.key("ages").maybe(self.ages.as_ref(), |json, it| json.object(|json| it.write(json)));
        json.key("errors").list(&self.errors, |json, error| json.text(error));
    }
}

impl MemberStatus {
    fn write(&self, json: &mut Json) {
        json.key("peer").text(&self.peer);
        json.key("name").text(&self.name);
        json.key("score").count(self.score);
        json.key("isSelf").flag(self.is_self);
        json.key("isRobot").flag(self.is_robot);
        json.key("driver").maybe(self.driver.as_deref(), Json::text);
        json.key("isSpectator").flag(self.is_spectator);
        json.key("path").text(path_word(self.path));
        json.key("rttMs").maybe(self.rtt_ms, Json::number);
        json.key("silenceMs").maybe(self.silence_ms, Json::number);
        json.key("reliable").maybe(self.reliable, |json, (sent, received)| {
            json.list([sent, received], Json::count);
        });
        json.key("visible").flag(self.visible);
    }
}

impl ObjectStatus {
    fn write(&self, json: &mut Json) {
        let (term, counter) = self.stamp;
        json.key("id").text(&self.id);
        json.key("kind").text(self.kind);
        json.key("owner").text(&self.owner);
        json.key("stamp").list([term, counter.into()], Json::count);
        json.key("position").maybe(self.position, |json, place| json.list(place, Json::number));
        json.key("velocity").maybe(self.velocity, |json, velocity| json.list(velocity, Json::number));
        json.key("ageMs").number(self.age_ms);
    }
}

impl MigrationStatus {
    fn write(&self, json: &mut Json) {
        json.key("term").count(self.term);
        json.key("from").text(&self.from);
        json.key("to").text(&self.to);
        json.key("cause").text(self.cause);
        json.key("detectedMs").number(self.detected_ms);
        json.key("resumedMs").number(self.resumed_ms);
    }
}

fn members(now: Time, session: &Session, game: Played<'_>, outside: &Outside<'_>) -> Vec<MemberStatus> {
    let me = session.me();
    let millis = |duration: Duration| duration.as_millis_f64();
    let mut members: Vec<_> = session
        .view()
        .members()
        .map(|member| MemberStatus {
            peer: member.peer.to_string(),
            name: member.record.name.clone(),
            score: match game {
                Played::Duel(duel) => duel.score(PlayerKey::Seat(member.record.seat.0)).unwrap_or(0),
                Played::Maze(maze) => maze::score(maze, member.record.seat),
            },
            is_self: member.peer == me,
            is_robot: is_program(member.record.attributes),
            driver: None,
            is_spectator: is_spectator(member.record.attributes),
            path: (outside.path)(member.peer),
            rtt_ms: session.link(member.peer).and_then(|link| link.round_trip()).map(millis),
            silence_ms: session.link(member.peer).map(|link| millis(link.silence(now))),
            reliable: session
                .link(member.peer)
                .map(|link| (link.stats().reliable_out, link.stats().reliable_in)),
            visible: member.record.standing.presence == Presence::Visible,
        })
        .collect();
    let Played::Duel(duel) = game else { return members };
    // A robot that a member drives is no peer: its number stands for a peer's id, and its path is that to its driver.
    members.extend(duel.robots().into_iter().map(|(number, name, score)| {
        let driver = duel.driver_of(session, number);
        MemberStatus {
            peer: format!("robot-{number}"),
            name: name.as_str().to_owned(),
            score,
            is_self: false,
            is_robot: true,
            driver: driver.map(|driver| driver.to_string()),
            is_spectator: false,
            path: match driver.unwrap_or(session.host()) {
                driver if driver == me => PathWord::Myself,
                driver => (outside.path)(driver),
            },
            rtt_ms: None,
            silence_ms: None,
            reliable: None,
            visible: true,
        }
    }));
    members
}

fn object_status(object: &Object, time: Time) -> ObjectStatus {
    let Stamp { term, counter } = object.stamp();
    let (position, velocity) = kinematics(object, time).unzip();
    ObjectStatus {
        id: if object.id() == ObjectId::SESSION { "session".to_owned() } else { object.id().to_string() },
        kind: kind_name(object.traits().kind),
        owner: object.owner().to_string(),
        stamp: (term.0, counter),
        position,
        velocity,
        age_ms: millis(time) - millis(object.sampled()),
    }
}

impl From<&samovar_session::Migration> for MigrationStatus {
    fn from(migration: &samovar_session::Migration) -> Self {
        Self {
            term: migration.term.0,
            from: migration.from.to_string(),
            to: migration.to.to_string(),
            cause: cause_word(migration.cause),
            detected_ms: millis(migration.detected),
            resumed_ms: millis(migration.resumed),
        }
    }
}

fn millis(time: Time) -> f64 {
    time.as_micros() as f64 / 1_000.0
}

const fn path_word(path: PathWord) -> &'static str {
    match path {
        PathWord::Myself => "self",
        PathWord::Direct => "direct",
        PathWord::ByHost => "byHost",
        PathWord::RelayedUdp => "relayedUdp",
        PathWord::Relayed => "relayed",
    }
}

const fn role_word(role: Role) -> &'static str {
    match role {
        Role::Idle => "Idle",
        Role::Backup => "Backup",
        Role::ActiveAlone => "ActiveAlone",
        Role::ActiveBackedUp => "ActiveBackedUp",
        Role::Suspended(_) => "Suspended",
    }
}

const fn suspension_word(suspension: Suspension) -> &'static str {
    match suspension {
        Suspension::HostLost => "hostLost",
        Suspension::NoMajority => "noMajority",
        Suspension::Slept => "slept",
    }
}
