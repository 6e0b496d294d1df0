//! How the relay is, for its operator: as numbers, and as a page for people.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use crate::bans::Bans;
use crate::door::Doorkeeper;
use crate::duration::duration;
use crate::games::Shown;
use crate::hub::Hub;
use crate::reports::Status;
use crate::version;

/// The counters of the page: each family of metrics with its title.
const COUNTERS: [(&str, &str); 5] = [
    ("samovar_refused_total", "Refused"),
    ("samovar_ended_total", "Connections that ended"),
    ("samovar_dropped_total", "Packets that were dropped"),
    ("samovar_host_changes_total", "Changes of host"),
    ("samovar_offers_total", "Offers of data channels"),
];
/// The most games on the page.
const GAMES_MAX: usize = 200;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#222;\
    background:#fff}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}table{border-collapse:collapse;\
    margin:.5rem 0 1.5rem}td,th{text-align:left;padding:.15rem 1.5rem .15rem 0;vertical-align:top}td.n{text-align:right}\
    h2{font-size:1.1rem;margin:1.5rem 0 .25rem}.bad{color:#c22;font-weight:600}";

/// The parts of the relay that know how it is.
#[derive(Debug)]
pub(crate) struct Overview {
    pub(crate) hub: Arc<Hub>,
    keeper: Arc<Doorkeeper>,
    pub(crate) bans: Arc<Bans>,
    start: Instant,
}

impl Overview {
    pub(crate) fn new(hub: Arc<Hub>, keeper: Arc<Doorkeeper>, bans: Arc<Bans>) -> Self {
        Self { hub, keeper, bans, start: Instant::now() }
    }

    pub(crate) fn status(&self) -> Status {
        let levels = self.hub.levels();
        Status {
            version: version::TEXT.to_owned(),
            uptime: self.start.elapsed().as_secs(),
            unready: self.hub.unready().map(|why| why.trim().to_owned()),
            draining: levels.is_draining,
            connections: self.keeper.open(),
            games: levels.usage.games,
            members: levels.usage.members,
            on_channels: levels.on_channels,
            queued: levels.queues.messages,
            queued_bytes: levels.queues.bytes,
            bans: self.bans.all().len(),
        }
    }

    /// A page for people, which loads itself again every five seconds. It shows the games that everybody can list, and
    /// no codes of others: whoever knows a code can join.
    pub(crate) fn page(&self, metrics: &str) -> String {
        let status = self.status();
        let mut page = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"5\">\
             <title>Samovar relay</title><style>{STYLE}</style><h1>Samovar relay</h1>"
        );
        match &status.unready {
            None => page.push_str("<p>It takes games.</p>"),
            Some(why) => drop(write!(page, "<p class=\"bad\">It takes no games: {}.</p>", escaped(why))),
        }
        let rows = [
            ("Version", status.version.clone()),
            ("Up for", duration(status.uptime)),
            ("Games", status.games.to_string()),
            ("Members", format!("{}, of these {} on data channels", status.members, status.on_channels)),
            ("Connections", status.connections.to_string()),
            ("Messages that wait", format!("{} ({} bytes)", status.queued, status.queued_bytes)),
            ("Bans", status.bans.to_string()),
        ];
        page.push_str("<table>");
        for (name, value) in rows {
            let _ = write!(page, "<tr><th>{name}<td>{}", escaped(&value));
        }
        page.push_str("</table>");
        self.list_games(&mut page);
        for (family, title) in COUNTERS {
            list_counters(&mut page, metrics, family, title);
        }
        page
    }

    fn list_games(&self, page: &mut String) {
        let mut games = self.hub.games();
        if games.is_empty() {
            return;
        }
        let more = games.len().saturating_sub(GAMES_MAX);
        games.truncate(GAMES_MAX);
        page.push_str("<h2>Public games</h2><table><tr><th>Code<th>Players<th>Host<th>Title");
        for Shown { info, is_own, .. } in games {
            let listing = &info.listing;
            let _ = write!(
                page,
                "<tr><td>{}<td>{} of {}<td>{}<td>{}",
                escaped(info.code.as_str()),
                listing.players,
                listing.capacity,
                escaped(if is_own { "the relay" } else { &listing.host_name }),
                escaped(&listing.title),
            );
        }
        page.push_str("</table>");
        if more > 0 {
            let _ = write!(page, "<p>And {more} more.</p>");
        }
    }
}

/// Lists the counters of a family that are above zero.
fn list_counters(page: &mut String, metrics: &str, family: &str, title: &str) {
    let counter = |line: &str| {
        let (labels, value) = line.strip_prefix(family)?.strip_prefix('{')?.split_once("} ")?;
        let label = labels.split_once('"')?.1.split('"').next()?;
        (value != "0").then(|| format!("<tr><td>{}<td class=\"n\">{}", escaped(label), escaped(value)))
    };
    let rows: String = metrics.lines().filter_map(counter).collect();
    if !rows.is_empty() {
        let _ = write!(page, "<h2>{title}</h2><table>{rows}</table>");
    }
}

/// A text without HTML's own characters.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_above_zero_are_listed() {
        let metrics = "samovar_refused_total{reason=\"busy\"} 3\nsamovar_refused_total{reason=\"full\"} 0\n";
        let mut page = String::new();
        list_counters(&mut page, metrics, "samovar_refused_total", "Refused");
        assert_eq!(page, "<h2>Refused</h2><table><tr><td>busy<td class=\"n\">3</table>");
        page.clear();
        list_counters(&mut page, metrics, "samovar_ended_total", "Ended");
        assert_eq!(page, "");
    }

    #[test]
    fn a_title_is_no_markup() {
        assert_eq!(escaped("<script>'tea' & \"milk\""), "&lt;script&gt;&#39;tea&#39; &amp; &quot;milk&quot;");
    }
}
