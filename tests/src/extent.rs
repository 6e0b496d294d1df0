//! The part of all possible histories that a model checker runs.

/// The extent of a model check. The variable `SAMOVAR_MODEL` sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// `quick`, the default: half a minute, for every change.
    Quick,
    /// `narrow`: some minutes, for `cargo xtask prove`.
    Narrow,
    /// `wide`: hours, and many gigabytes. It is run by hand.
    Wide,
}

impl Extent {
    /// The requested extent.
    ///
    /// # Panics
    /// The variable has another value.
    #[must_use]
    pub fn wanted() -> Self {
        match std::env::var("SAMOVAR_MODEL").as_deref() {
            Err(_) | Ok("quick") => Self::Quick,
            Ok("narrow") => Self::Narrow,
            Ok("wide") => Self::Wide,
            Ok(other) => panic!("SAMOVAR_MODEL is quick, narrow or wide, and not {other:?}"),
        }
    }
}
