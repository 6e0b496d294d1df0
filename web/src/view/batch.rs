//! One mesh on the GPU, drawn as many times as there are instances, in one call.

use three_d::{
    Context, ElementBuffer, InstanceBuffer, Mat4, Matrix, Program, RenderStates, Vec3, Vec4, VertexBuffer,
    Viewport,
};

use super::mesh::MeshData;

/// One copy of a mesh in the world.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// From the mesh to the world; must not project.
    pub transform: Mat4,
    /// Linear RGB and opacity.
    pub tint: [f32; 4],
    /// 0 to 1: lights up.
    pub glow: f32,
}

/// A mesh and room for its instances. Buffers are made once: a lost context could not make new ones.
pub struct Batch {
    positions: VertexBuffer<Vec3>,
    normals: VertexBuffer<Vec3>,
    colours: VertexBuffer<Vec4>,
    details: VertexBuffer<Vec3>,
    elements: ElementBuffer<u16>,
    rows: [InstanceBuffer<Vec4>; 3],
    tints: InstanceBuffer<Vec4>,
    glows: InstanceBuffer<f32>,
    count: u32,
}

impl Batch {
    /// Uploads a mesh; it has no instances yet.
    pub fn new(context: &Context, mesh: &MeshData) -> Self {
        let colours: Vec<_> = mesh.paints.iter().map(|p| Vec3::from(p.colour).extend(p.gloss)).collect();
        let details: Vec<_> = mesh.paints.iter().map(|p| Vec3::new(p.tint, p.dots, p.open)).collect();
        Self {
            positions: VertexBuffer::new_with_data(context, &mesh.positions),
            normals: VertexBuffer::new_with_data(context, &mesh.normals),
            colours: VertexBuffer::new_with_data(context, &colours),
            details: VertexBuffer::new_with_data(context, &details),
            elements: ElementBuffer::new_with_data(context, &mesh.indices),
            rows: [0; 3].map(|_| InstanceBuffer::new(context)),
            tints: InstanceBuffer::new(context),
            glows: InstanceBuffer::new(context),
            count: 0,
        }
    }

    /// Replaces the instances.
    pub fn fill(&mut self, instances: &[Instance]) {
        self.count = instances.len() as u32;
        for (index, row) in self.rows.iter_mut().enumerate() {
            row.fill(&instances.iter().map(|i| i.transform.row(index)).collect::<Vec<_>>());
        }
        self.tints.fill(&instances.iter().map(|i| Vec4::from(i.tint)).collect::<Vec<_>>());
        self.glows.fill(&instances.iter().map(|i| i.glow).collect::<Vec<_>>());
    }

    /// Draws all instances with a program whose other uniforms are set.
    pub fn draw(&self, program: &Program, states: RenderStates, viewport: Viewport) {
        if self.count == 0 {
            return;
        }
        let wants = |name| program.requires_attribute(name);
        program.use_vertex_attribute("position", &self.positions);
        if wants("normal") {
            program.use_vertex_attribute("normal", &self.normals);
        }
        if wants("colour") {
            program.use_vertex_attribute("colour", &self.colours);
        }
        if wants("detail") {
            program.use_vertex_attribute("detail", &self.details);
        }
        for (name, row) in ["row1", "row2", "row3"].into_iter().zip(&self.rows) {
            if wants(name) {
                program.use_instance_attribute(name, row);
            }
        }
        if wants("tint") {
            program.use_instance_attribute("tint", &self.tints);
        }
        if wants("glow") {
            program.use_instance_attribute("glow", &self.glows);
        }
        program.draw_elements_instanced(states, viewport, &self.elements, self.count);
    }
}
