//! Fulfils the operator's requests.

use std::net::IpAddr;
use std::path::Path as FilePath;
use std::sync::Arc;

use samovar_wire::PeerId;
use tokio::sync::mpsc::Sender;

use super::LogSwitch;
use super::ask::{Ask, Ban, Reply, code};
use super::audit::Audit;
use crate::bans::unix_time;
use crate::duration::duration;
use crate::limits::LimitWords;
use crate::network::Network;
use crate::order::Order;
use crate::overview::Overview;

/// The longest reason of a ban, in bytes.
const REASON_MAX: usize = 200;
/// The longest time of a ban with an end, in seconds: a hundred years.
const SECONDS_MAX: u64 = 100 * 365 * 24 * 60 * 60;

/// Everything that a request may need.
#[derive(Debug)]
pub(crate) struct Ruler {
    overview: Arc<Overview>,
    orders: Sender<Order>,
    log: Option<LogSwitch>,
    words: LimitWords,
    audit: Audit,
}

impl Ruler {
    pub(crate) fn new(
        overview: Arc<Overview>,
        orders: Sender<Order>,
        (log, words): (Option<LogSwitch>, LimitWords),
        data: &FilePath,
    ) -> Self {
        let audit = Audit::new(data);
        Self { overview, orders, log, words, audit }
    }

    /// Fulfils the request of a user. Blocks while an order is written to disk.
    pub(crate) fn answer(&self, user: u32, ask: &Ask) -> Reply {
        let _span = ask.is_order().then(|| tracing::info_span!("order", user, order = ask.word()).entered());
        if ask.is_order()
            && let Err(error) = self.audit.note(user, ask, None)
        {
            return Reply::Error(format!(
                "{} in the data directory cannot be written ({error}), and no order goes without a line there",
                super::AUDIT
            ));
        }
        let reply = self.fulfil(ask).unwrap_or_else(Reply::Error);
        if ask.is_order() {
            // Addresses and codes are in the file alone.
            tracing::info!(
                user,
                order = ask.word(),
                failed = matches!(reply, Reply::Error(_)),
                "an order of the operator"
            );
            if let Err(error) = self.audit.note(user, ask, Some(&reply)) {
                tracing::warn!(%error, "the end of an order is not in the file of orders");
            }
        }
        reply
    }

    fn fulfil(&self, ask: &Ask) -> Result<Reply, String> {
        Ok(match ask {
            Ask::Status => Reply::Status(self.overview.status()),
            Ask::Games => Reply::Games(self.overview.hub.game_rows()),
            Ask::Members { game } => Reply::Members(self.overview.hub.member_rows(code(game))?),
            Ask::Kick { game, member } => {
                self.overview.hub.kick(code(game), PeerId(*member))?;
                Reply::Done(format!("{member} is out of {}; it may come back as a newcomer", code(game)))
            }
            Ask::Ban { network, seconds, reason } => self.ban(*network, *seconds, reason.as_deref())?,
            Ask::BanMember { game, member, seconds, reason } => {
                let address = self.overview.hub.address_of(code(game), PeerId(*member))?;
                let network = Network::of_household(address);
                self.ban(network, *seconds, reason.as_deref())?
            }
            Ask::Unban { network } => {
                self.overview.bans.remove(*network)?;
                Reply::Done(format!("{network} may come again"))
            }
            Ask::Bans => Reply::Bans(self.overview.bans.all()),
            Ask::Close { game } => {
                self.overview.hub.end_game(code(game))?;
                Reply::Done(format!("{} is over, and its code leads nowhere for a day", code(game)))
            }
            Ask::Drain => {
                if self.overview.hub.levels().is_draining {
                    return Err("the relay drains already; SIGINT ends it at once".to_owned());
                }
                self.orders.try_send(Order::Drain).map_err(|_| "the relay stops already".to_owned())?;
                Reply::Done(
                    "the relay founds no more games, and stops when no game is left or after --drain"
                        .to_owned(),
                )
            }
            Ask::Limits => Reply::Limits((self.words.text)(&self.overview.hub.limits.all())),
            Ask::SetLimit { key, value } => {
                let limits = (self.words.change)(&self.overview.hub.limits.all(), key, value)?;
                self.overview.hub.set_limits(limits);
                Reply::Done(format!("{key} is {value} until the relay restarts or reads its settings again"))
            }
            Ask::Log { filter } => {
                let log = self.log.as_ref().ok_or("this program's log cannot be changed")?;
                log.set(filter)?;
                Reply::Done(format!("the log's filter is {filter} until the relay restarts"))
            }
        })
    }

    fn ban(&self, network: Network, seconds: Option<u64>, reason: Option<&str>) -> Result<Reply, String> {
        let reason = reason.unwrap_or_default();
        if reason.len() > REASON_MAX || reason.chars().any(char::is_control) {
            return Err(format!("a reason has at most {REASON_MAX} bytes, on one line"));
        }
        if seconds.is_some_and(|seconds| seconds == 0 || seconds > SECONDS_MAX) {
            return Err(format!("a ban ends after 1 to {SECONDS_MAX} seconds, or not at all"));
        }
        // A ban of the proxy would be one of everybody behind it.
        if let Some(proxy) =
            self.overview.hub.limits.all().trusted_proxies.iter().find(|proxy| proxy.overlaps(network))
        {
            return Err(format!(
                "{network} has addresses of the trusted proxy {proxy}, behind which are others"
            ));
        }
        let until = seconds.map(|seconds| unix_time().saturating_add(seconds));
        self.overview.bans.add(Ban { network, until, reason: reason.to_owned() })?;
        let closed = self.overview.hub.ban(|address: IpAddr| network.contains(address));
        let end = seconds.map_or_else(String::new, |seconds| format!(" for {}", duration(seconds)));
        Ok(Reply::Done(format!("{network} is banned{end}; {closed} connections were closed")))
    }
}
