//! Tests for defects that a review found.

use samovar_link::{Link, LinkConfig, LinkEvent};
use samovar_wire::link_frame::{BulkChunk, Frame, PacketHeader};
use samovar_wire::{Generation, Generations, Lane, Mode, Time, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The receiver must not move its buffer for each message. That would make this test a hundred times slower, but no
/// assertion would fail.
#[test]
fn a_window_of_empty_bulk_messages_is_delivered_at_once() {
    let now = Time::from_micros(1);
    let mut link = Link::new(now, LinkConfig::default(), Generation::FIRST);
    // The first message waits for a segment of the session's lane, and the others wait behind it.
    let mut stream = vec![1, 0];
    stream.resize(262_144, 0);
    for (at, bytes) in stream.chunks(16_000).enumerate() {
        let mut chunk = Vec::new();
        BulkChunk { generations: Generations::FIRST, offset: at as u64 * 16_000, bytes }.encode(&mut chunk);
        link.handle(now, Mode::Reliable, &chunk).unwrap();
    }
    assert!(link.poll_event().is_none());
    let mut packet = Vec::new();
    let mut out = Writer::new(&mut packet);
    PacketHeader { generations: Generations::FIRST, number: 0, ack: None }.encode(&mut out);
    Frame::Segment { lane: 0, number: 0, last: true, bytes: b"x" }.encode(&mut out);
    link.handle(now, Mode::Unreliable, &packet).unwrap();
    let mut count = 0;
    while let Some(event) = link.poll_event() {
        count += usize::from(matches!(event, LinkEvent::Message(Lane::Bulk, _)));
    }
    assert_eq!(count, 131_072);
}
