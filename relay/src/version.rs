//! Which program this is.

/// The version, and for a release build the commit.
pub const TEXT: &str = env!("SAMOVAR_VERSION");
