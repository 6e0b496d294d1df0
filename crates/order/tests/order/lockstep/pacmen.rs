//! The figure of docs/sources.md, "Pacman": on the first screen the blue pacman enters the red half and heads up past
//! the ghost; on the second the ghost is in the entrance and blocks it. Receive order allows that; lockstep does not.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use std::collections::BTreeMap;

use samovar_order::lockstep::LockstepConfig;
use samovar_wire::{PeerId, SeatId};

use crate::lockstep::world::{Net, World, peer};

const NET: Net = Net { way: 40_000, jitter: 5_000, loss: 20 };
const STAY: u8 = 0;
const RIGHT: u8 = 1;
const UP: u8 = 2;
const DOWN: u8 = 3;

/// A corridor to the entrance at (3, 0), with the red half above it. No piece enters an occupied place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Maze {
    places: BTreeMap<SeatId, (i32, i32)>,
}

const BLUE_PACMAN: SeatId = SeatId(2);
const RED_GHOST: SeatId = SeatId(3);

impl Maze {
    fn new() -> Self {
        let places = [(SeatId(1), (0, 5)), (BLUE_PACMAN, (2, 0)), (RED_GHOST, (3, 1)), (SeatId(4), (9, 9))];
        Self { places: places.into() }
    }

    fn go(&mut self, seat: SeatId, way: u8) {
        let Some(&(x, y)) = self.places.get(&seat) else { return };
        let to = match way {
            RIGHT => (x + 1, y),
            UP => (x, y + 1),
            DOWN => (x, y - 1),
            _ => return,
        };
        let is_corridor = (0..=3).contains(&to.0) && to.1 == 0 || to.0 == 3 && (0..=6).contains(&to.1);
        if is_corridor && self.places.values().all(|place| *place != to) {
            self.places.insert(seat, to);
        }
    }
}

/// At the same moment the pacman is told to go right and the ghost to go down.
const PRESSES: [(SeatId, u8); 2] = [(BLUE_PACMAN, RIGHT), (RED_GHOST, DOWN)];

#[test]
fn by_the_order_of_receipt_two_screens_show_different_mazes() {
    let screen = |of: SeatId| {
        let mut maze = Maze::new();
        // A player's own key counts at once, the other's when it has come.
        let mut received = PRESSES;
        received.sort_by_key(|(seat, _)| *seat != of);
        received.into_iter().for_each(|(seat, way)| maze.go(seat, way));
        maze
    };
    let (first, second) = (screen(BLUE_PACMAN), screen(RED_GHOST));
    assert_eq!(first.places[&BLUE_PACMAN], (3, 0), "the pacman entered");
    assert_eq!(second.places[&BLUE_PACMAN], (2, 0), "the ghost blocks the entrance");
    assert_ne!(first, second);
}

#[test]
fn in_lockstep_all_screens_show_the_same_maze_in_every_frame() {
    for seed in 0..20 {
        let mut world = World::with_players(seed, NET, LockstepConfig::new(1), 4);
        world.fidgets = 0;
        world.run(1_000);
        let press = |world: &mut World, (seat, way): (SeatId, u8)| {
            let node = world.nodes.get_mut(&PeerId(u32::from(seat.0))).unwrap();
            node.lockstep.set_input(&[way]).unwrap();
        };
        PRESSES.into_iter().for_each(|pressed| press(&mut world, pressed));
        world.run(17);
        [BLUE_PACMAN, RED_GHOST].into_iter().for_each(|seat| press(&mut world, (seat, STAY)));
        world.run(1_000);
        world.assert_alike();
        let mut screens: BTreeMap<u64, Maze> = BTreeMap::new();
        for id in (1..=4).map(peer) {
            let node = &world.nodes[&id];
            let mut maze = Maze::new();
            for (_, frame) in &node.stepped {
                frame.inputs.iter().for_each(|(&seat, input)| maze.go(seat, input[0]));
                assert_eq!(screens.entry(frame.number).or_insert_with(|| maze.clone()), &maze);
            }
            assert_ne!(maze, Maze::new(), "the pieces moved");
        }
    }
}
