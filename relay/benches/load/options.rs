//! The command line.

/// By which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathWord {
    WebSocket,
    WebRtc,
}

impl PathWord {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::WebRtc => "webrtc",
        }
    }
}

/// What is to be run.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    games: Option<usize>,
    pub(crate) members: usize,
    /// Ticks a second of each member.
    pub(crate) rate: u32,
    burst: Option<usize>,
    pub(crate) bytes: usize,
    pub(crate) seconds: u64,
    pub(crate) paths: Vec<PathWord>,
    pub(crate) is_json: bool,
    /// Whether others are measured as well.
    pub(crate) compares: bool,
}

impl Options {
    /// How many of the others each member sends a packet to in a tick, in turn.
    pub(crate) fn burst(&self) -> usize {
        self.burst.unwrap_or(self.members - 1)
    }

    /// How many games, unless told: of data channels as many as the one thread carries that the relay has for them.
    pub(crate) fn games(&self, path: PathWord) -> usize {
        self.games.unwrap_or(match path {
            PathWord::WebSocket => 64,
            PathWord::WebRtc => 16,
        })
    }

    /// Reads the arguments.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            games: None,
            members: 8,
            rate: 60,
            burst: None,
            bytes: 120,
            seconds: 10,
            paths: vec![PathWord::WebSocket, PathWord::WebRtc],
            is_json: false,
            compares: true,
        };
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--json" => options.is_json = true,
                "--alone" => options.compares = false,
                // What cargo adds by itself.
                "--bench" => {}
                "--games" => options.games = Some(number(&value()?, 1)?),
                "--members" => options.members = number(&value()?, 2)?,
                "--rate" => options.rate = number(&value()?, 2)? as u32,
                "--burst" => options.burst = Some(number(&value()?, 1)?),
                "--bytes" => options.bytes = number(&value()?, 16)?,
                "--seconds" => options.seconds = number(&value()?, 1)? as u64,
                "--path" => {
                    options.paths = match value()?.as_str() {
                        "websocket" => vec![PathWord::WebSocket],
                        "webrtc" => vec![PathWord::WebRtc],
                        other => return Err(format!("{other:?} is no path")),
                    };
                }
                _ => return Err(format!("unknown option {argument}")),
            }
        }
        Ok(options)
    }
}

fn number(text: &str, least: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|&number| (least..=1_000).contains(&number));
    number.ok_or_else(|| format!("{text:?} is no number from {least} to 1000"))
}
