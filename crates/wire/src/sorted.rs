//! A map and a set of few entries, sorted in a vector: ordered like the standard library's, at a tenth of the machine
//! code per type. A page uses tens of such types, and should be small to download.
//!
//! The cost of inserting or removing an entry grows with the number of entries after it. It is about a microsecond
//! among thousands. For more entries take a `BTreeMap`.

use core::borrow::Borrow;
use core::mem;

/// Sorts a short list by insertion, and keeps the order of equal entries. The standard library's sorts are faster on
/// long lists, and cost kilobytes of machine code per type.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], mut key: impl FnMut(&T) -> K) {
    for end in 1..list.len() {
        let mut place = end;
        while place > 0 && key(&list[place]) < key(&list[place - 1]) {
            list.swap(place, place - 1);
            place -= 1;
        }
    }
}

/// A map in the order of its keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(known, _)| known.borrow().cmp(key))
    }

    /// The number of entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no entries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| &self.0[at].1)
    }

    /// The value of a key, mutable.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| &mut self.0[at].1)
    }

    /// Whether the key has a value.
    #[must_use]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Sets the value of a key. Returns the value before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => Some(mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes a key. Returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| self.0.remove(at).1)
    }

    /// The place of a key, whether the key has a value or not.
    pub const fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        Entry { map: self, key }
    }

    /// Removes and returns the entries for which `is_out` is true.
    pub fn extract_if(&mut self, mut is_out: impl FnMut(&K, &mut V) -> bool) -> Vec<(K, V)> {
        self.0.extract_if(.., |(key, value)| is_out(key, value)).collect()
    }

    /// The entries.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The entries, with mutable values.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> + ExactSizeIterator {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator {
        self.0.iter().map(|(_, value)| value)
    }

    /// The values, mutable.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The first entry.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.0.first().map(|(key, value)| (key, value))
    }

    /// The last entry.
    #[must_use]
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.0.last().map(|(key, value)| (key, value))
    }

    /// Removes the first entry.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
    }

    /// The entry after this key. After the last key comes the first entry again.
    #[must_use]
    pub fn next_after(&self, key: &K) -> Option<(&K, &V)> {
        let at = self.find(key).map_or_else(|at| at, |at| at + 1);
        self.0.get(at).or(self.0.first()).map(|(key, value)| (key, value))
    }

    /// The entries with keys from `from` to `to`, both included.
    pub fn range(&self, from: &K, to: &K) -> impl DoubleEndedIterator<Item = (&K, &V)> + use<'_, K, V> {
        let start = self.find(from).unwrap_or_else(|at| at);
        let end = self.find(to).map_or_else(|at| at, |at| at + 1).max(start);
        self.0[start..end].iter().map(|(key, value)| (key, value))
    }
}

/// A place in a [`SortedMap`], with or without an entry.
#[derive(Debug)]
pub struct Entry<'a, K, V> {
    map: &'a mut SortedMap<K, V>,
    key: K,
}

impl<'a, K: Ord, V> Entry<'a, K, V> {
    /// The value; inserts what `make` returns if there is none.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        let entries = &mut self.map.0;
        let at = match entries.binary_search_by(|(known, _)| known.cmp(&self.key)) {
            Ok(at) => at,
            Err(at) => {
                entries.insert(at, (self.key, make()));
                at
            }
        };
        &mut entries[at].1
    }

    /// The value; inserts `value` if there is none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value; inserts the type's default if there is none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = core::iter::Map<core::slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> (&'a K, &'a V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

impl<'a, K, V> IntoIterator for &'a mut SortedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter =
        core::iter::Map<core::slice::IterMut<'a, (K, V)>, fn(&'a mut (K, V)) -> (&'a K, &'a mut V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }
}

/// A set whose elements are in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SortedSet<T>(Vec<T>);

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Ord> SortedSet<T> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The number of members.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no members.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the set contains a member.
    #[must_use]
    pub fn contains(&self, member: &T) -> bool {
        self.0.binary_search(member).is_ok()
    }

    /// Adds a member. Returns whether it was new.
    pub fn insert(&mut self, member: T) -> bool {
        match self.0.binary_search(&member) {
            Ok(_) => false,
            Err(at) => {
                self.0.insert(at, member);
                true
            }
        }
    }

    /// Removes a member. Returns whether it was there.
    pub fn remove(&mut self, member: &T) -> bool {
        self.0.binary_search(member).is_ok_and(|at| {
            self.0.remove(at);
            true
        })
    }

    /// The members.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.0.iter()
    }

    /// The first member.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    /// Removes the first member.
    pub fn pop_first(&mut self) -> Option<T> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
    }

    /// Keeps the members for which `keep` is true.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.0.retain(keep);
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Self {
        let mut set = Self::new();
        set.extend(members);
        set
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, members: I) {
        for member in members {
            self.insert(member);
        }
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::sort_by_key;
    use super::*;
    use crate::Entropy;
    use std::collections::{BTreeMap, BTreeSet};
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn map_and_set_behave_like_the_standard_librarys() {
        let mut dice = Entropy::new([5; 32]);
        let (mut map, mut plain) = (SortedMap::new(), BTreeMap::new());
        let (mut set, mut plain_set) = (SortedSet::new(), BTreeSet::new());
        for step in 0..3_000_u64 {
            let key = dice.number() % 40;
            match dice.number() % 5 {
                0 | 1 => {
                    assert_eq!(map.insert(key, step), plain.insert(key, step));
                    assert_eq!(set.insert(key), plain_set.insert(key));
                }
                2 => {
                    assert_eq!(map.remove(&key), plain.remove(&key));
                    assert_eq!(set.remove(&key), plain_set.remove(&key));
                }
                3 => {
                    *map.entry(key).or_insert(7) += 1;
                    *plain.entry(key).or_insert(7) += 1;
                }
                _ => {
                    map.retain(|k, _| k % 7 != key % 7);
                    plain.retain(|k, _| k % 7 != key % 7);
                }
            }
            assert!(map.iter().eq(plain.iter()) && set.iter().eq(plain_set.iter()));
            assert_eq!((map.get(&key), map.len()), (plain.get(&key), plain.len()));
            assert!(map.range(&key, &(key + 9)).eq(plain.range(key..=key + 9)));
            let next = plain.range(key + 1..).next().or(plain.first_key_value());
            assert_eq!(map.next_after(&key), next);
            assert_eq!(map.last_key_value(), plain.last_key_value());
            if key == 0 {
                assert_eq!(map.pop_first(), plain.pop_first());
            }
        }
    }

    #[test]
    fn short_lists_are_sorted_as_by_the_standard_library() {
        let mut dice = Entropy::new([9; 32]);
        for length in 0..40 {
            let mut list: Vec<_> = (0..length).map(|n| (dice.number() % 12, n)).collect();
            let mut plain = list.clone();
            sort_by_key(&mut list, |entry| entry.0);
            plain.sort_by_key(|entry| entry.0);
            assert_eq!(list, plain);
        }
    }
}
