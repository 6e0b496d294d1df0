//! Every limit of the wire, in one place (PROTOCOL §8). All but [`DATAGRAM_MAX`] and [`NAME_CLUSTERS_MAX`] are agreed:
//! a peer that exceeds one misbehaves.

/// Largest packet in bytes, header included: below the usable payload of a data channel over any common path MTU.
pub const PACKET_MAX: usize = 1_200;
/// Largest chunk of the bulk stream in bytes, header included.
pub const BULK_CHUNK_MAX: usize = 16 * 1_024;
/// Largest reliable or bulk message in bytes.
pub const MESSAGE_MAX: usize = 64 * 1_024;
/// Largest message of the game in bytes.
pub const APP_MESSAGE_MAX: usize = 16 * 1_024;
/// Largest input in bytes.
pub const INPUT_MAX: usize = 1_024;
/// Inputs of one member that others may hold at a time; an input counts until [`crate::input::INPUT_KEPT_FOR`] after
/// it was accepted.
pub const INPUTS_MAX: usize = 256;
/// Bytes of the inputs that a member may have waiting.
pub const INPUTS_BYTES_MAX: usize = 16 * 1_024;
/// Inputs of one seat that a peer must hold: those of several members that sat there one after another.
pub const INPUTS_PER_SEAT_MAX: usize = 1_024;
/// Bytes of the inputs of one seat that a peer must hold.
pub const INPUTS_BYTES_PER_SEAT_MAX: usize = 64 * 1_024;
/// Items of one member's stream in an order that others may still lack. The member keeps these items, and sends no further
/// one beyond this number. The others learn later than the member that all have an item, so they keep up to twice as
/// many.
pub const UNSTABLE_MAX: usize = 1_024;
/// Bytes of the items of one member's stream that others may still lack.
pub const UNSTABLE_BYTES_MAX: usize = 256 * 1_024;
/// Largest item of an order's stream in bytes: a message of the game, and the order's own data.
pub const ITEM_MAX: usize = APP_MESSAGE_MAX + 256;
/// Payload bytes of one segment of a reliable lane.
pub const SEGMENT_MAX: usize = 1_000;
/// Segments of the session's lane that a sender may have in flight, and a receiver must hold, on one link.
pub const SEGMENT_WINDOW: u64 = 256;
/// The same limit for each of the game's lanes.
pub const GAME_SEGMENT_WINDOW: u64 = 64;
/// Largest unreliable or sequenced message that a link takes, in bytes. The rest of its packet is for the header and
/// a frame or two that answer the other end, such as PONG.
pub const DATAGRAM_MAX: usize = 1_100;
/// Most unreliable messages of one packet, in DATAGRAM frames with a length.
pub const UNRELIABLE_PER_PACKET: usize = 64;
/// Largest message of a PIGGYBACK frame in bytes. Such a frame goes with packets that are sent anyway.
pub const PIGGYBACK_MAX: usize = 16;
/// Bytes of the bulk stream that a sender may have in flight on one link.
pub const BULK_WINDOW: u64 = 256 * 1_024;
/// Most fields of one object.
pub const FIELDS_MAX: usize = 64;
/// Largest field of an object in bytes.
pub const FIELD_MAX: usize = 255;
/// Largest state of an object in bytes, all its texts together. The limit holds at the owner. A receiver may have
/// more for a moment, when the texts that grew arrive before those that shrank.
pub const STATE_MAX: usize = 8 * 1_024;
/// Most objects one peer may have alive at a time.
pub const OBJECTS_PER_PEER_MAX: usize = 1_024;
/// Most objects that the host may have alive at a time: its own and those that it took over.
pub const OBJECTS_AT_HOST_MAX: usize = 16 * OBJECTS_PER_PEER_MAX;
/// Most members of a session.
pub const MEMBERS_MAX: usize = 32;
/// The most tickets that a HELLO shows.
pub const RESUME_MAX: usize = 4;
/// The most backups of a host.
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
/// Longest token that a peer shows to the relay, in bytes.
pub const TOKEN_MAX: usize = 4_096;
/// Longest text of the game's own server for a player, in bytes of UTF-8.
pub const TOLD_MAX: usize = 200;
/// Largest session description (SDP) in bytes.
pub const DESCRIPTION_MAX: usize = 8 * 1_024;
/// Largest input of a player in one lockstep frame, in bytes; all inputs of a game have the size that it agrees on.
pub const LOCKSTEP_INPUT_MAX: usize = 64;
/// Most frames in one lockstep datagram.
pub const LOCKSTEP_RUN_MAX: usize = 63;
/// Most frames that a member sends to a new host, and most frames whose checksums the host sends for a comparison.
pub const LOCKSTEP_TOLD_MAX: usize = 255;
/// Largest state of a game in lockstep, for a late joiner, in bytes: it fits one message with its head.
pub const LOCKSTEP_STATE_MAX: usize = 60 * 1_024;
/// Most fields that a game in lockstep names when two states differ.
pub const LOCKSTEP_FIELDS_MAX: usize = 64;
/// Longest name of such a field, in bytes of UTF-8.
pub const LOCKSTEP_FIELD_NAME_MAX: usize = 32;
/// Largest message in time-stamp order, in bytes.
pub const TIMED_MAX: usize = 4 * 1_024;
/// Messages in time-stamp order from one sender that a receiver must hold back.
pub const TIMED_HELD_MAX: usize = 256;
/// Bytes of these messages.
pub const TIMED_HELD_BYTES_MAX: usize = 64 * 1_024;
