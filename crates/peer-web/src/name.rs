//! Names as people type them, cut where the browser says that a character ends.

use samovar_wire::name;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = Intl)]
    type Segmenter;
    #[wasm_bindgen(constructor, js_namespace = Intl, catch)]
    fn new() -> Result<Segmenter, JsValue>;
    #[wasm_bindgen(method)]
    fn segment(this: &Segmenter, text: &str) -> JsValue;
    #[wasm_bindgen(js_name = Object)]
    type Segment;
    #[wasm_bindgen(method, getter)]
    fn segment(this: &Segment) -> String;
}

/// Makes a valid name out of typed text: tidy, at most 20 characters as people count them, and at most 80 bytes. The
/// name may be empty. In a browser without `Intl.Segmenter`, each Unicode code point counts as a character.
#[must_use]
pub fn fit_name(typed: &str) -> String {
    let tidy = name::tidy(typed);
    let segments = Segmenter::new().ok().and_then(|cut| js_sys::try_iter(&cut.segment(&tidy)).ok().flatten());
    match segments {
        Some(segments) => {
            name::fit(segments.flatten().map(|part| part.unchecked_into::<Segment>().segment()))
        }
        None => name::fit(tidy.chars().map(String::from)),
    }
}
