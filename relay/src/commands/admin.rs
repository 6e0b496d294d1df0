//! `admin` and `health`: a relay that runs on this machine, asked and ordered over its socket.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, Subcommand};
use samovar_relay::admin::ask::{Ask, Reply};
use samovar_relay::duration::duration;
use samovar_relay::settings::{Code, Network, Settings};

use super::table::{harmless, table};

/// The file of settings that `init` writes.
pub(crate) const CONFIG: &str = "/etc/samovar/relay.toml";

/// The place of the relay's data.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The relay's data directory [default: that of its file of settings].
    #[arg(long, env = "SAMOVAR_DATA", value_name = "DIR", global = true)]
    data: Option<PathBuf>,
    /// The relay's file of settings [default: /etc/samovar/relay.toml].
    #[arg(long, env = "SAMOVAR_CONFIG", value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct AdminArgs {
    #[command(flatten)]
    place: Place,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    order: AdminOrder,
}

#[derive(Debug, Subcommand)]
enum AdminOrder {
    /// Says how the relay is.
    Status,
    /// Lists the games with at least one connection, those that no list shows included.
    Games,
    /// Lists the connected members of a game with their addresses, paths and queues.
    Members {
        /// The game's code.
        game: Code,
    },
    /// Puts a member out of its game; it may come back as a newcomer.
    Kick {
        /// The game's code.
        game: Code,
        /// The member's number, as `members` shows it.
        member: u32,
    },
    /// Lets nobody in from an address, a network, or the address of a member, and closes the connections from there.
    #[command(group = ArgGroup::new("whom").required(true).args(["network", "member"]))]
    Ban {
        /// The address or the network, like 203.0.113.7, 203.0.113.0/24 or 2001:db8:1:2::/64. An address of IPv6 stands
        /// for its network of 64 bits, which is one customer's; `/128` behind it means that address alone.
        #[arg(value_parser = Network::household)]
        network: Option<Network>,
        /// The game of the member.
        #[arg(long, requires = "member")]
        game: Option<Code>,
        /// The member's number; its address is banned, in IPv6 its network of 64 bits.
        #[arg(long, requires = "game", value_name = "NUMBER")]
        member: Option<u32>,
        /// How long, like 30min, 12h or 7d; without end unless told.
        #[arg(long = "for", value_name = "TIME", value_parser = span)]
        seconds: Option<u64>,
        /// The reason, for the list of bans.
        #[arg(long = "because", value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Takes a ban back.
    Unban {
        /// The address or the network, as `bans` shows it.
        network: Network,
    },
    /// Lists the bans.
    Bans,
    /// Ends a game: its members are told, and its code leads nowhere for a day.
    Close {
        /// The game's code.
        game: Code,
    },
    /// Founds no more games, and stops when no game is left or the time of --drain is over.
    Drain,
    /// Prints the limits in force, or changes one until the relay restarts or reads its settings again.
    Limits {
        /// The key, as in the file of settings.
        #[arg(requires = "value")]
        key: Option<String>,
        /// The value, as in the file of settings.
        value: Option<String>,
    },
    /// Sets the filter of the log until the relay restarts.
    Log {
        /// A level like debug, or directives like warn,samovar_relay=debug.
        filter: String,
    },
}

/// A time like `12h`, in seconds.
fn span(text: &str) -> Result<u64, String> {
    let wrong = || "a time is a number with its unit behind it: s, min, h, d or w, like 12h".to_owned();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "s" => 1,
        "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return Err(wrong()),
    };
    number
        .parse()
        .ok()
        .and_then(|number: u64| number.checked_mul(unit))
        .filter(|span| *span > 0)
        .ok_or_else(wrong)
}

impl AdminOrder {
    fn ask(self) -> Ask {
        match self {
            Self::Status => Ask::Status,
            Self::Games => Ask::Games,
            Self::Members { game } => Ask::Members { game },
            Self::Kick { game, member } => Ask::Kick { game, member },
            Self::Ban { game: Some(game), member: Some(member), seconds, reason, .. } => {
                Ask::BanMember { game, member, seconds, reason }
            }
            Self::Ban { network, seconds, reason, .. } => {
                let network = network.expect("the group asks for one or the other");
                Ask::Ban { network, seconds, reason }
            }
            Self::Unban { network } => Ask::Unban { network },
            Self::Bans => Ask::Bans,
            Self::Close { game } => Ask::Close { game },
            Self::Drain => Ask::Drain,
            Self::Limits { key: Some(key), value: Some(value) } => Ask::SetLimit { key, value },
            Self::Limits { .. } => Ask::Limits,
            Self::Log { filter } => Ask::Log { filter },
        }
    }
}

impl Place {
    /// The data directory.
    ///
    /// # Errors
    /// Nothing names it.
    fn data(&self) -> Result<PathBuf, String> {
        if let Some(data) = &self.data {
            return Ok(data.clone());
        }
        let standard = Path::new(CONFIG);
        let file = self.config.as_deref().or_else(|| standard.is_file().then_some(standard));
        let Some(file) = file else {
            return Err("where is the relay? Name its data directory with --data, or its file of settings with --config".to_owned());
        };
        let settings = Settings::read(file).map_err(|error| error.to_string())?;
        let data = settings.data().map(Path::to_owned);
        data.ok_or_else(|| format!("{} names no data directory: give it with --data", file.display()))
    }
}

/// Gives an order, and prints the answer.
///
/// # Errors
/// No relay answers, or it does not carry the order out.
pub(crate) fn run(args: AdminArgs) -> Result<(), String> {
    let AdminArgs { place, json, order } = args;
    let reply = call(&place, &order.ask())?;
    if json {
        let text = serde_json::to_string_pretty(&reply).map_err(|error| error.to_string())?;
        super::print(format!("{text}\n").as_bytes());
    }
    match reply {
        Reply::Error(why) => return Err(why),
        reply if !json => super::print(shown(&reply).as_bytes()),
        _ => {}
    }
    Ok(())
}

/// Says whether a relay takes games.
///
/// # Errors
/// No relay answers, or it takes none; the text says why.
pub(crate) fn health(place: &Place) -> Result<(), String> {
    match call(place, &Ask::Status)? {
        Reply::Status(status) => match status.unready {
            None => {
                super::print(b"ready\n");
                Ok(())
            }
            Some(why) => Err(format!("the relay takes no games: it is {why}")),
        },
        Reply::Error(why) => Err(why),
        _ => {
            Err("the relay gave another answer than asked for; are both programs of one release?".to_owned())
        }
    }
}

#[cfg(unix)]
fn call(place: &Place, ask: &Ask) -> Result<Reply, String> {
    samovar_relay::admin::call::call(&place.data()?, ask).map_err(|error| error.to_string())
}

#[cfg(not(unix))]
fn call(place: &Place, _: &Ask) -> Result<Reply, String> {
    place.data()?;
    Err("a relay on this system has no socket for its operator".to_owned())
}

fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Status(status) => {
            let state = status.unready.as_deref().unwrap_or("ready");
            format!(
                "samovar-relay {}, for {}: {state}\n{} games, {} members ({} on data channels), {} connections, {} bans\n\
                 {} messages wait ({} bytes)\n",
                status.version,
                duration(status.uptime),
                status.games,
                status.members,
                status.on_channels,
                status.connections,
                status.bans,
                status.queued,
                status.queued_bytes,
            )
        }
        Reply::Games(games) => {
            let row = |game: &samovar_relay::admin::ask::GameRow| {
                let of =
                    |number: Option<u8>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
                vec![
                    game.code.clone(),
                    format!("{}/{}", of(game.players), of(game.capacity)),
                    game.connected.to_string(),
                    if game.public { "public" } else { "hidden" }.to_owned(),
                    if game.own { "the relay".to_owned() } else { harmless(&game.host_name) },
                    harmless(&game.title),
                ]
            };
            let rows: Vec<_> = games.iter().map(row).collect();
            table(&["game", "players", "connected", "list", "host", "title"], &rows)
        }
        Reply::Members(members) => {
            let row = |member: &samovar_relay::admin::ask::MemberRow| {
                let part = match (member.host, member.named) {
                    (true, _) => "host",
                    (_, true) => "member",
                    _ => "stranger",
                };
                let queue = [&member.socket_queue, &member.channel_queue]
                    .map(|queue| format!("{} ({} B)", queue.messages, queue.bytes));
                let [socket, channels] = queue;
                vec![
                    member.member.to_string(),
                    if member.own { "the relay" } else { part }.to_owned(),
                    member.address.clone().unwrap_or_else(|| "-".to_owned()),
                    duration(member.since),
                    format!("{:?}", member.path).to_lowercase(),
                    socket,
                    channels,
                ]
            };
            let rows: Vec<_> = members.iter().map(row).collect();
            table(
                &["member", "part", "address", "for", "path", "in its socket's queue", "in its channels'"],
                &rows,
            )
        }
        Reply::Bans(bans) => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let now = now.map_or(0, |now| now.as_secs());
            let row = |ban: &samovar_relay::admin::ask::Ban| {
                let left = ban.until.map(|until| duration(until.saturating_sub(now)));
                vec![
                    ban.network.to_string(),
                    left.unwrap_or_else(|| "no end".to_owned()),
                    harmless(&ban.reason),
                ]
            };
            let rows: Vec<_> = bans.iter().map(row).collect();
            table(&["banned", "ends in", "because"], &rows)
        }
        Reply::Limits(text) => text.clone(),
        Reply::Done(text) | Reply::Error(text) => format!("{text}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_need_a_unit() {
        assert_eq!(
            ["90s", "30min", "12h", "7d", "2w"].map(span),
            [90, 1_800, 43_200, 604_800, 1_209_600].map(Ok)
        );
        for bad in ["", "5", "h", "-1h", "1.5h", "0s", "99999999999999999999d", "999999999999999999d", "1 h"]
        {
            assert!(span(bad).is_err(), "{bad}");
        }
    }
}
