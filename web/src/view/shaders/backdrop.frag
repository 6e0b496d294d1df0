in vec3 ray;
layout(location = 0) out vec4 pixel;
// A warm room out of focus: wall above, floor below, a few lamps as soft discs.
void main() {
    vec3 d = normalize(ray);
    float a = atan(d.y, d.x);
    // Striped paper above a rail of wood, the floor below.
    vec3 paper = mix(vec3(0.86, 0.66, 0.53), vec3(0.97, 0.88, 0.77), smoothstep(-0.22, 0.35, d.z));
    paper *= 1.0 + 0.022 * smoothstep(-0.5, 0.5, sin(a * 36.0));
    vec3 panel = mix(vec3(0.30, 0.19, 0.17), vec3(0.56, 0.38, 0.32), smoothstep(-0.80, -0.25, d.z));
    vec3 c = mix(panel, paper, smoothstep(-0.225, -0.185, d.z));
    c += vec3(0.08, 0.055, 0.03) * exp(-pow((d.z + 0.205) / 0.018, 2.0));
    for (int i = 0; i < 3; i++) {
        float k = float(i), n = 9.0 + 4.0 * k;
        float cell = floor(a * n / 6.2831853);
        float h = fract(sin(cell * 12.9898 + k * 78.233) * 43758.5453);
        vec2 q = vec2((fract(a * n / 6.2831853) - 0.5) * 6.2831853 / n, d.z - (0.34 * h - 0.13));
        float size = 0.022 + 0.035 * fract(h * 7.31);
        float r = length(q) / size;
        float disc = (1.0 - smoothstep(0.85, 1.0, r)) * (0.75 + 0.25 * r * r);
        c += vec3(1.0, 0.84, 0.58) * (disc * 0.20 * (0.3 + h));
    }
    pixel = vec4(c, 1.0);
}
