//! The inputs of the lockstep bench, sent by ggrs: peer to peer with rollback. ggrs reads the machine's own clock, so
//! the bench runs in real time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ggrs::{
    Config, GgrsRequest, Message, NonBlockingSocket, PlayerType, PredictRepeatLast, SessionBuilder,
    SessionState,
};

use crate::rng::Rng;

pub(super) const NAME: &str = "ggrs 0.13.0";

const SECONDS: u64 = 10;
const WAY: Duration = Duration::from_millis(50);

#[derive(Debug)]
struct Game;

impl Config for Game {
    type Input = u8;
    type InputPredictor = PredictRepeatLast;
    type State = u64;
    type Address = usize;
}

/// Messages on their way: the time of arrival, the sender, the receiver, and the message.
#[derive(Default)]
struct Wire {
    flying: VecDeque<(Instant, usize, usize, Message)>,
    bytes: u64,
    packets: u64,
}

struct Socket(usize, Rc<RefCell<Wire>>);

impl NonBlockingSocket<usize> for Socket {
    fn send_to(&mut self, message: &Message, to: &usize) {
        let mut wire = self.1.borrow_mut();
        // This is the size in which ggrs's own socket would send it.
        wire.bytes += bincode::serialized_size(message).expect("its own socket does so");
        wire.packets += 1;
        wire.flying.push_back((Instant::now() + WAY, self.0, *to, message.clone()));
    }

    fn receive_all_messages(&mut self) -> Vec<(usize, Message)> {
        let (now, me) = (Instant::now(), self.0);
        let mut wire = self.1.borrow_mut();
        let (due, later): (VecDeque<_>, _) = std::mem::take(&mut wire.flying)
            .into_iter()
            .partition(|flying| flying.2 == me && flying.0 <= now);
        wire.flying = later;
        due.into_iter().map(|(_, from, _, message)| (from, message)).collect()
    }
}

/// Plays a game. Returns bytes and packets a second from one player to another.
pub(super) fn run(players: usize, changes: u64) -> (f64, f64) {
    let wire = Rc::new(RefCell::new(Wire::default()));
    let mut sessions: Vec<_> = (0..players)
        .map(|me| {
            let mut builder = SessionBuilder::<Game>::new().with_num_players(players).expect("a few");
            builder = builder.with_input_delay(2).with_fps(60).expect("sixty");
            for player in 0..players {
                let kind = if player == me { PlayerType::Local } else { PlayerType::Remote(player) };
                builder = builder.add_player(kind, player).expect("each once");
            }
            builder.start_p2p_session(Socket(me, Rc::clone(&wire))).expect("all players are there")
        })
        .collect();
    while sessions.iter().any(|session| session.current_state() != SessionState::Running) {
        sessions.iter_mut().for_each(ggrs::P2PSession::poll_remote_clients);
        std::thread::sleep(Duration::from_millis(1));
    }
    let (mut rng, mut inputs) = (Rng::new(1, 2), vec![0_u8; players]);
    let mut play = |frames: u64| {
        let began = Instant::now();
        for frame in 0..frames {
            for (me, session) in sessions.iter_mut().enumerate() {
                session.poll_remote_clients();
                session.events().for_each(drop);
                if frame.is_multiple_of(changes) {
                    inputs[me] = rng.next_u64() as u8;
                }
                session.add_local_input(me, inputs[me]).expect("it is the local one");
                // When other players are too far behind, ggrs returns an error, and this player waits.
                let requests = session.advance_frame().unwrap_or_default();
                for request in requests {
                    if let GgrsRequest::SaveGameState { cell, frame } = request {
                        cell.save(frame, Some(0), Some(0));
                    }
                }
            }
            let next = Duration::from_micros(16_667) * (frame as u32 + 1);
            std::thread::sleep(next.saturating_sub(began.elapsed()));
        }
    };
    play(120);
    {
        let mut wire = wire.borrow_mut();
        (wire.bytes, wire.packets) = (0, 0);
    }
    play(60 * SECONDS);
    let ways = (players * (players - 1)) as f64 * SECONDS as f64;
    let wire = wire.borrow();
    (wire.bytes as f64 / ways, wire.packets as f64 / ways)
}
