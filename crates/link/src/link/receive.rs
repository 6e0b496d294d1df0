//! Receiving: packets and their frames, and chunks of the bulk stream.

use samovar_wire::lane::SEQUENCED_CHANNELS;
use samovar_wire::limits::UNRELIABLE_PER_PACKET;
use samovar_wire::link_frame::{Ack, BulkChunk, Frame, Frames, PacketHeader, expand};
use samovar_wire::{CloseCode, DecodeError, Generation, Generations, Lane, Time};

use super::association::Verdict;
use super::bounds::EVENTS;
use super::{Link, LinkEvent};

impl Link {
    pub(super) fn handle_chunk(&mut self, now: Time, bytes: &[u8]) -> Result<(), CloseCode> {
        let chunk = BulkChunk::decode(bytes).map_err(close_code)?;
        let verdict = self.association.judge(chunk.generations);
        if verdict == Verdict::Unlinked {
            return Err(CloseCode::Malformed);
        }
        if !self.is_of_this_link(now, chunk.generations, verdict) {
            return Ok(());
        }
        self.bulk_in.handle_chunk(&chunk)?;
        self.liveness.on_heard(now);
        self.ack_by(now + self.config.ack_delay);
        self.deliver_bulk()
    }

    /// Takes in the generations of a packet or chunk. Returns whether it counts.
    fn is_of_this_link(&mut self, now: Time, generations: Generations, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Counts | Verdict::Early => {
                if self.association.on_heard(generations, verdict) {
                    // The other end awaits an ack that names its new generation. It has dropped this end's chunks,
                    // which did not name that generation.
                    self.ack_soon(now);
                    if generations.sender != Some(Generation::FIRST) {
                        self.bulk_out.rewind();
                    }
                }
            }
            Verdict::Restarted if self.events.len() < EVENTS => {
                self.events.push_back(LinkEvent::Restarted);
            }
            Verdict::Restarted | Verdict::Former | Verdict::Unlinked => {}
        }
        verdict == Verdict::Counts
    }

    pub(super) fn handle_packet(&mut self, now: Time, packet: &[u8]) -> Result<(), CloseCode> {
        let (header, frames) = PacketHeader::decode(packet).map_err(close_code)?;
        let verdict = self.association.judge(header.generations);
        let (mut ack_eliciting, mut unreliable, mut sequenced) = (false, 0, 0);
        let mut check = frames;
        while let Some(frame) = check.next_frame().map_err(close_code)? {
            match frame {
                // A close counts whatever its packet's number: an end that lost its state cannot number packets.
                Frame::Close(code) => {
                    if verdict == Verdict::Unlinked || self.is_of_this_link(now, header.generations, verdict)
                    {
                        self.events.push_back(LinkEvent::Closed(code));
                    }
                    return Ok(());
                }
                Frame::Segment { lane, number, .. } => {
                    if verdict == Verdict::Counts {
                        self.receive_lanes[usize::from(lane)].check(number)?;
                    }
                    ack_eliciting = true;
                }
                Frame::Datagram(_) => {
                    unreliable += 1;
                    ack_eliciting = true;
                }
                Frame::Sequenced { .. } => {
                    sequenced += 1;
                    ack_eliciting = true;
                }
                Frame::LastDatagram(_) | Frame::Ping => ack_eliciting = true,
                Frame::Pong { .. } | Frame::BulkAck(_) | Frame::Piggyback(_) => {}
            }
        }
        if unreliable > UNRELIABLE_PER_PACKET || sequenced > SEQUENCED_CHANNELS {
            return Err(CloseCode::LimitExceeded);
        }
        if verdict == Verdict::Unlinked {
            return Err(CloseCode::Malformed);
        }
        if !self.is_of_this_link(now, header.generations, verdict) {
            return Ok(());
        }
        self.liveness.on_heard(now);
        if self.events.len() >= EVENTS {
            return Ok(());
        }
        let Some(number) = self.received.insert(header.number) else { return Ok(()) };
        if let Some(ack) = header.ack {
            self.handle_ack(now, &ack)?;
        }
        if ack_eliciting {
            self.ack_soon(now);
        }
        self.handle_frames(now, number, frames)
    }

    fn handle_ack(&mut self, now: Time, ack: &Ack) -> Result<(), CloseCode> {
        let newest = expand(ack.newest, self.sent.next().saturating_sub(1));
        if newest >= self.sent.next() {
            return Err(CloseCode::Malformed);
        }
        self.settle(now, Some((newest, ack)));
        Ok(())
    }

    fn handle_frames(&mut self, now: Time, packet: u64, mut frames: Frames<'_>) -> Result<(), CloseCode> {
        while let Some(frame) = frames.next_frame().map_err(close_code)? {
            match frame {
                Frame::Segment { lane, number, last, bytes } => {
                    let (events, buffers) = (&mut self.events, &mut self.buffers);
                    self.receive_lanes[usize::from(lane)].handle(
                        (number, last, bytes),
                        buffers,
                        &mut |message| {
                            events.push_back(LinkEvent::Message(Lane::Reliable(lane), message));
                        },
                    )?;
                }
                Frame::Sequenced { channel, number, bytes } => {
                    if let Some(lane) = self.sequenced_in.accept(channel, number) {
                        self.events.push_back(LinkEvent::Message(lane, self.buffers.copy_of(bytes)));
                    }
                }
                Frame::Datagram(bytes) | Frame::LastDatagram(bytes) | Frame::Piggyback(bytes) => {
                    self.events.push_back(LinkEvent::Datagram(packet, self.buffers.copy_of(bytes)));
                }
                Frame::Ping => self.clock.on_ping(now, packet),
                Frame::Pong { ping, held, session } => {
                    if let Some(round_trip) = self.clock.on_pong(now, ping, held) {
                        self.sent.set_round_trip(self.clock.round_trip());
                        let session = Time::from_micros(session);
                        self.events.push_back(LinkEvent::Clock { session, received: now, round_trip });
                    }
                }
                Frame::BulkAck(offset) => self.bulk_out.on_acked(now, offset)?,
                Frame::Close(_) => {}
            }
        }
        self.deliver_bulk()
    }

    pub(super) fn deliver_bulk(&mut self) -> Result<(), CloseCode> {
        // Messages beyond the bound stay in the bulk stream, which acks only what is delivered.
        while self.events.len() < EVENTS
            && let Some(message) = self.bulk_in.next_message(self.receive_lanes[0].next())?
        {
            self.events.push_back(LinkEvent::Message(Lane::Bulk, message));
        }
        Ok(())
    }
}

const fn close_code(error: DecodeError) -> CloseCode {
    match error {
        DecodeError::TooLarge => CloseCode::TooLarge,
        _ => CloseCode::Malformed,
    }
}
