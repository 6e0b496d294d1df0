//! The reasons why a person cannot play right now, in words: the event, its meaning, the next step.

use samovar_duel::player::Isolated;

use super::Pause;

/// A reason why the player cannot play.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The player has not chosen yet whether others may see this browser's network address. Nothing is wrong.
    AddressUnchosen {
        /// The game's code, if there is one yet.
        code: Option<String>,
    },
    /// Every seat is taken.
    FullGame {
        /// The game's code.
        code: String,
    },
    /// The directory knows no such game.
    UnknownGame {
        /// The code that the player asked for.
        code: String,
    },
    /// The game existed and has ended, or takes no player in any more.
    ClosedGame {
        /// The game's code.
        code: String,
    },
    /// A new game asked for a code that another game has.
    CodeTaken {
        /// The code that is taken.
        code: String,
    },
    /// This page speaks another protocol version, or plays by other rules, than the game.
    VersionMismatch,
    /// The relay cannot be reached, so no game can be found or opened.
    RelayLost,
    /// The game's own server, or the relay's operator, does not let this player in.
    NotLetIn {
        /// The reason, in a sentence; it may be empty, and a stranger may have written it.
        why: String,
    },
    /// Another server answers in the relay's place, and does not let this page in.
    RelayRefuses {
        /// The HTTP status.
        status: u16,
        /// The text of the answer; a stranger wrote it.
        text: String,
    },
    /// The session has been suspended for long.
    Suspended {
        /// The game's code.
        code: String,
        /// The reason.
        pause: Pause,
    },
    /// The host has gone from a game that was to end with it.
    HostGone {
        /// The game's code.
        code: String,
    },
    /// Another tab of the same player took the seat.
    Replaced {
        /// The game's code.
        code: String,
    },
    /// The host has put out this player, or another one of the same network.
    PutOut {
        /// The game's code.
        code: String,
    },
    /// The host ended this player's link.
    Removed {
        /// The game's code.
        code: String,
    },
    /// The browser gives no WebGL 2.
    NoWebGl2,
    /// The browser took the graphics away and does not give them back.
    GraphicsLost,
    /// The address carries a parameter that cannot be understood.
    BadParameter {
        /// The parameter's name.
        name: &'static str,
        /// A short, printable form of its value.
        value: String,
        /// The values that the page understands, worded to follow "It should be".
        expected: &'static str,
    },
    /// The page met something that it did not expect; the text is for a bug report.
    Broken {
        /// The known details.
        detail: String,
    },
}

/// The action of a button below a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Try to join this game.
    Join {
        /// The text on the button.
        label: String,
        /// The game's code.
        code: String,
    },
    /// Open a game, under this code if there is one.
    Create {
        /// The text on the button.
        label: String,
        /// The wanted code.
        code: Option<String>,
    },
    /// Enter the game that the page's address names, and show others the browser's network address or hide it.
    Enter {
        /// The text on the button.
        label: &'static str,
        /// Whether to hide the address.
        hides: bool,
    },
    /// Load the page anew.
    Reload,
    /// Go back to the list of games.
    Lobby,
}

/// A problem in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The event, in a few words.
    pub title: &'static str,
    /// The meaning of the event.
    pub explanation: String,
    /// The next step.
    pub advice: &'static str,
    /// Buttons, the likeliest first.
    pub remedies: Vec<Remedy>,
}

impl Problem {
    /// Puts the problem into words.
    pub fn words(&self) -> Words {
        match self {
            Self::FullGame { .. }
            | Self::UnknownGame { .. }
            | Self::ClosedGame { .. }
            | Self::HostGone { .. }
            | Self::CodeTaken { .. } => self.words_about_a_code(),
            Self::Suspended { pause, .. } => words_about_a_pause(*pause),
            Self::Replaced { .. } | Self::PutOut { .. } | Self::Removed { .. } => self.words_about_a_seat(),
            Self::VersionMismatch
            | Self::RelayLost
            | Self::NotLetIn { .. }
            | Self::RelayRefuses { .. }
            | Self::NoWebGl2
            | Self::GraphicsLost => self.words_about_this_browser(),
            Self::AddressUnchosen { code } => Words {
                title: "Before you sit down",
                explanation: format!(
                    "Players at a table connect directly. The others at {} will see your network address.",
                    code.as_deref().map_or("your table".to_owned(), |code| format!("the table {code}"))
                ),
                advice: "Hidden, you play through the relay, which is slower. You can change this in the lobby.",
                remedies: vec![
                    Remedy::Enter { label: "Play", hides: false },
                    Remedy::Enter { label: "Hide my address", hides: true },
                    Remedy::Lobby,
                ],
            },
            Self::BadParameter { name, value, expected } => Words {
                title: "This link does not work",
                explanation: format!("It says “{name}={}”. It should be {expected}.", Isolated(value)),
                advice: "Ask for the link again, or pick a game from the list.",
                remedies: vec![Remedy::Lobby],
            },
            Self::Broken { detail } => Words {
                title: "Something broke",
                explanation: format!("The page met something it did not expect: {detail}"),
                advice: "Load the page again. Your seat and your score are kept for you.",
                remedies: vec![Remedy::Reload, Remedy::Lobby],
            },
        }
    }

    fn words_about_a_code(&self) -> Words {
        match self {
            Self::FullGame { code } => Words {
                title: "The table is full",
                explanation: format!("Every seat of the game {code} is taken."),
                advice: "Try again when somebody has left, or set a table of your own.",
                remedies: vec![join("Try again", code), create("New game", None), Remedy::Lobby],
            },
            Self::ClosedGame { code } => Words {
                title: "The game is over",
                explanation: format!("The game {code} has ended and takes nobody in any more."),
                advice: "Set a new table, or pick another game from the list.",
                remedies: vec![create("New game", None), Remedy::Lobby],
            },
            Self::HostGone { code } => Words {
                title: "The host is gone",
                explanation: format!("The game {code} was to end with its host, and its host is gone."),
                advice: "Set a new table, or pick another game from the list.",
                remedies: vec![create("New game", None), Remedy::Lobby],
            },
            Self::CodeTaken { code } => Words {
                title: "This code is taken",
                explanation: format!("A game with the code {code} is already being played."),
                advice: "Join it, or start a new game under another code.",
                remedies: vec![join("Join it", code), create("New game, other code", None), Remedy::Lobby],
            },
            _ => {
                let code = self.code().unwrap_or_default();
                Words {
                    title: "No such game",
                    explanation: format!(
                        "There is no game {code}. It may have ended, or the code has a typo."
                    ),
                    advice: "Check the code, or start a game under it and send the link on.",
                    remedies: vec![create("Start this game", Some(code)), Remedy::Lobby],
                }
            }
        }
    }

    fn words_about_a_seat(&self) -> Words {
        let code = self.code().unwrap_or_default();
        match self {
            Self::Replaced { .. } => Words {
                title: "You play in another tab",
                explanation: format!(
                    "Your seat in the game {code} was taken over by another tab or window of yours."
                ),
                advice: "Go on there, or bring your seat back here.",
                remedies: vec![join("Play here", code), Remedy::Lobby],
            },
            Self::PutOut { .. } => Words {
                title: "You were put out",
                explanation: format!(
                    "The host of the game {code}, or the operator of this page, keeps you or your network out of it."
                ),
                advice: "Set a table of your own, or pick another game from the list.",
                remedies: vec![create("New game", None), Remedy::Lobby],
            },
            _ => Words {
                title: "You were taken out of the game",
                explanation: format!("The host of the game {code} ended the link with this browser."),
                advice: "Join again, or pick another game from the list.",
                remedies: vec![join("Join again", code), Remedy::Lobby],
            },
        }
    }

    fn words_about_this_browser(&self) -> Words {
        match self {
            Self::VersionMismatch => Words {
                title: "Different versions",
                explanation: "This page and the game you want to join are of different versions.".to_owned(),
                advice: "Load the page again. If that does not help, the others have to load theirs again.",
                remedies: vec![Remedy::Reload, Remedy::Lobby],
            },
            Self::NotLetIn { why } => Words {
                title: "You are not let in",
                explanation: Isolated(why).to_string(),
                advice: "Ask the person who invited you for another link, or pick another game from the list.",
                remedies: vec![Remedy::Lobby],
            },
            Self::RelayRefuses { status, text } => Words {
                title: "The relay does not let this page in",
                explanation: answered(*status, text),
                advice: "Try again in a moment. If it stays so, tell whoever runs this page.",
                remedies: vec![Remedy::Reload, Remedy::Lobby],
            },
            Self::GraphicsLost => Words {
                title: "The picture is gone",
                explanation: "The browser has taken the graphics away from this page and does not give them \
                              back. The game goes on, and you are still in it."
                    .to_owned(),
                advice: "Load the page again. Your seat and your score are kept for you.",
                remedies: vec![Remedy::Reload, Remedy::Lobby],
            },
            Self::NoWebGl2 => Words {
                title: "This browser cannot draw the table",
                explanation: "Dueling Teapots is drawn with WebGL 2, which this browser does not offer."
                    .to_owned(),
                advice: "Switch on hardware acceleration in the browser's settings, update it, or take another browser.",
                remedies: vec![Remedy::Reload, Remedy::Lobby],
            },
            _ => Words {
                title: "The relay does not answer",
                explanation:
                    "Without the relay no game can be found or opened. Duels over direct links go on."
                        .to_owned(),
                advice: "Check your network and try again in a moment.",
                remedies: vec![Remedy::Reload, Remedy::Lobby],
            },
        }
    }

    fn code(&self) -> Option<&str> {
        match self {
            Self::FullGame { code }
            | Self::UnknownGame { code }
            | Self::ClosedGame { code }
            | Self::CodeTaken { code }
            | Self::Suspended { code, .. }
            | Self::HostGone { code }
            | Self::Replaced { code }
            | Self::PutOut { code }
            | Self::Removed { code } => Some(code),
            Self::AddressUnchosen { code } => code.as_deref(),
            Self::VersionMismatch
            | Self::RelayLost
            | Self::NotLetIn { .. }
            | Self::RelayRefuses { .. }
            | Self::NoWebGl2
            | Self::GraphicsLost
            | Self::BadParameter { .. }
            | Self::Broken { .. } => None,
        }
    }
}

/// Words for the answer of another server in the relay's place.
pub fn answered(status: u16, text: &str) -> String {
    match text {
        "" => format!("Its answer has the status {status} and says no more."),
        text => format!("It says: “{}” (status {status})", Isolated(text)),
    }
}

fn words_about_a_pause(pause: Pause) -> Words {
    let explanation = match pause {
        Pause::HostLost => {
            "The host is gone, and this browser reaches neither the relay nor most of the players. They may have gone on."
        }
        Pause::CutOff => {
            "This browser reaches neither the relay nor most of the players. They may have gone on."
        }
        Pause::Slept => {
            "You were the host when this page was put to sleep. It asks whether somebody took over, and nobody answers."
        }
    };
    let advice =
        "Check your network and keep this page open. The duel goes on by itself, and your seat is kept.";
    let remedies = vec![Remedy::Lobby];
    Words { title: "The duel is paused", explanation: explanation.to_owned(), advice, remedies }
}

fn join(label: &str, code: &str) -> Remedy {
    Remedy::Join { label: label.to_owned(), code: code.to_owned() }
}

fn create(label: &str, code: Option<&str>) -> Remedy {
    Remedy::Create { label: label.to_owned(), code: code.map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Problem> {
        let code = || "TEA-42".to_owned();
        vec![
            Problem::AddressUnchosen { code: Some(code()) },
            Problem::FullGame { code: code() },
            Problem::UnknownGame { code: code() },
            Problem::ClosedGame { code: code() },
            Problem::CodeTaken { code: code() },
            Problem::VersionMismatch,
            Problem::RelayLost,
            Problem::RelayRefuses { status: 403, text: String::new() },
            Problem::Suspended { code: code(), pause: Pause::HostLost },
            Problem::HostGone { code: code() },
            Problem::Replaced { code: code() },
            Problem::PutOut { code: code() },
            Problem::Removed { code: code() },
            Problem::NoWebGl2,
            Problem::GraphicsLost,
            Problem::NotLetIn { why: "Not today.".to_owned() },
            Problem::BadParameter { name: "robots", value: "9".to_owned(), expected: "a number from 0 to 3" },
            Problem::Broken { detail: "x".to_owned() },
        ]
    }

    #[test]
    fn every_problem_has_its_own_title_and_leads_back_to_the_lobby() {
        let words: Vec<Words> = all().iter().map(Problem::words).collect();
        for (i, a) in words.iter().enumerate() {
            assert!(!a.explanation.is_empty() && !a.advice.is_empty());
            assert_eq!(a.remedies.last(), Some(&Remedy::Lobby), "{}", a.title);
            assert!(words[i + 1..].iter().all(|b| a.title != b.title), "{}", a.title);
        }
    }

    #[test]
    fn problems_about_a_game_except_a_pause_name_its_code() {
        for problem in all() {
            let words = problem.words();
            let silent = matches!(problem, Problem::Suspended { .. });
            if problem.code().is_some() && !silent {
                assert!(words.explanation.contains("TEA-42"), "{}", words.title);
            }
        }
    }
}
