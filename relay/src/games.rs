//! The list of games that everybody may ask for, made a few times a second for whoever asks then.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use samovar_directory::GameInfo;
use serde::Serialize;

/// How old the list may be.
const AGE_MAX: Duration = Duration::from_millis(250);

/// The list, as `GET /api/games` shows it.
#[derive(Debug, Default)]
pub(crate) struct GameList(Mutex<Option<(Instant, Bytes)>>);

/// A game of it.
#[derive(Serialize)]
struct Listed {
    code: String,
    players: u8,
    capacity: u8,
    host: String,
    open: bool,
    /// As text: a number of JSON holds no 64 bits.
    params: String,
}

impl GameList {
    /// The list as JSON; of the games that `games` finds if the last one is too old.
    pub(crate) fn body(&self, now: Instant, games: impl FnOnce() -> Vec<GameInfo>) -> Bytes {
        // While one makes the list the others wait for it.
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((at, body)) if now < *at + AGE_MAX => body.clone(),
            _ => {
                let listed: Vec<Listed> = games().into_iter().map(Listed::from).collect();
                let body = serde_json::to_vec(&listed).expect("strings and numbers are JSON");
                made.insert((now, body.into())).1.clone()
            }
        }
    }
}

impl From<GameInfo> for Listed {
    fn from(game: GameInfo) -> Self {
        Self {
            code: game.code.to_string(),
            players: game.listing.players,
            capacity: game.listing.capacity,
            host: game.listing.host_name,
            open: game.listing.open,
            params: format!("{:016x}", game.params),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_made_once_in_a_while_however_many_ask() {
        let (list, start) = (GameList::default(), Instant::now());
        let mut made = 0;
        for n in 0..1_000 {
            let body = list.body(start + Duration::from_millis(n), || {
                made += 1;
                Vec::new()
            });
            assert_eq!(body, "[]");
        }
        assert_eq!(made, 4);
    }
}
