//! Each player asks the host 200 times for a point. Each player who stays has
//! 200 points in the end, however many hosts are lost meanwhile.

use samovar::prelude::*;

const ASKS: u32 = 200;

#[derive(Value, Clone, Default)]
struct Tally {
    #[field(bound = 16)]
    points: Vec<(u16, u16)>,
}

struct Player {
    asked: u32,
}

samovar::game! { Player: name = "tally", version = 1, state = Tally, asks = () }

impl Game for Player {
    fn frame(&mut self, room: &mut Room<'_, Self>, _: f64) {
        if self.asked < ASKS && room.every(0.05) && room.ask(()).is_ok() {
            self.asked += 1;
        }
        let (true, Some(me)) = (room.every(0.25), room.me()) else {
            return;
        };
        let points = &room.state().points;
        let mine = points.iter().find(|each| each.0 == me.seat.0);
        let mine = mine.map_or(0, |each| each.1);
        let total: u32 = points.iter().map(|each| u32::from(each.1)).sum();
        println!("{} asked, {mine} points, {total} of all", self.asked);
    }

    fn decide(host: &mut Hosting<'_, '_, Self>, from: &Member, _: ()) {
        let points = &mut host.state.points;
        match points.iter_mut().find(|each| each.0 == from.seat.0) {
            Some(mine) => mine.1 += 1,
            None => points.push((from.seat.0, 1)),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let [url, code, name] = samovar::args(["URL", "CODE", "NAME"])?;
    let entry = samovar::join_or_create(&url, &code, &name);
    entry
        .on_status(|status| println!("{status}"))
        .run(|_| Player { asked: 0 })
        .await
}
