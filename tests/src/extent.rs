//! The part of all possible histories that a model goes through.

/// Set by `SAMOVAR_MODEL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Half a minute: for every change.
    Quick,
    /// `narrow`: some minutes; `cargo xtask prove`.
    Narrow,
    /// `wide`: hours, and many gigabytes; by hand.
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
