//! The alarm that wakes the peer in time, as far as the browser lets it.
//!
//! After a sleep a tab finds its timer due and messages waiting at the same moment. The peer must hear the messages
//! first. So a due alarm takes one more turn through the event loop, by a message to itself. A browser throttles the
//! timers of a hidden tab, and does not throttle this message or a worker's timers. So in a hidden tab arriving
//! messages start the due work, and when none arrive, a worker's timer does.

use std::cell::RefCell;
use std::rc::Rc;

use samovar_wire::Time;
use wasm_bindgen::JsValue;
use web_sys::{MessageChannel, MessagePort};

use crate::listener::{Listener, Timeout};
use crate::pacer::Pacer;

/// One alarm. It fires once each time that it was set.
pub(crate) struct Alarm {
    ring: Rc<dyn Fn(Ring)>,
    state: RefCell<State>,
    turn: Option<Turn>,
    pacer: Option<Pacer>,
}

/// The reason why an alarm fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ring {
    /// A timer has run out. The owner sets the alarm again, and the alarm then finds its time due.
    Timer,
    /// The time has come, and the peer has heard all waiting messages.
    Due,
}

enum State {
    Off,
    /// Waits for this time. The page's own timer runs only where the worker does not.
    Waiting {
        until: Time,
        _timer: Option<Timeout>,
    },
    /// The time has come, and the message to itself is on its way. The timer runs only where the message could not be
    /// sent.
    Turning {
        _timer: Option<Timeout>,
    },
}

/// A message channel from the alarm to itself, which gives one more turn of the event loop.
struct Turn {
    sender: MessagePort,
    receiver: MessagePort,
    _listener: Listener,
}

/// Milliseconds of the longest wait of one timer; then the alarm sets it again.
const LONGEST_MILLIS: u64 = 60 * 60 * 1_000;

impl Alarm {
    pub(crate) fn new(ring: Rc<dyn Fn(Ring)>) -> Self {
        let turn = Turn::new(Rc::clone(&ring)).ok();
        let pacer = Pacer::new(Rc::clone(&ring)).ok();
        Self { ring, state: RefCell::new(State::Off), turn, pacer }
    }

    /// Lets the alarm fire at `wanted`, or not at all. The owner calls this each time the alarm has fired, and
    /// whenever the time may have changed.
    pub(crate) fn set(&self, now: Time, wanted: Option<Time>) {
        if self.rings_soon_enough(now, wanted) {
            return;
        }
        match wanted {
            None => {
                self.set_state(State::Off);
                self.pace(-1);
            }
            Some(wanted) if wanted <= now => self.turn(),
            Some(wanted) => self.wait(now, wanted),
        }
    }

    /// Whether the alarm fires early enough as it is. Firing early once costs less than a new timer for every packet.
    fn rings_soon_enough(&self, now: Time, wanted: Option<Time>) -> bool {
        match (&*self.state.borrow(), wanted) {
            (State::Turning { .. }, _) => true,
            (State::Waiting { until, .. }, Some(wanted)) => *until <= wanted && now < *until,
            _ => false,
        }
    }

    /// Replaces the state. Drops the former state only when nothing is borrowed any more, because dropping its timer
    /// calls the browser.
    fn set_state(&self, state: State) {
        let former = self.state.replace(state);
        drop(former);
    }

    /// Turns the alarm off. The owner calls this after the alarm has fired.
    pub(crate) fn rang(&self) {
        self.set_state(State::Off);
    }

    fn turn(&self) {
        let sent = self.turn.as_ref().is_some_and(|turn| turn.sender.post_message(&JsValue::NULL).is_ok());
        let ring = Rc::clone(&self.ring);
        let timer = if sent { None } else { Timeout::after(0, move || ring(Ring::Due)) };
        self.set_state(State::Turning { _timer: timer });
    }

    fn wait(&self, now: Time, wanted: Time) {
        let millis = wanted.since(now).as_micros().div_ceil(1_000).min(LONGEST_MILLIS);
        // The wait is an hour at most, so the number fits.
        let millis = millis as i32;
        let timer = if self.pace(millis) {
            None
        } else {
            let ring = Rc::clone(&self.ring);
            Timeout::after(millis, move || ring(Ring::Timer))
        };
        self.set_state(State::Waiting { until: wanted, _timer: timer });
    }

    fn pace(&self, millis: i32) -> bool {
        self.pacer.as_ref().is_some_and(|pacer| pacer.set(millis))
    }
}

impl Turn {
    fn new(ring: Rc<dyn Fn(Ring)>) -> Result<Self, JsValue> {
        let channel = MessageChannel::new()?;
        let receiver = channel.port2();
        let listener = Listener::on(&receiver, "message", move |_| ring(Ring::Due))?;
        receiver.start();
        Ok(Self { sender: channel.port1(), receiver, _listener: listener })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.sender.close();
        self.receiver.close();
    }
}

#[cfg(all(test, target_arch = "wasm32"))]
pub(crate) mod tests {
    use super::*;
    use crate::clock::now;
    use samovar_wire::Duration;
    use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

    wasm_bindgen_test_configure!(run_in_browser);

    fn alarm() -> (Alarm, Rc<RefCell<Vec<Ring>>>) {
        let rings: Rc<RefCell<Vec<Ring>>> = Rc::default();
        let heard = Rc::clone(&rings);
        (Alarm::new(Rc::new(move |ring| heard.borrow_mut().push(ring))), rings)
    }

    pub(crate) async fn sleep(millis: i32) {
        let promise = js_sys::Promise::new(&mut |resolve, _| {
            let window = crate::scope::scope();
            window.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, millis).expect("a timer");
        });
        promise.await.expect("a timer does not fail");
    }

    #[wasm_bindgen_test]
    async fn a_due_alarm_fires_once_after_one_event_loop_turn() {
        let (alarm, rings) = alarm();
        for _ in 0..3 {
            alarm.set(now(), Some(Time::ZERO));
        }
        assert!(rings.borrow().is_empty());
        sleep(30).await;
        assert_eq!(*rings.borrow(), [Ring::Due]);
        alarm.rang();
        alarm.set(now(), Some(Time::ZERO));
        sleep(30).await;
        assert_eq!(*rings.borrow(), [Ring::Due, Ring::Due]);
    }

    #[wasm_bindgen_test]
    async fn an_earlier_time_replaces_a_later_one_and_none_cancels() {
        let (alarm, rings) = alarm();
        let start = now();
        alarm.set(start, Some(start + Duration::from_millis(60_000)));
        alarm.set(start, Some(start + Duration::from_millis(20)));
        alarm.set(start, Some(start + Duration::from_millis(40_000)));
        sleep(80).await;
        assert_eq!(*rings.borrow(), [Ring::Timer]);
        alarm.rang();
        alarm.set(now(), Some(now() + Duration::from_millis(20)));
        alarm.set(now(), None);
        sleep(80).await;
        assert_eq!(*rings.borrow(), [Ring::Timer]);
    }

    #[wasm_bindgen_test]
    async fn a_dropped_alarm_does_not_fire() {
        let (alarm, rings) = alarm();
        alarm.set(now(), Some(now() + Duration::from_millis(10)));
        drop(alarm);
        sleep(60).await;
        assert!(rings.borrow().is_empty());
    }
}
