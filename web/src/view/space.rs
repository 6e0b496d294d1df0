//! Places, directions and matrices of the scene, in single precision as the GPU has them.

pub use cgmath::{InnerSpace, Matrix, Point3, SquareMatrix, Transform, Zero, vec3};

/// A place, a direction or a colour.
pub type Vec3 = cgmath::Vector3<f32>;
/// A matrix that turns, moves, scales or projects.
pub type Mat4 = cgmath::Matrix4<f32>;
