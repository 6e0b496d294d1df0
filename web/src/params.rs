//! The parameters of the address:
//! `?game=CODE&name=N&new=CODE&mode=duel|maze&table=tea|banquet&robots=K&points=N` and
//! `&minutes=T&bowls=S&path=auto|direct|relayed&by=host&ends=host&split=wait&low&stats&colour=C`.
//!
//! Strangers write the address. The page ignores and reports a parameter that it does not know. A known parameter with
//! a value that the page cannot understand is a [`Problem`]: a guess could start a game that was not meant.

use samovar_duel::arena::Table;
use samovar_duel::course::Stakes;
pub use samovar_duel::mode::Mode;
use samovar_wire::name;

use crate::page::name::{CODE_LENGTH, clean_code, excerpt};
use crate::page::palette::parse_colour;
use crate::page::problem::Problem;

/// The most robots that a new game starts with.
pub const ROBOTS_MAX: u8 = 3;

/// The most parameters that the page looks at; it cuts a longer address, so that reading it is bounded work.
const PAIRS_MAX: usize = 32;

const CODE_EXPECTED: &str = "a code of 3 to 12 letters, digits or hyphens";

/// The start of a visit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Entry {
    /// The visit starts with the list of games.
    #[default]
    Lobby,
    /// The visit starts in the game with this code (`game=CODE`).
    Join(String),
    /// The visit starts in a new game, under this code (`new=CODE`) or under one that the relay chooses (`new` or
    /// `new=`).
    Create(Option<String>),
}

/// The paths that packets may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PathChoice {
    /// Relayed first, direct when a direct link is up.
    #[default]
    Auto,
    /// Direct links only.
    Direct,
    /// Through the relay only.
    Relayed,
    /// Client-server: direct links only with the host and its backups, which carry all other packets.
    ByHost,
}

/// How a new game survives the loss of its host, or of its network. Those who join take this over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Survival {
    /// Whether the game ends with its host, instead of going on under another one.
    pub ends_with_host: bool,
    /// Whether a side of a split network waits if it has neither the relay nor a majority, instead of playing on.
    pub is_strict: bool,
}

/// The choices of a player who sets a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewGame {
    /// The game to play.
    pub mode: Mode,
    /// The table of a duel.
    pub table: Table,
    /// Robots in the game, 0 to [`ROBOTS_MAX`]; a maze has a robot in each place that no player takes.
    pub robots: u8,
    /// How the game survives.
    pub survival: Survival,
}

/// The meaning of the address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params {
    /// Where to start.
    pub entry: Entry,
    /// The player's name, cleaned; `None` when the address gives no name, or one without a visible character.
    pub name: Option<String>,
    /// Index into the palette.
    pub colour: Option<u8>,
    /// The game. For a game with a code this is a guess, since the game itself decides.
    pub mode: Mode,
    /// Robots in a new game, 0 to [`ROBOTS_MAX`].
    pub robots: Option<u8>,
    /// The goal of a new duel.
    pub stakes: Stakes,
    /// How a new game survives.
    pub survival: Survival,
    /// The paths that packets may take.
    pub path: PathChoice,
    /// Whether to draw less: no shadows, fewer pixels.
    pub low: bool,
    /// Whether to show the ages of others' data in the session box.
    pub stats: bool,
    /// Ignored parameters, in words for the console and `status().errors`; printable, at most one line per parameter.
    pub warnings: Vec<String>,
    /// The token of the game's own server, which stands behind `#token=`: no server and no other page gets that part.
    pub token: Option<String>,
    /// The first value that cannot be understood; show it instead of starting.
    pub problem: Option<Problem>,
}

impl Params {
    /// Reads a query, with or without its leading '?'.
    pub fn parse(query: &str) -> Self {
        let mut params = Self::default();
        let mut seen: Vec<String> = Vec::new();
        let query = query.strip_prefix('?').unwrap_or(query);
        for (count, (key, value)) in form_urlencoded::parse(query.as_bytes()).enumerate() {
            if count == PAIRS_MAX {
                params
                    .warnings
                    .push(format!("only the first {PAIRS_MAX} parameters of the address were read"));
                break;
            }
            if seen.iter().any(|earlier| *earlier == key) {
                params.warnings.push(format!("repeated parameter ignored: {}", excerpt(&key)));
                continue;
            }
            params.take(&key, &value);
            seen.push(key.into_owned());
        }
        params
    }

    fn take(&mut self, key: &str, value: &str) {
        match key {
            "game" | "new" => self.take_entry(key, value),
            // The page tidies and cuts a name but never refuses it, since a player can play under any name.
            "name" => self.name = Some(name::tidy(value)).filter(|name| name::has_ink(name)),
            "colour" | "color" => match parse_colour(value) {
                Some(colour) => self.colour = Some(colour),
                None => self.refuse("colour", value, "a number from 0 to 7 or the name of a colour"),
            },
            "robots" => match value.parse() {
                Ok(robots) if robots <= ROBOTS_MAX => self.robots = Some(robots),
                _ => self.refuse("robots", value, "a number from 0 to 3"),
            },
            "points" => match number(value, 999) {
                Some(points) => self.stakes.points = points,
                None => self.refuse("points", value, "a number from 0 to 999"),
            },
            "minutes" => match number(value, 60) {
                Some(minutes) => self.stakes.seconds = 60 * minutes,
                None => self.refuse("minutes", value, "a number from 0 to 60"),
            },
            "bowls" => match number(value, 600) {
                Some(seconds) => self.stakes.bowl_seconds = seconds,
                None => self.refuse("bowls", value, "a number of seconds from 0 to 600"),
            },
            "mode" => match Mode::parse(value) {
                Some(mode) => self.mode = mode,
                None => self.refuse("mode", value, "duel or maze"),
            },
            "table" => match Table::parse(value) {
                Some(table) => self.stakes.table = table,
                None => self.refuse("table", value, "tea or banquet"),
            },
            "by" => match value {
                "host" => self.path = PathChoice::ByHost,
                _ => self.refuse("by", value, "host"),
            },
            "ends" => match value {
                "host" => self.survival.ends_with_host = true,
                _ => self.refuse("ends", value, "host"),
            },
            "split" => match value {
                "wait" => self.survival.is_strict = true,
                _ => self.refuse("split", value, "wait"),
            },
            "path" => match value {
                "auto" => self.path = PathChoice::Auto,
                "direct" => self.path = PathChoice::Direct,
                "relayed" => self.path = PathChoice::Relayed,
                _ => self.refuse("path", value, "auto, direct or relayed"),
            },
            "low" => match flag(value) {
                Some(low) => self.low = low,
                None => self.refuse("low", value, "left empty"),
            },
            "stats" => match flag(value) {
                Some(stats) => self.stats = stats,
                None => self.refuse("stats", value, "left empty"),
            },
            _ => self.warnings.push(format!("unknown parameter ignored: {}", excerpt(key))),
        }
    }

    fn take_entry(&mut self, key: &str, value: &str) {
        let joins = key == "game";
        if self.entry != Entry::Lobby {
            let name = if joins { "game" } else { "new" };
            self.refuse(name, value, "left out, because “game” and “new” exclude each other");
            return;
        }
        match clean_code(value) {
            Some(code) => self.entry = if joins { Entry::Join(code) } else { Entry::Create(Some(code)) },
            None if !joins && value.is_empty() => self.entry = Entry::Create(None),
            None => self.refuse(if joins { "game" } else { "new" }, value, CODE_EXPECTED),
        }
    }

    fn refuse(&mut self, name: &'static str, value: &str, expected: &'static str) {
        let value = excerpt(value);
        self.warnings.push(format!("parameter {name}={value} not understood; it should be {expected}"));
        self.problem.get_or_insert(Problem::BadParameter { name, value, expected });
    }
}

/// Whether a parameter is set.
fn flag(value: &str) -> Option<bool> {
    match value {
        "" | "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

/// A number from 0 to `most`.
fn number(value: &str, most: u16) -> Option<u16> {
    value.parse().ok().filter(|number| *number <= most)
}

/// Reads a code that a person typed. The error explains which texts are codes.
///
/// # Errors
/// The text is no code.
pub fn typed_code(raw: &str) -> Result<String, String> {
    clean_code(raw).ok_or_else(|| {
        format!("A code has {} to {} letters, digits or hyphens.", CODE_LENGTH.start(), CODE_LENGTH.end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_address_starts_in_the_lobby() {
        assert_eq!(Params::parse(""), Params::default());
        assert_eq!(Params::parse("?"), Params::default());
    }

    #[test]
    fn joining_link_is_understood() {
        let params = Params::parse("?game=tea-42&name=Ann%20B&path=relayed&colour=cherry&low&stats&robots=3");
        assert_eq!(params.entry, Entry::Join("TEA-42".to_owned()));
        assert_eq!(params.name.as_deref(), Some("Ann B"));
        assert_eq!((params.path, params.colour, params.low), (PathChoice::Relayed, Some(1), true));
        assert_eq!((params.robots, params.mode, params.stats), (Some(3), Mode::Duel, true));
        assert_eq!(Params::parse("game=CUP&mode=maze").mode, Mode::Maze);
        assert_eq!(params.stakes, Stakes::default());
        assert_eq!(params.survival, Survival::default());
        let survival = Params::parse("new=CUP&ends=host&split=wait").survival;
        assert_eq!(survival, Survival { ends_with_host: true, is_strict: true });
        let stakes = Params::parse("new=CUP&points=3&minutes=2&bowls=0&table=banquet").stakes;
        assert_eq!(stakes, Stakes { points: 3, seconds: 120, bowl_seconds: 0, table: Table::Banquet });
        assert_eq!((params.warnings.len(), params.problem), (0, None));
    }

    #[test]
    fn new_games_may_leave_the_code_to_the_relay() {
        assert_eq!(Params::parse("new=CUP").entry, Entry::Create(Some("CUP".to_owned())));
        assert_eq!(Params::parse("new").entry, Entry::Create(None));
        assert_eq!(Params::parse("new=").entry, Entry::Create(None));
    }

    #[test]
    fn unknown_parameters_are_ignored_and_reported() {
        let params = Params::parse("utm_source=x&<script>=1&game=CUP");
        assert_eq!(params.entry, Entry::Join("CUP".to_owned()));
        assert_eq!(params.problem, None);
        assert_eq!(params.warnings.len(), 2);
    }

    #[test]
    fn bad_values_give_a_problem_and_a_warning() {
        for bad in [
            "game=",
            "game=a",
            "game=a%2Fb",
            "new=%3Cb%3E",
            "robots=4",
            "robots=-1",
            "robots=x",
            "path=up",
            "mode=chess",
            "ends=never",
            "split=",
            "points=1000",
            "minutes=61",
            "bowls=-1",
            "colour=9",
            "low=maybe",
            "stats=all",
            "game=CUP&new=CUP",
        ] {
            let params = Params::parse(bad);
            assert!(matches!(params.problem, Some(Problem::BadParameter { .. })), "{bad}");
            assert_eq!(params.warnings.len(), 1, "{bad}");
        }
    }

    #[test]
    fn first_of_repeated_parameters_counts() {
        let params = Params::parse("game=ONE&game=TWO&robots=1&robots=2");
        assert_eq!(params.entry, Entry::Join("ONE".to_owned()));
        assert_eq!(params.robots, Some(1));
        assert_eq!(params.warnings.len(), 2);
    }

    #[test]
    fn hostile_addresses_are_cut_and_give_short_warnings() {
        let long = "x".repeat(10_000);
        let params = Params::parse(&format!("name={long}&game={long}&{long}=1&robots=%FF%00%E2%80%AE"));
        assert!(params.name.is_some_and(|name| name.len() < 5_000));
        assert_eq!(params.entry, Entry::Lobby);
        assert!(params.warnings.iter().all(|line| line.len() < 200 && !line.contains(['\0', '\u{202e}'])));
        let many = Params::parse(&"a=1&".repeat(100_000));
        assert!(many.warnings.len() <= PAIRS_MAX + 1);
    }

    #[test]
    fn names_without_a_visible_character_are_ignored() {
        assert_eq!(Params::parse("name=").name, None);
        assert_eq!(Params::parse("name=%E2%80%8B").name, None);
        assert_eq!(Params::parse("name=%3Cimg%20src%3Dx%3E").name.as_deref(), Some("<img src=x>"));
    }

    #[test]
    fn typed_codes_are_explained_when_wrong() {
        assert_eq!(typed_code(" cup-1 ").as_deref(), Ok("CUP-1"));
        assert!(typed_code("a b").is_err());
    }
}
