//! The camera's way through the scene: behind the player's own teapot, or slowly around the table without one.
//!
//! This module is pure. The camera approaches its subject exponentially in time, so it moves alike at 30 and at 144
//! frames a second.

use std::f32::consts::PI;
use std::f64::consts::TAU;

use samovar_duel::angle::{cos, sin, tan};
use samovar_duel::plane::wrap_angle;

use super::space::{InnerSpace, Mat4, Point3, SquareMatrix, Transform, Vec3, vec3};

/// The subject that the camera follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subject {
    /// A teapot at a place, with its heading in radians.
    Teapot(Vec3, f32),
    /// The whole table of this radius, at this time in seconds.
    Table(f64, f32),
    /// A board on the table, seen from above. Its long side lies along the picture's long side.
    Board,
}

/// The camera's place and its view.
#[derive(Clone, Copy, Debug)]
pub struct Rig {
    /// The camera's place in the world.
    pub eye: Vec3,
    /// The transform from the world to clip space.
    pub view_projection: Mat4,
    pose: Option<Pose>,
}

/// Half of a board's length and half of its depth, each with a margin, in table units.
const BOARD_REACH: [f32; 2] = [15.0, 9.6];
/// The least distance from the camera to a board, in table units: it leaves room for the scores.
const BOARD_AWAY: f32 = 28.0;
/// In an upright picture the board's long side counts as longer by this factor, which leaves room above and below it.
const BOARD_ROOM: f32 = 1.3;
/// Distance of the board's middle below the middle of the picture, in table units, for the lines at the top of the
/// page.
const BOARD_DOWN: f32 = 0.8;
/// The share of the camera's distance to a board that lies along the table: the sine of the angle to the vertical.
const BOARD_SLANT: f32 = 0.36;

#[derive(Clone, Copy, Debug)]
struct Pose {
    focus: Vec3,
    yaw: f32,
    distance: f32,
    height: f32,
    /// Distance of the middle of the picture ahead of the focus.
    lead: f32,
    /// Height of the middle of the picture above the focus.
    lift: f32,
}

impl Default for Rig {
    fn default() -> Self {
        Self { eye: Vec3::unit_z(), view_projection: Mat4::identity(), pose: None }
    }
}

impl Rig {
    /// Moves the camera for `dt` seconds towards the subject. `aspect` is the picture's width over its height.
    pub fn follow(&mut self, subject: Subject, aspect: f32, dt: f32) {
        let wanted = Pose::of(subject, aspect);
        let pose = self.pose.map_or(wanted, |pose| pose.approach(&wanted, dt));
        self.pose = Some(pose);
        let ahead = vec3(cos(pose.yaw), sin(pose.yaw), 0.0);
        self.eye = pose.focus - ahead * pose.distance + Vec3::unit_z() * pose.height;
        let target = pose.focus + ahead * pose.lead + Vec3::unit_z() * pose.lift;
        let point = |v: Vec3| Point3::new(v.x, v.y, v.z);
        self.view_projection = perspective(field_of_view(aspect), aspect, 0.4, 120.0)
            * Mat4::look_at_rh(point(self.eye), point(target), Vec3::unit_z());
    }

    /// The place on which the camera is trained.
    pub fn focus(&self) -> Vec3 {
        self.pose.map_or(Vec3::unit_z() * 0.0, |pose| pose.focus)
    }

    /// The point in the picture at which a place of the world appears: 0 to 1 from left and from top, or `None` when
    /// the place is outside the picture.
    pub fn project(&self, world: Vec3) -> Option<[f32; 2]> {
        let clip = self.view_projection * world.extend(1.0);
        if clip.w < 0.1 {
            return None;
        }
        let (x, y) = (clip.x / clip.w, clip.y / clip.w);
        (x.abs() <= 1.0 && y.abs() <= 1.0).then_some([x * 0.5 + 0.5, 0.5 - y * 0.5])
    }

    /// The transform from clip space to directions in the world, as seen from the eye.
    pub fn unproject(&self) -> Mat4 {
        let around_eye = self.view_projection * Mat4::from_translation(self.eye);
        around_eye.inverse_transform().unwrap_or_else(Mat4::identity)
    }

    /// The unit vectors to the right, up and towards the camera; cards that face the camera are built of them.
    pub fn axes(&self) -> [Vec3; 3] {
        let pose = self.pose.unwrap_or(Pose::of(Subject::Table(0.0, 16.0), 1.0));
        let ahead = vec3(cos(pose.yaw), sin(pose.yaw), 0.0);
        let target = pose.focus + ahead * pose.lead + Vec3::unit_z() * pose.lift;
        let towards = (self.eye - target).normalize();
        let right = Vec3::unit_z().cross(towards).normalize();
        [right, towards.cross(right), towards]
    }
}

impl Pose {
    fn of(subject: Subject, aspect: f32) -> Self {
        // In a tall picture the sides are near, so the camera steps back.
        let back = (1.0 / aspect).clamp(1.0, 1.5);
        match subject {
            Subject::Teapot(at, heading) => Self {
                focus: vec3(at.x, at.y, at.z.clamp(-2.0, 1.0) * 0.5),
                yaw: heading,
                distance: 7.0 * back,
                height: 4.5 * back,
                lead: 2.8,
                lift: 0.7,
            },
            Subject::Table(time, radius) => Self {
                focus: Vec3::unit_z() * -0.5,
                yaw: ((time * 0.05 / TAU).fract() * TAU) as f32,
                distance: 1.5 * radius * back,
                height: 0.8125 * radius * back,
                lead: 0.0,
                lift: 0.0,
            },
            Subject::Board => Self::above(aspect),
        }
    }

    /// The pose for a board: as near as possible with the whole board in the picture.
    fn above(aspect: f32) -> Self {
        let up = tan(field_of_view(aspect) / 2.0);
        let across = up * aspect;
        let [long, short] = BOARD_REACH;
        let (yaw, wanted) = match is_upright(aspect) {
            true => (0.0, (short / across).max(long * BOARD_ROOM / up)),
            false => (PI / 2.0, long / across),
        };
        let away = wanted.max(BOARD_AWAY);
        Self {
            focus: vec3(cos(yaw), sin(yaw), 0.0) * BOARD_DOWN,
            yaw,
            distance: away * BOARD_SLANT,
            height: away * (1.0 - BOARD_SLANT * BOARD_SLANT).sqrt(),
            lead: 0.0,
            lift: 0.0,
        }
    }

    fn approach(&self, wanted: &Self, dt: f32) -> Self {
        let step = |rate: f32| 1.0 - (-rate * dt).exp();
        let mix = |from: f32, to: f32, rate: f32| from + (to - from) * step(rate);
        let turn = wrap_angle(wanted.yaw - self.yaw);
        Self {
            focus: self.focus + (wanted.focus - self.focus) * step(9.0),
            yaw: wrap_angle(self.yaw + turn * step(4.0)),
            distance: mix(self.distance, wanted.distance, 2.5),
            height: mix(self.height, wanted.height, 2.5),
            lead: mix(self.lead, wanted.lead, 2.5),
            lift: mix(self.lift, wanted.lift, 2.5),
        }
    }
}

/// The projection into clip space, for a vertical angle of view and the distances `near` and `far`. The function of
/// cgmath checks its arguments, which adds all the code that shows a float in a panic.
fn perspective(angle: f32, aspect: f32, near: f32, far: f32) -> Mat4 {
    let zoom = 1.0 / tan(angle / 2.0);
    let mut matrix = Mat4::from_nonuniform_scale(zoom / aspect, zoom, (far + near) / (near - far));
    matrix.z.w = -1.0;
    matrix.w.z = 2.0 * far * near / (near - far);
    matrix.w.w = 0.0;
    matrix
}

/// Whether a picture of this width over height is higher than wide. A board in such a picture is seen from its red
/// side.
pub fn is_upright(aspect: f32) -> bool {
    aspect < 1.0
}

/// The vertical field of view in radians: 42 degrees, or in a tall picture the angle that gives 42 degrees across, at
/// most 70.
fn field_of_view(aspect: f32) -> f32 {
    let across = 42f32.to_radians();
    if aspect >= 1.0 { across } else { (2.0 * (tan(across / 2.0) / aspect).atan()).min(70f32.to_radians()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::TAU;

    #[test]
    fn teapot_is_in_the_picture_from_the_first_frame() {
        for aspect in [0.46, 1.0, 1.78] {
            let mut rig = Rig::default();
            rig.follow(Subject::Teapot(vec3(3.0, -4.0, 0.0), 1.0), aspect, 0.0);
            let [x, y] = rig.project(vec3(3.0, -4.0, 0.8)).expect("one's own teapot is visible");
            assert!((x - 0.5).abs() < 0.01 && (0.45..0.85).contains(&y), "{x} {y} at {aspect}");
            assert!(rig.eye.z > 2.0);
        }
    }

    #[test]
    fn the_lobbys_picture_shows_everything_on_the_table() {
        for radius in [16.0, 40.0] {
            let mut rig = Rig::default();
            rig.follow(Subject::Table(12.0, radius), 1.78, 0.0);
            for angle in 0..12 {
                let (angle, out) = (angle as f32 / 12.0 * TAU, 0.75 * radius);
                assert!(rig.project(vec3(out * angle.cos(), out * angle.sin(), 0.0)).is_some());
            }
        }
    }

    #[test]
    fn the_whole_board_is_in_a_picture_of_any_shape() {
        for aspect in [0.4, 0.46, 0.56, 0.75, 0.99, 1.0, 1.2, 1.4, 1.78, 2.2] {
            let mut rig = Rig::default();
            rig.follow(Subject::Board, aspect, 0.0);
            for (x, y) in [(-12.5, -7.5), (12.5, -7.5), (-12.5, 7.5), (12.5, 7.5)] {
                assert!(rig.project(vec3(x, y, 0.0)).is_some(), "{x} {y} at {aspect}");
            }
        }
    }

    #[test]
    fn an_upright_picture_shows_the_red_side_below_the_blue_one() {
        for (aspect, ahead, left) in [
            (0.6, vec3(5.0, 0.0, 0.0), vec3(0.0, 5.0, 0.0)),
            (1.8, vec3(0.0, 5.0, 0.0), vec3(-5.0, 0.0, 0.0)),
        ] {
            let mut rig = Rig::default();
            rig.follow(Subject::Board, aspect, 0.0);
            let [middle, up, aside] =
                [Vec3::unit_z() * 0.0, ahead, left].map(|at| rig.project(at).expect("it is in the picture"));
            assert!(
                up[1] < middle[1] - 0.05 && aside[0] < middle[0] - 0.05,
                "{middle:?} {up:?} {aside:?} at {aspect}"
            );
        }
    }

    #[test]
    fn following_does_not_depend_on_the_frame_rate() {
        let after_a_second = |frames: u32| {
            let mut rig = Rig::default();
            rig.follow(Subject::Teapot(Vec3::unit_x(), 0.0), 1.5, 0.0);
            for _ in 0..frames {
                rig.follow(Subject::Teapot(vec3(5.0, 2.0, 0.0), 3.0), 1.5, 1.0 / frames as f32);
            }
            rig.eye
        };
        assert!((after_a_second(20) - after_a_second(144)).magnitude() < 0.02);
    }

    #[test]
    fn heading_is_followed_the_short_way_round() {
        let mut rig = Rig::default();
        rig.follow(Subject::Teapot(Vec3::unit_x(), 0.1), 1.5, 0.0);
        rig.follow(Subject::Teapot(Vec3::unit_x(), TAU - 0.1), 1.5, 0.05);
        let yaw = rig.pose.map(|pose| pose.yaw).expect("it has followed once");
        assert!(!(0.1..=TAU - 0.1).contains(&yaw.rem_euclid(TAU)), "{yaw}");
    }

    #[test]
    fn the_perspective_equals_that_of_cgmath() {
        let (ours, theirs) =
            (perspective(0.8, 1.6, 0.4, 120.0), cgmath::perspective(cgmath::Rad(0.8), 1.6, 0.4, 120.0));
        assert_eq!(ours, theirs);
    }

    #[test]
    fn places_behind_the_camera_are_not_projected() {
        let mut rig = Rig::default();
        rig.follow(Subject::Teapot(Vec3::unit_x(), 0.0), 1.5, 0.0);
        assert_eq!(rig.project(vec3(-30.0, 0.0, 0.0)), None);
    }
}
