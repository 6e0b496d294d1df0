//! The settings of a room, as the face gives them.

use js_sys::{Array, JsString};
use samovar::dynamic::{Agreement, fields, name, sharing};
use samovar::objects::schema::{Coding, Motion};
use samovar::{Access, Order, Orphaned};
use wasm_bindgen::{JsCast, JsValue};

/// The settings of a room.
pub(crate) struct Plan {
    pub(crate) agreement: Agreement,
    pub(crate) capacity: usize,
    pub(crate) watches: bool,
    pub(crate) has_world: bool,
    pub(crate) ends_with_host: bool,
    pub(crate) forks: bool,
    pub(crate) is_relayed: bool,
    pub(crate) token: Option<String>,
}

impl Plan {
    /// Reads the list that [`Core::new`](crate::Core::new) describes.
    ///
    /// # Errors
    /// A text for people.
    pub(crate) fn read(plan: &Array) -> Result<Self, String> {
        let mut agreement = Agreement::new(&text(&plan.get(0)), number(&plan.get(1)) as u32);
        for kind in list(&plan.get(2)).iter() {
            agreement = read_type(agreement, &list(&kind))?;
        }
        let orders: Vec<_> = list(&plan.get(3)).iter().filter_map(|order| order_of(&text(&order))).collect();
        let mut agreement = agreement
            .with_orders(&orders)
            .with_spectators(number(&plan.get(4)) as u8)
            .with_words(&text(&plan.get(7)));
        let (input, steps) = (number(&plan.get(8)) as usize, number(&plan.get(9)) as u32);
        let has_world = steps > 0;
        if has_world {
            agreement = agreement.with_world(input, steps)?;
        }
        let (capacity, watches) = (number(&plan.get(5)) as usize, plan.get(6).is_truthy());
        let [ends_with_host, forks, is_relayed] = [10, 11, 12].map(|at| plan.get(at).is_truthy());
        let token = plan.get(13).as_string();
        Ok(Self { agreement, capacity, watches, has_world, ends_with_host, forks, is_relayed, token })
    }
}

/// A type is a list: its fields, what happens when the owner goes, who may ask for an object, whether changes are
/// reliable.
fn read_type(agreement: Agreement, kind: &Array) -> Result<Agreement, String> {
    let mut all = fields();
    let first = all.len();
    let mut has_place = false;
    for field in list(&kind.get(0)).iter() {
        let field = list(&field);
        let coding = coding(&field, first)?;
        if field.get(7).is_truthy() {
            if has_place {
                return Err("an object is in one place: two fields say where".to_owned());
            }
            has_place = true;
            all.place(all.len());
        }
        all.field(name(&text(&field.get(0))), coding);
    }
    let orphan = match &*text(&kind.get(1)) {
        "host" => Orphaned::ToHost,
        "nearest" => Orphaned::ToNearest,
        "ends" => Orphaned::Ends,
        _ => Orphaned::WithSeat,
    };
    let access = match &*text(&kind.get(2)) {
        "free" => Access::Free,
        "shared" => Access::Shared,
        _ => Access::Exclusive,
    };
    agreement.with_type(all, sharing(orphan, access, kind.get(3).is_truthy()))
}

/// A field is a list: its name, its form, its width, its least and its largest number, its step, how it moves (-2 held,
/// -1 smooth, else the index of its rate), and whether it is the object's place.
fn coding(field: &Array, first: usize) -> Result<Coding, String> {
    let at = |index| number(&field.get(index));
    let motion = match at(6) as i32 {
        -1 => Motion::Smooth,
        rate if rate >= 0 => {
            let rate = u8::try_from(rate as usize + first).map_err(|_| "an object has too many fields")?;
            Motion::Rated(rate)
        }
        _ => Motion::Held,
    };
    Ok(match &*text(&field.get(1)) {
        "grid" => {
            Coding::Grid { width: at(2) as u8, min: at(3) as i32, max: at(4) as i32, step: at(5), motion }
        }
        "angle" => Coding::Angle { turn: at(4) as i32, motion },
        "choice" => Coding::Choice { count: at(4) as i32 },
        _ => Coding::Text { max: at(4) as u8 },
    })
}

fn order_of(word: &str) -> Option<Order> {
    match word {
        "causal" => Some(Order::Causal),
        "total" => Some(Order::Total),
        "stable" => Some(Order::Stable),
        "time" => Some(Order::Time),
        _ => None,
    }
}

fn list(value: &JsValue) -> Array {
    value.dyn_ref::<Array>().cloned().unwrap_or_default()
}

fn text(value: &JsValue) -> String {
    value.dyn_ref::<JsString>().map(String::from).unwrap_or_default()
}

fn number(value: &JsValue) -> f64 {
    value.as_f64().unwrap_or_default()
}
