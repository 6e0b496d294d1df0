//! The public list of games. It is always short: the referee's tables come first, the others in an order that no host
//! can influence, and few from one address.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Instant;

use axum::body::Bytes;
use samovar_directory::{GameInfo, Origin};
use samovar_wire::name;
use serde::Serialize;

use crate::fresh::Fresh;

/// The most games on the list.
const GAMES_MAX: usize = 100;
/// The most games on the list whose hosts have the same address.
const ORIGIN_MAX: usize = 4;

/// The list in the form of `GET /api/games`.
#[derive(Debug, Default)]
pub(crate) struct GameList {
    body: Fresh,
    /// The random key of the list's order, fixed while the relay runs.
    order: RandomState,
}

/// A game with its host's listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) info: GameInfo,
    /// Whether the relay's own referee hosts the game.
    pub(crate) is_own: bool,
    /// The origin of the host's address; `None` if that address has no limits.
    pub(crate) origin: Option<Origin>,
}

impl Shown {
    /// The game. If a host other than the relay uses the relay's name, that name is replaced.
    fn unmasked(self) -> GameInfo {
        let Self { is_own, mut info, .. } = self;
        if !is_own && name::is_relays(&info.listing.host_name) {
            name::NOT_RELAY.clone_into(&mut info.listing.host_name);
        }
        info
    }
}

/// An entry of the list.
#[derive(Serialize)]
struct Listed {
    code: String,
    players: u8,
    capacity: u8,
    host: String,
    title: String,
    open: bool,
    /// The parameters as text, because a JSON number does not hold 64 bits.
    params: String,
}

impl GameList {
    /// The list as JSON, from `games` if the last one is too old.
    pub(crate) fn body(&self, now: Instant, games: impl FnOnce() -> Vec<Shown>) -> Bytes {
        self.body.get(now, || {
            let listed: Vec<Listed> = self.choose(games()).into_iter().map(Listed::from).collect();
            serde_json::to_vec(&listed).expect("strings and numbers are JSON").into()
        })
    }

    fn choose(&self, mut games: Vec<Shown>) -> Vec<GameInfo> {
        games.sort_by_cached_key(|game| (!game.is_own, self.order.hash_one(&game.info.code)));
        let mut counts = HashMap::<Origin, usize>::new();
        games.retain(|game| {
            let Some(origin) = game.origin else { return true };
            let count = counts.entry(origin).or_default();
            *count += 1;
            *count <= ORIGIN_MAX
        });
        games.into_iter().take(GAMES_MAX).map(Shown::unmasked).collect()
    }
}

impl From<GameInfo> for Listed {
    fn from(game: GameInfo) -> Self {
        Self {
            code: game.code.to_string(),
            players: game.listing.players,
            capacity: game.listing.capacity,
            host: game.listing.host_name,
            title: game.listing.title,
            open: game.listing.open,
            params: format!("{:016x}", game.params),
        }
    }
}

#[cfg(test)]
mod tests {
    use samovar_wire::GameCode;
    use samovar_wire::relay::Listing;

    use super::*;

    fn shown(code: &str, is_own: bool, origin: Option<u64>) -> Shown {
        let code = GameCode::parse(code).expect("a code");
        let (title, host_name) = (String::new(), String::new());
        let listing = Listing { players: 1, capacity: 8, open: true, public: true, title, host_name };
        let info = GameInfo { code, listing, params: 0, host: None };
        Shown { info, is_own, origin: origin.map(Origin) }
    }

    #[test]
    fn the_list_is_short_and_the_referees_tables_come_first() {
        let list = GameList::default();
        let mut games: Vec<_> =
            (0..1_000).map(|n| shown(&format!("A{}", 1_000 + n), false, Some(n))).collect();
        games.push(shown("ZULU", true, None));
        let codes = |games: Vec<Shown>| {
            list.choose(games).into_iter().map(|info| info.code.to_string()).collect::<Vec<_>>()
        };
        let chosen = codes(games.clone());
        assert_eq!((chosen.len(), chosen[0].as_str()), (GAMES_MAX, "ZULU"));
        let mut sorted = chosen[1..].to_vec();
        sorted.sort();
        assert_ne!(chosen[1..], sorted, "not by a code that its founder chose");
        games.reverse();
        assert_eq!(codes(games), chosen, "it does not change while somebody reads it");
    }

    #[test]
    fn only_the_relays_own_games_show_its_name() {
        let list = GameList::default();
        let named = |code, is_own| {
            let mut game = shown(code, is_own, None);
            game.info.listing.host_name = "the  Relay".to_owned();
            game
        };
        let names = |game| list.choose(vec![game]).remove(0).listing.host_name;
        assert_eq!(names(named("TEA", true)), "the  Relay");
        assert_eq!(names(named("TEA", false)), name::NOT_RELAY);
    }

    #[test]
    fn few_games_of_one_address_are_listed() {
        let list = GameList::default();
        let mut games: Vec<_> = (0..500).map(|n| shown(&format!("A{}", 1_000 + n), false, Some(7))).collect();
        games.push(shown("HONEST", false, Some(8)));
        let chosen = list.choose(games);
        assert_eq!(chosen.len(), ORIGIN_MAX + 1);
        assert!(chosen.iter().any(|info| info.code.to_string() == "HONEST"));
    }
}
