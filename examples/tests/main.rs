//! The examples as processes of their own: their hosts are killed, and nothing that was accepted is lost.

mod cards;
mod chat;
mod cursors;
mod frames;
mod js_api;
mod js_create;
mod js_page;
mod js_player;
mod orders;
mod orders_page;
mod pong;
mod program;
mod rooms;
mod running;
mod size;
mod stats;
mod tally;
mod whiteboard;
