//! A chat that loses no line: what a member says is an ask, and the log is the
//! host's state. Each line is there once, in the same order for everybody, and
//! who comes late reads the last ones. `/leave` leaves.

use std::io::BufRead;
use std::sync::{Arc, Mutex, mpsc};

use samovar::prelude::*;

/// Lines that the host keeps.
const LINES: u32 = 8;

#[derive(Value, Clone, Default)]
struct Line {
    #[field(bound = 40)]
    by: String,
    #[field(bound = 200)]
    text: String,
}

/// The last lines: a new one takes the place of the oldest.
#[derive(Value, Clone, Default)]
struct Log {
    said: u32,
    even: [Line; 4],
    odd: [Line; 4],
}

#[derive(Message)]
struct Say(#[field(bound = 200)] String);

samovar::game! { Chat: name = "chat", version = 1, state = Log, asks = Say }

/// The terminal. It goes on when the game begins anew.
struct Terminal {
    typed: mpsc::Receiver<String>,
    shown: u32,
}

struct Chat(Arc<Mutex<Terminal>>);

impl Log {
    fn line(&mut self, number: u32) -> &mut Line {
        let place = (number / 2 % 4) as usize;
        if number.is_multiple_of(2) {
            &mut self.even[place]
        } else {
            &mut self.odd[place]
        }
    }
}

impl Game for Chat {
    fn frame(&mut self, room: &mut Room<'_, Self>, _: f64) {
        let Ok(mut terminal) = self.0.lock() else { return };
        for text in terminal.typed.try_iter() {
            match &*text {
                "/leave" => room.leave(),
                _ => _ = room.ask(Say(text)).or_log(),
            }
        }
        let mut log = room.state().clone();
        let first = terminal.shown.max(log.said.saturating_sub(LINES));
        for number in first..log.said {
            let Line { by, text } = log.line(number);
            println!("<{by}> {text}");
        }
        terminal.shown = log.said;
    }

    fn decide(host: &mut Hosting<'_, '_, Self>, from: &Member, ask: Say) {
        let number = host.state.said;
        *host.state.line(number) = Line { by: from.name.clone(), text: ask.0 };
        host.state.said += 1;
    }

    fn member(&mut self, _: &mut Room<'_, Self>, who: &Member, what: Change) {
        println!("{} {what}", who.name);
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let [url, code, name] = samovar::args(["URL", "CODE", "NAME"])?;
    let (to_game, typed) = mpsc::channel();
    let terminal = Arc::new(Mutex::new(Terminal { typed, shown: 0 }));
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().map_while(Result::ok);
        lines.take_while(|line| to_game.send(line.clone()).is_ok()).count()
    });
    samovar::join_or_create(&url, &code, &name)
        .on_status(|status| println!("{status}"))
        .run(move |_| Chat(Arc::clone(&terminal)))
        .await
}
