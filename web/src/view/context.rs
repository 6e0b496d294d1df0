//! Getting a WebGL2 context out of a canvas, or a reason why there is none.

use web_sys::{HtmlCanvasElement, WebGl2RenderingContext};

use super::{Quality, ViewError};

/// The browser's context, and the same wrapped for `three-d`.
pub struct Screen {
    /// Asked only whether it is lost.
    pub raw: WebGl2RenderingContext,
    /// What everything is drawn with.
    pub context: three_d::Context,
}

/// Opens the canvas's WebGL2 context. After `webglcontextrestored` the same call gives the restored one.
///
/// # Errors
/// [`ViewError::NoWebGl2`] when the browser has none or has lost it, [`ViewError::Context`] when it refuses to work.
#[cfg(target_arch = "wasm32")]
pub fn open(canvas: &HtmlCanvasElement, quality: Quality) -> Result<Screen, ViewError> {
    use wasm_bindgen::JsCast;

    let wishes = web_sys::WebGlContextAttributes::new();
    wishes.set_alpha(false);
    wishes.set_antialias(quality == Quality::Normal);
    wishes.set_power_preference(web_sys::WebGlPowerPreference::HighPerformance);
    let found = canvas.get_context_with_context_options("webgl2", &wishes).ok().flatten();
    let raw: WebGl2RenderingContext =
        found.and_then(|object| object.dyn_into().ok()).ok_or(ViewError::NoWebGl2)?;
    if raw.is_context_lost() {
        return Err(ViewError::NoWebGl2);
    }
    let low_level = three_d::context::Context::from_webgl2_context(raw.clone());
    #[expect(clippy::arc_with_non_send_sync, reason = "three-d asks for an Arc; the page has one thread")]
    let context = three_d::Context::from_gl_context(std::sync::Arc::new(low_level))
        .map_err(|error| ViewError::Context(error.to_string()))?;
    Ok(Screen { raw, context })
}

/// There is no canvas outside a browser; this lets the pure parts be tested natively.
#[cfg(not(target_arch = "wasm32"))]
pub fn open(_canvas: &HtmlCanvasElement, _quality: Quality) -> Result<Screen, ViewError> {
    Err(ViewError::NoWebGl2)
}
