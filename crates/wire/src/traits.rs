//! The choices that an object's creator makes once, coded in one byte (PROTOCOL §4.2).

use crate::{DecodeError, Kind};

/// An object's fate when its owner goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Orphan {
    /// The host takes the object.
    #[default]
    ToHost,
    /// The object ends.
    Destroy,
    /// The host takes the object, and gives it to the nearest member.
    ToNearest,
    /// The host takes the object and keeps it as it is, until a peer takes the owner's seat again or the game grants
    /// the object.
    Freeze,
}

/// The members that may ask for an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// None. The object moves when its owner gives it away, or when the host's game grants it.
    #[default]
    Exclusive,
    /// All members, while the host owns the object.
    Free,
    /// All members, at any time. This suits things that players touch.
    Shared,
}

/// The choices that an object's creator makes once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Traits {
    /// The kind of the object.
    pub kind: Kind,
    /// Changes travel on the reliable lane, each set of them atomically, instead of in datagrams.
    pub reliable: bool,
    /// The object's fate when its owner goes.
    pub orphan: Orphan,
    /// The members that may ask for the object.
    pub access: Access,
    /// The host may give the object to a member that manages few objects, if no member may ask for it, or if the host
    /// owns it without having asked for it. The host may later move such an object again.
    pub balanced: bool,
    /// The object belongs to the host: a new host takes it over, even if its owner is still there.
    pub with_host: bool,
}

impl Traits {
    /// The traits of an object whose changes travel in datagrams. It goes to the host when its owner goes, and no
    /// member may ask for it.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Self {
            kind,
            reliable: false,
            orphan: Orphan::ToHost,
            access: Access::Exclusive,
            balanced: false,
            with_host: false,
        }
    }

    /// The byte on the wire, the kind not included.
    #[must_use]
    pub const fn flags(self) -> u8 {
        self.reliable as u8
            | (self.orphan as u8) << 1
            | (self.access as u8) << 3
            | (self.balanced as u8) << 5
            | (self.with_host as u8) << 6
    }

    /// Reads the byte.
    ///
    /// # Errors
    /// `Invalid` for a byte that [`Traits::flags`] does not give.
    pub const fn from_flags(kind: Kind, flags: u8) -> Result<Self, DecodeError> {
        let orphan = match flags >> 1 & 3 {
            0 => Orphan::ToHost,
            1 => Orphan::Destroy,
            2 => Orphan::ToNearest,
            _ => Orphan::Freeze,
        };
        let access = match flags >> 3 & 3 {
            0 => Access::Exclusive,
            1 => Access::Free,
            2 => Access::Shared,
            _ => return Err(DecodeError::Invalid),
        };
        if flags > 127 {
            return Err(DecodeError::Invalid);
        }
        let (reliable, balanced, with_host) = (flags & 1 != 0, flags & 32 != 0, flags & 64 != 0);
        Ok(Self { kind, reliable, orphan, access, balanced, with_host })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn every_byte_is_one_set_of_traits_or_refused() {
        let mut accepted = 0;
        for flags in 0..=u8::MAX {
            if let Ok(traits) = Traits::from_flags(Kind(1), flags) {
                assert_eq!(traits.flags(), flags);
                accepted += 1;
            }
        }
        assert_eq!(accepted, 2 * 4 * 3 * 2 * 2);
    }
}
