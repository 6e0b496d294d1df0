//! A whiteboard in a page. All members draw with a mouse, a pen or a finger, and a newcomer sees the whole
//! drawing. The board outlives the members that drew on it.

use std::cell::RefCell;
use std::rc::Rc;

use samovar::page;
use samovar::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{
    CanvasRenderingContext2d, Document, HtmlCanvasElement, HtmlElement,
    HtmlInputElement, PointerEvent,
};

/// The board's size, in its own units.
const SIZE: [f32; 2] = [1600.0, 1000.0];
/// The most points of a stroke. A longer line continues in the next stroke.
const POINTS: usize = 48;
/// The least distance between two points of a line.
const STEP: f32 = 4.0;

/// A part of a line. It goes to the host when its painter goes.
#[derive(Object)]
#[object(orphan = "host")]
struct Stroke {
    /// Strokes of a board that was wiped are not drawn.
    board: u32,
    #[field(bound = POINTS)]
    points: Vec<(u16, u16)>,
    hue: u16,
}

/// The place that a painter points at.
#[derive(Object)]
#[object(orphan = "end")]
struct Hand {
    #[field(min = 0.0, max = 1600.0, precision = 1.0, smooth)]
    at: [f32; 2],
}

/// Requests of members to the host.
#[derive(Message)]
enum Ask {
    Wipe { board: u32 },
}

samovar::game! {
    Board: name = "whiteboard", version = 1,
    // The host's state is the number of the board: how often it was wiped.
    objects = (Stroke, Hand), state = u32, asks = Ask
}

struct Board {
    desk: Desk,
    hand: Id<Hand>,
    stroke: Option<Id<Stroke>>,
    drawn: Option<[f32; 2]>,
}

impl Game for Board {
    fn frame(&mut self, room: &mut Room<'_, Self>, _: f64) {
        let (path, wipes) = self.desk.take();
        if wipes {
            room.ask(Ask::Wipe { board: *room.state() }).or_log();
        }
        for own in room.mine::<Stroke>() {
            if own.board != *room.state() {
                room.destroy(own.id).or_log();
            }
        }
        if let Some(at) = path.iter().rev().find_map(|step| *step) {
            room.edit(self.hand, |hand| hand.at = at).or_log();
        }
        for step in path {
            match step {
                Some(at) => self.draw_to(room, at),
                None => (self.stroke, self.drawn) = (None, None),
            }
        }
        self.desk.show(room);
    }

    fn decide(host: &mut Hosting<'_, '_, Self>, _: &Member, ask: Ask) {
        match ask {
            // Two members that wipe the same board at once wipe it only once.
            Ask::Wipe { board } if board == *host.state => *host.state += 1,
            Ask::Wipe { .. } => {}
        }
    }
}

impl Board {
    fn new(room: &mut Room<'_, Self>, desk: Desk) -> Self {
        // Discards the player's input from before the game began.
        let _ = desk.take();
        Self {
            desk,
            hand: room.own_or(|_| Hand { at: [0.0; 2] }),
            stroke: None,
            drawn: None,
        }
    }

    /// Continues the line to this point.
    fn draw_to(&mut self, room: &mut Room<'_, Self>, at: [f32; 2]) {
        let is_near =
            |from: [f32; 2]| (from[0] - at[0]).hypot(from[1] - at[1]) < STEP;
        if self.drawn.is_some_and(is_near) {
            return;
        }
        let whole = |at: [f32; 2]| (at[0] as u16, at[1] as u16);
        let (board, hue) =
            (*room.state(), hue(room.me().map_or(0, |me| me.seat.0)));
        let going_on = self
            .stroke
            .and_then(|id| room.get(id))
            .filter(|stroke| stroke.points.len() < POINTS);
        if let Some(stroke) = going_on {
            room.edit(stroke.id, |stroke| stroke.points.push(whole(at)))
                .or_log();
        } else {
            let points =
                self.drawn.into_iter().chain([at]).map(whole).collect();
            self.stroke = room.create(&Stroke { board, points, hue }).or_log();
        }
        self.drawn = Some(at);
    }
}

fn hue(seat: u16) -> u16 {
    (u32::from(seat) * 137 % 360) as u16
}

/// The page's part of the board: the player's input, and the picture that the player sees.
#[derive(Clone)]
struct Desk {
    document: Document,
    canvas: HtmlCanvasElement,
    picture: CanvasRenderingContext2d,
    hands: Rc<RefCell<Hands>>,
}

#[derive(Default)]
struct Hands {
    /// The places of the pen, with `None` where the player lifted it.
    path: Vec<Option<[f32; 2]>>,
    is_down: bool,
    wipes: bool,
}

/// The most steps of the pen that wait for a frame of the game.
const STEPS_MAX: usize = 4_096;

impl Desk {
    fn new() -> Result<Self, JsValue> {
        let document = web_sys::window()
            .and_then(|window| window.document())
            .ok_or("no page")?;
        let canvas: HtmlCanvasElement = element(&document, "board")?;
        let picture =
            canvas.get_context("2d")?.ok_or("no picture")?.unchecked_into();
        let desk = Self { document, canvas, picture, hands: Rc::default() };
        for kind in ["pointerdown", "pointermove", "pointerup", "pointercancel"]
        {
            let hands = Rc::clone(&desk.hands);
            let canvas = desk.canvas.clone();
            listen(&desk.canvas, kind, move |event: PointerEvent| {
                let mut hands = hands.borrow_mut();
                // Only the first finger draws.
                if !event.is_primary() || hands.path.len() >= STEPS_MAX {
                    return;
                }
                match kind {
                    "pointerdown" => {
                        hands.is_down = true;
                        // The line continues when the pointer leaves the canvas.
                        let _ = canvas.set_pointer_capture(event.pointer_id());
                    }
                    "pointermove" => {}
                    _ => {
                        hands.is_down = false;
                        hands.path.push(None);
                    }
                }
                if hands.is_down {
                    let place = canvas.get_bounding_client_rect();
                    let x = (f64::from(event.client_x()) - place.x())
                        / place.width();
                    let y = (f64::from(event.client_y()) - place.y())
                        / place.height();
                    hands
                        .path
                        .push(Some([within(x, SIZE[0]), within(y, SIZE[1])]));
                }
            })?;
        }
        let (hands, wipe) = (
            Rc::clone(&desk.hands),
            element::<HtmlElement>(&desk.document, "wipe")?,
        );
        listen(&wipe, "click", move |_: PointerEvent| {
            hands.borrow_mut().wipes = true
        })?;
        Ok(desk)
    }

    /// The player's input since the last call: the path of the pen, and whether to wipe the board.
    fn take(&self) -> (Vec<Option<[f32; 2]>>, bool) {
        let mut hands = self.hands.borrow_mut();
        (core::mem::take(&mut hands.path), core::mem::take(&mut hands.wipes))
    }

    fn show(&self, room: &Room<'_, Board>) {
        let picture = &self.picture;
        picture.clear_rect(0.0, 0.0, SIZE[0].into(), SIZE[1].into());
        picture.set_line_width(5.0);
        picture.set_line_cap("round");
        picture.set_line_join("round");
        for stroke in room
            .all::<Stroke>()
            .into_iter()
            .filter(|stroke| stroke.board == *room.state())
        {
            picture.set_stroke_style_str(&format!(
                "hsl({} 70% 40%)",
                stroke.hue % 360
            ));
            picture.begin_path();
            for &(x, y) in
                stroke.points.first().into_iter().chain(&stroke.points)
            {
                picture.line_to(x.into(), y.into());
            }
            picture.stroke();
        }
        picture.set_font("28px system-ui, sans-serif");
        let me = room.me();
        for hand in room
            .all::<Hand>()
            .into_iter()
            .filter(|hand| Some(&hand.owner) != me.as_ref())
        {
            picture.set_fill_style_str(&format!(
                "hsl({} 70% 40%)",
                hue(hand.owner.seat.0)
            ));
            let [x, y] = hand.at;
            let _ = picture.fill_text(
                &format!("✎ {}", hand.owner.name),
                x.into(),
                y.into(),
            );
        }
        let host = room.host().map(|host| host.name).unwrap_or_default();
        let names: Vec<_> =
            room.members().into_iter().map(|member| member.name).collect();
        self.say("members", &format!("{} (host: {host})", names.join(", ")));
    }

    fn say(&self, id: &str, text: &str) {
        if let Ok(element) = element::<HtmlElement>(&self.document, id)
            && element.text_content().as_deref() != Some(text)
        {
            element.set_text_content(Some(text));
        }
    }

    /// Shows the board in place of the form.
    fn open(&self) -> Result<(), JsValue> {
        element::<HtmlElement>(&self.document, "entry")?.set_hidden(true);
        element::<HtmlElement>(&self.document, "wipe")?.set_hidden(false);
        self.canvas.set_class_name("open");
        Ok(())
    }
}

/// The pointer's coordinate along a side of the board, from its share of that side.
fn within(share: f64, side: f32) -> f32 {
    (share as f32 * side).clamp(0.0, side - 1.0)
}

fn element<T: JsCast>(document: &Document, id: &str) -> Result<T, JsValue> {
    let found = document
        .get_element_by_id(id)
        .and_then(|element| element.dyn_into().ok());
    found.ok_or_else(|| format!("the page has no {id}").into())
}

fn listen<E: JsCast + wasm_bindgen::convert::FromWasmAbi + 'static>(
    target: &web_sys::EventTarget,
    kind: &str,
    listener: impl Fn(E) + 'static,
) -> Result<(), JsValue> {
    // The listener lives as long as the page.
    let listener = Closure::<dyn Fn(E)>::new(listener).into_js_value();
    target.add_event_listener_with_callback(kind, listener.unchecked_ref())
}

async fn draw(desk: Desk, name: String) {
    let (shown, own) = (desk.clone(), desk.clone());
    let entry = match page::code() {
        Some(code) => samovar::join_or_create(&page::relay(), &code, &name),
        None => samovar::create(&page::relay(), &name),
    };
    let over = entry
        .on_status(move |status| {
            if let Status::Entered(code) = status {
                page::set_code(code);
            }
            shown.say("status", &status.to_string());
        })
        .run(move |room| Board::new(room, own.clone()))
        .await;
    match over {
        Ok(()) => desk.say("status", "You have left."),
        Err(error) => desk.say("status", &error.to_string()),
    }
}

fn main() -> Result<(), JsValue> {
    let desk = Desk::new()?;
    let form: HtmlElement = element(&desk.document, "entry")?;
    listen(&form, "submit", move |event: web_sys::Event| {
        event.prevent_default();
        if let Ok(name) = element::<HtmlInputElement>(&desk.document, "name")
            && desk.open().is_ok()
        {
            wasm_bindgen_futures::spawn_local(draw(desk.clone(), name.value()));
        }
    })
}
