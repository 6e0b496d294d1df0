//! A cache of signatures and verifications, for tests that make millions of them. Each result depends on its input
//! bytes alone, so the cache changes only the time that the tests take.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::thread::LocalKey;

/// The most results in the cache. When it is full, all results are dropped.
const KNOWN_MAX: usize = 4_096;

/// Results by their input bytes.
pub(super) type Known<T> = RefCell<BTreeMap<Vec<u8>, T>>;

thread_local! {
    pub(super) static VERIFIED: Known<bool> = const { RefCell::new(BTreeMap::new()) };
    pub(super) static SIGNED: Known<[u8; 64]> = const { RefCell::new(BTreeMap::new()) };
}

/// The cached result for these bytes, or a new one.
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
