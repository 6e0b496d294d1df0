//! Steam and crumbs: a fixed pool of small things that fly for a second or two.
//!
//! This module is pure. When the pool is full, a new particle replaces the oldest, so a wild fight costs no more than
//! a full pool.

use super::space::{Vec3, vec3};

/// The most particles that live at once.
pub const CAPACITY: usize = 320;

/// The material of a particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A soft puff: slows down, rises, grows, fades.
    Steam,
    /// A bit of sugar: falls, bounces, shrinks at the end.
    Crumb,
}

/// One particle.
#[derive(Clone, Copy, Debug)]
pub struct Particle {
    /// The particle's material.
    pub kind: Kind,
    /// The particle's place in the world.
    pub position: Vec3,
    /// Radius of a puff or edge of a crumb, in table units, when it was born.
    pub size: f32,
    /// Linear RGB and opacity when it was born.
    pub colour: [f32; 4],
    velocity: Vec3,
    age: f32,
    life: f32,
}

impl Particle {
    /// Share of the particle's life that is over, 0 to 1.
    pub fn spent(&self) -> f32 {
        (self.age / self.life).min(1.0)
    }

    /// An angle that grows while the particle flies, in radians.
    pub fn spin(&self) -> f32 {
        (self.size * 977.0).fract() * 6.0 + self.age * 5.0
    }

    fn step(&mut self, dt: f32, table: f32) {
        self.age += dt;
        self.position += self.velocity * dt;
        match self.kind {
            Kind::Steam => {
                let drag = (-2.2 * dt).exp();
                self.velocity = vec3(self.velocity.x * drag, self.velocity.y * drag, self.velocity.z);
                self.velocity.z += (0.55 - self.velocity.z) * (1.0 - drag);
            }
            Kind::Crumb => {
                self.velocity.z -= 9.8 * dt;
                let on_table = self.position.x.hypot(self.position.y) < table;
                if self.position.z < self.size / 2.0 && self.velocity.z < 0.0 && on_table {
                    self.position.z = self.size / 2.0;
                    self.velocity =
                        vec3(self.velocity.x * 0.5, self.velocity.y * 0.5, self.velocity.z * -0.35);
                }
            }
        }
    }
}

/// All particles.
#[derive(Debug)]
pub struct Pool {
    particles: Vec<Particle>,
    oldest: usize,
    random: u32,
}

impl Default for Pool {
    fn default() -> Self {
        Self { particles: Vec::with_capacity(CAPACITY), oldest: 0, random: 0x2545_F491 }
    }
}

impl Pool {
    /// Moves all particles by `dt` seconds, over a table of this radius.
    pub fn step(&mut self, dt: f32, table: f32) {
        for particle in &mut self.particles {
            particle.step(dt, table);
        }
    }

    /// The particles that still live.
    pub fn iter(&self) -> impl Iterator<Item = &Particle> {
        self.particles.iter().filter(|particle| particle.age < particle.life)
    }

    /// Adds a wisp of steam that leaves a place with a velocity, in table units per second.
    pub fn steam(&mut self, position: Vec3, velocity: Vec3) {
        let sway = self.scatter(0.12);
        let (size, life) = (0.10 + 0.05 * self.unit(), 1.5 + 0.7 * self.unit());
        let velocity = velocity + sway + Vec3::unit_z() * 0.35;
        let colour = [1.0, 0.98, 0.95, 0.16];
        self.add(Particle { kind: Kind::Steam, position, size, colour, velocity, age: 0.0, life });
    }

    /// Adds crumbs and a puff of the given colour (linear RGB) where a cube has hit.
    pub fn burst(&mut self, position: Vec3, colour: [f32; 3]) {
        let [r, g, b] = colour;
        for _ in 0..18 {
            let velocity = self.scatter(2.6) + Vec3::unit_z() * (1.2 + 2.2 * self.unit());
            let (size, life) = (0.05 + 0.09 * self.unit(), 0.7 + 0.6 * self.unit());
            let colour = [0.88, 0.86, 0.82, 1.0];
            self.add(Particle { kind: Kind::Crumb, position, size, colour, velocity, age: 0.0, life });
        }
        for _ in 0..7 {
            let velocity = self.scatter(1.7);
            let (size, life) = (0.22 + 0.15 * self.unit(), 0.6 + 0.5 * self.unit());
            let pale = |c: f32| 0.45 * c + 0.55;
            let colour = [pale(r), pale(g), pale(b), 0.42];
            self.add(Particle { kind: Kind::Steam, position, size, colour, velocity, age: 0.0, life });
        }
    }

    fn add(&mut self, particle: Particle) {
        if self.particles.len() < CAPACITY {
            self.particles.push(particle);
        } else {
            self.particles[self.oldest] = particle;
            self.oldest = (self.oldest + 1) % CAPACITY;
        }
    }

    fn scatter(&mut self, reach: f32) -> Vec3 {
        let mut part = || (self.unit() * 2.0 - 1.0) * reach;
        vec3(part(), part(), part() * 0.6)
    }

    /// A random number in 0 to 1 (xorshift). Only the looks depend on it, so the seed is fixed.
    fn unit(&mut self) -> f32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        (self.random >> 8) as f32 / (1 << 24) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::super::space::Zero;

    use super::*;

    #[test]
    fn pool_never_outgrows_its_bound() {
        let mut pool = Pool::default();
        for _ in 0..100 {
            pool.burst(Vec3::zero(), [0.5; 3]);
        }
        assert_eq!(pool.iter().count(), CAPACITY);
    }

    #[test]
    fn all_particles_are_gone_after_three_seconds() {
        let mut pool = Pool::default();
        pool.burst(Vec3::unit_z(), [0.5; 3]);
        pool.steam(Vec3::unit_z(), Vec3::zero());
        assert_eq!(pool.iter().count(), 26);
        for _ in 0..90 {
            pool.step(1.0 / 30.0, 16.0);
        }
        assert_eq!(pool.iter().count(), 0);
    }

    #[test]
    fn crumbs_do_not_fall_through_the_table_and_steam_rises() {
        let mut pool = Pool::default();
        pool.burst(vec3(2.0, 1.0, 0.5), [0.5; 3]);
        pool.steam(Vec3::unit_z(), Vec3::zero());
        for _ in 0..30 {
            pool.step(1.0 / 60.0, 16.0);
            assert!(pool.iter().filter(|p| p.kind == Kind::Crumb).all(|p| p.position.z > -0.1));
        }
        let wisp = pool
            .iter()
            .filter(|p| p.kind == Kind::Steam)
            .last()
            .expect("wisps live longer than half a second");
        assert!(wisp.position.z > 1.1);
    }
}
