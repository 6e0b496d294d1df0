//! The GPU's side of the scene: programs, meshes, pictures, shadow map, and the order in which they are drawn.

use samovar_duel::arena::TEA_TABLE;
use web_sys::{WebGl2RenderingContext as Gl, WebGlFramebuffer, WebGlTexture};

use super::batch::{Batch, Instance};
use super::camera::Rig;
use super::mesh::MeshData;
use super::program::{Program, States, Uniform, Unit};
use super::scene::{KEY, Lists};
use super::space::{InnerSpace, Mat4, Point3, SquareMatrix, Vec3, vec3};
use super::{Quality, ViewError, props, teapot, textures};

const SHADOW_SIZE: i32 = 1536;
/// How far the shadow map reaches from its middle, in table units: over the whole tea table.
const SHADOW_REACH: f32 = TEA_TABLE.radius + 1.0;
/// The step in which the shadow map follows the camera on a larger table, in table units.
const SHADOW_LEAP: f32 = 4.0;
/// The extension that keeps a texture sharp at a slant. The next two numbers are its settings.
const ANISOTROPY: &str = "EXT_texture_filter_anisotropic";
const TEXTURE_ANISOTROPY: u32 = 0x84fe;
const MAX_ANISOTROPY: u32 = 0x84ff;

/// The text of a shader of `shaders/`, as `build.rs` has written it.
macro_rules! shader {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

/// Everything that lives on the GPU.
pub struct Stage {
    gl: Gl,
    programs: Programs,
    models: Models,
    shadow: Option<Shadow>,
    quality: Quality,
    /// The radius of the table that is drawn.
    radius: f32,
}

struct Programs {
    surface: Program,
    cloth: Program,
    border: Program,
    card: Program,
    depth: Program,
    backdrop: Program,
}

struct Models {
    cloth: Batch,
    border: Batch,
    backdrop: Batch,
    teapots: Batch,
    ghosts: Batch,
    cubes: Batch,
    cups: Batch,
    bowls: Batch,
    biscuits: Batch,
    contacts: Batch,
    puffs: Batch,
}

struct Shadow {
    target: Option<WebGlFramebuffer>,
    projection: Mat4,
}

impl Stage {
    /// Compiles and uploads everything.
    ///
    /// # Errors
    /// [`ViewError::Context`] with the driver's words when the driver refuses a shader, [`ViewError::NoWebGl2`] when
    /// the context was lost meanwhile.
    pub fn new(gl: &Gl, quality: Quality) -> Result<Self, ViewError> {
        let programs = Programs::new(gl, quality)?;
        States::begin(gl);
        picture(gl, Unit::Cloth, &textures::gingham(), quality);
        picture(gl, Unit::Wood, &textures::wood(), quality);
        let shadow = (quality == Quality::Normal).then(|| Shadow::new(gl));
        let (models, radius) = (Models::new(gl, quality), TEA_TABLE.radius);
        Ok(Self { programs, models, gl: gl.clone(), shadow, quality, radius })
    }

    /// Draws one frame into the canvas of `width` by `height` pixels.
    pub fn draw(&mut self, lists: &Lists, rig: &Rig, width: u32, height: u32) {
        if self.radius != lists.radius {
            self.radius = lists.radius;
            self.models.lay(&self.gl, self.quality, self.radius);
        }
        self.models.fill(&self.gl, lists);
        if let Some(shadow) = &mut self.shadow {
            shadow.aim(if self.radius > SHADOW_REACH { rig.focus() } else { Vec3::unit_z() * 0.0 });
        }
        self.draw_shadow();
        let gl = &self.gl;
        gl.viewport(0, 0, width as i32, height as i32);
        States::SOLID.apply(gl);
        gl.clear_color(0.3, 0.2, 0.2, 1.0);
        gl.clear(Gl::COLOR_BUFFER_BIT | Gl::DEPTH_BUFFER_BIT);
        self.prepare(rig);
        self.draw_opaque();
        self.draw_transparent();
    }

    fn draw_shadow(&self) {
        let (gl, Some(shadow)) = (&self.gl, &self.shadow) else { return };
        let program = &self.programs.depth;
        gl.bind_framebuffer(Gl::FRAMEBUFFER, shadow.target.as_ref());
        gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
        States::DEPTH_ONLY.apply(gl);
        gl.clear(Gl::DEPTH_BUFFER_BIT);
        program.take_up(gl);
        program.set_matrix(gl, Uniform::ViewProjection, &shadow.projection);
        for model in self.models.solid() {
            model.draw(gl);
        }
        self.models.border.draw(gl);
        gl.bind_framebuffer(Gl::FRAMEBUFFER, None);
    }

    /// Sets the values that all draws of the frame share.
    fn prepare(&self, rig: &Rig) {
        let Programs { surface, cloth, border, card, depth, backdrop } = &self.programs;
        let (gl, unproject, key) = (&self.gl, rig.unproject(), KEY.normalize());
        let lookup = self.shadow.as_ref().map(Shadow::lookup);
        for program in [surface, cloth, border, card, depth, backdrop] {
            program.take_up(gl);
            program.set_matrix(gl, Uniform::ViewProjection, &rig.view_projection);
            program.set_vector(gl, Uniform::Eye, rig.eye);
            program.set_vector(gl, Uniform::Key, key);
            program.set_matrix(gl, Uniform::Unproject, &unproject);
            if let Some(lookup) = &lookup {
                program.set_matrix(gl, Uniform::ShadowMatrix, lookup);
            }
        }
    }

    fn draw_opaque(&self) {
        let (gl, models, programs) = (&self.gl, &self.models, &self.programs);
        programs.surface.take_up(gl);
        for model in models.solid() {
            model.draw(gl);
        }
        States { culls: true, ..States::SOLID }.apply(gl);
        programs.cloth.take_up(gl);
        models.cloth.draw(gl);
        programs.border.take_up(gl);
        models.border.draw(gl);
        States { covers_equal: true, depth: false, ..States::SOLID }.apply(gl);
        programs.backdrop.take_up(gl);
        models.backdrop.draw(gl);
    }

    fn draw_transparent(&self) {
        let (gl, models, programs) = (&self.gl, &self.models, &self.programs);
        States::TRANSPARENT.apply(gl);
        programs.card.take_up(gl);
        models.contacts.draw(gl);
        // A ghost shows its outside only. The first draw writes its depth, the second its colour where it is nearest.
        States::DEPTH_ONLY.apply(gl);
        programs.depth.take_up(gl);
        models.ghosts.draw(gl);
        States::TRANSPARENT.apply(gl);
        programs.surface.take_up(gl);
        models.ghosts.draw(gl);
        programs.card.take_up(gl);
        models.puffs.draw(gl);
    }
}

impl Programs {
    fn new(gl: &Gl, quality: Quality) -> Result<Self, ViewError> {
        let scale = if quality == Quality::Normal { "#define SHADOWS\n" } else { "#define LOW\n" };
        let instance = shader!("instance.vert");
        let lit = |part: &str, fragment: &str| {
            let fragment = [scale, part, shader!("light.glsl"), fragment].concat();
            Program::new(gl, instance, &fragment)
        };
        let plain = |vertex: &str, fragment: &str| Program::new(gl, vertex, fragment);
        Ok(Self {
            surface: lit("", shader!("surface.frag"))?,
            cloth: lit("", shader!("table.frag"))?,
            border: lit("#define BORDER\n", shader!("table.frag"))?,
            card: plain(shader!("card.vert"), shader!("card.frag"))?,
            depth: plain(shader!("depth.vert"), shader!("depth.frag"))?,
            backdrop: plain(shader!("backdrop.vert"), shader!("backdrop.frag"))?,
        })
    }
}

impl Models {
    fn new(gl: &Gl, quality: Quality) -> Self {
        let (patch, round) = match quality {
            Quality::Normal => (10, 48),
            Quality::Low => (5, 24),
        };
        let pot = teapot::teapot(patch);
        let load = |mesh: &MeshData| Batch::new(gl, mesh);
        let [cloth, border] = table(gl, quality, TEA_TABLE.radius);
        Self {
            cloth,
            border,
            backdrop: once(gl, &props::card(), 0.0),
            teapots: load(&pot),
            ghosts: load(&pot),
            cubes: load(&props::sugar_cube()),
            cups: load(&props::cup(round)),
            bowls: load(&props::sugar_bowl(round)),
            biscuits: load(&props::biscuits(48)),
            contacts: load(&props::card()),
            puffs: load(&props::card()),
        }
    }

    /// Takes a table of another radius.
    fn lay(&mut self, gl: &Gl, quality: Quality, radius: f32) {
        [self.cloth, self.border] = table(gl, quality, radius);
    }

    fn fill(&mut self, gl: &Gl, lists: &Lists) {
        self.teapots.fill(gl, &lists.teapots);
        self.ghosts.fill(gl, &lists.ghosts);
        self.cubes.fill(gl, &lists.cubes);
        self.cups.fill(gl, &lists.cups);
        self.bowls.fill(gl, &lists.bowls);
        self.biscuits.fill(gl, &lists.biscuits);
        self.contacts.fill(gl, &lists.contacts);
        self.puffs.fill(gl, &lists.puffs);
    }

    /// Opaque things that throw shadows.
    fn solid(&self) -> [&Batch; 5] {
        [&self.teapots, &self.cubes, &self.cups, &self.bowls, &self.biscuits]
    }
}

/// The cloth and the border of a table of this radius. The shader paints by the distance from the rim of the tea table,
/// so it is told by how much this table's radius is larger.
fn table(gl: &Gl, quality: Quality, radius: f32) -> [Batch; 2] {
    let segments = if quality == Quality::Normal { 192 } else { 96 };
    let larger = radius - TEA_TABLE.radius;
    [props::cloth(radius, segments), props::border(radius, segments)].map(|mesh| once(gl, &mesh, larger))
}

/// A batch of one thing that never moves.
fn once(gl: &Gl, mesh: &MeshData, glow: f32) -> Batch {
    let mut batch = Batch::new(gl, mesh);
    batch.fill(gl, &[Instance { transform: Mat4::identity(), tint: [1.0; 4], glow }]);
    batch
}

impl Shadow {
    /// Makes one shadow map for a place of the size of the tea table. Things up to 4 table units high throw complete
    /// shadows.
    fn new(gl: &Gl) -> Self {
        let map = texture(gl, Unit::ShadowMap, 1, Gl::DEPTH_COMPONENT32F, SHADOW_SIZE);
        for (setting, value) in [
            (Gl::TEXTURE_MIN_FILTER, Gl::NEAREST),
            (Gl::TEXTURE_MAG_FILTER, Gl::NEAREST),
            (Gl::TEXTURE_WRAP_S, Gl::CLAMP_TO_EDGE),
            (Gl::TEXTURE_WRAP_T, Gl::CLAMP_TO_EDGE),
        ] {
            gl.tex_parameteri(Gl::TEXTURE_2D, setting, value as i32);
        }
        let target = gl.create_framebuffer();
        gl.bind_framebuffer(Gl::FRAMEBUFFER, target.as_ref());
        gl.framebuffer_texture_2d(Gl::FRAMEBUFFER, Gl::DEPTH_ATTACHMENT, Gl::TEXTURE_2D, map.as_ref(), 0);
        gl.bind_framebuffer(Gl::FRAMEBUFFER, None);
        let mut shadow = Self { target, projection: Mat4::identity() };
        shadow.aim(Vec3::unit_z() * 0.0);
        shadow
    }

    /// Turns the map to the part of the table around `middle`. It moves in leaps, so that shadows do not flicker while
    /// the camera moves.
    fn aim(&mut self, middle: Vec3) {
        let leap = |place: f32| (place / SHADOW_LEAP).round() * SHADOW_LEAP;
        let middle = vec3(leap(middle.x), leap(middle.y), 0.0);
        let (reach, key) = (SHADOW_REACH, KEY.normalize());
        let height = reach * key.z + 2.0;
        let eye = key * 30.0;
        let look =
            Mat4::look_at_rh(Point3::new(eye.x, eye.y, eye.z), Point3::new(0.0, 0.0, 0.0), Vec3::unit_z());
        // The map shows distances from 10 to 50 from the eye.
        let (near, far) = (10.0, 50.0);
        let slab = Mat4::from_nonuniform_scale(1.0, 1.0, 2.0 / (near - far))
            * Mat4::from_translation(Vec3::unit_z() * ((near + far) / 2.0));
        self.projection = Mat4::from_nonuniform_scale(1.0 / reach, 1.0 / height, 1.0)
            * slab
            * look
            * Mat4::from_translation(-middle);
    }

    /// The transform from the world to the map: place and depth in 0 to 1.
    fn lookup(&self) -> Mat4 {
        Mat4::from_translation(vec3(0.5, 0.5, 0.5)) * Mat4::from_scale(0.5) * self.projection
    }
}

/// Makes an empty square texture, bound to its unit for good.
fn texture(gl: &Gl, unit: Unit, levels: i32, format: u32, size: i32) -> Option<WebGlTexture> {
    let texture = gl.create_texture();
    gl.active_texture(Gl::TEXTURE0 + unit as u32);
    gl.bind_texture(Gl::TEXTURE_2D, texture.as_ref());
    gl.tex_storage_2d(Gl::TEXTURE_2D, levels, format, size, size);
    texture
}

/// Uploads a repeating texture, with smaller copies for the distance.
fn picture(gl: &Gl, unit: Unit, texels: &[[u8; 4]], quality: Quality) {
    let size = textures::SIZE as i32;
    texture(gl, unit, textures::SIZE.ilog2() as i32 + 1, Gl::RGBA8, size);
    gl.tex_parameteri(Gl::TEXTURE_2D, Gl::TEXTURE_MIN_FILTER, Gl::LINEAR_MIPMAP_LINEAR as i32);
    if quality == Quality::Normal && gl.get_extension(ANISOTROPY).is_ok_and(|found| found.is_some()) {
        // The GPU refuses more than its maximum.
        let most = gl.get_parameter(MAX_ANISOTROPY).ok().and_then(|most| most.as_f64()).unwrap_or(1.0);
        gl.tex_parameteri(Gl::TEXTURE_2D, TEXTURE_ANISOTROPY, most.min(8.0) as i32);
    }
    // The call fails only for arrays that are shared or too long to address, and then leaves the picture black.
    let _ = gl.tex_sub_image_2d_with_i32_and_i32_and_u32_and_type_and_opt_u8_array(
        Gl::TEXTURE_2D,
        0,
        0,
        0,
        size,
        size,
        Gl::RGBA,
        Gl::UNSIGNED_BYTE,
        Some(texels.as_flattened()),
    );
    gl.generate_mipmap(Gl::TEXTURE_2D);
}
