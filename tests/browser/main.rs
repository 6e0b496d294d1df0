//! Real browsers in one game, one file for each phenomenon.

mod harness;
