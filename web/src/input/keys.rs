//! Which keys are down. Keys are known by their place, not their letter: W A S D are where they are on any layout.

samovar_wire::counted! {
    /// What a key does.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Key {
        Forward,
        Back,
        Left,
        Right,
        Fire,
    }
}

/// `KeyboardEvent.code` of every key that does something.
const CODES: [(&str, Key); 9] = [
    ("KeyW", Key::Forward),
    ("ArrowUp", Key::Forward),
    ("KeyS", Key::Back),
    ("ArrowDown", Key::Back),
    ("KeyA", Key::Left),
    ("ArrowLeft", Key::Left),
    ("KeyD", Key::Right),
    ("ArrowRight", Key::Right),
    ("Space", Key::Fire),
];

impl Key {
    pub(super) fn from_code(code: &str) -> Option<Self> {
        CODES.iter().find(|(name, _)| *name == code).map(|(_, key)| *key)
    }
}

/// The keys that are down.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Keys {
    down: [bool; Key::COUNT],
}

impl Keys {
    pub(super) fn press(&mut self, key: Key) {
        self.down[key.index()] = true;
    }

    pub(super) fn release(&mut self, key: Key) {
        self.down[key.index()] = false;
    }

    pub(super) fn release_all(&mut self) {
        *self = Self::default();
    }

    pub(super) fn throttle(&self) -> f32 {
        self.axis(Key::Forward, Key::Back)
    }

    pub(super) fn turn(&self) -> f32 {
        self.axis(Key::Left, Key::Right)
    }

    pub(super) fn fires(&self) -> bool {
        self.down[Key::Fire.index()]
    }

    fn axis(&self, plus: Key, minus: Key) -> f32 {
        f32::from(u8::from(self.down[plus.index()])) - f32::from(u8::from(self.down[minus.index()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: &str) -> Key {
        Key::from_code(code).expect("a code of the table")
    }

    #[test]
    fn opposite_keys_cancel_each_other() {
        let mut keys = Keys::default();
        keys.press(key("KeyW"));
        keys.press(key("ArrowLeft"));
        assert_eq!((keys.throttle(), keys.turn()), (1.0, 1.0));
        keys.press(key("ArrowDown"));
        assert_eq!(keys.throttle(), 0.0);
        keys.release(key("KeyW"));
        assert_eq!(keys.throttle(), -1.0);
    }

    #[test]
    fn repeated_presses_need_one_release() {
        let mut keys = Keys::default();
        keys.press(key("Space"));
        keys.press(key("Space"));
        keys.release(key("Space"));
        assert!(!keys.fires());
    }

    #[test]
    fn everything_can_be_released_at_once() {
        let mut keys = Keys::default();
        for (code, _) in CODES {
            keys.press(key(code));
        }
        keys.release_all();
        assert_eq!((keys.throttle(), keys.turn(), keys.fires()), (0.0, 0.0, false));
    }

    #[test]
    fn other_keys_do_nothing() {
        assert_eq!(Key::from_code("KeyQ"), None);
        assert_eq!(Key::from_code(""), None);
    }
}
