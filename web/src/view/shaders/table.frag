in vec3 world;
in vec3 nor;
in vec3 look;
// By how much the table is larger than the tea table, on which the numbers below are distances from the middle.
in float flash;
uniform sampler2D cloth;
#ifdef BORDER
uniform sampler2D wood;
#endif

const float TURN = 6.2831853;
// Scallops of the hem, and how often the grain repeats around the table.
const float SCALLOPS = 72.0;
const float GRAIN = 12.0;

// Close to the sRGB curve, without its powers.
vec3 linear(vec3 c) { return c * (c * (c * 0.3053 + 0.6822) + 0.0125); }

void main() {
    vec3 n = normalize(nor);
    vec2 p = world.xy;
    vec3 albedo = linear(texture(cloth, p / 2.2).rgb);
#ifdef BORDER
    vec2 px = dFdx(p), py = dFdy(p);
    float far = length(p), r = far - flash, more = 1.0 + flash / 16.0;
    float edge = length(px) + length(py) + 0.008;
    float angle = atan(p.y, p.x);
    float around = angle * (SCALLOPS / TURN) * more;
    float hem = 13.0 + 0.34 * abs(sin(around * 0.5 * TURN)) - r;
    float stitch = 1.0 - smoothstep(0.03, 0.03 + edge, abs(r - 12.78));
    albedo = mix(albedo, vec3(0.90, 0.82, 0.69), smoothstep(12.62, 12.62 + edge, r));
    albedo = mix(albedo, vec3(0.11, 0.21, 0.27), stitch);
    vec2 hole = vec2((fract(around) - 0.5) * (TURN / SCALLOPS) * far / more, r - 13.06);
    float cut = 1.0 - smoothstep(0.075, 0.075 + edge, length(hole));

    // The wood is turned: its grain runs around. Its derivatives by hand, because the angle leaps at its seam.
    vec2 tangent = vec2(-p.y, p.x) / (far * far) * (GRAIN / TURN) * more, out1 = p / far * 0.32;
    vec2 across = vec2(angle * (GRAIN / TURN) * more, r * 0.32 + world.z * 0.4);
    vec2 dx = vec2(dot(px, tangent), dot(px, out1)), dy = vec2(dot(py, tangent), dot(py, out1));
    vec3 plank = linear(textureGrad(wood, across, dx, dy).rgb);
    float top = step(-0.02, world.z);
    float groove = (r - 15.2) / 0.035;
    plank *= 1.0 - 0.5 * exp(-groove * groove) * top;
    // Less light in the corner between table and rim.
    plank *= 1.0 - 0.45 * exp(-max(16.0 - r, world.z) * 7.0) * step(r, 16.1);
    // The cloth lies on the wood: a thin shade around its hem.
    plank *= 0.62 + 0.38 * smoothstep(0.0, 0.22, -hem);
    float covered = smoothstep(-edge, edge, hem) * (1.0 - cut) * top;
    albedo = mix(plank, albedo, covered);
    float gloss = 0.52 * (1.0 - covered);
#else
    const float gloss = 0.0;
#endif
    pixel = develop(shade(albedo, gloss, look.z, n, world), 1.0);
}
