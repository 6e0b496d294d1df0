//! Browsers that other tests of this process have finished with.

use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message};

use super::Patience;
use super::program::Program;

/// The most spare browsers: those of two tests that run at once.
const MAX_SPARE: usize = 6;

/// The longest time for closing a profile. After that the browser is killed.
const CLOSE_WITHIN: Duration = Duration::from_secs(10);

static SPARE: Mutex<Vec<Program>> = Mutex::new(Vec::new());

/// Takes a spare browser that treats hidden pages in this way, if there is one.
pub(super) fn take(patience: Patience) -> Option<Program> {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    while let Some(index) = spare.iter().rposition(|each| each.patience == patience) {
        let mut program = spare.swap_remove(index);
        if program.process.ended().is_none() {
            return Some(program);
        }
    }
    None
}

/// Closes the profile and keeps the program for other tests. A program that does not answer is killed. The caller
/// does not wait, because its runtime may end.
pub(super) fn give_back(program: Program, context: String) {
    std::thread::spawn(move || {
        if close(&program, &context).is_ok() {
            let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
            if spare.len() < MAX_SPARE {
                spare.push(program);
            }
        }
    });
}

/// Closes a profile, with all its tabs.
fn close(program: &Program, context: &str) -> Result<(), Box<dyn std::error::Error>> {
    let address = format!("127.0.0.1:{}", program.port);
    let stream = TcpStream::connect(&address)?;
    stream.set_read_timeout(Some(CLOSE_WITHIN))?;
    let (mut socket, _) = tungstenite::client(format!("ws://{address}{}", program.path), stream)?;
    let params = json!({ "browserContextId": context });
    let command = json!({ "id": 1, "method": "Target.disposeBrowserContext", "params": params });
    socket.send(Message::text(command.to_string()))?;
    loop {
        let Message::Text(text) = socket.read()? else { continue };
        let answer: Value = serde_json::from_str(&text)?;
        if answer["id"] == 1 {
            return answer.get("error").map_or(Ok(()), |error| Err(error.to_string().into()));
        }
    }
}
