//! How much of what can happen a model goes through.

/// By `SAMOVAR_MODEL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Half a minute: what every change needs.
    Quick,
    /// `narrow`: some minutes; `cargo xtask prove`.
    Narrow,
    /// `wide`: hours, and many gigabytes; by hand.
    Wide,
}

impl Extent {
    /// What is asked for.
    ///
    /// # Panics
    /// When it is none of these.
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
