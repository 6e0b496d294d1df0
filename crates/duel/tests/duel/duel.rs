//! Whole duels in virtual time: sessions with delay and loss, a relay that signs, and players at mixed frame rates.

mod bowls;
mod claims;
mod hostile;
mod hosts;
mod large;
mod matches;
mod orders;
mod play;
mod referee;
mod robots;
mod seats;
mod things;
mod traffic;
mod world;
