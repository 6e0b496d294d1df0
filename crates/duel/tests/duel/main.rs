//! Whole duels in virtual time: sessions with delay and loss, a relay that signs, and players at mixed frame rates.

mod hostile;
mod hosts;
mod play;
mod seats;
mod world;
