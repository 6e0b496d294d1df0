//! A chat that loses no line. A member asks the host to add its line to the
//! log, which is the host's state. Each line appears once, in the same order
//! for all members, and a newcomer reads the last ones. `/leave` leaves. The
//! program has a loop of its own.

use std::io::BufRead;
use std::sync::mpsc;
use std::time::Duration;

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

/// The last lines. A new line takes the place of the oldest.
#[derive(Value, Clone, Default)]
struct Log {
    said: u32,
    even: [Line; 4],
    odd: [Line; 4],
}

#[derive(Message)]
struct Say(#[field(bound = 200)] String);

samovar::game! { Chat: name = "chat", version = 1, state = Log, asks = Say }

struct Chat;

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
    fn decide(host: &mut Hosting<'_, '_, Self>, from: &Member, ask: Say) {
        let number = host.state.said;
        *host.state.line(number) = Line { by: from.name.clone(), text: ask.0 };
        host.state.said += 1;
    }

    fn member(&mut self, _: &mut Room<'_, Self>, who: &Member, what: Change) {
        // The status already tells of a new host.
        if what != Change::Hosts {
            println!("{} {what}", who.name);
        }
    }
}

fn main() -> Result<(), Error> {
    let [url, code, name] = samovar::args(["URL", "CODE", "NAME"])?;
    let (to_loop, typed) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().map_while(Result::ok);
        lines.take_while(|line| to_loop.send(line.clone()).is_ok()).count()
    });
    let mut chat = samovar::join_or_create(&url, &code, &name)
        .on_status(|status| println!("{status}"))
        .start(|_| Chat)?;
    let mut shown = 0;
    while chat.end().is_none() {
        chat.with(|_, room| {
            for text in typed.try_iter() {
                match &*text {
                    "/leave" => room.leave(),
                    _ => _ = room.ask(Say(text)).or_log(),
                }
            }
            let mut log = room.state().clone();
            for number in shown.max(log.said.saturating_sub(LINES))..log.said {
                let Line { by, text } = log.line(number);
                println!("<{by}> {text}");
            }
            shown = log.said;
        });
        std::thread::sleep(Duration::from_millis(20));
    }
    chat.end().unwrap_or(Ok(()))
}
