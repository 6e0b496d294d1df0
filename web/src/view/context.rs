//! Gets a WebGL2 context from a canvas, or a reason why there is none.

use web_sys::{HtmlCanvasElement, WebGl2RenderingContext};

use super::{Quality, ViewError};

/// Parts of the names of renderers that have no graphics processor.
#[cfg(target_arch = "wasm32")]
const SOFTWARE: [&str; 4] = ["swiftshader", "llvmpipe", "softpipe", "basic render"];
/// `UNMASKED_RENDERER_WEBGL` of the extension `WEBGL_debug_renderer_info`.
#[cfg(target_arch = "wasm32")]
const UNMASKED_RENDERER: u32 = 0x9246;

/// Opens the canvas's WebGL2 context. After `webglcontextrestored` the same call gives the restored one.
///
/// # Errors
/// [`ViewError::NoWebGl2`] when the browser has no context or has lost it.
#[cfg(target_arch = "wasm32")]
pub fn open(canvas: &HtmlCanvasElement, quality: Quality) -> Result<WebGl2RenderingContext, ViewError> {
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
    Ok(raw)
}

/// The quality that the machine can draw without stutter: [`Quality::Low`] on a machine without a graphics processor,
/// as in most test browsers.
#[cfg(target_arch = "wasm32")]
pub fn suggested_quality() -> Quality {
    // A separate canvas is used here, since the first context of a canvas settles its attributes.
    let renderer = web_sys::window().and_then(|window| window.document()).and_then(|document| {
        use wasm_bindgen::JsCast;

        let canvas: HtmlCanvasElement = document.create_element("canvas").ok()?.dyn_into().ok()?;
        let context: WebGl2RenderingContext = canvas.get_context("webgl2").ok()??.dyn_into().ok()?;
        // WebGlDebugRendererInfo names the true renderer; Firefox names it without the extension.
        let named = context.get_extension("WEBGL_debug_renderer_info").ok().flatten().is_some();
        let parameter = if named { UNMASKED_RENDERER } else { WebGl2RenderingContext::RENDERER };
        let renderer = context.get_parameter(parameter).ok()?.as_string()?;
        if let Ok(Some(release)) = context.get_extension("WEBGL_lose_context") {
            release.unchecked_into::<web_sys::WebglLoseContext>().lose_context();
        }
        Some(renderer.to_ascii_lowercase())
    });
    // `contains` is not used here: its speed in long texts costs a kilobyte of machine code.
    let holds = |renderer: &str, name: &str| {
        renderer.as_bytes().windows(name.len()).any(|part| part == name.as_bytes())
    };
    if renderer.is_some_and(|renderer| SOFTWARE.iter().any(|name| holds(&renderer, name))) {
        Quality::Low
    } else {
        Quality::Normal
    }
}

/// The quality outside a browser, where the view draws nothing at all.
#[cfg(not(target_arch = "wasm32"))]
pub fn suggested_quality() -> Quality {
    Quality::Low
}

/// Always fails, since there is no canvas outside a browser. So the pure parts can be tested natively.
#[cfg(not(target_arch = "wasm32"))]
pub fn open(_canvas: &HtmlCanvasElement, _quality: Quality) -> Result<WebGl2RenderingContext, ViewError> {
    Err(ViewError::NoWebGl2)
}
