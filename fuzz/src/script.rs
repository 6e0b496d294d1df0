//! Bytes read as a script of numbers. The numbers are at the ends of their ranges more often than by chance.

/// The rest of the script.
pub(crate) struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte, 0 when the script is over.
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        let wide = if sides > 256 { usize::from(self.byte()) << 8 } else { 0 };
        (wide | usize::from(self.byte())) % sides
    }

    /// A number that is mostly `usual`, and now and then any other, such as one at the end of a range.
    pub(crate) fn number(&mut self, usual: u64) -> u64 {
        match self.byte() {
            0 => u64::MAX,
            1 => i64::MAX as u64,
            2 => u64::from(u32::MAX),
            3 => usual.wrapping_add(1),
            4 => usual.wrapping_sub(1),
            5 => u64::from(self.byte()),
            6 => (0..8).fold(0, |number, _| number << 8 | u64::from(self.byte())),
            _ => usual,
        }
    }

    /// A number as from [`Self::number`], of 32 bits.
    pub(crate) fn small(&mut self, usual: u32) -> u32 {
        self.number(u64::from(usual)) as u32
    }

    /// Up to `most` bytes. In the script, their count comes before them.
    pub(crate) fn bytes(&mut self, most: usize) -> &'a [u8] {
        let length = self.roll(most + 1).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes
    }
}
