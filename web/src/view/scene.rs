//! Turns the game's values into the GPU's draws: lists of instances, one per mesh.
//!
//! This module is pure. It decides the looks that depend on the state of play.

use samovar_duel::angle::{sin, sin_cos};
use samovar_duel::arena::ObstacleKind;

use super::batch::Instance;
use super::frame::{BlockView, Frame, ObstacleView, TeapotView};
use super::particles::{Kind, Pool};
use super::props::{CUBE_EDGE, TEA_LEVEL};
use super::space::{Mat4, SquareMatrix, Vec3, vec3};
use super::teapot::SPOUT_TIP;

/// The direction towards the key light; not of unit length.
pub const KEY: Vec3 = Vec3::new(-0.46, -0.34, 0.82);
const WHITE: [f32; 4] = [1.0; 4];
/// Number of puffs in a cloud.
const CLOUD_PUFFS: usize = 7;

/// The lists to draw.
#[derive(Debug, Default)]
pub struct Lists {
    /// Teapots in play.
    pub teapots: Vec<Instance>,
    /// Teapots whose players are away.
    pub ghosts: Vec<Instance>,
    /// Sugar cubes and crumbs.
    pub cubes: Vec<Instance>,
    /// Obstacles, one list per kind.
    pub cups: Vec<Instance>,
    /// See [`Lists::cups`].
    pub bowls: Vec<Instance>,
    /// See [`Lists::cups`].
    pub biscuits: Vec<Instance>,
    /// The radius of the table.
    pub radius: f32,
    /// Dark discs on the table where things stand or are about to land.
    pub contacts: Vec<Instance>,
    /// Cards of steam that face the camera.
    pub puffs: Vec<Instance>,
}

impl Lists {
    /// Builds the lists of one frame. `dark` is the opacity of the darkest contact disc, `axes` are the camera's.
    pub fn collect(frame: &Frame<'_>, pool: &Pool, axes: [Vec3; 3], dark: f32) -> Self {
        let mut lists = Self { radius: frame.table.laid().radius, ..Self::default() };
        for obstacle in frame.obstacles {
            lists.obstacle(obstacle, dark);
        }
        for teapot in frame.teapots.iter().filter(|teapot| teapot.visible) {
            lists.teapot(teapot, dark);
        }
        for cube in frame.cubes {
            let at = Vec3::from(cube.position);
            let [x, y, z] = cube.spin;
            let turn = turned(Z, z) * turned(Y, y) * turned(X, x);
            let tint = [0.90, 0.88, 0.84, 1.0];
            lists.cubes.push(Instance { transform: Mat4::from_translation(at) * turn, tint, glow: 0.0 });
            lists.contact(at, CUBE_EDGE * 0.95, dark);
        }
        for block in frame.blocks {
            lists.block(block);
        }
        for &cloud in frame.clouds {
            lists.cloud(Vec3::from(cloud), frame.time_s, axes);
        }
        lists.particles(pool, axes);
        lists
    }

    fn block(&mut self, block: &BlockView) {
        let [x, y, z] = block.size.map(|edge| edge / CUBE_EDGE);
        let transform =
            Mat4::from_translation(Vec3::from(block.position)) * Mat4::from_nonuniform_scale(x, y, z);
        let [r, g, b] = block.colour.map(linear);
        self.cubes.push(Instance { transform, tint: [r, g, b, 1.0], glow: 0.0 });
    }

    /// Adds a cloud: puffs that roll around each other.
    fn cloud(&mut self, at: Vec3, time_s: f64, axes: [Vec3; 3]) {
        for puff in 0..CLOUD_PUFFS {
            let (sin, cos) = sin_cos(time_s * 1.3 + puff as f64 * 2.4);
            let out = 0.09 * (puff % 4) as f32;
            let place = at + vec3(out * cos, out * sin, 0.08 * puff as f32);
            let size = 0.62 - 0.03 * puff as f32;
            let tint = [0.96, 0.95, 0.94, 0.55];
            self.puffs.push(Instance { transform: facing(axes, size, place), tint, glow: 0.0 });
        }
    }

    fn teapot(&mut self, teapot: &TeapotView<'_>, dark: f32) {
        let [r, g, b] = teapot.colour.map(linear);
        let opacity = if teapot.ghost { 0.42 } else { 1.0 };
        let flash = teapot.flash.clamp(0.0, 1.0);
        let instance = Instance { transform: stance(teapot), tint: [r, g, b, opacity], glow: flash };
        if teapot.ghost {
            self.ghosts.push(instance);
        } else {
            self.teapots.push(instance);
        }
        self.contact(Vec3::from(teapot.position), 1.35 * teapot.scale, dark * opacity);
    }

    fn obstacle(&mut self, obstacle: &ObstacleView, dark: f32) {
        let [x, y] = obstacle.position;
        let turn = turned(Z, obstacle.heading);
        let size = Mat4::from_nonuniform_scale(obstacle.radius, obstacle.radius, obstacle.height);
        let transform = Mat4::from_translation(vec3(x, y, obstacle.lift)) * turn * size;
        let instance = Instance { transform, tint: WHITE, glow: 0.0 };
        match obstacle.kind {
            ObstacleKind::Cup => self.cups.push(instance),
            ObstacleKind::SugarBowl => self.bowls.push(instance),
            ObstacleKind::BiscuitPlate => self.biscuits.push(instance),
        }
        self.contact(vec3(x, y, obstacle.lift), obstacle.radius * 1.35, dark);
    }

    /// Darkens the table below a thing. The higher the thing is, the weaker and wider the shadow.
    fn contact(&mut self, at: Vec3, radius: f32, dark: f32) {
        let height = at.z.max(0.0);
        if at.z < -0.2 || at.x.hypot(at.y) > self.radius - 0.1 {
            return;
        }
        let radius = radius * (1.0 + 0.15 * height);
        let opacity = dark / (1.0 + 0.8 * height);
        let layer = 0.008 + 0.0004 * (self.contacts.len() % 8) as f32;
        let size = Mat4::from_nonuniform_scale(radius, radius, 1.0);
        let transform = Mat4::from_translation(vec3(at.x, at.y, layer)) * size;
        self.contacts.push(Instance { transform, tint: [0.10, 0.055, 0.04, opacity], glow: 0.0 });
    }

    fn particles(&mut self, pool: &Pool, axes: [Vec3; 3]) {
        for particle in pool.iter() {
            let (spent, at) = (particle.spent(), particle.position);
            let [r, g, b, opacity] = particle.colour;
            match particle.kind {
                Kind::Steam => {
                    let size = particle.size * (1.0 + 2.2 * spent);
                    let transform = facing(axes, size, at);
                    let fade = (1.0 - spent) * (spent * 8.0).min(1.0);
                    self.puffs.push(Instance { transform, tint: [r, g, b, opacity * fade], glow: 0.0 });
                }
                Kind::Crumb => {
                    let size = particle.size / CUBE_EDGE * ((1.0 - spent) * 4.0).min(1.0);
                    let angle = particle.spin();
                    let turn = turned(Z, angle) * turned(X, angle * 0.7);
                    let transform = Mat4::from_translation(at) * turn * Mat4::from_scale(size);
                    self.cubes.push(Instance { transform, tint: [r, g, b, 1.0], glow: 0.0 });
                }
            }
        }
    }
}

/// Lets steam out of spouts and cups for the time from `before` to `frame.time_s`, at `rate` wisps a second from
/// each.
pub fn exhale(frame: &Frame<'_>, before: f64, rate: f64, pool: &mut Pool) {
    let due = |phase: f64| (frame.time_s * rate + phase).floor() > (before * rate + phase).floor();
    let present = frame.teapots.iter().filter(|teapot| teapot.visible && !teapot.ghost);
    for teapot in present.filter(|teapot| due((teapot.key % 97) as f64 * 0.381)) {
        let tip = stance(teapot) * SPOUT_TIP.extend(1.0);
        let (sin, cos) = sin_cos(teapot.heading);
        pool.steam(tip.truncate(), vec3(cos, sin, 0.4) * 0.5);
    }
    for (index, obstacle) in (0_u8..).zip(frame.obstacles) {
        let [x, y] = obstacle.position;
        if obstacle.kind == ObstacleKind::Cup && due(f64::from(index) * 0.381) {
            let swing = sin(frame.time_s * 5.0 + f64::from(x)) * obstacle.radius * 0.35;
            pool.steam(vec3(x + swing, y - swing * 0.5, obstacle.height * TEA_LEVEL), vec3(0.0, 0.0, 0.2));
        }
    }
}

/// The transform of a card that faces the camera.
fn facing([right, up, towards]: [Vec3; 3], size: f32, at: Vec3) -> Mat4 {
    let edge = |axis: Vec3| (axis * size).extend(0.0);
    Mat4::from_cols(edge(right), edge(up), edge(towards), at.extend(1.0))
}

/// The axes around which [`turned`] turns.
const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;

/// The rotation around an axis by an angle in radians, counter-clockwise.
fn turned(axis: usize, angle: f32) -> Mat4 {
    let (sin, cos) = sin_cos(angle);
    let (from, to) = ((axis + 1) % 3, (axis + 2) % 3);
    let mut turn = Mat4::identity();
    (turn[from][from], turn[from][to]) = (cos, sin);
    (turn[to][from], turn[to][to]) = (-sin, cos);
    turn
}

/// The transform of a teapot: place, heading, lean and scale.
fn stance(teapot: &TeapotView<'_>) -> Mat4 {
    let [forward, left] = teapot.tilt;
    Mat4::from_translation(Vec3::from(teapot.position))
        * turned(Z, teapot.heading)
        * turned(Y, forward)
        * turned(X, -left)
        * Mat4::from_scale(teapot.scale)
}

/// Turns one channel of sRGB into linear light, which is nearly the power of 2.2. The exponent here is 2 + 1/8 + 1/16
/// + 1/64, which needs only square roots.
pub fn linear(channel: u8) -> f32 {
    let light = f32::from(channel) / 255.0;
    let eighth = light.sqrt().sqrt().sqrt();
    let sixteenth = eighth.sqrt();
    light * light * eighth * sixteenth * sixteenth.sqrt().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POT: TeapotView<'static> = TeapotView {
        key: 1,
        position: [2.0, 3.0, 0.0],
        heading: std::f32::consts::FRAC_PI_2,
        scale: 1.0,
        tilt: [0.0; 2],
        colour: [255, 0, 0],
        name: "",
        visible: true,
        flash: 0.0,
        ghost: false,
    };

    fn frame<'a>(teapots: &'a [TeapotView<'a>]) -> Frame<'a> {
        Frame { time_s: 1.0, teapots, ..Frame::default() }
    }

    const AXES: [Vec3; 3] = [Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0)];

    #[test]
    fn spout_points_along_the_heading() {
        let tip = stance(&POT) * vec3(1.5, 0.0, 1.0).extend(1.0);
        assert!((tip.x - 2.0).abs() < 1e-5 && (tip.y - 4.5).abs() < 1e-5);
    }

    #[test]
    fn leaning_forward_lowers_the_spout_and_left_moves_the_lid() {
        let forward = TeapotView { tilt: [0.2, 0.0], ..POT };
        assert!((stance(&forward) * vec3(1.5, 0.0, 1.0).extend(1.0)).z < 0.9);
        // The teapot's left is -x, because it looks along +y.
        let left = TeapotView { tilt: [0.0, 0.2], ..POT };
        assert!((stance(&left) * vec3(0.0, 0.0, 1.5).extend(1.0)).x < 1.8);
    }

    #[test]
    fn hidden_teapots_are_not_drawn_and_ghosts_are_translucent() {
        let pots = [POT, TeapotView { visible: false, ..POT }, TeapotView { ghost: true, ..POT }];
        let lists = Lists::collect(&frame(&pots), &Pool::default(), AXES, 0.5);
        assert_eq!((lists.teapots.len(), lists.ghosts.len(), lists.contacts.len()), (1, 1, 2));
        assert!(lists.ghosts[0].tint[3] < 0.5);
    }

    #[test]
    fn falling_teapot_leaves_no_shadow_on_the_table() {
        let pots = [
            TeapotView { position: [0.0, 0.0, -1.0], ..POT },
            TeapotView { position: [16.5, 0.0, 0.0], ..POT },
        ];
        let lists = Lists::collect(&frame(&pots), &Pool::default(), AXES, 0.5);
        assert_eq!((lists.teapots.len(), lists.contacts.len()), (2, 0));
    }

    #[test]
    fn steam_comes_at_its_rate_whatever_the_frame_rate() {
        for frames in [20, 60, 144] {
            let mut pool = Pool::default();
            for tick in 0..frames {
                let [before, now] = [tick, tick + 1].map(|t| f64::from(t) / f64::from(frames));
                let pots = [POT];
                exhale(&Frame { time_s: now, ..frame(&pots) }, before, 6.0, &mut pool);
            }
            assert_eq!(pool.iter().count(), 6, "{frames}");
        }
    }
}
