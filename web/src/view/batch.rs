//! One mesh on the GPU, drawn as many times as there are instances, in one call.

use web_sys::{WebGl2RenderingContext as Gl, WebGlBuffer, WebGlVertexArrayObject};

use super::mesh::MeshData;
use super::space::{Mat4, Matrix};

/// How many numbers each attribute of a vertex has: position, normal, colour and gloss, details.
const OF_VERTEX: [i32; 4] = [3, 3, 4, 3];
/// How many numbers each attribute of an instance has: the transform's rows, tint, glow.
const OF_INSTANCE: [i32; 5] = [4, 4, 4, 4, 1];
/// Bytes of a number.
const NUMBER: i32 = 4;

/// One copy of a mesh in the world.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// The transform from the mesh to the world; it must be affine.
    pub transform: Mat4,
    /// Linear RGB and opacity.
    pub tint: [f32; 4],
    /// How strongly the copy glows, from 0 to 1.
    pub glow: f32,
}

/// A mesh and room for its instances. The buffers are made once. When the context is lost, no new ones can be made,
/// and every call is ignored.
pub struct Batch {
    array: Option<WebGlVertexArrayObject>,
    instances: Option<WebGlBuffer>,
    /// The number of indices, three for each triangle.
    corners: i32,
    count: i32,
    /// The instances' bytes, kept so that a frame allocates no memory.
    bytes: Vec<u8>,
}

impl Batch {
    /// Uploads a mesh; it has no instances yet.
    pub fn new(gl: &Gl, mesh: &MeshData) -> Self {
        let array = gl.create_vertex_array();
        gl.bind_vertex_array(array.as_ref());
        let mut bytes = Vec::new();
        for ((position, normal), paint) in mesh.positions.iter().zip(&mesh.normals).zip(&mesh.paints) {
            put::<3>(&mut bytes, position.as_ref());
            put::<3>(&mut bytes, normal.as_ref());
            put(&mut bytes, &paint.colour);
            put(&mut bytes, &[paint.gloss, paint.tint, paint.dots, paint.open]);
        }
        gl.bind_buffer(Gl::ARRAY_BUFFER, gl.create_buffer().as_ref());
        gl.buffer_data_with_u8_array(Gl::ARRAY_BUFFER, &bytes, Gl::STATIC_DRAW);
        lay_out(gl, 0, &OF_VERTEX, 0);
        let indices: Vec<u8> = mesh.indices.iter().flat_map(|index| index.to_le_bytes()).collect();
        gl.bind_buffer(Gl::ELEMENT_ARRAY_BUFFER, gl.create_buffer().as_ref());
        gl.buffer_data_with_u8_array(Gl::ELEMENT_ARRAY_BUFFER, &indices, Gl::STATIC_DRAW);
        let instances = gl.create_buffer();
        gl.bind_buffer(Gl::ARRAY_BUFFER, instances.as_ref());
        lay_out(gl, OF_VERTEX.len() as u32, &OF_INSTANCE, 1);
        bytes.clear();
        Self { array, instances, corners: mesh.indices.len() as i32, count: 0, bytes }
    }

    /// Replaces the instances.
    pub fn fill(&mut self, gl: &Gl, instances: &[Instance]) {
        self.count = instances.len() as i32;
        if instances.is_empty() {
            return;
        }
        self.bytes.clear();
        for instance in instances {
            for row in 0..3 {
                put::<4>(&mut self.bytes, instance.transform.row(row).as_ref());
            }
            put(&mut self.bytes, &instance.tint);
            put(&mut self.bytes, &[instance.glow]);
        }
        gl.bind_buffer(Gl::ARRAY_BUFFER, self.instances.as_ref());
        gl.buffer_data_with_u8_array(Gl::ARRAY_BUFFER, &self.bytes, Gl::DYNAMIC_DRAW);
    }

    /// Draws all instances with the current program and states.
    pub fn draw(&self, gl: &Gl) {
        if self.count > 0 {
            gl.bind_vertex_array(self.array.as_ref());
            gl.draw_elements_instanced_with_i32(
                Gl::TRIANGLES,
                self.corners,
                Gl::UNSIGNED_SHORT,
                0,
                self.count,
            );
        }
    }
}

fn put<const N: usize>(bytes: &mut Vec<u8>, numbers: &[f32; N]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// Describes the bound buffer: the attributes from `first` on lie one after the other, for each vertex or instance.
fn lay_out(gl: &Gl, first: u32, numbers: &[i32], divisor: u32) {
    let stride = numbers.iter().sum::<i32>() * NUMBER;
    let mut offset = 0;
    for (attribute, &count) in (first..).zip(numbers) {
        gl.enable_vertex_attrib_array(attribute);
        gl.vertex_attrib_pointer_with_i32(attribute, count, Gl::FLOAT, false, stride, offset);
        gl.vertex_attrib_divisor(attribute, divisor);
        offset += count * NUMBER;
    }
}
