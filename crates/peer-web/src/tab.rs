//! Data that a tab keeps for a reload, where the browser allows it.
//!
//! The browser keeps the data per tab, so that a reload finds them and another tab does not steal them. A tab and its
//! duplicates share them, so that a player can go from one to the other. A new tab takes over from a tab of this
//! browser that is gone, so that a player who closed the page and opens the link again has the seat back.
//!
//! All pages of one origin share the browser's storage. Keys begin with `samovar.` and should name the game.

use web_sys::Storage;

use crate::scope::scope;

/// A tab that gives no sign of life for more than this many seconds is gone.
const GONE_AFTER: u32 = 6;
/// Milliseconds between two signs of life that a tab should give: see [`live`].
pub const LIVES_EVERY: f64 = 1_500.0;
const WHO: &str = "samovar.who";
/// The key of a list: the newest entries of this browser, the newest first.
const LIST: &str = "samovar.kept";

/// Returns the bytes that are kept under this key; `None` when there are none, or more than `most`.
#[must_use]
pub fn get(key: &str, most: usize) -> Option<Vec<u8>> {
    let read = |(storage, key): (Storage, String)| {
        let text = storage.get_item(&key).ok().flatten().filter(|text| text.len() <= 2 * most)?;
        unhex(&text)
    };
    shared(key).and_then(read).or_else(|| read((storage()?, key.to_owned())))
}

/// Keeps these bytes under this key. A full or forbidden storage loses them.
pub fn set(key: &str, bytes: &[u8]) {
    let text = hex(bytes);
    if let Some(storage) = storage() {
        let _ = storage.set_item(key, &text);
    }
    if let Some((storage, key)) = shared(key) {
        // The tab and its duplicates share this entry, so that a player can go from one to the other.
        if storage.set_item(&key, &text).is_err() {
            // The shared storage still holds older data. A reload must not prefer them to those of the tab.
            let _ = storage.remove_item(&key);
        }
        keep_newest(&storage, &key);
    }
}

/// Forgets what is kept under this key.
pub fn remove(key: &str) {
    if let Some(storage) = storage() {
        let _ = storage.remove_item(key);
    }
    if let Some((storage, key)) = shared(key) {
        let _ = storage.remove_item(&key);
        let list = storage.get_item(LIST).ok().flatten().unwrap_or_default();
        let others: Vec<_> = list.lines().filter(|line| *line != key).collect();
        let _ = storage.set_item(LIST, &others.join("\n"));
    }
}

/// If this tab keeps nothing under this key, makes it take over from a tab of this browser that did and is gone.
pub fn inherit(key: &str) {
    let is_new = shared(key).is_none_or(|(storage, key)| !has(&storage, &key));
    let Some((own, all)) = storage().zip(local_storage()).filter(|(own, _)| is_new && !has(own, key)) else {
        return;
    };
    let list = all.get_item(LIST).ok().flatten().unwrap_or_default();
    let whos = list.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('.'));
    let is_gone = |who: &&str| {
        let lived = all.get_item(&sign_of(who)).ok().flatten().and_then(|time| time.parse().ok());
        lived.is_none_or(|lived: u32| seconds().abs_diff(lived) > GONE_AFTER)
    };
    if let Some(who) = whos.into_iter().find(is_gone) {
        let _ = own.set_item(WHO, who);
        live();
    }
}

fn has(storage: &Storage, key: &str) -> bool {
    storage.get_item(key).is_ok_and(|found| found.is_some())
}

/// Shows other tabs of this browser that this tab lives. A page calls it every [`LIVES_EVERY`].
pub fn live() {
    if let Some((all, sign)) = local_storage().zip(who()).map(|(all, who)| (all, sign_of(&who))) {
        let _ = all.set_item(&sign, &seconds().to_string());
    }
}

/// Tells other tabs that this tab is about to go, so that one may take over from it at once.
pub fn end() {
    if let Some((all, who)) = local_storage().zip(who()) {
        let _ = all.remove_item(&sign_of(&who));
    }
}

/// A random number that stays the same for this tab and for a tab that takes over from it. `None` if the browser keeps
/// nothing.
#[must_use]
pub fn number() -> Option<u32> {
    u32::from_str_radix(who()?.get(6..)?, 16).ok()
}

/// The time, in whole seconds. Code that reads or writes fractions would make a page 16 KB larger.
fn seconds() -> u32 {
    (js_sys::Date::now() / 1_000.0) as u32
}

/// The storage that all tabs of this browser see, and the key there of the data that this tab and its duplicates share.
fn shared(key: &str) -> Option<(Storage, String)> {
    let who = who()?;
    Some((local_storage()?, format!("{key}.{who}")))
}

/// The name of this tab and its duplicates.
fn who() -> Option<String> {
    let own = storage()?;
    // The browser copies the name to a tab's duplicate.
    own.get_item(WHO).ok().flatten().or_else(|| {
        let who = format!("{:013x}", (js_sys::Math::random() * 2f64.powi(52)) as u64);
        own.set_item(WHO, &who).ok()?;
        Some(who)
    })
}

fn sign_of(who: &str) -> String {
    format!("samovar.lives.{who}")
}

/// Keeps the newest entries and removes the others, because a tab can end without removing its own.
fn keep_newest(storage: &Storage, newest: &str) {
    const KEPT: usize = 8;
    let list = storage.get_item(LIST).ok().flatten().unwrap_or_default();
    let others = list.lines().filter(|key| *key != newest);
    let (kept, old): (Vec<_>, Vec<_>) =
        [newest].into_iter().chain(others).enumerate().partition(|(at, _)| *at < KEPT);
    for (_, key) in old.iter().filter(|(_, key)| key.starts_with("samovar.")) {
        let _ = storage.remove_item(key);
        if let Some((_, who)) = key.rsplit_once('.') {
            let _ = storage.remove_item(&sign_of(who));
        }
    }
    let kept: Vec<_> = kept.into_iter().map(|(_, key)| key).collect();
    let _ = storage.set_item(LIST, &kept.join("\n"));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = text.as_bytes().chunks(2).map(|pair| core::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

fn local_storage() -> Option<Storage> {
    scope().local_storage().ok().flatten()
}

fn storage() -> Option<Storage> {
    scope().session_storage().ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_bytes_are_read_back_and_damaged_ones_are_none() {
        assert_eq!(unhex(&hex(&[0, 10, 255])), Some(vec![0, 10, 255]));
        assert_eq!(["a", "0g", "é", "+1"].map(unhex), [None, None, None, None]);
    }
}
