//! The relay's reports to its operator about itself, its games and their members.

use serde::{Deserialize, Serialize};

/// How a relay is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The program's version.
    pub version: String,
    /// Seconds since it started.
    pub uptime: u64,
    /// Why it takes no games; `None` if it does.
    pub unready: Option<String>,
    /// Whether it is about to stop.
    pub draining: bool,
    /// Open connections, those that only fetch the page included.
    pub connections: usize,
    /// Games with a connection.
    pub games: usize,
    /// Connected members.
    pub members: usize,
    /// Members with data channels that carry.
    pub on_channels: usize,
    /// Messages that wait in all queues.
    pub queued: usize,
    /// Bytes that wait in all queues.
    pub queued_bytes: usize,
    /// Bans in force.
    pub bans: usize,
}

/// A game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameRow {
    /// The code.
    pub code: String,
    /// Connected members.
    pub connected: usize,
    /// Players by the host's word; `None` before its first.
    pub players: Option<u8>,
    /// The most players.
    pub capacity: Option<u8>,
    /// Whether the list of games shows it.
    pub public: bool,
    /// The title that the host gives it.
    pub title: String,
    /// The host's name.
    pub host_name: String,
    /// The host's id.
    pub host: Option<u32>,
    /// Whether the relay's own referee hosts it.
    pub own: bool,
    /// The hash of the agreed parameters, in 16 hexadecimal digits: games with the same are of one program.
    pub params: String,
}

/// A connected member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRow {
    /// The id.
    pub member: u32,
    /// Whether it hosts.
    pub host: bool,
    /// Whether a host has named it as a member; it is a stranger otherwise.
    pub named: bool,
    /// Whether it is the relay's own.
    pub own: bool,
    /// The address that it comes from; `None` for the relay's own, and for a proxy that names no client.
    pub address: Option<String>,
    /// Seconds since it entered.
    pub since: u64,
    /// The way of the relay's messages to it.
    pub path: Path,
    /// Messages and bytes that wait for its WebSocket.
    pub socket_queue: Queue,
    /// Messages and bytes that wait for its data channels.
    pub channel_queue: Queue,
}

/// The way of the relay's messages to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Path {
    /// By data channels.
    Webrtc,
    /// By the WebSocket.
    Websocket,
}

/// The content of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Messages.
    pub messages: usize,
    /// Their bytes.
    pub bytes: usize,
}
