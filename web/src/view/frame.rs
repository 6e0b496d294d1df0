//! The game's values for the view in each frame: plain values, nothing of the network and nothing of the GPU.
//!
//! Lengths are in table units (a teapot's body has radius 1), and angles in radians. The z axis points up; the
//! table's surface is z = 0 with its middle at the origin.

use samovar_duel::arena::{Obstacle, ObstacleKind, Table};

/// The world of one picture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame<'a> {
    /// Time in seconds from any fixed origin; must not run backwards. Drives steam, crumbs and the camera.
    pub time_s: f64,
    /// All teapots of the session.
    pub teapots: &'a [TeapotView<'a>],
    /// All sugar cubes, in flight or lying.
    pub cubes: &'a [CubeView],
    /// Index of the player's own teapot, which the camera follows. Without it the camera circles the table.
    pub me: Option<usize>,
    /// The table.
    pub table: Table,
    /// The obstacles on the table.
    pub obstacles: &'a [ObstacleView],
    /// Walls and stands, of sugar.
    pub blocks: &'a [BlockView],
    /// The middles of clouds of steam.
    pub clouds: &'a [[f32; 3]],
    /// Whether the camera looks at the whole table from above, as at a board.
    pub from_above: bool,
}

/// One player's teapot.
#[derive(Clone, Copy, Debug)]
pub struct TeapotView<'a> {
    /// A number that stays the same for a teapot in all frames. It also spreads the teapots' puffs of steam over
    /// time.
    pub key: u64,
    /// The middle of the teapot's bottom.
    pub position: [f32; 3],
    /// Direction of the spout, counter-clockwise from +x.
    pub heading: f32,
    /// Size; 1 for a body of radius 1.
    pub scale: f32,
    /// Lean forward (spout down) and to the teapot's left, in radians.
    pub tilt: [f32; 2],
    /// Colour of the glaze, sRGB.
    pub colour: [u8; 3],
    #[expect(dead_code, reason = "part of what the game knows of a teapot; the page's labels use it")]
    /// The player's name. Not drawn here; the page places it with [`View::project`](super::View::project).
    pub name: &'a str,
    /// Whether to draw the teapot. A teapot that was hit is not drawn until it comes back, but the camera stays with
    /// it.
    pub visible: bool,
    /// How strongly the teapot glows, from 0 to 1.
    pub flash: f32,
    /// Whether to draw the teapot translucent: its player is away, or it waits after it was sent home.
    pub ghost: bool,
}

/// One sugar cube.
#[derive(Clone, Copy, Debug)]
pub struct CubeView {
    #[expect(
        dead_code,
        reason = "names the cube for whoever reads the frame; the picture needs no history of it"
    )]
    /// A number that stays the same for a cube in all frames.
    pub key: u64,
    /// The middle of the cube.
    pub position: [f32; 3],
    /// Angles around x, then y, then z, in radians.
    pub spin: [f32; 3],
}

/// A block of sugar with upright sides.
#[derive(Clone, Copy, Debug)]
pub struct BlockView {
    /// The middle of the block.
    pub position: [f32; 3],
    /// The block's edges along x, y and z.
    pub size: [f32; 3],
    /// The block's colour, sRGB.
    pub colour: [u8; 3],
}

/// An obstacle to hide behind.
#[derive(Clone, Copy, Debug)]
pub struct ObstacleView {
    /// The obstacle's middle on the table.
    pub position: [f32; 2],
    /// How far it is turned, counter-clockwise.
    pub heading: f32,
    /// Height of the obstacle's bottom above the table.
    pub lift: f32,
    /// Radius in table units.
    pub radius: f32,
    /// Height in table units.
    pub height: f32,
    /// The kind, which decides the looks.
    pub kind: ObstacleKind,
}

impl From<&Obstacle> for ObstacleView {
    fn from(&Obstacle { kind, centre, heading, radius, height }: &Obstacle) -> Self {
        Self { position: centre, heading, lift: 0.0, radius, height, kind }
    }
}

/// The amount of work that a picture may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// Shadow map, smooth edges, full resolution, fine meshes.
    Normal,
    /// Soft discs for shadows, half the resolution, coarse meshes: for software rendering and weak phones.
    Low,
}
