//! The state of one object of the workload, and the key by which subjects' copies of it are compared.

/// The state of one object as the owner's game has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Metres, within ±64.
    pub position: [f32; 3],
    /// Metres per second, the derivative of the position.
    pub velocity: [f32; 3],
    /// A unit quaternion, x y z w.
    pub rotation: [f32; 4],
    /// Angular velocity in radians per second, in the frame of the world; constant for each object.
    pub spin: [f32; 3],
}

/// A state at the precision of one subject, to the last bit. A number that the subject does not send is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// The position. It alone determines the age of the state that an observer shows.
    pub position: [u32; 3],
    /// Velocity and orientation; they count for convergence.
    pub rest: [u32; 7],
}

impl Key {
    /// The key of a subject that keeps floats as they are.
    #[must_use]
    pub fn exact(position: [f32; 3], velocity: [f32; 3], rotation: [f32; 4]) -> Self {
        let [vx, vy, vz] = velocity.map(f32::to_bits);
        let [rx, ry, rz, rw] = rotation.map(f32::to_bits);
        Self { position: position.map(f32::to_bits), rest: [vx, vy, vz, rx, ry, rz, rw] }
    }

    /// The key of a state whose floats a subject keeps as they are.
    #[must_use]
    pub fn of(state: &State) -> Self {
        Self::exact(state.position, state.velocity, state.rotation)
    }
}

/// Bytes of the position, velocity and orientation as plain floats.
pub const PLAIN_LEN: usize = 40;

/// Writes the ten floats.
pub fn write_plain(state: &State, out: &mut Vec<u8>) {
    for value in state.position.iter().chain(&state.velocity).chain(&state.rotation) {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// Reads what [`write_plain`] wrote, as a key.
#[must_use]
pub fn read_plain(bytes: &[u8]) -> Option<Key> {
    let mut bits = [0; 10];
    for (value, chunk) in bits.iter_mut().zip(bytes.get(..PLAIN_LEN)?.chunks_exact(4)) {
        *value = u32::from_le_bytes(chunk.try_into().ok()?);
    }
    let [px, py, pz, rest @ ..] = bits;
    Some(Key { position: [px, py, pz], rest })
}
