//! Lockstep over a simulated network: the game of docs/sources.md, "Pacman", slow and lost players, host changes,
//! joins, bytes.

mod cost;
mod desync;
mod hostile;
mod hosts;
mod joins;
mod lives;
mod pacmen;
mod steady;
mod world;
