//! The two games that are played at a table.

use samovar_session::{Rules, Schemas};

use crate::{game, maze};

/// The game that is played at a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Teapots throw sugar at each other.
    #[default]
    Duel,
    /// Two sides capture each other's sugar bowl in a maze.
    Maze,
}

impl Mode {
    /// The name that addresses and command lines use for the game.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Duel => "duel",
            Self::Maze => "maze",
        }
    }

    /// Reads the text of an address, a form or a command line.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Duel, Self::Maze].into_iter().find(|mode| mode.word() == word)
    }

    /// The other game.
    pub const fn other(self) -> Self {
        match self {
            Self::Duel => Self::Maze,
            Self::Maze => Self::Duel,
        }
    }

    /// The parameters, schemas and rules that all members of such a game share.
    pub fn agreed(self) -> (u64, Schemas, Rules) {
        match self {
            Self::Duel => (game::params(), game::schemas(), game::rules()),
            Self::Maze => (maze::game::params(), maze::game::schemas(), maze::game::rules()),
        }
    }
}
