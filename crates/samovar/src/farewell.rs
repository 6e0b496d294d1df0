//! What a page does when it cannot go on, after a panic or an exception.

use std::cell::RefCell;
use std::sync::Once;

use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;

struct Farewell {
    /// Tells the others.
    goodbye: Box<dyn Fn()>,
    /// Tells the program.
    broken: Box<dyn FnOnce()>,
}

thread_local! {
    static FAREWELL: RefCell<Option<Farewell>> = const { RefCell::new(None) };
}

/// Sets what [`say`] does. From now on a panic calls that, after the hook that the program has set, and shows itself at
/// the browser's console.
pub(crate) fn set(goodbye: impl Fn() + 'static, broken: impl FnOnce() + 'static) {
    static HOOK: Once = Once::new();
    let farewell = Farewell { goodbye: Box::new(goodbye), broken: Box::new(broken) };
    FAREWELL.with_borrow_mut(|slot| *slot = Some(farewell));
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            before(info);
            web_sys::console::error_1(&info.to_string().into());
            say();
        }));
    });
}

/// Tells the others at once, and the program as soon as the call that failed is over.
pub(crate) fn say() {
    let farewell = FAREWELL.with(|slot| slot.try_borrow_mut().ok().and_then(|mut slot| slot.take()));
    let Some(Farewell { goodbye, broken }) = farewell else { return };
    goodbye();
    let later = Closure::once_into_js(broken);
    if let Some(window) = web_sys::window() {
        // Without a timer the program does not hear of it, and the console does.
        let _ = window.set_timeout_with_callback(later.unchecked_ref());
    }
}
