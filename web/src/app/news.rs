//! The game's events, and the page's reactions to them.

use samovar_duel::game::DuelEvent;
use samovar_session::{Cause, Departure, Migration};

use super::App;
use crate::address;
use crate::guard;
use crate::page::{Problem, RelayState};
use crate::params::Mode;
use crate::play::{Ending, News, Wish};
use crate::sound::Effect;
use crate::tenths::tenths;

impl App {
    pub(super) fn on_news(&mut self, news: News) {
        match news {
            News::Entered(code) => {
                self.relay = RelayState::Connected;
                if let Some(play) = &mut self.play {
                    play.set_code(code);
                }
            }
            News::Joined => {
                let Some(code) = self.play.as_ref().and_then(|play| play.wish().code.clone()) else { return };
                self.params.mode = self.play.as_ref().map_or(Mode::Duel, |play| play.wish().mode);
                address::show_game(&self.window, &self.params, Some(code.as_str()));
                self.show_game(code.as_str());
                self.controls.set_active(true);
                if let Some(has_diverged) = self.comes_back.take() {
                    self.page.toast(welcome_back(has_diverged));
                }
                self.explain();
            }
            News::Rejoining(has_diverged) => self.on_rejoining(has_diverged),
            News::HostChanged(migration) => self.on_host_changed(&migration),
            News::Relay(connected) => {
                self.relay = if connected { RelayState::Connected } else { RelayState::Lost };
                if !connected && self.play.as_ref().is_some_and(|play| !play.is_member()) {
                    self.page.show_waiting("The relay does not answer. Trying again…");
                }
            }
            News::Outdated => self.is_outdated = true,
            News::Draining(within) => {
                let seconds = within as u32;
                self.page
                    .toast(&format!("The relay stops within {seconds} s. Direct links go on without it."));
            }
            News::Duel(event) => self.on_duel_event(&event),
            News::Maze(news) => self.on_maze_news(&news),
            News::Over(ending) => self.on_over(ending),
        }
    }

    fn on_host_changed(&mut self, migration: &Migration) {
        let Some(play) = &self.play else { return };
        let heir = play.name_of(migration.to);
        let lasted = (migration.resumed.since(migration.detected).as_micros() + 50_000) / 100_000;
        let seconds = tenths(i32::try_from(lasted).unwrap_or(i32::MAX));
        let former = play.name_of(migration.from);
        let went = match (migration.cause, former) {
            (Cause::HandedOver, former) if play.stands_still(migration.from) => {
                former.map_or_else(|| "Your".to_owned(), |former| format!("{former}'s"))
                    + " game stood still."
            }
            (Cause::Lost, _) => "The host was lost.".to_owned(),
            (Cause::Left, _) => "The host went away.".to_owned(),
            (Cause::HandedOver, _) => "The host handed over.".to_owned(),
        };
        let heir =
            heir.map_or_else(|| "You are the host now".to_owned(), |name| format!("{name} is the host now"));
        let after = if lasted == 0 { String::new() } else { format!(", after {seconds} s") };
        self.page.toast(&format!("{went} {heir}{after}"));
        self.sound.play(Effect::HostChanged, 0.8, 0.0);
    }

    fn on_duel_event(&mut self, event: &DuelEvent) {
        match event {
            DuelEvent::PlayerCame { name, is_back, .. } => {
                self.page.feed(&format!("{name} {}", if *is_back { "is back" } else { "sits down" }));
            }
            DuelEvent::PlayerWent { name, departure, .. } => {
                self.page.feed(&format!("{name} {}", went(*departure)));
            }
            _ => self.on_noise(event),
        }
    }

    fn on_over(&mut self, ending: Ending) {
        let Some(wish) = self.play.as_ref().map(|play| play.wish().clone()) else { return };
        self.stop_playing();
        match ending {
            Ending::OtherGame => self.begin(Wish { mode: wish.mode.other(), is_last_guess: true, ..wish }),
            // Page and game are of different versions. If the page loads itself anew, the new page takes the seat
            // back.
            Ending::Problem(Problem::VersionMismatch) if guard::is_updating() => {
                self.page.show_waiting("The game has a new version. Loading it…");
            }
            Ending::Problem(problem) => self.page.problem(problem),
        }
    }

    /// The others went on without this tab, which takes its seat back.
    fn on_rejoining(&mut self, has_diverged: bool) {
        self.rest();
        self.comes_back = Some(self.comes_back.unwrap_or(false) || has_diverged);
        self.page.show_waiting("The others went on. Taking your seat back…");
    }
}

/// The line for a player who was away and sits again.
const fn welcome_back(has_diverged: bool) -> &'static str {
    if has_diverged {
        "You have your seat back. What changed only here meanwhile does not count."
    } else {
        "You have your seat back."
    }
}

/// The line of the feed about a member that went.
pub(super) const fn went(departure: Departure) -> &'static str {
    match departure {
        Departure::Left => "has left",
        Departure::PutOut => "was put out by the host",
        Departure::Gone | Departure::Replaced => "is away",
    }
}
