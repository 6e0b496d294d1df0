//! The orders of messages side by side. The same scene is played in the
//! simulator in each order, with real sessions, and what a member sees tells
//! whether the order was enough for it. The scenes are those of Fujimoto's
//! lecture on causal order (docs/sources.md, "Fujimoto").
//!
//! Two pacmen that run through one maze show the same for lockstep
//! (docs/sources.md, "Pacman").

pub mod pacmen;
pub mod play;
pub mod scenes;
