//! Carries out what lockstep asks of a member's copy of the world.

use std::collections::VecDeque;

use samovar_session::lockstep::{self, Request};
use samovar_session::{Lockstep, Session};
use samovar_wire::limits::{LOCKSTEP_FIELD_NAME_MAX, LOCKSTEP_FIELDS_MAX};
use samovar_wire::lockstep::FieldHash;
use samovar_wire::{Duration, Time, digest};

use crate::game::MaybeSend;
use crate::world::Turn;

/// Past worlds that are kept: a member whose world differs asks for the fields of one of the last 255.
const KEPT: usize = 256;
/// How often in a row a new host hears of no member with the world, once a second, before it begins with its own.
const VAIN_MAX: u8 = 5;
/// The least time between two reports of a difference.
const TELLS_EVERY: Duration = Duration::from_millis(1_000);

/// A member's copy of a world, which lockstep steps, loads and saves. The inputs and the world are bytes here.
///
/// A game in Rust has [`World`](crate::World). This is for the world of a dynamic game: see
/// [`dynamic`](crate::dynamic).
pub trait Steps: MaybeSend {
    /// This player's input from now on, in as many bytes as the members agreed on. Zeros stand for a player who has said
    /// nothing yet.
    fn input(&self) -> Vec<u8>;

    /// Makes one step.
    fn step(&mut self, turn: Turn<Vec<u8>>);

    /// The world as others load it: at most 61,440 bytes. Members compare these bytes after each step.
    fn save(&self) -> Vec<u8>;

    /// Takes over another member's world. Bytes that hold none change nothing: this world then differs from the
    /// host's, and is loaded again.
    fn load(&mut self, saved: &[u8]);

    /// The fields of a saved world, each with its bytes, for the report of a difference.
    fn fields(&self, saved: &[u8]) -> Vec<(String, Vec<u8>)>;
}

/// The progress of a copy.
#[derive(Debug, Default)]
pub(crate) struct Stepping {
    past: VecDeque<(u64, Vec<u8>)>,
    /// When the last step was.
    stepped: Time,
    differed: u64,
    /// When the author was last told of a difference.
    told_at: Option<Time>,
    /// How often in a row no member told that it has the world.
    vain: u8,
}

impl Stepping {
    /// When the last step was.
    pub(crate) const fn stepped(&self) -> Time {
        self.stepped
    }

    /// How often this world was found to differ from the host's; at the host, how often another member's was.
    pub(crate) const fn differed(&self) -> u64 {
        self.differed
    }

    /// Whether the copy is the session's world, and not this program's own beginning.
    pub(crate) fn is_known(&self) -> bool {
        !self.past.is_empty()
    }

    /// Gives this player's input, and makes the steps that are due.
    pub(crate) fn turn(&mut self, now: Time, session: &mut Session, copy: &mut dyn Steps) {
        let is_alone = session.view().members().count() == 1;
        let Some(mut lockstep) = session.lockstep(now) else { return };
        let is_taken = lockstep.set_input(&copy.input());
        debug_assert!(is_taken.is_ok(), "the rules say this size");
        while let Some(request) = lockstep.poll_request() {
            self.carry_out(now, &mut lockstep, request, copy);
        }
        while let Some(event) = lockstep.poll_event() {
            match event {
                lockstep::Event::NoState => {
                    self.vain += 1;
                    // A member with the session's world may only be slow to tell. This copy is used when it is that
                    // world itself, or when nobody else can have it any more.
                    if is_alone || self.is_known() || self.vain >= VAIN_MAX {
                        lockstep.begin_anew();
                    }
                }
                lockstep::Event::Desync { frame, field, .. } => self.note_difference(now, frame, field),
                _ => {}
            }
        }
    }

    fn note_difference(&mut self, now: Time, frame: u64, field: Option<String>) {
        self.differed += 1;
        // A liar can tell of many.
        if self.told_at.is_none_or(|told| told + TELLS_EVERY <= now) {
            self.told_at = Some(now);
            let place = field.map_or_else(String::new, |field| format!(", first in {field:?}"));
            crate::log(&format!("samovar: the worlds of two members differ after step {frame}{place}"));
        }
    }

    fn carry_out(&mut self, now: Time, lockstep: &mut Lockstep<'_>, request: Request, copy: &mut dyn Steps) {
        match request {
            Request::Step(frame) => {
                let number = frame.number;
                let inputs = frame.inputs.into_iter().collect();
                copy.step(Turn { number, inputs, joined: frame.joined, left: frame.left });
                self.stepped = now;
                let saved = copy.save();
                lockstep.stepped(number, hash(&saved));
                self.keep(number, saved);
            }
            Request::Load { frame, state, .. } => {
                copy.load(&state);
                self.past.clear();
                self.keep(frame, copy.save());
            }
            Request::Save => {
                if let Err(error) = lockstep.answer_state(&copy.save()) {
                    crate::log(&format!("samovar: a newcomer cannot get the world: {error}"));
                }
            }
            Request::Fields { frame } => {
                let past = self.past.iter().find(|(past, _)| *past == frame);
                let fields = past.map(|(_, saved)| copy.fields(saved)).unwrap_or_default();
                lockstep.answer_fields(frame, hashes(fields));
            }
        }
    }

    fn keep(&mut self, frame: u64, saved: Vec<u8>) {
        self.vain = 0;
        if self.past.len() == KEPT {
            self.past.pop_front();
        }
        self.past.push_back((frame, saved));
    }
}

/// The hash of each field.
pub(crate) fn hashes(fields: Vec<(String, Vec<u8>)>) -> Vec<FieldHash> {
    let field = |(mut name, bytes): (String, Vec<u8>)| {
        name.truncate(name.floor_char_boundary(LOCKSTEP_FIELD_NAME_MAX));
        FieldHash { name, hash: hash(&bytes) }
    };
    fields.into_iter().take(LOCKSTEP_FIELDS_MAX).map(field).collect()
}

fn hash(bytes: &[u8]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = digest(&[bytes]);
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
