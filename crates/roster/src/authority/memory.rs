//! What was signed and verified before, for tests that do so by the million: both are functions of bytes, so that nothing
//! is other for remembering them but the time that it takes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::thread::LocalKey;

/// What is remembered at most; then all of it is forgotten.
const KNOWN_MAX: usize = 4_096;

/// Results by the bytes that they are functions of.
pub(super) type Known<T> = RefCell<BTreeMap<Vec<u8>, T>>;

thread_local! {
    pub(super) static VERIFIED: Known<bool> = const { RefCell::new(BTreeMap::new()) };
    pub(super) static SIGNED: Known<[u8; 64]> = const { RefCell::new(BTreeMap::new()) };
}

/// What is known of these bytes, or is found now.
pub(super) fn recall<T: Copy>(
    known: &'static LocalKey<Known<T>>,
    bytes: &[&[u8]],
    find: impl FnOnce() -> T,
) -> T {
    let bytes = bytes.concat();
    known.with_borrow_mut(|known| {
        if let Some(&result) = known.get(&bytes) {
            return result;
        }
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        let result = find();
        known.insert(bytes, result);
        result
    })
}
