//! Values for `samovar.status()` and for a robot's line (`docs/automation.md`).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The id of a peer or an object, as reports have it. Only equality matters here.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct Id(String);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One peer's view of its session.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The peer itself; `None` before it has entered a game.
    #[serde(deserialize_with = "named")]
    pub peer: Option<Id>,
    /// The name.
    pub name: String,
    /// `Idle`, `Backup`, `ActiveAlone`, `ActiveBackedUp` or `Suspended`.
    pub role: String,
    /// The reason why no host decides: `hostLost`, `noMajority` or `slept`.
    pub suspension: Option<String>,
    /// The host's term.
    pub term: u64,
    /// The host; `None` before it is known.
    #[serde(deserialize_with = "named")]
    pub host: Option<Id>,
    /// The backup that takes over.
    pub backup: Option<Id>,
    /// `mesh` or `byHost`.
    pub topology: String,
    /// Whether another member hosts when the host is lost.
    pub migrates: bool,
    /// Whether both sides of a split network play on.
    pub forks: bool,
    /// `connected` or `lost`.
    pub relay: String,
    /// The game: `duel` or `maze`.
    pub mode: String,
    /// The match, in a duel.
    #[serde(rename = "match", default)]
    pub contest: Option<Contest>,
    /// The maze, in a maze.
    pub maze: Option<Maze>,
    /// All members of the game.
    pub members: Vec<Member>,
    /// All replicated objects.
    pub objects: Vec<Object>,
    /// Session time in milliseconds.
    pub session_time_ms: f64,
    /// The number of pictures drawn.
    pub frames: u64,
    /// The changes of host.
    pub migrations: Vec<Migration>,
    /// Counts of traffic since the start.
    pub traffic: Traffic,
    /// In a duel, the ages of the others' moves.
    pub ages: Option<Ages>,
    /// The failures, in words.
    pub errors: Vec<String>,
}

/// The ages of the others' moves at each stage of their way to this peer.
#[derive(Clone, Debug, Deserialize)]
pub struct Ages {
    /// When they were sent.
    pub sent: Age,
    /// When they arrived.
    pub received: Age,
    /// In the first step that showed them.
    pub applied: Age,
    /// In all steps.
    pub drawn: Age,
}

/// The ages at one stage, in milliseconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Age {
    /// The number of states.
    pub samples: u32,
    /// The mean; `None` without samples.
    pub mean_ms: Option<f64>,
    /// The median.
    pub p50_ms: Option<f64>,
    /// 99 of 100 were at most this old.
    pub p99_ms: Option<f64>,
}

/// The match of a duel at one peer.
#[derive(Clone, Debug, Deserialize)]
pub struct Contest {
    /// The number of the match, from 1.
    pub number: u64,
    /// `waiting`, `running` or `over`.
    pub stage: String,
    /// The winner, once the match is over.
    pub winner: Option<String>,
}

/// The maze at one peer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Maze {
    /// The newest frame that was stepped.
    pub frame: u64,
    /// The round of the match.
    pub round: u8,
    /// `ready`, `play`, `told` or `over`.
    pub stage: String,
    /// The longest remaining time of the stage, in seconds.
    pub seconds_left: u16,
    /// Rounds won, by side.
    pub wins: BTreeMap<String, u8>,
    /// The role of this peer; `None` for a spectator.
    pub role: Option<String>,
    /// The peer of each role; a robot has no peer.
    pub roles: BTreeMap<String, Option<Id>>,
    /// Column and row of each teapot.
    pub places: BTreeMap<String, (u8, u8)>,
    /// The number of times that states differed.
    pub desyncs: u64,
    /// The checksums of the newest states, each after its frame.
    pub checksums: Vec<(u64, String)>,
}

/// One player.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The member's peer id. A robot that a member drives is no peer, so an id such as `robot-0` stands here.
    pub peer: Id,
    /// The name.
    pub name: String,
    /// The member's points.
    pub score: i64,
    /// Whether this member is the one that reports.
    pub is_self: bool,
    /// Whether a program plays, and not a person.
    pub is_robot: bool,
    /// The member that drives this robot, if it is no peer of its own.
    pub driver: Option<Id>,
    /// Whether this member has no teapot.
    pub is_spectator: bool,
    /// `self`, `direct`, `byHost`, `relayedUdp` or `relayed`.
    pub path: String,
    /// Round trip in milliseconds.
    pub rtt_ms: Option<f64>,
    /// The time since this member was last heard, in milliseconds.
    pub silence_ms: Option<f64>,
    /// The numbers of reliable messages sent to this member and received from it.
    pub reliable: Option<(u64, u64)>,
    /// Whether this member's tab is visible.
    pub visible: bool,
}

/// One replicated object.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Object {
    /// The object's id.
    pub id: Id,
    /// The kind: `session`, `teapot`, `cube`, `scoreboard`.
    pub kind: String,
    /// The owner.
    pub owner: Id,
    /// Term and counter of that ownership.
    pub stamp: (u64, u64),
    /// The position, in table units.
    pub position: Option<Vec<f64>>,
    /// The velocity, in table units a second.
    pub velocity: Option<Vec<f64>>,
    /// The time since the owner sampled its newest value, in milliseconds.
    pub age_ms: f64,
}

/// One change of host.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Migration {
    /// The new term.
    pub term: u64,
    /// The former host.
    pub from: Id,
    /// The new host.
    pub to: Id,
    /// `lost`, `left` or `handover`.
    pub cause: String,
    /// Session time at which this peer first missed the former host, or heard of the new one.
    pub detected_ms: f64,
    /// Session time at which this peer had the new host's session object.
    pub resumed_ms: f64,
}

/// Traffic over the network.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct Traffic {
    pub packets_out: u64,
    pub packets_in: u64,
    pub bytes_out: u64,
    pub bytes_in: u64,
}

/// The values that all members must agree on when nothing changes: members and their offices, owners, scores. Sugar
/// cubes are left out: they fly for less time than a look at three processes takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    term: u64,
    host: Option<Id>,
    backup: Option<Id>,
    members: Vec<(String, Id, i64, bool)>,
    objects: BTreeMap<Id, (String, Id, (u64, u64))>,
}

impl Status {
    /// Reads the report of a page or robot.
    ///
    /// # Errors
    /// A text that names the part that does not match `docs/automation.md`.
    pub fn read(value: &Value) -> Result<Self, String> {
        Self::deserialize(value).map_err(|error| format!("{error} in {value}"))
    }

    /// The values that have to be the same at every member.
    #[must_use]
    pub fn agreed(&self) -> Agreed {
        let member = |each: &Member| (each.name.clone(), each.peer.clone(), each.score, each.is_robot);
        let mut members: Vec<_> = self.members.iter().map(member).collect();
        members.sort_unstable();
        let object = |each: &Object| (each.id.clone(), (each.kind.clone(), each.owner.clone(), each.stamp));
        let objects = self.objects.iter().filter(|each| !each.is("cube")).map(object).collect();
        Agreed { term: self.term, host: self.host.clone(), backup: self.backup.clone(), members, objects }
    }

    /// Whether this peer hosts.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.peer.is_some() && self.peer == self.host
    }

    /// Whether this peer takes over from the host.
    #[must_use]
    pub fn is_backup(&self) -> bool {
        self.peer.is_some() && self.peer == self.backup
    }

    /// The member with this name.
    ///
    /// # Errors
    /// The whole status as text, if there is no such member.
    pub fn member(&self, name: &str) -> Result<&Member, String> {
        let found = self.members.iter().find(|each| each.name == name);
        found.ok_or_else(|| format!("no {name:?} in {self}"))
    }

    /// The points of the member with this name; `None` when it is not there.
    #[must_use]
    pub fn score(&self, name: &str) -> Option<i64> {
        self.member(name).ok().map(|member| member.score)
    }

    /// All names and points, in the order of the names.
    #[must_use]
    pub fn scores(&self) -> BTreeMap<String, i64> {
        self.members.iter().map(|each| (each.name.clone(), each.score)).collect()
    }

    /// The other members that are peers of their own, not the host's robots.
    pub fn others(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|each| !each.is_self && !each.peer.0.starts_with("robot-"))
    }

    /// The objects of a kind.
    pub fn objects_of(&self, kind: &str) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(move |each| each.is(kind))
    }

    /// The object with this id.
    #[must_use]
    pub fn object(&self, id: &Id) -> Option<&Object> {
        self.objects.iter().find(|each| each.id == *id)
    }
}

impl Object {
    /// Whether the object is of this kind.
    #[must_use]
    pub fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }

    /// The distance from the object's place in `before`; zero if either has no place.
    #[must_use]
    pub fn distance(&self, before: &Self) -> f64 {
        distance(self.position.as_deref().unwrap_or_default(), before.position.as_deref().unwrap_or_default())
    }
}

/// Reads the id of a peer. An empty text stands for no peer.
fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Id>, D::Error> {
    let id = String::deserialize(deserializer)?;
    Ok((!id.is_empty()).then_some(Id(id)))
}

/// The distance of two places; zero if one of them is empty.
#[must_use]
pub fn distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other) * (one - other)).sum::<f64>().sqrt()
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = |id: &Option<Id>| id.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        write!(
            f,
            "{} ({}) {} term {} host {} backup {} relay {};",
            self.name,
            id(&self.peer),
            self.role,
            self.term,
            id(&self.host),
            id(&self.backup),
            self.relay
        )?;
        for Member { name, score, path, is_robot, .. } in &self.members {
            write!(f, " {name}{} {score} {path};", if *is_robot { "*" } else { "" })?;
        }
        for Object { id, kind, owner, stamp: (term, counter), .. } in &self.objects {
            write!(f, " {kind} {id} of {owner} at {term}.{counter};")?;
        }
        write!(f, " errors {:?}", self.errors)
    }
}
