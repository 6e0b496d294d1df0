//! The game's view of its session: scores, roles, links. The numbers come from the network core in each frame. The page
//! touches the DOM only where they differ from the shown ones.

use samovar_duel::player::PlayerName;
use samovar_wire::PeerId;
use samovar_wire::sorted::sort_by_key;
use std::cell::RefCell;

use wasm_bindgen::prelude::*;
use web_sys::{Document, HtmlElement};

use super::RelayState;
use super::dom::{self, Text};
use super::put_out::Removable;
use crate::tenths::tenths;

/// The most rows of the score list. If a session claims more members, the page draws only the first rows.
const ROWS_MAX: usize = 32;

/// Everything the HUD shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Hud {
    /// All members and robots, in any order.
    pub players: Vec<PlayerRow>,
    /// The role of this peer in the session.
    pub role: Role,
    /// The host's term, as text.
    pub term: String,
    /// Whether the relay can be reached.
    pub relay: RelayState,
    /// Whether this browser seems to have no network.
    pub is_cut_off: bool,
    /// Bytes a second, in both directions.
    pub traffic: Traffic,
    /// The state of the match, in a game that has matches.
    pub standing: Option<String>,
    /// Frame, delay and agreement, in a game in lockstep.
    pub lockstep: Option<String>,
}

/// One player.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayerRow {
    /// A stable and unique number. Rows with equal score and name are sorted by it.
    pub key: u64,
    /// The name.
    pub name: PlayerName,
    /// Index into the palette.
    pub colour: u8,
    /// Points.
    pub score: i32,
    /// Whether this is the player in front of the screen.
    pub is_self: bool,
    /// Whether a program plays.
    pub is_robot: bool,
    /// The number of this robot's teapot, if the player can ask for it.
    pub takes: Option<u8>,
    /// Whether this member has no teapot, like the relay's referee. Such a member is not among the scores.
    pub is_spectator: bool,
    /// The peer of this row, if this page hosts and can put it out.
    pub can_be_put_out: Option<PeerId>,
    /// Whether this member is host.
    pub is_host: bool,
    /// Whether this member is backup.
    pub is_backup: bool,
    /// Round trip to this member, in milliseconds; `None` when not known, for the player itself and for the host's
    /// robots.
    pub ping_ms: Option<u32>,
    /// The path of packets to this member; `None` for the player itself and for robots that members drive.
    pub link: Option<LinkKind>,
    /// Whether the member's tab is hidden, or the seat is kept for a player who dropped out.
    pub away: bool,
}

/// The path of packets to a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// From browser to browser.
    Direct,
    /// Carried by the host or a backup.
    ByHost,
    /// Over data channels through the relay.
    RelayedUdp,
    /// Through the relay's WebSocket.
    Relayed,
    /// No packets arrive from the member at present.
    Unheard,
}

/// The role of this peer in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A player without another role.
    Idle,
    /// The member that takes over from the host.
    Backup,
    /// Host without a backup.
    ActiveAlone,
    /// Host with a backup.
    ActiveBackedUp,
    /// The session is suspended: no host decides at present.
    Suspended(Pause),
}

/// The reason why the session is suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// The host is gone, and no member could take over yet.
    HostLost,
    /// This browser reaches neither the relay nor most players.
    CutOff,
    /// This browser was the host, slept, and asks whether the others went on.
    Slept,
}

impl Pause {
    /// The reason in a line, with the player's next step.
    pub fn banner(self) -> &'static str {
        match self {
            Self::HostLost => {
                "The host is gone, and nobody could take over yet. Keep this page open: the duel goes on by itself."
            }
            Self::CutOff => {
                "This browser reaches neither the relay nor most of the players. Check your network."
            }
            Self::Slept => "This page was asleep. Asking whether the others went on meanwhile…",
        }
    }

    const fn summary(self) -> &'static str {
        match self {
            Self::HostLost => "Paused: the host is gone",
            Self::CutOff => "Paused: out of reach",
            Self::Slept => "Paused: just woken up",
        }
    }

    const fn role(self) -> &'static str {
        match self {
            Self::HostLost => "paused, without a host",
            Self::CutOff => "paused, out of reach",
            Self::Slept => "host, paused, just woken up",
        }
    }
}

/// Bytes a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Received.
    pub bytes_in: u32,
    /// Sent.
    pub bytes_out: u32,
}

/// The HUD's elements.
pub struct HudView {
    document: Document,
    list: HtmlElement,
    rows: RefCell<Vec<Row>>,
    light: HtmlElement,
    summary: Text,
    role: Text,
    host: Text,
    backup: Text,
    term: Text,
    ping: Text,
    links: Text,
    relay: Text,
    traffic: Text,
    standing: Text,
    lockstep: Text,
    shown: RefCell<Option<Hud>>,
}

impl Hud {
    /// The players whom the player in front of the screen can put out, in the order of their seats.
    pub fn can_be_put_out(&self) -> Vec<Removable> {
        let mut players: Vec<_> = self.players.iter().collect();
        sort_by_key(&mut players, |row| row.key);
        players
            .into_iter()
            .filter_map(|row| Some((row.can_be_put_out?, row.name.clone(), row.colour)))
            .collect()
    }
}

impl HudView {
    /// Takes over the score list and the session panel.
    ///
    /// # Errors
    /// An element is missing from `index.html`.
    pub fn new(document: &Document) -> Result<Self, JsValue> {
        let text = |id: &str| dom::by_id(document, id).map(Text::new);
        Ok(Self {
            document: document.clone(),
            list: dom::by_id(document, "scores")?,
            rows: RefCell::default(),
            light: dom::by_id(document, "session-light")?,
            summary: text("session-summary")?,
            role: text("session-role")?,
            host: text("session-host")?,
            backup: text("session-backup")?,
            term: text("session-term")?,
            ping: text("session-ping")?,
            links: text("session-links")?,
            relay: text("session-relay")?,
            traffic: text("session-traffic")?,
            standing: text("match")?,
            lockstep: text("session-lockstep")?,
            shown: RefCell::new(None),
        })
    }

    /// Shows the state of the session. Cheap when nothing changed.
    pub fn show(&self, hud: &Hud) {
        if self.shown.borrow().as_ref() == Some(hud) {
            return;
        }
        let mut players: Vec<&PlayerRow> = hud.players.iter().filter(|row| !row.is_spectator).collect();
        sort_by_key(&mut players, |row| (std::cmp::Reverse(row.score), row.name.clone(), row.key));
        players.truncate(ROWS_MAX);
        self.show_scores(&players);
        self.show_session(hud);
        *self.shown.borrow_mut() = Some(hud.clone());
    }

    fn show_scores(&self, players: &[&PlayerRow]) {
        let mut rows = self.rows.take();
        while rows.len() > players.len() {
            if let Some(row) = rows.pop() {
                row.root.remove();
            }
        }
        for (index, player) in players.iter().enumerate() {
            match rows.get_mut(index) {
                Some(row) if row.shown == **player => {}
                Some(row) => row.update(player),
                None => {
                    let mut row = Row::new(&self.document, player);
                    row.update(player);
                    dom::sure(
                        self.list.append_child(&row.root),
                        "a new row has no descendants to clash with",
                    );
                    rows.push(row);
                }
            }
        }
        self.rows.replace(rows);
    }

    fn show_session(&self, hud: &Hud) {
        let host = hud.players.iter().find(|player| player.is_host);
        let backup = hud.players.iter().find(|player| player.is_backup);
        self.summary.set(&summary(hud));
        self.light.set_class_name(match (hud.role, hud.relay, host) {
            (Role::Suspended(_), ..) | (_, RelayState::Lost, _) => "light lost",
            (.., None) => "light changing",
            _ => "light",
        });
        self.role.set(match hud.role {
            Role::Idle => "a player",
            Role::Backup => "backup, next to be host",
            Role::ActiveAlone => "host, without a backup",
            Role::ActiveBackedUp => "host, with a backup",
            Role::Suspended(pause) => pause.role(),
        });
        self.host.set(&member_name(host));
        self.backup.set(&member_name(backup));
        self.term.set(&hud.term);
        let ping = host.and_then(|host| host.ping_ms).map(|ms| format!("{ms} ms"));
        self.ping.set(ping.as_deref().unwrap_or("–"));
        self.links.set(&links(&hud.players));
        self.relay.set(hud.relay.word());
        self.standing.set_or_hide(hud.standing.as_deref());
        self.lockstep.set(hud.lockstep.as_deref().unwrap_or_default());
        let Traffic { bytes_in, bytes_out } = hud.traffic;
        self.traffic.set(&format!("in {}, out {} kB/s", kilobytes(bytes_in), kilobytes(bytes_out)));
    }
}

/// One line of the score list.
struct Row {
    root: HtmlElement,
    mark: HtmlElement,
    name: Text,
    badges: HtmlElement,
    points: Text,
    about: Text,
    shown: PlayerRow,
}

impl Row {
    fn new(document: &Document, player: &PlayerRow) -> Self {
        let root = dom::create(document, "li", "");
        let mark = dom::append(&root, "i", "mark");
        let line = dom::append(&root, "div", "line");
        let name = Text::new(dom::append(&line, "bdi", "name"));
        let badges = dom::append(&line, "span", "badges");
        let points = Text::new(dom::append(&root, "span", "points"));
        let about = Text::new(dom::append(&root, "span", "about"));
        dom::paint_mark(&mark, player.colour);
        Self { root, mark, name, badges, points, about, shown: player.clone() }
    }

    fn update(&mut self, player: &PlayerRow) {
        self.root.set_class_name(match (player.is_self, player.away) {
            (true, false) => "self",
            (true, true) => "self away",
            (false, true) => "away",
            (false, false) => "",
        });
        if self.shown.colour != player.colour {
            dom::paint_mark(&self.mark, player.colour);
        }
        let role = player.takes.map(|role| role.to_string()).unwrap_or_default();
        let (action, title) = if role.is_empty() { ("", "") } else { ("take", "Play this teapot") };
        for (name, value) in [("data-action", action), ("data-role", &role), ("title", title)] {
            dom::attribute(&self.root, name, value);
        }
        self.name.set(player.name.as_str());
        self.points.set(&player.score.to_string());
        self.about.set(&about(player));
        let badges = badges(player);
        let first = !self.badges.has_child_nodes();
        if first || badges != self::badges(&self.shown) {
            self.badges.set_text_content(None);
            for (class, word) in badges {
                dom::append(&self.badges, "span", class).set_text_content(Some(word));
            }
        }
        self.shown.clone_from(player);
    }
}

fn badges(player: &PlayerRow) -> Vec<(&'static str, &'static str)> {
    [
        (player.is_host, ("badge host", "host")),
        (player.is_backup, ("badge", "backup")),
        (player.is_robot, ("badge", "robot")),
        (player.away, ("badge", "away")),
        (player.link == Some(LinkKind::Unheard), ("badge", "out of reach")),
    ]
    .into_iter()
    .filter_map(|(has, badge)| has.then_some(badge))
    .collect()
}

fn member_name(member: Option<&PlayerRow>) -> String {
    match member {
        None => "none yet".to_owned(),
        Some(member) if member.is_self => "you".to_owned(),
        Some(member) => member.name.to_string(),
    }
}

fn about(player: &PlayerRow) -> String {
    let link = player.link.and_then(|link| match link {
        LinkKind::Direct => Some("direct".to_owned()),
        LinkKind::ByHost => Some("by the host".to_owned()),
        LinkKind::RelayedUdp => Some("relayed by UDP".to_owned()),
        LinkKind::Relayed => Some("relayed".to_owned()),
        // A badge says this, also on small screens.
        LinkKind::Unheard => None,
    });
    let ping = player.ping_ms.map(|ms| format!("{ms} ms"));
    let own = player.is_self.then(|| "you".to_owned());
    [own, ping, link].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The one line that the player always sees.
fn summary(hud: &Hud) -> String {
    if let Role::Suspended(pause) = hud.role {
        let words = if hud.is_cut_off { "Your network is cut · paused" } else { pause.summary() };
        return words.to_owned();
    }
    let relay = match hud.relay {
        _ if hud.is_cut_off => "Your network is cut · ",
        RelayState::Lost => "Relay gone · ",
        _ => "",
    };
    match hud.players.iter().find(|player| player.is_host) {
        None => format!("{relay}Choosing a host…"),
        Some(host) if host.is_self => format!("{relay}You are the host"),
        Some(host) => {
            let link = about(host);
            let dot = if link.is_empty() { "" } else { " · " };
            format!("{relay}Host: {}{dot}{link}", host.name)
        }
    }
}

fn links(players: &[PlayerRow]) -> String {
    let count = |kind| players.iter().filter(|player| player.link == Some(kind)).count();
    let counts = [
        (count(LinkKind::Direct), "direct"),
        (count(LinkKind::ByHost), "by the host"),
        (count(LinkKind::RelayedUdp) + count(LinkKind::Relayed), "relayed"),
    ];
    let told = counts.into_iter().filter(|(count, _)| *count > 0);
    let told: Vec<_> = told.map(|(count, kind)| format!("{count} {kind}")).collect();
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}

fn kilobytes(bytes: u32) -> String {
    tenths((bytes / 100) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn player(name: &str) -> PlayerRow {
        PlayerRow {
            key: 1,
            name: PlayerName::new(name),
            colour: 0,
            score: 0,
            is_self: false,
            is_robot: false,
            takes: None,
            is_spectator: false,
            can_be_put_out: None,
            is_host: false,
            is_backup: false,
            ping_ms: None,
            link: None,
            away: false,
        }
    }

    fn hud(players: Vec<PlayerRow>) -> Hud {
        Hud {
            players,
            role: Role::Idle,
            term: "1".to_owned(),
            relay: RelayState::Connected,
            is_cut_off: false,
            traffic: Traffic::default(),
            standing: None,
            lockstep: None,
        }
    }

    #[test]
    fn summary_says_who_is_host_and_how_far_away() {
        let ann =
            PlayerRow { is_host: true, ping_ms: Some(12), link: Some(LinkKind::Direct), ..player("Ann") };
        let mut shown = hud(vec![player("Bob"), ann.clone()]);
        assert_eq!(summary(&shown), "Host: \u{2068}Ann\u{2069} · 12 ms · direct");
        shown.relay = RelayState::Lost;
        assert_eq!(summary(&shown), "Relay gone · Host: \u{2068}Ann\u{2069} · 12 ms · direct");
        shown.is_cut_off = true;
        assert_eq!(summary(&shown), "Your network is cut · Host: \u{2068}Ann\u{2069} · 12 ms · direct");
        shown.is_cut_off = false;
        for pause in [Pause::HostLost, Pause::CutOff, Pause::Slept] {
            shown.role = Role::Suspended(pause);
            assert!(summary(&shown).starts_with("Paused: "));
        }
        let me = PlayerRow { is_self: true, is_host: true, ..player("Me") };
        assert_eq!(summary(&hud(vec![me])), "You are the host");
        assert_eq!(summary(&hud(vec![player("Bob")])), "Choosing a host…");
    }

    #[test]
    fn badges_show_that_a_member_is_backup_robot_or_away() {
        let robot = PlayerRow { is_robot: true, is_backup: true, away: true, ..player("R") };
        let words: Vec<_> = badges(&robot).into_iter().map(|(_, word)| word).collect();
        assert_eq!(words, ["backup", "robot", "away"]);
    }

    #[test]
    fn links_are_counted_by_kind() {
        let direct = PlayerRow { link: Some(LinkKind::Direct), ..player("a") };
        let relayed = PlayerRow { link: Some(LinkKind::Relayed), ..player("b") };
        let channels = PlayerRow { link: Some(LinkKind::RelayedUdp), ..player("c") };
        assert_eq!(links(&[direct.clone(), direct.clone(), relayed, channels]), "2 direct, 2 relayed");
        let carried = PlayerRow { link: Some(LinkKind::ByHost), ..player("d") };
        assert_eq!(links(&[direct.clone(), carried]), "1 direct, 1 by the host");
        assert_eq!(links(&[direct]), "1 direct");
        assert_eq!(links(&[player("c")]), "none");
    }

    #[test]
    fn rates_are_in_kilobytes() {
        assert_eq!(kilobytes(12_345), "12.3");
        assert_eq!(kilobytes(0), "0.0");
    }
}
