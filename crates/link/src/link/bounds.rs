//! The bounds of a link's queues. A table in the crate's documentation says what happens beyond each bound.

use samovar_wire::limits::{GAME_SEGMENT_WINDOW, SEGMENT_WINDOW, UNRELIABLE_PER_PACKET};

/// Segments of the session's lane that may wait or be under way.
pub(super) const SESSION_SEGMENTS: usize = 1_024;
/// The part of these segments that is kept for control messages, so that a flood of objects leaves room for a vote.
const CONTROL_SEGMENTS: usize = 256;
/// Segments of each of the game's lanes that may wait or be under way: three of the largest messages.
const GAME_SEGMENTS: usize = 256;
/// Unreliable messages that may wait.
pub(super) const UNRELIABLE_MESSAGES: usize = UNRELIABLE_PER_PACKET;
/// Bytes of the bulk stream that may wait or be under way.
pub(super) const BULK_BYTES: usize = 512 * 1_024;
/// Packets whose fate may be open at a time.
pub(super) const OPEN_PACKETS: usize = 512;
/// Events that may wait for the owner of the link.
pub(super) const EVENTS: usize = 1_024;
/// Buffers kept for reuse, and the largest that is worth keeping.
pub(super) const SPARE_BUFFERS: usize = 32;
pub(super) const SPARE_BYTES: usize = 4 * 1_024;

/// Segments that a sender may queue in a lane.
pub(super) const fn queue_of(lane: u8) -> usize {
    if lane == 0 { SESSION_SEGMENTS - CONTROL_SEGMENTS } else { GAME_SEGMENTS }
}

/// Segments of a lane that may be in flight. A receiver holds at most so many of them (PROTOCOL §8).
pub(super) const fn window_of(lane: u8) -> u64 {
    if lane == 0 { SEGMENT_WINDOW } else { GAME_SEGMENT_WINDOW }
}
