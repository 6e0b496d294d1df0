//! The picture of the duel: teapots, tea table, light and shadow, drawn with WebGL2.
//!
//! The view draws everything inside the canvas, and says where the page may place labels over it. It knows nothing of
//! the network, the rules and the page: a [`Frame`] of plain values goes in, pixels come out.
//!
//! A lost WebGL context makes [`View::draw`] do nothing; after the canvas's `webglcontextrestored` event make a new
//! [`View`] (and call `preventDefault` on `webglcontextlost`, or the browser will not restore it).

mod backdrop;
mod batch;
mod camera;
mod context;
mod frame;
mod mesh;
mod particles;
mod program;
mod props;
mod scene;
mod space;
mod stage;
mod teapot;
mod textures;

use web_sys::{HtmlCanvasElement, WebGl2RenderingContext};

pub use context::suggested_quality;
pub use frame::{BlockView, CubeView, Frame, ObstacleView, Quality, TeapotView};

use camera::{Rig, Subject, is_upright};
use particles::Pool;
use scene::Lists;
use space::Vec3;
use stage::Stage;

/// The most pixels per CSS pixel: more would cost power and not be seen.
const MAX_PIXEL_RATIO: f64 = 2.0;

/// The reason why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewError {
    /// The browser offers no WebGL2, or has it switched off.
    NoWebGl2,
    /// WebGL2 is there but refused our input; the text is the graphics driver's.
    Context(String),
}

impl std::fmt::Display for ViewError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoWebGl2 => f.write_str("this browser does not offer WebGL2"),
            Self::Context(reason) => write!(f, "the graphics driver refused: {reason}"),
        }
    }
}

impl std::error::Error for ViewError {}

/// The scene in one canvas.
pub struct View {
    canvas: HtmlCanvasElement,
    raw: WebGl2RenderingContext,
    stage: Stage,
    quality: Quality,
    rig: Rig,
    pool: Pool,
    time_s: Option<f64>,
    lost: bool,
    /// The screen's pixel ratio when the picture was fitted to it.
    ratio: f64,
}

impl View {
    /// Builds the scene in the canvas and fits it to the canvas's size on the page.
    ///
    /// # Errors
    /// [`ViewError`] when the browser cannot draw the scene; the page then tells the player.
    pub fn new(canvas: &HtmlCanvasElement, quality: Quality) -> Result<Self, ViewError> {
        let raw = context::open(canvas, quality)?;
        let mut view = Self {
            canvas: canvas.clone(),
            stage: Stage::new(&raw, quality)?,
            raw,
            quality,
            rig: Rig::default(),
            pool: Pool::default(),
            time_s: None,
            lost: false,
            ratio: 1.0,
        };
        view.resize();
        Ok(view)
    }

    /// Fits the picture to the canvas's size on the page; call it when that changes.
    pub fn resize(&mut self) {
        self.ratio = pixel_ratio();
        let ratio = self.ratio.min(MAX_PIXEL_RATIO);
        let ratio = if self.quality == Quality::Low { ratio / 2.0 } else { ratio };
        let pixels = |css: i32| (f64::from(css) * ratio).round().max(1.0) as u32;
        let (width, height) = (pixels(self.canvas.client_width()), pixels(self.canvas.client_height()));
        // Setting a size clears the canvas, even when it is the same.
        if (self.canvas.width(), self.canvas.height()) != (width, height) {
            self.canvas.set_width(width);
            self.canvas.set_height(height);
        }
    }

    /// Whether the browser has taken the graphics away from the canvas.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether a board is seen from its red side, so that up in the picture is to the right on the board.
    pub fn is_upright(&self) -> bool {
        is_upright(self.canvas.width() as f32 / self.canvas.height() as f32)
    }

    /// Draws one frame and moves steam, crumbs and camera on to its time.
    pub fn draw(&mut self, frame: &Frame<'_>) {
        // The flag is sticky: objects built before a loss stay useless after the restoration.
        self.lost |= self.raw.is_context_lost();
        if self.lost {
            return;
        }
        if self.ratio != pixel_ratio() {
            self.resize();
        }
        let before = self.time_s.replace(frame.time_s).unwrap_or(frame.time_s);
        // After a pause (a hidden tab) the scene goes on from its last state instead of leaping.
        let dt = (frame.time_s - before).clamp(0.0, 0.1);
        let radius = frame.table.laid().radius;
        self.pool.step(dt as f32, radius);
        let (rate, dark) = match self.quality {
            Quality::Normal => (9.0, 0.42),
            Quality::Low => (5.0, 0.72),
        };
        scene::exhale(frame, frame.time_s - dt, rate, &mut self.pool);
        let (width, height) = (self.canvas.width(), self.canvas.height());
        let own = frame.me.and_then(|me| frame.teapots.get(me));
        let subject = match own {
            _ if frame.from_above => Subject::Board,
            Some(own) => Subject::Teapot(Vec3::from(own.position), own.heading),
            None => Subject::Table(frame.time_s, radius),
        };
        self.rig.follow(subject, width as f32 / height as f32, dt as f32);
        let lists = Lists::collect(frame, &self.pool, self.rig.axes(), dark);
        self.stage.draw(&lists, &self.rig, width, height);
    }

    /// Draws a laid table with a few teapots, for the page behind the lobby.
    pub fn draw_still_life(&mut self, time_s: f64) {
        backdrop::with_still_life(time_s, |frame| self.draw(frame));
    }

    /// The point on the canvas at which a place of the world appears, in CSS pixels from left and top, as of the last
    /// frame drawn. `None` when the place is outside the picture.
    pub fn project(&self, world: [f32; 3]) -> Option<[f32; 2]> {
        let [x, y] = self.rig.project(Vec3::from(world))?;
        Some([x * self.canvas.client_width() as f32, y * self.canvas.client_height() as f32])
    }

    /// Adds crumbs of sugar and a puff in this colour (sRGB) where something was hit.
    pub fn burst(&mut self, at: [f32; 3], colour: [u8; 3]) {
        self.pool.burst(Vec3::from(at), colour.map(scene::linear));
    }
}

/// Pixels of the screen per CSS pixel.
fn pixel_ratio() -> f64 {
    web_sys::window().map_or(1.0, |window| window.device_pixel_ratio())
}
