//! Files of vectors: each line is `name: hex # comment`, and a line without a name continues the vector above.

use std::collections::{BTreeMap, BTreeSet};

use samovar_wire::DecodeError;

/// Whether a message shows its own end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The message shows its own end. With one byte less or more it is refused.
    Closed,
    /// The message's last part reaches to the end of the bytes. With one byte less it is another message.
    Open,
}

/// The vectors of one file, and those already checked.
pub(crate) struct Vectors {
    file: &'static str,
    bytes: BTreeMap<&'static str, Vec<u8>>,
    checked: BTreeSet<&'static str>,
}

impl Vectors {
    pub(crate) fn parse(file: &'static str, text: &'static str) -> Self {
        let mut bytes: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        let mut name = None;
        for (index, line) in text.lines().enumerate() {
            let place = format!("{file}.hex:{}", index + 1);
            let line = line.split('#').next().unwrap_or_default();
            let hex = match line.split_once(':') {
                Some((new, hex)) => {
                    assert!(bytes.insert(new, Vec::new()).is_none(), "{place}: {new} is there twice");
                    name = Some(new);
                    hex
                }
                None => line,
            };
            for pair in hex.split_ascii_whitespace() {
                let byte =
                    u8::from_str_radix(pair, 16).unwrap_or_else(|_| panic!("{place}: {pair} is no byte"));
                let vector = name.and_then(|name| bytes.get_mut(name));
                vector.unwrap_or_else(|| panic!("{place}: bytes without a name")).push(byte);
            }
        }
        Self { file, bytes, checked: BTreeSet::new() }
    }

    /// Checks both directions: the value is encoded as exactly these bytes, and these bytes are decoded as the value.
    ///
    /// `is_value` decodes bytes and tells whether they are the value.
    pub(crate) fn check(
        &mut self,
        name: &'static str,
        form: Form,
        encoded: &[u8],
        is_value: impl Fn(&[u8]) -> Result<bool, DecodeError>,
    ) {
        let place = format!("{name} in {}.hex", self.file);
        let bytes = self.bytes.get(name).unwrap_or_else(|| panic!("there is no {place}"));
        assert_eq!(hex(encoded), hex(bytes), "{place} (right) is not what the encoder writes (left)");
        assert_eq!(is_value(bytes), Ok(true), "{place} is not what the decoder reads");
        for cut in 0..bytes.len() {
            assert_ne!(is_value(&bytes[..cut]), Ok(true), "{place}: {cut} bytes do as well");
        }
        if form == Form::Closed {
            let less = &bytes[..bytes.len() - 1];
            assert!(is_value(less).is_err(), "{place} is accepted without its last byte");
            let more = [bytes.as_slice(), &[0]].concat();
            assert!(is_value(&more).is_err(), "{place} is accepted with a byte too many");
        }
        self.checked.insert(name);
    }

    /// Checks only the encoding of a vector. No decoder reads such bytes: they are signed or hashed, or another
    /// vector has them.
    pub(crate) fn check_encoding(&mut self, name: &'static str, encoded: &[u8]) {
        let bytes = self.bytes.get(name).unwrap_or_else(|| panic!("there is no {name} in {}.hex", self.file));
        assert_eq!(
            hex(encoded),
            hex(bytes),
            "{name} in {}.hex (right) is not what is encoded (left)",
            self.file
        );
        self.checked.insert(name);
    }

    /// The byte at this place of every vector that is long enough.
    pub(crate) fn bytes_at(&self, index: usize) -> BTreeSet<u8> {
        self.bytes.values().filter_map(|bytes| bytes.get(index).copied()).collect()
    }

    /// Ends the check of a file. Each of its vectors must have been checked.
    pub(crate) fn finish(self) {
        let left: Vec<_> = self.bytes.keys().filter(|name| !self.checked.contains(*name)).collect();
        assert!(left.is_empty(), "nothing checks {left:?} in {}.hex", self.file);
    }
}

/// Writes bytes as the files have them, so that a new vector can be copied from the message of a failure.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
