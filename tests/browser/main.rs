//! Real browsers in one game, one file for each phenomenon.

mod agreement;
mod all_reload;
mod background;
mod devices;
mod duplicate;
mod elsewhere;
mod faults;
mod graphics;
mod hands;
mod harness;
mod hidden_host;
mod hostile_member;
mod last_survivor;
mod lobby;
mod lost_host;
mod lost_relay;
mod maze;
mod names;
mod paths;
mod quiet_network;
mod referee;
mod refusals;
mod reload;
mod still_host;
mod stun;
mod suspended;
