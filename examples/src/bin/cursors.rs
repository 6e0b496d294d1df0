//! Cursors that circle, a chat, and a score that the host keeps.

use samovar::prelude::*;

#[derive(Object)]
struct Cursor {
    #[field(range = 100.0, precision = 0.01, smooth)]
    position: [f32; 2],
}
#[derive(Message)]
struct Chat(#[field(bound = 200)] String);

samovar::game! {
    Cursors: name = "cursors", version = 1,
    objects = (Cursor), state = u32, messages = Chat, asks = ()
}

struct Cursors(Id<Cursor>);

impl Game for Cursors {
    fn frame(&mut self, room: &mut Room<'_, Self>, time: f64) {
        let (y, x) = (time as f32).sin_cos();
        room.edit(self.0, |it| it.position = [50.0 * x, 50.0 * y]).or_log();
        if room.every(0.5) {
            room.ask(()).or_log();
            room.tell(To::All, Chat("hello".into())).or_log();
            for cursor in room.all::<Cursor>() {
                println!("{}: {:?}", cursor.owner.name, cursor.position);
            }
            println!("score {}", room.state());
        }
    }

    fn decide(host: &mut Hosting<'_, '_, Self>, _: &Member, _: ()) {
        *host.state += 1;
    }

    fn message(&mut self, _: &mut Room<'_, Self>, by: &Member, said: Chat) {
        println!("<{}> {}", by.name, said.0);
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let [url, code, name] = samovar::args(["URL", "CODE", "NAME"])?;
    samovar::join_or_create(&url, &code, &name)
        .seat_file(format!("{name}.seat"))
        .on_status(|status| println!("{status}"))
        .run(|room| Cursors(room.own_or(|_| Cursor { position: [0.0; 2] })))
        .await
}
