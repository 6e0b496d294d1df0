//! The maze: its rules by themselves, and played over sessions in virtual time.

mod over_sessions;
mod rules;
mod world;
