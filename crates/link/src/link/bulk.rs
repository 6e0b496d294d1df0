//! The bulk stream: large messages over the reliable mode, complete even when the path changes (PROTOCOL §3.2).

use std::collections::VecDeque;

use samovar_wire::limits::{BULK_WINDOW, MESSAGE_MAX};
use samovar_wire::link_frame::BulkChunk;
use samovar_wire::{CloseCode, Duration, Generations, Reader, Time, Writer};

use super::bounds::BULK_BYTES;

/// After this long without progress, the unacked bytes are sent again: a relay may have dropped them. Progress is an
/// ack or, until all queued bytes were sent, a chunk.
const STALL: Duration = Duration::from_millis(1_000);
/// Room for a chunk's offset.
const OFFSET_LEN: usize = 10;
/// Room for everything before a chunk's bytes.
const CHUNK_HEAD: usize = 1 + OFFSET_LEN;

#[derive(Debug, Default)]
pub(super) struct BulkSender {
    /// Everything before this offset has arrived.
    acked: u64,
    /// Everything before this offset has been sent.
    sent: u64,
    /// The stream from `acked` on.
    queue: VecDeque<u8>,
    progress: Time,
    /// Whether everything was sent and no ack came since. While this holds, the sending of newly queued messages does
    /// not count as progress.
    waits: bool,
}

impl BulkSender {
    /// Queues a message, which is delivered once the lane's segments before number `after` are. Returns the offset
    /// behind the message, or `None` when the queue is full.
    pub(super) fn push(&mut self, after: u64, message: &[u8]) -> Option<u64> {
        if self.queue.len() + message.len() + 2 * OFFSET_LEN > BULK_BYTES {
            return None;
        }
        let mut header = Vec::with_capacity(2 * OFFSET_LEN);
        let mut out = Writer::new(&mut header);
        out.varint(after);
        out.varint(message.len() as u64);
        self.queue.extend(header);
        self.queue.extend(message);
        Some(self.queued())
    }

    pub(super) fn acked(&self) -> u64 {
        self.acked
    }

    /// The offset behind the last queued byte.
    pub(super) fn queued(&self) -> u64 {
        self.acked + self.queue.len() as u64
    }

    /// Whether bytes wait to be sent, and the other end's window has room for them.
    pub(super) fn has_work(&self) -> bool {
        self.sent < self.end()
    }

    fn end(&self) -> u64 {
        self.acked + (self.queue.len() as u64).min(BULK_WINDOW)
    }

    /// Appends the next chunk, if one may go. Returns whether it did.
    pub(super) fn next_chunk(
        &mut self,
        now: Time,
        generations: Generations,
        chunk_max: usize,
        out: &mut Vec<u8>,
    ) -> bool {
        let len = self.end().saturating_sub(self.sent).min((chunk_max - CHUNK_HEAD) as u64);
        if len == 0 {
            return false;
        }
        let start = (self.sent - self.acked) as usize;
        // The chunk is contiguous in the queue, so that it is copied only once.
        let (front, back) = self.queue.as_slices();
        let len = if start < front.len() { (len as usize).min(front.len() - start) } else { len as usize };
        let bytes = front.get(start..start + len).unwrap_or_else(|| {
            let start = start - front.len();
            &back[start..start + len]
        });
        BulkChunk { generations, offset: self.sent, bytes }.encode(out);
        let len = len as u64;
        if !self.waits {
            self.progress = now;
        }
        self.sent += len;
        self.waits |= !self.has_work();
        true
    }

    pub(super) fn on_acked(&mut self, now: Time, offset: u64) -> Result<(), CloseCode> {
        if offset > self.queued() {
            return Err(CloseCode::Malformed);
        }
        if offset > self.acked {
            self.queue.drain(..(offset - self.acked) as usize);
            self.acked = offset;
            self.sent = self.sent.max(offset);
            self.progress = now;
            self.waits = false;
        }
        Ok(())
    }

    pub(super) fn rewind(&mut self) {
        self.sent = self.acked;
        self.waits = false;
    }

    /// Sends again from the last ack on if there was no progress for [`STALL`]. Returns whether it sends again.
    pub(super) fn on_timeout(&mut self, now: Time) -> bool {
        let stalls = self.stall_due() <= now;
        if stalls {
            self.rewind();
        }
        stalls
    }

    pub(super) fn stall_due(&self) -> Time {
        if self.sent > self.acked { self.progress + STALL } else { Time::FAR }
    }
}

#[derive(Debug, Default)]
pub(super) struct BulkReceiver {
    /// The offset of the first byte in `buffer` that is not read: everything before it is delivered.
    delivered: u64,
    buffer: Vec<u8>,
    /// How many bytes of `buffer` are delivered. They are removed together, not after each message, because there may
    /// be many small messages.
    read: usize,
    ack_wanted: bool,
}

impl BulkReceiver {
    pub(super) fn handle_chunk(&mut self, chunk: &BulkChunk<'_>) -> Result<(), CloseCode> {
        let end = self.delivered + (self.buffer.len() - self.read) as u64;
        let chunk_end = chunk.offset.checked_add(chunk.bytes.len() as u64).ok_or(CloseCode::Malformed)?;
        if chunk_end > self.delivered + BULK_WINDOW {
            return Err(CloseCode::LimitExceeded);
        }
        self.ack_wanted = true;
        // A change of path can leave a gap. The sender then starts again from this end's ack.
        if chunk.offset <= end && chunk_end > end {
            self.buffer.extend_from_slice(&chunk.bytes[(end - chunk.offset) as usize..]);
        }
        Ok(())
    }

    /// The next message, if it is complete and the lane's segments before it are delivered.
    pub(super) fn next_message(&mut self, lane_next: u64) -> Result<Option<Vec<u8>>, CloseCode> {
        let message = self.read_message(lane_next);
        if !matches!(message, Ok(Some(_))) {
            self.buffer.drain(..core::mem::take(&mut self.read));
        }
        message
    }

    fn read_message(&mut self, lane_next: u64) -> Result<Option<Vec<u8>>, CloseCode> {
        let unread = &self.buffer[self.read..];
        let mut reader = Reader::new(unread);
        let (Ok(after), Ok(len)) = (reader.varint(), reader.varint()) else {
            return if unread.len() < 2 * OFFSET_LEN { Ok(None) } else { Err(CloseCode::Malformed) };
        };
        if len > MESSAGE_MAX as u64 {
            return Err(CloseCode::TooLarge);
        }
        if after > lane_next {
            return Ok(None);
        }
        let Ok(message) = reader.bytes(len as usize).map(<[u8]>::to_vec) else { return Ok(None) };
        let used = unread.len() - reader.rest().len();
        self.read += used;
        self.delivered += used as u64;
        self.ack_wanted = true;
        Ok(Some(message))
    }

    pub(super) fn take_ack(&mut self) -> Option<u64> {
        core::mem::take(&mut self.ack_wanted).then_some(self.delivered)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn frequent_messages_do_not_hide_a_stall() {
        let (mut sender, mut receiver) = (BulkSender::default(), BulkReceiver::default());
        let generations = Generations { sender: None, receiver: None };
        let mut now = Time::ZERO;
        let mut heard = Vec::new();
        for number in 0..4_u8 {
            sender.push(0, &[number]).expect("there is room");
            // The next message goes just before a stall would be detected.
            for _ in 0..7 {
                now += STALL.half().half().half();
                sender.on_timeout(now);
                let mut bytes = Vec::new();
                // The first chunk is lost.
                if sender.next_chunk(now, generations, 100, &mut bytes) && number > 0 {
                    receiver
                        .handle_chunk(&BulkChunk::decode(&bytes).expect("a chunk"))
                        .expect("within bounds");
                }
                while let Some(message) = receiver.next_message(0).expect("well-formed") {
                    heard.extend(message);
                }
                if let Some(offset) = receiver.take_ack() {
                    sender.on_acked(now, offset).expect("it was sent");
                }
            }
        }
        assert_eq!(heard, [0, 1, 2, 3]);
    }
}
