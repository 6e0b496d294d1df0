//! Shader programs, the values that all their draws share, and the settings for how a draw combines with the picture
//! so far.

use web_sys::{WebGl2RenderingContext as Gl, WebGlProgram, WebGlShader, WebGlUniformLocation};

use super::ViewError;
use super::space::{Mat4, Vec3};

/// Names of a vertex's attributes, by location. All programs share the locations, so every batch fits every program.
const ATTRIBUTES: [&str; 9] =
    ["position", "normal", "colour", "detail", "row1", "row2", "row3", "tint", "glow"];
/// Names of the textures, by unit. All programs share the units, so each texture is bound once.
const PICTURES: [&str; 3] = ["shadowMap", "cloth", "wood"];
/// Names of [`Uniform`].
const UNIFORMS: [&str; Uniform::COUNT] = ["viewProjection", "eye", "key", "shadowMatrix", "unproject"];
/// The text in front of every shader; the version has to be its first line.
const HEAD: &str = "#version 300 es\nprecision highp float;\nprecision highp int;\n";

/// The unit to which a picture is bound.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    /// Depths as the key light sees them.
    ShadowMap,
    /// The table cloth.
    Cloth,
    /// The table's rim.
    Wood,
}

samovar_wire::counted! {
    /// A value that all draws of a program share in a frame. A program that does not use the value ignores it.
    #[derive(Clone, Copy, Debug)]
    pub enum Uniform {
        /// The transform from the world to the picture.
        ViewProjection,
        /// The camera's place.
        Eye,
        /// The direction towards the key light, of unit length.
        Key,
        /// The transform from the world to the shadow map.
        ShadowMatrix,
        /// The transform from the picture to directions in the world.
        Unproject,
    }
}

/// A pair of shaders.
pub struct Program {
    program: WebGlProgram,
    places: [Option<WebGlUniformLocation>; UNIFORMS.len()],
}

impl Program {
    /// Compiles and links a pair of shaders.
    ///
    /// # Errors
    /// [`ViewError::NoWebGl2`] when the context was lost, [`ViewError::Context`] with the driver's words.
    pub fn new(gl: &Gl, vertex: &str, fragment: &str) -> Result<Self, ViewError> {
        let program = gl.create_program().ok_or(ViewError::NoWebGl2)?;
        let mut shaders = Vec::new();
        for (kind, source) in [(Gl::VERTEX_SHADER, vertex), (Gl::FRAGMENT_SHADER, fragment)] {
            let shader = gl.create_shader(kind).ok_or(ViewError::NoWebGl2)?;
            gl.shader_source(&shader, &[HEAD, source].concat());
            gl.compile_shader(&shader);
            gl.attach_shader(&program, &shader);
            shaders.push(shader);
        }
        for (place, name) in ATTRIBUTES.into_iter().enumerate() {
            gl.bind_attrib_location(&program, place as u32, name);
        }
        gl.link_program(&program);
        if !gl.get_program_parameter(&program, Gl::LINK_STATUS).is_truthy() {
            return Err(refusal(gl, &program, &shaders));
        }
        gl.use_program(Some(&program));
        for (unit, name) in PICTURES.into_iter().enumerate() {
            gl.uniform1i(gl.get_uniform_location(&program, name).as_ref(), unit as i32);
        }
        let places = UNIFORMS.map(|name| gl.get_uniform_location(&program, name));
        Ok(Self { program, places })
    }

    /// Makes this the program that draws from now on.
    pub fn take_up(&self, gl: &Gl) {
        gl.use_program(Some(&self.program));
    }

    /// Sets a matrix of this program, which must be the one that draws.
    pub fn set_matrix(&self, gl: &Gl, uniform: Uniform, value: &Mat4) {
        let numbers: &[f32; 16] = value.as_ref();
        gl.uniform_matrix4fv_with_f32_array(self.places[uniform.index()].as_ref(), false, numbers);
    }

    /// Sets a vector uniform. This program must be the current one: see `take_up`.
    pub fn set_vector(&self, gl: &Gl, uniform: Uniform, value: Vec3) {
        gl.uniform3f(self.places[uniform.index()].as_ref(), value.x, value.y, value.z);
    }
}

fn refusal(gl: &Gl, program: &WebGlProgram, shaders: &[WebGlShader]) -> ViewError {
    // A context that was lost meanwhile links nothing and gives no reason.
    if gl.is_context_lost() {
        return ViewError::NoWebGl2;
    }
    let mut words = gl.get_program_info_log(program).unwrap_or_default();
    for shader in shaders {
        words.push_str(&gl.get_shader_info_log(shader).unwrap_or_default());
    }
    ViewError::Context(words)
}

/// The settings for how a draw combines with the picture so far.
#[derive(Clone, Copy, Debug)]
pub struct States {
    /// Whether a draw also covers pixels at the same depth, and not only those farther away.
    pub covers_equal: bool,
    /// Whether a draw writes its colour.
    pub colour: bool,
    /// Whether a draw writes its depth.
    pub depth: bool,
    /// Whether a draw is mixed with the picture behind it, by its opacity.
    pub blends: bool,
    /// Whether back sides are left out.
    pub culls: bool,
}

impl States {
    /// Opaque things, with both sides visible.
    pub const SOLID: Self =
        Self { covers_equal: false, colour: true, depth: true, blends: false, culls: false };
    /// Things that write only their depth.
    pub const DEPTH_ONLY: Self = Self { colour: false, ..Self::SOLID };
    /// Things with an opacity.
    pub const TRANSPARENT: Self =
        Self { covers_equal: true, colour: true, depth: false, blends: true, culls: false };

    /// Makes the settings that never change: depth is tested, each thing is mixed by its own opacity, and the opacity
    /// of the canvas stays as it is.
    pub fn begin(gl: &Gl) {
        gl.enable(Gl::DEPTH_TEST);
        gl.blend_func_separate(Gl::SRC_ALPHA, Gl::ONE_MINUS_SRC_ALPHA, Gl::ZERO, Gl::ONE);
    }

    /// Applies these settings to all that is drawn or cleared from now on.
    pub fn apply(self, gl: &Gl) {
        gl.depth_func(if self.covers_equal { Gl::LEQUAL } else { Gl::LESS });
        gl.color_mask(self.colour, self.colour, self.colour, self.colour);
        gl.depth_mask(self.depth);
        for (switch, on) in [(Gl::BLEND, self.blends), (Gl::CULL_FACE, self.culls)] {
            if on {
                gl.enable(switch);
            } else {
                gl.disable(switch);
            }
        }
    }
}
