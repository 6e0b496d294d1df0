//! What states of the model have in common: copied when it changes, and hashed once.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

/// A part of a state that later states mostly keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared<T>(Arc<Part<T>>);

#[derive(Debug, Default)]
struct Part<T> {
    value: T,
    fingerprint: OnceLock<u64>,
}

impl<T: Clone> Clone for Part<T> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), fingerprint: OnceLock::new() }
    }
}

impl<T: Clone> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(Part { value, fingerprint: OnceLock::new() }))
    }

    /// To be changed, in a copy if others have it, too.
    pub(crate) fn make_mut(&mut self) -> &mut T {
        let part = Arc::make_mut(&mut self.0);
        part.fingerprint = OnceLock::new();
        &mut part.value
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.make_mut()
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T: Hash> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let fingerprint = || {
            let mut hasher = DefaultHasher::new();
            self.0.value.hash(&mut hasher);
            hasher.finish()
        };
        state.write_u64(*self.0.fingerprint.get_or_init(fingerprint));
    }
}
