//! Spare buffers. A busy link reuses them instead of allocating one for each message or packet.

use super::bounds::{SPARE_BUFFERS, SPARE_BYTES};

#[derive(Debug, Default)]
pub(super) struct Buffers {
    spare: Vec<Vec<u8>>,
}

impl Buffers {
    /// A buffer with these bytes.
    pub(super) fn copy_of(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// Takes back a buffer that is no longer read.
    pub(super) fn give(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE_BUFFERS && (1..=SPARE_BYTES).contains(&buffer.capacity()) {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}
