//! The rules of Dueling Teapots, as plain functions of their inputs.
//!
//! Responsible for what happens on the tea table: driving, firing, hits, scores, robots, how the state of each
//! replicated object is written as fields, and how a remote teapot is shown between two updates.
//! It refuses sockets, clocks, drawing and operating-system randomness: times come in as arguments and seeds in
//! constructors.
//!
//! Units everywhere: lengths in table units (a teapot's body has radius 1), angles in radians counter-clockwise from
//! the x axis, speeds per second, times in microseconds of session time (`u64`) unless a name says seconds.
//! The x and y axes lie in the table, z points up and the table's top is z = 0.
//!
//! | module | what it decides |
//! |---|---|
//! | [`arena`] | the table, its rim, what stands on it, where teapots appear |
//! | [`teapot`] | how controls move a teapot, in fixed steps |
//! | [`motion`] | position and velocities of a teapot at one moment, and where it will be |
//! | [`cube`] | the flight of a sugar cube, from its launch alone |
//! | [`hits`] | what a cube struck between two moments: the host's decision |
//! | [`phase`] | alive, hit, shielded |
//! | [`player`] | who drives: keys, names, colours |
//! | [`scores`] | the scoreboard the host owns |
//! | [`state`] | the fields of each replicated object |
//! | [`codec`] | why bytes were refused, and quantisation |
//! | [`warp`] | smooth display of remote teapots |
//! | [`robot`] | robot drivers |
//! | [`rng`], [`plane`] | seeded randomness; vectors and angles |

pub mod arena;
pub mod codec;
pub mod cube;
pub mod hits;
pub mod motion;
pub mod phase;
pub mod plane;
pub mod player;
pub mod rng;
pub mod robot;
pub mod scores;
pub mod state;
pub mod teapot;
pub mod warp;
