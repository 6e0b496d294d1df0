//! docs/recovery.md, promise 9: memory is bounded by live members and objects, not by the length of the session.
//!
//! What a machine holds is weighed by what its `Debug` output would be long: every state machine derives it, so nothing
//! that is kept can hide, and no allocator has to be replaced for it.

use core::fmt::{self, Debug, Write};

#[derive(Default)]
struct Scale(usize);

impl Write for Scale {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// How long the `Debug` output of a value is, in bytes.
pub(crate) fn footprint(value: &impl Debug) -> usize {
    let mut scale = Scale::default();
    // A scale cannot refuse what is put on it; a value whose `Debug` fails weighs what it wrote.
    let _ = write!(scale, "{value:?}");
    scale.0
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn what_holds_more_weighs_more() {
        assert_eq!(footprint(&Some(1)), "Some(1)".len());
        assert!(footprint(&vec![0u8; 1_000]) > 2_000);
    }
}
