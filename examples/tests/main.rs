//! The examples as processes of their own: their hosts are killed, and nothing that was accepted is lost.

mod chat;
mod cursors;
mod program;
mod running;
mod size;
mod tally;
mod whiteboard;
