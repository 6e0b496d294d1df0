//! Seeded randomness; the same seed gives the same run on every machine.

/// A generator of random numbers for loss, jitter and motion.
#[derive(Clone, Debug)]
pub struct Rng(samovar_wire::Rng);

impl Rng {
    /// A generator for one purpose of one run.
    #[must_use]
    pub fn new(seed: u64, purpose: u64) -> Self {
        let purpose = purpose.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut rng = Self(samovar_wire::Rng::new(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ purpose));
        rng.next_u64();
        rng
    }

    /// 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0.number()
    }

    /// A number, uniform in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number, uniform between two bounds.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A number, normally distributed with mean 0 and standard deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A direction, uniform over the sphere.
    pub fn direction(&mut self) -> [f64; 3] {
        let z = self.between(-1.0, 1.0);
        let (sin, cos) = self.between(0.0, std::f64::consts::TAU).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * cos, r * sin, z]
    }
}
