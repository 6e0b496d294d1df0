//! Pong in lockstep: the table is no object of a host, but computed by all
//! members alike. Robots hold the paddles, and those who come third watch.

use samovar::prelude::*;

/// The table in units: the ball is a point, the paddles are 40 high.
const WIDTH: i32 = 300;
const HEIGHT: i32 = 200;
const PADDLE: u16 = 20;

#[derive(Value, Clone, Debug, PartialEq)]
struct Table {
    ball: [i16; 2],
    speed: [i16; 2],
    /// The middles of the paddles, the players that hold them, their points.
    paddles: [i16; 2],
    seats: [Option<u16>; 2],
    points: [u16; 2],
    random: u64,
    steps: u32,
}

/// A player's wish for its paddle.
#[derive(Message, Clone, Copy, Debug, Default, PartialEq)]
enum Hand {
    #[default]
    Rest,
    Up,
    Down,
}

samovar::game! { Pong: name = "pong", version = 1, world = Table }

struct Pong;

impl Table {
    /// The next random number, the same for all members.
    fn draw(&mut self, below: u64) -> i16 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) % below) as i16
    }

    fn serve(&mut self, to: usize) {
        let slope = self.draw(7) - 3;
        self.ball = [(WIDTH / 2) as i16, (HEIGHT / 2) as i16];
        self.speed = [if to == 0 { -5 } else { 5 }, slope];
    }

    fn fly(&mut self) {
        // A host that lies gives a newcomer any table.
        let [x, y] =
            [0, 1].map(|axis| self.ball[axis].saturating_add(self.speed[axis]));
        let bounces = y < 0 || i32::from(y) > HEIGHT;
        self.ball = [x, y.clamp(0, HEIGHT as i16)];
        if bounces {
            self.speed[1] = self.speed[1].saturating_neg();
        }
        let side = usize::from(self.speed[0] > 0);
        if (0..=WIDTH).contains(&i32::from(x)) {
            return;
        }
        let miss = self.ball[1].abs_diff(self.paddles[side]);
        if miss <= PADDLE {
            self.ball[0] = x.clamp(0, WIDTH as i16);
            self.speed = [self.speed[0].saturating_neg(), self.draw(7) - 3];
        } else {
            self.points[1 - side] = self.points[1 - side].saturating_add(1);
            self.serve(side);
        }
    }
}

impl World for Table {
    type Input = Hand;
    const STEPS_PER_SECOND: u32 = 60;

    fn begin(seed: u64) -> Self {
        let mut table = Self {
            ball: [0; 2],
            speed: [0; 2],
            paddles: [(HEIGHT / 2) as i16; 2],
            seats: [None; 2],
            points: [0; 2],
            random: seed,
            steps: 0,
        };
        table.serve(0);
        table
    }

    fn step(&mut self, turn: &Turn<Hand>) {
        self.steps = self.steps.wrapping_add(1);
        for seat in &mut self.seats {
            // A paddle is free when its player has gone.
            *seat = seat.filter(|seat| !turn.left.contains(&SeatId(*seat)));
        }
        for &(SeatId(seat), hand) in &turn.inputs {
            if !self.seats.contains(&Some(seat)) {
                let free = self.seats.iter_mut().find(|seat| seat.is_none());
                free.into_iter().for_each(|free| *free = Some(seat));
            }
            let held = self.seats.iter().position(|held| *held == Some(seat));
            if let Some(side) = held {
                let step = [0, -4, 4][hand as usize];
                let moved = i32::from(self.paddles[side]) + step;
                self.paddles[side] = moved.clamp(0, HEIGHT) as i16;
            }
        }
        if !self.seats.contains(&None) {
            self.fly();
        }
    }
}

impl Game for Pong {
    const FRAMES_PER_SECOND: f64 = 60.0;

    fn frame(&mut self, room: &mut Room<'_, Self>, _: f64) {
        let Some(me) = room.me() else { return };
        let table = room.world().clone();
        if let Some(side) =
            table.seats.iter().position(|s| *s == Some(me.seat.0))
        {
            let off = table.ball[1].saturating_sub(table.paddles[side]);
            room.set_input(match off {
                -8..=8 => Hand::Rest,
                ..-8 => Hand::Up,
                9.. => Hand::Down,
            });
        }
        if room.every(0.25) {
            let Table { steps, points: [left, right], .. } = table;
            let differed = room.world_differed();
            println!("step {steps}: {left} to {right}, differed {differed}");
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let [url, code, name] = samovar::args(["URL", "CODE", "NAME"])?;
    let entry = samovar::join_or_create(&url, &code, &name);
    entry.on_status(|status| println!("{status}")).run(|_| Pong).await
}
