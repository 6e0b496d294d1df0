//! Real browsers in one game, one file for each phenomenon.

mod agreement;
mod background;
mod faults;
mod graphics;
mod hands;
mod harness;
mod hidden_host;
mod hostile_member;
mod last_survivor;
mod latency;
mod lost_host;
mod lost_relay;
mod maze;
mod names;
mod paths;
mod quiet_network;
mod referee;
mod refusals;
mod reload;
mod stun;
mod suspended;
