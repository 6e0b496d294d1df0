//! A text of an object.

/// Bytes that travel whole, and the frame since which they are what they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    pub(crate) frame: u64,
}
