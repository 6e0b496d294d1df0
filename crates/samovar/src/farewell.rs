//! The last words of a page that cannot go on after a panic or an exception: a message to the other members, and one
//! to the program.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Once;

use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;

thread_local! {
    /// The last words of all runs in this page.
    static ALL: RefCell<Vec<Weak<Words>>> = const { RefCell::new(Vec::new()) };
}

struct Words {
    /// Tells the other members.
    goodbye: Box<dyn Fn()>,
    /// Tells the program.
    broken: Cell<Option<Box<dyn FnOnce()>>>,
}

/// The last words of one run. Once this is dropped, they are not sent any more.
pub(crate) struct Farewell(Rc<Words>);

impl Farewell {
    /// Makes a panic send these words from now on. The panic first calls the hook that the program has set, and
    /// prints itself to the browser's console. All runs of a page share its code, so a panic ends them all.
    pub(crate) fn new(goodbye: impl Fn() + 'static, broken: impl FnOnce() + 'static) -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                before(info);
                web_sys::console::error_1(&info.to_string().into());
                say_all();
            }));
        });
        let words = Rc::new(Words { goodbye: Box::new(goodbye), broken: Cell::new(Some(Box::new(broken))) });
        ALL.with_borrow_mut(|all| {
            all.retain(|words| words.strong_count() > 0);
            all.push(Rc::downgrade(&words));
        });
        Self(words)
    }

    /// Tells the others at once, and the program as soon as the call that failed is over.
    pub(crate) fn say(&self) {
        self.0.say();
    }
}

/// Sends the last words of all runs.
pub(crate) fn say_all() {
    let all = ALL.with(|all| all.try_borrow_mut().map(|mut all| core::mem::take(&mut *all)));
    all.unwrap_or_default().iter().filter_map(Weak::upgrade).for_each(|words| words.say());
}

impl Words {
    fn say(&self) {
        let Some(broken) = self.broken.take() else { return };
        (self.goodbye)();
        let later = Closure::once_into_js(broken);
        // If the browser sets no timer, the program is not told, and only the console shows the panic.
        let _ = samovar_peer_web::scope::scope().set_timeout_with_callback(later.unchecked_ref());
    }
}
