//! Two links and a path between them, in virtual time.

mod budget;
mod hostile;
mod promises;
mod restarts;
mod world;
