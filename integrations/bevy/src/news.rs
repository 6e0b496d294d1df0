//! The news of a room, as Bevy's messages.

use bevy_ecs::prelude::Message;
use samovar::{Agreed, Game, Member};

/// A change in the room.
#[derive(Message, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RoomNews {
    /// This program has become a member.
    Joined,
    /// A member came, or came back.
    Came(Member),
    /// A member went; it may come back.
    Went(Member),
    /// Another member hosts now, or this program does.
    HostIs(Member),
    /// The game is over for this program: see [`Room::end`](crate::Room::end).
    Ended,
}

/// Messages with their senders.
pub type Messages<G> = Vec<(Member, <G as Agreed>::Message)>;

/// A message of a member: see [`SamovarApp::hear`](crate::SamovarApp::hear).
#[derive(Message, Debug)]
#[non_exhaustive]
pub struct Heard<G: Game>
where
    G::Message: Sync,
{
    /// The sender.
    pub from: Member,
    /// The message.
    pub message: G::Message,
}
