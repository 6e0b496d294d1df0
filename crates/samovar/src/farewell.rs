//! What a page that panics says to the others.

use std::cell::RefCell;
use std::sync::Once;

type Farewell = Box<dyn Fn()>;

thread_local! {
    static FAREWELL: RefCell<Option<Farewell>> = const { RefCell::new(None) };
}

/// From now on a panic calls this function, after the hook that the program has set, and shows itself at the console.
pub(crate) fn set(farewell: impl Fn() + 'static) {
    static HOOK: Once = Once::new();
    FAREWELL.with(|slot| *slot.borrow_mut() = Some(Box::new(farewell)));
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            before(info);
            web_sys::console::error_1(&info.to_string().into());
            let farewell = FAREWELL.with(|slot| slot.try_borrow_mut().ok().and_then(|mut slot| slot.take()));
            if let Some(farewell) = farewell {
                farewell();
            }
        }));
    });
}
