uniform mat4 unproject;
in vec3 position;
out vec3 ray;
void main() {
    vec4 far = unproject * vec4(position.xy * 3.0, 1.0, 1.0);
    ray = far.xyz / far.w;
    gl_Position = vec4(position.xy * 3.0, 0.99999, 1.0);
}
