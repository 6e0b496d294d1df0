//! The keys that are down. The place of a key counts first, so that W A S D are in the same place on any layout. If
//! the place has no action, the key's character counts: for a number pad's arrows, Dvorak, or a keyboard on the
//! screen.

/// The action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Forward,
    Back,
    Left,
    Right,
    Fire,
}

/// `KeyboardEvent.code` and `KeyboardEvent.key` of every key that has an action.
const KEYS: [(&str, &str, Key); 9] = [
    ("KeyW", "w", Key::Forward),
    ("ArrowUp", "ArrowUp", Key::Forward),
    ("KeyS", "s", Key::Back),
    ("ArrowDown", "ArrowDown", Key::Back),
    ("KeyA", "a", Key::Left),
    ("ArrowLeft", "ArrowLeft", Key::Left),
    ("KeyD", "d", Key::Right),
    ("ArrowRight", "ArrowRight", Key::Right),
    ("Space", " ", Key::Fire),
];

/// The most keys noted at a time; no hand holds so many.
const DOWN_MAX: usize = 16;

impl Key {
    pub(super) fn of(code: &str, typed: &str) -> Option<Self> {
        let by_code = KEYS.iter().find(|(known, ..)| *known == code);
        let by_key = || KEYS.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(typed));
        by_code.or_else(by_key).map(|(.., key)| *key)
    }
}

/// The keys that are down, each by its place, or by its character where the place is unknown.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    down: Vec<(String, Key)>,
}

impl Keys {
    pub(super) fn press(&mut self, place: &str, key: Key) {
        if self.down.len() < DOWN_MAX && self.down.iter().all(|(held, _)| held != place) {
            self.down.push((place.to_owned(), key));
        }
    }

    pub(super) fn release(&mut self, place: &str) {
        self.down.retain(|(held, _)| held != place);
    }

    pub(super) fn release_all(&mut self) {
        self.down.clear();
    }

    pub(super) fn throttle(&self) -> f32 {
        self.axis(Key::Forward, Key::Back)
    }

    pub(super) fn turn(&self) -> f32 {
        self.axis(Key::Left, Key::Right)
    }

    pub(super) fn fires(&self) -> bool {
        self.holds(Key::Fire)
    }

    fn holds(&self, wanted: Key) -> bool {
        self.down.iter().any(|(_, key)| *key == wanted)
    }

    fn axis(&self, plus: Key, minus: Key) -> f32 {
        f32::from(u8::from(self.holds(plus))) - f32::from(u8::from(self.holds(minus)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(keys: &mut Keys, code: &str) {
        keys.press(code, Key::of(code, "").expect("a code of the table"));
    }

    #[test]
    fn opposite_keys_cancel_each_other() {
        let mut keys = Keys::default();
        press(&mut keys, "KeyW");
        press(&mut keys, "ArrowLeft");
        assert_eq!((keys.throttle(), keys.turn()), (1.0, 1.0));
        press(&mut keys, "ArrowDown");
        assert_eq!(keys.throttle(), 0.0);
        keys.release("KeyW");
        assert_eq!(keys.throttle(), -1.0);
    }

    #[test]
    fn repeated_presses_need_one_release() {
        let mut keys = Keys::default();
        press(&mut keys, "Space");
        press(&mut keys, "Space");
        keys.release("Space");
        assert!(!keys.fires());
    }

    #[test]
    fn one_of_two_forward_keys_still_drives() {
        let mut keys = Keys::default();
        press(&mut keys, "KeyW");
        press(&mut keys, "ArrowUp");
        keys.release("KeyW");
        assert_eq!(keys.throttle(), 1.0);
    }

    #[test]
    fn all_keys_can_be_released_at_once() {
        let mut keys = Keys::default();
        for (code, ..) in KEYS {
            press(&mut keys, code);
        }
        keys.release_all();
        assert_eq!((keys.throttle(), keys.turn(), keys.fires()), (0.0, 0.0, false));
    }

    #[test]
    fn a_keys_place_counts_before_its_character() {
        // Cyrillic, AZERTY, Dvorak, a number pad without its lock, a keyboard on the screen.
        for (code, typed, key) in [
            ("KeyW", "ц", Key::Forward),
            ("KeyA", "q", Key::Left),
            ("Comma", "w", Key::Forward),
            ("Numpad8", "ArrowUp", Key::Forward),
            ("", "S", Key::Back),
        ] {
            assert_eq!(Key::of(code, typed), Some(key), "{code} {typed}");
        }
    }

    #[test]
    fn keys_without_an_action_do_nothing() {
        assert_eq!(Key::of("KeyQ", "q"), None);
        assert_eq!(Key::of("", ""), None);
    }
}
