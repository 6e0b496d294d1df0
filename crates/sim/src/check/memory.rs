//! docs/recovery.md, promise 9: memory is bounded by live members and objects, not by the length of the session.
//!
//! The length of a state machine's `Debug` output stands for its memory. Every state machine derives `Debug`, so
//! everything that it keeps counts, and no allocator has to be replaced.

use core::fmt::{self, Debug, Write};

#[derive(Default)]
struct Scale(usize);

impl Write for Scale {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// The length of a value's `Debug` output, in bytes.
pub(crate) fn footprint(value: &impl Debug) -> usize {
    let mut scale = Scale::default();
    // `Scale` never fails. If the value's `Debug` fails, what it wrote until then counts.
    let _ = write!(scale, "{value:?}");
    scale.0
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn footprint_is_the_length_of_the_debug_output() {
        assert_eq!(footprint(&Some(1)), "Some(1)".len());
        assert!(footprint(&vec![0u8; 1_000]) > 2_000);
    }
}
