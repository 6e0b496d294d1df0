//! The relay's logic and the peer's client of it, as two pure state machines.
//!
//! [`Directory`] knows games, connections and terms; it is the witness that gives each term to one host (PROTOCOL
//! §4.10, §5.5). [`Client`] is a peer's side of the same protocol (PROTOCOL §5): it enters, comes back after a loss,
//! and verifies the relay's signatures. Neither knows sockets, disks or clocks, nor the meaning of the packets that
//! peers forward through the relay.

mod bucket;
pub mod client;
pub mod description;
pub mod directory;
pub mod limits;

pub use client::{Client, ClientConfig, ClientEvent, ClientRequest, Fault, SocketId};
pub use directory::{
    Barred, Class, Clearance, CloseReason, ConnId, Connected, Directory, DirectoryConfig, GameInfo,
    GameReport, HostChange, Incoming, Intent, MemberReport, Note, OperatorError, Origin, Output, Preview,
    RelayOffer, Request, TermRecord, TokenId, Usage,
};
