//! Sounds, made from a few sines and a puff of noise; there are no files to load.
//!
//! Browsers keep a page silent until its player does something, so the audio context runs from the first gesture on.
//! The context is made together with the page. Making it takes the browser a tenth of a second or more. During a
//! game, a host that stands still for so long would be missed by the members. Where there is no audio at all the game
//! is silent and nothing else changes.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use web_sys::{
    AudioBuffer, AudioContext, AudioContextState, AudioNode, AudioParam, AudioScheduledSourceNode,
    BiquadFilterType, GainNode, OscillatorType,
};

use crate::page::dom::{self, Listener};

samovar_wire::counted! {
    /// A sound that the player hears.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Effect {
        /// A sugar cube is thrown.
        Fire,
        /// A teapot is hit.
        Hit,
        /// A teapot is back on the table.
        Respawn,
        /// A player has taken the sugar bowl.
        Bowl,
        /// Another host has taken over.
        HostChanged,
    }
}

/// The least time between two starts of the same effect, in seconds, so that a burst of hits does not become one loud
/// noise.
const SPACING: f64 = 0.035;

/// The volume of all sounds together, so that several sounds at once do not clip.
const VOLUME: f32 = 0.5;

/// One voice that starts on one pitch, slides to another and fades.
struct Tone {
    shape: OscillatorType,
    from: f32,
    to: f32,
    at: f64,
    lasts: f64,
    gain: f32,
}

/// A puff of noise above or around a frequency.
struct Puff {
    filter: BiquadFilterType,
    frequency: f32,
    lasts: f64,
    gain: f32,
}

/// Plays sounds. Dropping it removes its listeners.
pub struct Sound {
    state: Rc<State>,
    _gestures: Vec<Listener>,
}

struct State {
    muted: Cell<bool>,
    gesture: Cell<bool>,
    /// `None` where the browser has no audio.
    device: Option<Device>,
}

/// The browser's audio.
struct Device {
    context: AudioContext,
    master: GainNode,
    noise: AudioBuffer,
    last: Cell<[f64; Effect::COUNT]>,
}

impl Sound {
    /// Sound that is silent until the player's first gesture.
    ///
    /// # Errors
    /// There is no window to listen to.
    pub fn new(muted: bool) -> Result<Self, JsValue> {
        let device = Device::new().ok();
        let state = Rc::new(State { muted: Cell::new(muted), gesture: Cell::new(false), device });
        // A browser may let the audio run at once. If the player wants no sound, this suspends the audio.
        state.wake();
        let window = dom::window()?;
        // Browsers count these events as a gesture of the player. Which of them counts differs between mouse and
        // touch.
        let gestures = ["pointerdown", "pointerup", "keydown"]
            .into_iter()
            .map(|kind| {
                let state = Rc::clone(&state);
                Listener::new(&window, kind, move |_| state.on_gesture())
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { state, _gestures: gestures })
    }

    /// Switches sounds off or on.
    pub fn set_muted(&self, muted: bool) {
        self.state.muted.set(muted);
        self.state.wake();
    }

    /// Plays a sound. `loudness` is 0 to 1, `pan` -1 (left) to 1 (right). Costs nothing while silent.
    pub fn play(&self, effect: Effect, loudness: f32, pan: f32) {
        // The browser throws when a value is not a number.
        if self.state.muted.get() || !(loudness > 0.0 && pan.is_finite()) {
            return;
        }
        if let Some(device) = &self.state.device {
            // A browser that runs out of audio nodes drops this sound; the next may work.
            let _ = device.play(effect, loudness.min(1.0), pan.clamp(-1.0, 1.0));
        }
    }
}

impl State {
    fn on_gesture(&self) {
        self.gesture.set(true);
        self.wake();
    }

    /// Lets the audio run or suspends it, as the player wants.
    fn wake(&self) {
        let Some(device) = &self.device else { return };
        let muted = self.muted.get();
        // Phones interrupt audio on their own, so every gesture tries to resume it.
        let running = device.context.state() == AudioContextState::Running;
        if muted && running {
            let _ = device.context.suspend();
        } else if self.gesture.get() && !muted && !running {
            let _ = device.context.resume();
        }
    }
}

impl Device {
    fn new() -> Result<Self, JsValue> {
        let context = AudioContext::new()?;
        let master = context.create_gain()?;
        master.gain().set_value(VOLUME);
        master.connect_with_audio_node(&context.destination())?;
        let noise = noise(&context)?;
        Ok(Self { context, master, noise, last: Cell::new([f64::NEG_INFINITY; Effect::COUNT]) })
    }

    fn play(&self, effect: Effect, loudness: f32, pan: f32) -> Result<(), JsValue> {
        let now = self.context.current_time();
        let mut last = self.last.get();
        // A context that does not run yet would play everything at once when it starts.
        if self.context.state() != AudioContextState::Running || now - last[effect.index()] < SPACING {
            return Ok(());
        }
        last[effect.index()] = now;
        self.last.set(last);

        let out = self.context.create_gain()?;
        out.gain().set_value(loudness);
        let panner = self.context.create_stereo_panner()?;
        panner.pan().set_value(pan);
        out.connect_with_audio_node(&panner)?.connect_with_audio_node(&self.master)?;
        for tone in tones(effect) {
            self.start_tone(tone, now, &out)?;
        }
        if let Some(puff) = puff(effect) {
            self.start_puff(&puff, now, &out)?;
        }
        Ok(())
    }

    fn start_tone(&self, tone: &Tone, now: f64, out: &AudioNode) -> Result<(), JsValue> {
        let (start, end) = (now + tone.at, now + tone.at + tone.lasts);
        let oscillator = self.context.create_oscillator()?;
        oscillator.set_type(tone.shape);
        oscillator.frequency().set_value_at_time(tone.from, start)?;
        oscillator.frequency().exponential_ramp_to_value_at_time(tone.to, end)?;
        let envelope = self.context.create_gain()?;
        fade(&envelope.gain(), tone.gain, start, end)?;
        oscillator.connect_with_audio_node(&envelope)?.connect_with_audio_node(out)?;
        oscillator.start_with_when(start)?;
        oscillator.stop_with_when(end)
    }

    fn start_puff(&self, puff: &Puff, now: f64, out: &AudioNode) -> Result<(), JsValue> {
        let source = self.context.create_buffer_source()?;
        source.set_buffer(Some(&self.noise));
        let filter = self.context.create_biquad_filter()?;
        filter.set_type(puff.filter);
        filter.frequency().set_value(puff.frequency);
        let envelope = self.context.create_gain()?;
        fade(&envelope.gain(), puff.gain, now, now + puff.lasts)?;
        source
            .connect_with_audio_node(&filter)?
            .connect_with_audio_node(&envelope)?
            .connect_with_audio_node(out)?;
        source.start_with_when(now)?;
        AudioScheduledSourceNode::stop_with_when(&source, now + puff.lasts)
    }
}

/// Sets a short attack, which avoids clicks, then a decay like that of a struck cup.
fn fade(gain: &AudioParam, peak: f32, start: f64, end: f64) -> Result<(), JsValue> {
    gain.set_value_at_time(0.0001, start)?;
    gain.exponential_ramp_to_value_at_time(peak, start + 0.006)?;
    gain.exponential_ramp_to_value_at_time(0.0001, end)?;
    Ok(())
}

/// Half a second of white noise from a small generator; the ear does not need a better one.
fn noise(context: &AudioContext) -> Result<AudioBuffer, JsValue> {
    let rate = context.sample_rate();
    let length = (rate * 0.5) as u32;
    let buffer = context.create_buffer(1, length, rate)?;
    let mut seed = 0x9e37_79b9_u32;
    let samples: Vec<f32> = (0..length)
        .map(|_| {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            seed as f32 / u32::MAX as f32 * 2.0 - 1.0
        })
        .collect();
    buffer.copy_to_channel(&samples, 0)?;
    Ok(buffer)
}

const fn tone(shape: OscillatorType, slide: (f32, f32), at: f64, lasts: f64, gain: f32) -> Tone {
    Tone { shape, from: slide.0, to: slide.1, at, lasts, gain }
}

fn tones(effect: Effect) -> &'static [Tone] {
    use OscillatorType::{Sine, Triangle};
    match effect {
        // A drop that falls into tea.
        Effect::Fire => const { &[tone(Sine, (620.0, 190.0), 0.0, 0.13, 0.5)] },
        // The partials of a struck cup: not harmonic, high ones die first.
        Effect::Hit => {
            const {
                &[
                    tone(Sine, (1870.0, 1850.0), 0.0, 0.45, 0.30),
                    tone(Sine, (3120.0, 3110.0), 0.0, 0.26, 0.20),
                    tone(Sine, (4980.0, 4970.0), 0.0, 0.14, 0.14),
                    tone(Triangle, (320.0, 140.0), 0.0, 0.10, 0.35),
                ]
            }
        }
        // A cup that fills.
        Effect::Respawn => {
            const { &[tone(Sine, (260.0, 520.0), 0.0, 0.28, 0.30), tone(Sine, (390.0, 780.0), 0.10, 0.30, 0.22)] }
        }
        // A spoon in a bowl.
        Effect::Bowl => {
            const {
                &[
                    tone(Triangle, (1568.0, 1568.0), 0.0, 0.22, 0.26),
                    tone(Triangle, (2093.0, 2093.0), 0.09, 0.35, 0.24),
                ]
            }
        }
        // Three small bells, upwards.
        Effect::HostChanged => {
            const {
                &[
                    tone(Triangle, (659.3, 659.3), 0.0, 0.7, 0.28),
                    tone(Triangle, (830.6, 830.6), 0.13, 0.7, 0.26),
                    tone(Triangle, (987.8, 987.8), 0.26, 1.1, 0.26),
                    tone(Sine, (1975.5, 1975.5), 0.26, 0.8, 0.08),
                ]
            }
        }
    }
}

fn puff(effect: Effect) -> Option<Puff> {
    let (filter, frequency, lasts, gain) = match effect {
        Effect::Fire => (BiquadFilterType::Bandpass, 900.0, 0.07, 0.25),
        Effect::Hit => (BiquadFilterType::Highpass, 3000.0, 0.06, 0.30),
        Effect::Respawn => (BiquadFilterType::Lowpass, 700.0, 0.35, 0.12),
        Effect::Bowl | Effect::HostChanged => return None,
    };
    Some(Puff { filter, frequency, lasts, gain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effect_is_short_audible_and_within_range() {
        for effect in Effect::ALL {
            let tones = tones(effect);
            assert!(!tones.is_empty());
            let loudest: f32 = tones.iter().map(|tone| tone.gain).sum();
            assert!(loudest <= 1.0, "{effect:?} would clip");
            for tone in tones {
                // Exponential ramps need positive ends, and room after the attack.
                assert!(tone.from > 20.0 && tone.to > 20.0 && tone.gain > 0.0001);
                assert!(tone.lasts > 0.01 && tone.at + tone.lasts < 2.0);
            }
            assert!(puff(effect).is_none_or(|puff| puff.lasts <= 0.5 && puff.gain < 1.0));
        }
    }
}
