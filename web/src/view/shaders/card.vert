uniform mat4 viewProjection;
in vec3 position;
in vec4 row1;
in vec4 row2;
in vec4 row3;
in vec4 tint;
out vec2 place;
out vec4 shine;
void main() {
    vec4 p = vec4(position, 1.0);
    place = position.xy;
    shine = tint;
    gl_Position = viewProjection * vec4(dot(row1, p), dot(row2, p), dot(row3, p), 1.0);
}
