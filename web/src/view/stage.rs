//! The GPU's side of the scene: programs, meshes, pictures, shadow map, and the order in which they are drawn.

use three_d::{
    Blend, ClearState, Context, CoreError, Cull, DepthTest, DepthTexture2D, InnerSpace, Interpolation, Mat4,
    Mipmap, Point3, Program, RenderStates, RenderTarget, SquareMatrix, Texture2D, Vec3, Viewport, Wrapping,
    WriteMask, vec3,
};

use super::batch::{Batch, Instance};
use super::camera::Rig;
use super::mesh::MeshData;
use super::scene::{KEY, Lists};
use super::{Quality, ViewError, props, teapot, textures};

const SHADOW_SIZE: u32 = 1536;

const TRANSPARENT: RenderStates = RenderStates {
    write_mask: WriteMask::COLOR,
    depth_test: DepthTest::LessOrEqual,
    blend: Blend::TRANSPARENCY,
    cull: Cull::None,
};

/// Everything that lives on the GPU.
pub struct Stage {
    context: Context,
    programs: Programs,
    models: Models,
    cloth: Texture2D,
    wood: Texture2D,
    shadow: Option<Shadow>,
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
    map: DepthTexture2D,
    projection: Mat4,
}

impl Stage {
    /// Compiles and uploads everything.
    ///
    /// # Errors
    /// [`ViewError::Context`] with the driver's words when it does not take a shader.
    pub fn new(context: &Context, quality: Quality) -> Result<Self, ViewError> {
        let shadow = (quality == Quality::Normal).then(|| Shadow::new(context));
        Ok(Self {
            programs: Programs::new(context, quality)
                .map_err(|error| ViewError::Context(error.to_string()))?,
            models: Models::new(context, quality),
            cloth: picture(context, &textures::gingham(), quality),
            wood: picture(context, &textures::wood(), quality),
            context: context.clone(),
            shadow,
        })
    }

    /// Draws one frame into the canvas of `width` by `height` pixels.
    pub fn draw(&mut self, lists: &Lists, rig: &Rig, width: u32, height: u32) {
        self.models.fill(lists);
        self.draw_shadow();
        let viewport = Viewport::new_at_origo(width, height);
        let screen = RenderTarget::screen(&self.context, width, height);
        let drawn = screen.clear(ClearState::color_and_depth(0.3, 0.2, 0.2, 1.0, 1.0)).write(|| {
            self.prepare(rig);
            self.draw_opaque(viewport);
            self.draw_transparent(viewport);
            Ok::<(), CoreError>(())
        });
        drawn.ok().map(|_| ()).expect("the closure above has no way to fail");
    }

    fn draw_shadow(&self) {
        let Some(shadow) = &self.shadow else { return };
        let viewport = Viewport::new_at_origo(SHADOW_SIZE, SHADOW_SIZE);
        let states = RenderStates { write_mask: WriteMask::DEPTH, ..RenderStates::default() };
        let program = &self.programs.depth;
        let target = shadow.map.as_depth_target();
        let drawn = target.clear(ClearState::depth(1.0)).write(|| {
            program.use_uniform_if_required("viewProjection", shadow.projection);
            for model in self.models.solid() {
                model.draw(program, states, viewport);
            }
            self.models.border.draw(program, states, viewport);
            Ok::<(), CoreError>(())
        });
        drawn.ok().map(|_| ()).expect("the closure above has no way to fail");
    }

    /// Sets what all draws of the frame share.
    fn prepare(&self, rig: &Rig) {
        let Programs { surface, cloth, border, card, depth, backdrop } = &self.programs;
        for program in [surface, cloth, border, card, depth] {
            program.use_uniform_if_required("viewProjection", rig.view_projection);
        }
        for program in [surface, cloth, border] {
            program.use_uniform_if_required("eye", rig.eye);
            program.use_uniform_if_required("key", KEY.normalize());
            if let Some(shadow) = &self.shadow {
                program.use_uniform_if_required("shadowMatrix", shadow.lookup());
            }
        }
        backdrop.use_uniform_if_required("unproject", rig.unproject());
    }

    /// Binds the shadow map, right before a draw: each program counts its texture units from zero.
    fn use_shadow(&self, program: &Program) {
        if let Some(shadow) = &self.shadow {
            program.use_depth_texture("shadowMap", &shadow.map);
        }
    }

    fn draw_opaque(&self, viewport: Viewport) {
        let states = RenderStates::default();
        let models = &self.models;
        self.use_shadow(&self.programs.surface);
        for model in models.solid() {
            model.draw(&self.programs.surface, states, viewport);
        }
        let culled = RenderStates { cull: Cull::Back, ..states };
        let Programs { cloth, border, .. } = &self.programs;
        self.use_shadow(cloth);
        cloth.use_texture("cloth", &self.cloth);
        models.cloth.draw(cloth, culled, viewport);
        self.use_shadow(border);
        border.use_texture("cloth", &self.cloth);
        border.use_texture("wood", &self.wood);
        models.border.draw(border, culled, viewport);
        let behind =
            RenderStates { depth_test: DepthTest::LessOrEqual, write_mask: WriteMask::COLOR, ..states };
        models.backdrop.draw(&self.programs.backdrop, behind, viewport);
    }

    fn draw_transparent(&self, viewport: Viewport) {
        let (models, programs) = (&self.models, &self.programs);
        models.contacts.draw(&programs.card, TRANSPARENT, viewport);
        // A ghost shows its outside only: first its depth, then its colour where it is nearest.
        let depth_only = RenderStates { write_mask: WriteMask::DEPTH, ..RenderStates::default() };
        models.ghosts.draw(&programs.depth, depth_only, viewport);
        self.use_shadow(&programs.surface);
        models.ghosts.draw(&programs.surface, TRANSPARENT, viewport);
        models.puffs.draw(&programs.card, TRANSPARENT, viewport);
    }
}

impl Programs {
    fn new(context: &Context, quality: Quality) -> Result<Self, CoreError> {
        let scale = if quality == Quality::Normal { "#define SHADOWS\n" } else { "#define LOW\n" };
        let instance = include_str!("shaders/instance.vert");
        let lit = |part: &str, fragment: &str| {
            let fragment = [scale, part, include_str!("shaders/light.glsl"), fragment].concat();
            Program::from_source(context, instance, &fragment)
        };
        let plain = |vertex: &str, fragment: &str| Program::from_source(context, vertex, fragment);
        Ok(Self {
            surface: lit("", include_str!("shaders/surface.frag"))?,
            cloth: lit("", include_str!("shaders/table.frag"))?,
            border: lit("#define BORDER\n", include_str!("shaders/table.frag"))?,
            card: plain(include_str!("shaders/card.vert"), include_str!("shaders/card.frag"))?,
            depth: plain(include_str!("shaders/depth.vert"), include_str!("shaders/depth.frag"))?,
            backdrop: plain(include_str!("shaders/backdrop.vert"), include_str!("shaders/backdrop.frag"))?,
        })
    }
}

impl Models {
    fn new(context: &Context, quality: Quality) -> Self {
        let (patch, round, rim) = match quality {
            Quality::Normal => (10, 48, 192),
            Quality::Low => (5, 24, 96),
        };
        let pot = teapot::teapot(patch);
        let load = |mesh: &MeshData| Batch::new(context, mesh);
        let once = |mesh: &MeshData| {
            let mut batch = load(mesh);
            batch.fill(&[Instance { transform: Mat4::identity(), tint: [1.0; 4], glow: 0.0 }]);
            batch
        };
        Self {
            cloth: once(&props::cloth(rim)),
            border: once(&props::border(rim)),
            backdrop: once(&props::card()),
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

    fn fill(&mut self, lists: &Lists) {
        self.teapots.fill(&lists.teapots);
        self.ghosts.fill(&lists.ghosts);
        self.cubes.fill(&lists.cubes);
        self.cups.fill(&lists.cups);
        self.bowls.fill(&lists.bowls);
        self.biscuits.fill(&lists.biscuits);
        self.contacts.fill(&lists.contacts);
        self.puffs.fill(&lists.puffs);
    }

    /// Opaque things that throw shadows.
    fn solid(&self) -> [&Batch; 5] {
        [&self.teapots, &self.cubes, &self.cups, &self.bowls, &self.biscuits]
    }
}

impl Shadow {
    /// One map for the whole table: things up to 4 spoons high throw complete shadows.
    fn new(context: &Context) -> Self {
        let clamp = Wrapping::ClampToEdge;
        let map = DepthTexture2D::new::<f32>(context, SHADOW_SIZE, SHADOW_SIZE, clamp, clamp);
        let (reach, key) = (props::TABLE_RADIUS + 1.0, KEY.normalize());
        let height = reach * key.z + 2.0;
        let eye = key * 30.0;
        let look =
            Mat4::look_at_rh(Point3::new(eye.x, eye.y, eye.z), Point3::new(0.0, 0.0, 0.0), Vec3::unit_z());
        // In sight is what lies between 10 and 50 from the eye.
        let (near, far) = (10.0, 50.0);
        let slab = Mat4::from_nonuniform_scale(1.0, 1.0, 2.0 / (near - far))
            * Mat4::from_translation(Vec3::unit_z() * ((near + far) / 2.0));
        let projection = Mat4::from_nonuniform_scale(1.0 / reach, 1.0 / height, 1.0) * slab * look;
        Self { map, projection }
    }

    /// From the world to the map: place and depth in 0 to 1.
    fn lookup(&self) -> Mat4 {
        Mat4::from_translation(vec3(0.5, 0.5, 0.5)) * Mat4::from_scale(0.5) * self.projection
    }
}

/// A repeating picture with smaller copies for the distance.
fn picture(context: &Context, texels: &[[u8; 4]], quality: Quality) -> Texture2D {
    let size = textures::SIZE as u32;
    let max_ratio = if quality == Quality::Normal { 8 } else { 1 };
    let picture = Texture2D::new_empty::<[u8; 4]>(
        context,
        size,
        size,
        Interpolation::Linear,
        Interpolation::Linear,
        Some(Mipmap { max_ratio, max_levels: 9, filter: Interpolation::Linear }),
        Wrapping::Repeat,
        Wrapping::Repeat,
    );
    picture.fill(texels);
    picture
}
