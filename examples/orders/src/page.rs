//! The page: the choice of a scene, its conditions, and the plays side by side.

use std::cell::RefCell;
use std::rc::Rc;

use samovar_orders::pacmen::{self, PLAYERS, Race, STEPS_PER_SECOND};
use samovar_orders::play::{Conditions, ORDERS, Play, play};
use samovar_orders::scenes::{SCENES, Scene, Verdict, named};
use wasm_bindgen::prelude::*;
use web_sys::{Document, Element, HtmlElement, HtmlInputElement, Window};

use crate::picture;

/// The name of the pacmen in the page's address.
const PACMEN: &str = "pacmen";

/// The races that the page shows, if it shows any.
type Races = Rc<RefCell<Vec<Race>>>;

#[derive(Clone)]
struct Page {
    window: Window,
    document: Document,
    races: Races,
}

/// Shows the scene that the address names.
pub(crate) fn open() -> Result<(), JsValue> {
    let window = web_sys::window().ok_or("no window")?;
    let document = window.document().ok_or("no page")?;
    let page = Page { window, document, races: Races::default() };
    let names = SCENES.iter().map(|scene| (scene.name, scene.title));
    let names: Vec<_> = names.chain([(PACMEN, pacmen::TITLE)]).collect();
    let wished = page.window.location().hash().unwrap_or_default();
    let wished = wished.trim_start_matches('#');
    let known = names.iter().find(|(name, _)| *name == wished);
    let chosen = known.map_or(names[0].0, |(name, _)| name);
    let choices = names.iter().map(|(name, title)| {
        let checked = if *name == chosen { "checked" } else { "" };
        format!(
            "<label><input type=radio name=scene value={name} {checked} />\
             {title}</label>"
        )
    });
    page.element::<Element>("scenes")?
        .set_inner_html(&choices.collect::<String>());
    for id in ["scenes", "lag", "kill"] {
        let shown = page.clone();
        let show = Closure::<dyn Fn()>::new(move || {
            if let Err(error) = shown.show() {
                shown.say(&format!("The page is broken: {error:?}"));
            }
        })
        // The listener lives as long as the page.
        .into_js_value();
        let element: Element = page.element(id)?;
        element.add_event_listener_with_callback(
            if id == "lag" { "input" } else { "change" },
            show.unchecked_ref(),
        )?;
    }
    page.show()?;
    page.run_mazes()
}

impl Page {
    fn element<T: JsCast>(&self, id: &str) -> Result<T, JsValue> {
        let found = self.document.get_element_by_id(id);
        let found = found.and_then(|element| element.dyn_into().ok());
        found.ok_or_else(|| format!("the page has no {id}").into())
    }

    fn say(&self, text: &str) {
        if let Ok(plays) = self.element::<Element>("plays") {
            plays.set_text_content(Some(text));
        }
    }

    /// Plays the scene that is chosen, in each order.
    fn show(&self) -> Result<(), JsValue> {
        let chosen = self.document.query_selector("#scenes :checked")?;
        let chosen: HtmlInputElement =
            chosen.ok_or("no scene is chosen")?.dyn_into()?;
        let lag: HtmlInputElement = self.element("lag")?;
        let kill: HtmlInputElement = self.element("kill")?;
        let conditions = Conditions {
            lag: lag.value_as_number() as u32,
            kills_host: kill.checked(),
            ..Conditions::default()
        };
        self.element::<HtmlElement>("millis")?
            .set_text_content(Some(&format!("{} ms", conditions.lag)));
        let name = chosen.value();
        self.window.location().replace(&format!("#{name}"))?;
        let scene = named(&name);
        let story = scene.map_or(pacmen::STORY, |scene| scene.story);
        self.element::<Element>("story")?.set_text_content(Some(story));
        self.races.borrow_mut().clear();
        let shown = match scene {
            Some(scene) => show_scene(scene, conditions),
            None => self.show_races(conditions),
        };
        match shown {
            Ok(plays) => {
                self.element::<Element>("plays")?.set_inner_html(&plays);
            }
            Err(fault) => self.say(&format!("A fault of the library: {fault}")),
        }
        Ok(())
    }

    fn show_races(&self, conditions: Conditions) -> Result<String, String> {
        let mut html = String::new();
        for in_step in [false, true] {
            let race = pacmen::race(in_step, conditions)?;
            let screens = PLAYERS.map(|player| {
                format!(
                    "<figure><div class=screen></div>\
                     <figcaption>{player}'s screen</figcaption></figure>"
                )
            });
            let screens =
                format!("<div class=screens>{}</div>", screens.concat());
            html += &article(pacmen::name(in_step), &race.verdict(), &screens);
            self.races.borrow_mut().push(race);
        }
        Ok(html)
    }

    /// Lets the mazes run, again and again.
    fn run_mazes(&self) -> Result<(), JsValue> {
        let page = self.clone();
        let step = RefCell::new(0_usize);
        let run = Closure::<dyn Fn()>::new(move || {
            let _ = page.draw_mazes(*step.borrow());
            *step.borrow_mut() += 1;
        })
        .into_js_value();
        let every = 1_000 / STEPS_PER_SECOND as i32;
        self.window.set_interval_with_callback_and_timeout_and_arguments_0(
            run.unchecked_ref(),
            every,
        )?;
        Ok(())
    }

    fn draw_mazes(&self, step: usize) -> Result<(), JsValue> {
        let screens = self.document.get_elements_by_class_name("screen");
        let races = self.races.borrow();
        let shown = races.iter().flat_map(|race| &race.screens);
        for (place, screen) in shown.enumerate() {
            let maze = screen.get(step % screen.len().max(1));
            let element = screens.item(place as u32);
            if let Some((maze, element)) = maze.zip(element) {
                element.set_inner_html(&picture::maze(maze));
            }
        }
        Ok(())
    }
}

fn show_scene(
    scene: &'static Scene,
    conditions: Conditions,
) -> Result<String, String> {
    let plays =
        ORDERS.map(|(order, name)| (name, play(scene, order, conditions)));
    let mut shown: Vec<(&str, Play)> = Vec::new();
    for (name, play) in plays {
        shown.push((name, play?));
    }
    let ends = shown.iter().flat_map(|(_, play)| &play.records);
    let lasts = ends.map(|record| record.at).fold(0.0, f64::max);
    let articles = shown.iter().map(|(name, play)| {
        article(name, &play.verdict, &picture::chart(scene, play, lasts))
    });
    Ok(articles.collect())
}

fn article(name: &str, verdict: &Verdict, picture: &str) -> String {
    let class = if verdict.is_right { "right" } else { "wrong" };
    format!(
        "<article class={class}><h2>{name}</h2>\
         <p class=verdict>{verdict}</p>{picture}</article>"
    )
}
