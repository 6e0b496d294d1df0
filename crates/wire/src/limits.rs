//! Every limit of the wire, in one place (PROTOCOL §8). All but [`DATAGRAM_MAX`] and [`NAME_CLUSTERS_MAX`] are agreed: a peer
//! that exceeds one misbehaves.

/// Largest packet in bytes, header included: below the usable payload of a data channel over any common path MTU.
pub const PACKET_MAX: usize = 1_200;
/// Largest chunk of the bulk stream in bytes, header included.
pub const BULK_CHUNK_MAX: usize = 16 * 1_024;
/// Largest reliable or bulk message in bytes.
pub const MESSAGE_MAX: usize = 64 * 1_024;
/// Largest message of the application in bytes.
pub const APP_MESSAGE_MAX: usize = 16 * 1_024;
/// Largest input in bytes.
pub const INPUT_MAX: usize = 1_024;
/// Inputs that a member may have with those who hold them; one counts until [`crate::input::INPUT_KEPT_FOR`] after it
/// was accepted.
pub const INPUTS_MAX: usize = 256;
/// Their bytes.
pub const INPUTS_BYTES_MAX: usize = 16 * 1_024;
/// Inputs of one seat that a peer must hold: those of several members who sat there one after another.
pub const INPUTS_PER_SEAT_MAX: usize = 1_024;
/// Their bytes.
pub const INPUTS_BYTES_PER_SEAT_MAX: usize = 64 * 1_024;
/// Items of one stream of an order that some member may still lack; its owner keeps them, and waits with more. Others
/// hear later than the owner that all have them, and keep twice as many.
pub const UNSTABLE_MAX: usize = 1_024;
/// Their bytes.
pub const UNSTABLE_BYTES_MAX: usize = 256 * 1_024;
/// Largest item of a stream of an order in bytes: a message of the application, and what its order says about it.
pub const ITEM_MAX: usize = APP_MESSAGE_MAX + 256;
/// Payload bytes of one segment of a reliable lane.
pub const SEGMENT_MAX: usize = 1_000;
/// Segments of the session's lane a sender may have in flight, and a receiver must hold, on one link.
pub const SEGMENT_WINDOW: u64 = 256;
/// The same for each of the game's lanes.
pub const GAME_SEGMENT_WINDOW: u64 = 64;
/// Largest unreliable or sequenced message that a link takes, in bytes: it shares its packet with a header and an answer or two.
pub const DATAGRAM_MAX: usize = 1_100;
/// Most unreliable messages of one packet, in DATAGRAM frames that say their length.
pub const UNRELIABLE_PER_PACKET: usize = 64;
/// Largest message that rides in every packet, in bytes.
pub const PIGGYBACK_MAX: usize = 16;
/// Bytes of the bulk stream a sender may have in flight on one link.
pub const BULK_WINDOW: u64 = 256 * 1_024;
/// Most fields of one object.
pub const FIELDS_MAX: usize = 64;
/// Largest field of an object in bytes.
pub const FIELD_MAX: usize = 255;
/// Largest state of an object in bytes, all texts together: the limit of its owner. Who receives it may have more for
/// a moment, when what grew comes before what shrank.
pub const STATE_MAX: usize = 8 * 1_024;
/// Most objects one peer may have alive at a time.
pub const OBJECTS_PER_PEER_MAX: usize = 1_024;
/// Most objects the host may have alive at a time: its own and those it took over from the gone.
pub const OBJECTS_AT_HOST_MAX: usize = 16 * OBJECTS_PER_PEER_MAX;
/// Most members of a session.
pub const MEMBERS_MAX: usize = 32;
/// Tickets that a HELLO shows.
pub const RESUME_MAX: usize = 4;
/// Backups of a host.
pub const BACKUPS_MAX: usize = 2;
/// Most seats of a session, the empty ones that wait for their member included.
pub const SEATS_MAX: usize = 48;
/// Longest name of a member, in bytes of UTF-8.
pub const NAME_MAX: usize = 80;
/// Longest name that a driver makes, in grapheme clusters: characters as people count them.
pub const NAME_CLUSTERS_MAX: usize = 20;
/// Largest control message between peers in bytes.
pub const CONTROL_MAX: usize = 1_024;
/// Largest message between a peer and the relay in bytes, forwarded bulk chunks and session descriptions included.
pub const RELAY_MESSAGE_MAX: usize = BULK_CHUNK_MAX + 64;
/// Largest session description (SDP) in bytes.
pub const DESCRIPTION_MAX: usize = 8 * 1_024;
/// Largest input of a player in one lockstep frame, in bytes; all inputs of a game have the size that it agrees on.
pub const LOCKSTEP_INPUT_MAX: usize = 64;
/// Most frames that one lockstep datagram tells of.
pub const LOCKSTEP_RUN_MAX: usize = 63;
/// Most frames that a member tells a new host of, and most that are compared with each other.
pub const LOCKSTEP_TOLD_MAX: usize = 255;
/// Largest state of a game in lockstep, for a late joiner, in bytes: it has to fit one message with what stands before.
pub const LOCKSTEP_STATE_MAX: usize = 60 * 1_024;
/// Most fields that a game in lockstep tells apart when two states differ.
pub const LOCKSTEP_FIELDS_MAX: usize = 64;
/// Longest name of such a field, in bytes of UTF-8.
pub const LOCKSTEP_FIELD_NAME_MAX: usize = 32;
/// Largest message in time-stamp order, in bytes.
pub const TIMED_MAX: usize = 4 * 1_024;
/// Messages in time-stamp order of one sender that a receiver must hold back.
pub const TIMED_HELD_MAX: usize = 256;
/// Their bytes.
pub const TIMED_HELD_BYTES_MAX: usize = 64 * 1_024;
