//! Texts: fields of bytes.

/// Bytes that travel whole, and the frame of their last change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    pub(crate) frame: u64,
}
