//! The rules of Dueling Teapots, as plain functions of their inputs.
//!
//! The crate decides everything that happens on the tea table: driving, firing, hits, scores, robots, how the state
//! of each replicated object is written as fields, and how a remote teapot is shown between two updates. It uses no
//! sockets, clocks, drawing or operating-system randomness: times are arguments and seeds go to constructors.
//! [`game`] plays by these rules over a session; no other part knows of a network.
//!
//! Units everywhere: lengths in table units (a teapot's body has radius 1), angles in radians counter-clockwise from
//! the x axis, speeds per second, times in microseconds of session time (`u64`) unless a name says seconds.
//! The x and y axes lie in the table, z points up and the table's top is z = 0.
//!
//! A frame of an owner's teapot, and what the cube hits that it fires:
//! ```
//! use samovar_duel::arena::TEA_TABLE;
//! use samovar_duel::cube::{Cooldown, Launch};
//! use samovar_duel::hits::{Struck, Sweep, Target};
//! use samovar_duel::player::PlayerKey;
//! use samovar_duel::teapot::{Controls, Surroundings, Teapot};
//! use samovar_session::State;
//!
//! let (me, now, frame) = (PlayerKey::Seat(1), 5_000_000, 16_667);
//! let mut teapot = Teapot::new(TEA_TABLE.farthest_spawn(me.preference(), &[]));
//! let mut cooldown = Cooldown::default();
//!
//! // The owner: controls, one frame, what to publish.
//! let controls = Controls { throttle: 1.0, turn: 0.0, fire: true };
//! teapot.step(frame, controls, &Surroundings { arena: &TEA_TABLE, others: &[] });
//! let mut state = State::default();
//! teapot.motion().encode(&mut state);
//! assert_eq!(state.numbers().len(), 6);
//! let launch = (controls.fire && cooldown.try_fire(now)).then(|| Launch::from_spout(me, &teapot.motion(), now));
//!
//! // What the cube has struck since the last sweep.
//! let launch = launch.expect("the first shot is free");
//! let ahead = Target { player: PlayerKey::Robot(0), position: [6.0, 1.6], velocity: [0.0, 0.0] };
//! let sweep = Sweep { launch: &launch, from: launch.launched_at, to: now + 1_000_000 };
//! let impact = sweep.first_impact(&TEA_TABLE, &[ahead]).expect("someone is in the way");
//! assert!(matches!(impact.struck, Struck::Obstacle(_) | Struck::Teapot(_) | Struck::Landed(_)));
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`arena`] | the tables, their rims, the obstacles on them, where teapots appear |
//! | [`push`] | how a cup slides that a teapot pushes |
//! | [`teapot`] | how controls move a teapot, in fixed steps |
//! | [`motion`] | position and velocities of a teapot at one moment, and where it will be |
//! | [`cube`] | the flight of a sugar cube, from its launch alone |
//! | [`hits`] | the impact of a cube between two moments |
//! | [`claim`] | what a shooter tells the host about a hit |
//! | [`phase`] | alive, hit, shielded |
//! | [`player`] | players: keys, names, colours |
//! | [`course`], [`bowl`] | matches, and the sugar bowl that all drive for |
//! | [`row`], [`scores`] | one player's row, and the scoreboard the host owns |
//! | [`named`] | which object is which cup, and which robot's teapot |
//! | [`state`] | the fields of each replicated object |
//! | [`codec`] | why bytes were refused, and quantisation |
//! | [`word`] | messages between members, each in the order that it needs |
//! | [`warp`] | smooth display of remote teapots |
//! | [`robot`] | robots that drive teapots |
//! | [`game`] | the duel over a session: which peer may speak for which player, the host's decisions, a new host |
//! | [`mode`] | which of the two games is played |
//! | [`maze`] | the other game: four teapots in corridors, capture the bowl |
//! | [`rng`], [`plane`], [`angle`] | seeded randomness; vectors and angles; sine and cosine |

pub mod angle;
pub mod arena;
pub mod bowl;
pub mod claim;
pub mod codec;
pub mod course;
pub mod cube;
pub mod game;
pub mod hits;
pub mod journal;
pub mod maze;
pub mod mode;
pub mod motion;
pub mod named;
pub mod phase;
pub mod plane;
pub mod player;
pub mod push;
pub mod rng;
pub mod robot;
pub mod row;
pub mod scores;
pub mod state;
pub mod status;
pub mod teapot;
pub mod warp;
pub mod word;
