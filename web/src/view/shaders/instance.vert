uniform mat4 viewProjection;
in vec3 position;
in vec3 normal;
in vec4 colour;
in vec3 detail;
in vec4 row1;
in vec4 row2;
in vec4 row3;
in vec4 tint;
in float glow;
out vec3 world;
out vec3 local;
out vec3 nor;
out vec4 base;
out vec3 look;
out float opacity;
out float flash;
void main() {
    vec4 p = vec4(position, 1.0);
    local = position;
    world = vec3(dot(row1, p), dot(row2, p), dot(row3, p));
    // The cofactors turn normals right under uneven scaling, without an inverse.
    vec3 a = cross(row2.xyz, row3.xyz), b = cross(row3.xyz, row1.xyz), c = cross(row1.xyz, row2.xyz);
    nor = vec3(dot(a, normal), dot(b, normal), dot(c, normal));
    base = vec4(mix(colour.rgb, tint.rgb, detail.x), colour.a);
    look = detail;
    opacity = tint.a;
    flash = glow;
    gl_Position = viewProjection * vec4(world, 1.0);
}
