in vec3 world;
in vec3 nor;
in vec3 look;
uniform sampler2D cloth;
uniform sampler2D wood;

vec3 linear(vec3 c) { return pow(c, vec3(2.2)); }

void main() {
    vec3 n = normalize(nor);
    float r = length(world.xy);
    float angle = atan(world.y, world.x);
    // A hem of scallops; lengths in spoons.
    float scallop = abs(sin(angle * 36.0));
    float hem = 13.0 + 0.34 * scallop - r;
    float edge = fwidth(r) + 0.008;
    vec3 check = linear(texture(cloth, world.xy / 2.2).rgb);
    float stitch = smoothstep(0.05, 0.05 + edge, abs(r - 12.75));
    check = mix(linear(vec3(0.48, 0.62, 0.67)), check, max(stitch, step(12.9, r)));
    float lace = smoothstep(12.86, 12.86 + edge, r);
    check = mix(check, linear(vec3(0.955, 0.92, 0.85)), lace);
    vec2 hole = vec2((fract(angle * 36.0 / 3.14159265 ) - 0.5) * 3.14159265 / 36.0 * r, r - 13.06);
    float cut = 1.0 - smoothstep(0.075, 0.075 + edge, length(hole));

    // The planks are turned: the grain runs around. The seam of atan falls on a whole number of repeats.
    vec2 across = vec2(angle * (12.0 / 6.2831853), r * 0.32);
    vec2 dx = vec2(dot(dFdx(world.xy), vec2(-world.y, world.x)) / (r * r) * (12.0 / 6.2831853), dFdx(r) * 0.32);
    vec2 dy = vec2(dot(dFdy(world.xy), vec2(-world.y, world.x)) / (r * r) * (12.0 / 6.2831853), dFdy(r) * 0.32);
    if (world.z < -0.05) across.y += world.z * 0.4;
    vec3 plank = linear(textureGrad(wood, across, dx, dy).rgb);
    plank *= 1.0 - 0.5 * exp(-pow((r - 15.2) / 0.035, 2.0)) * step(-0.02, world.z);
    // The cloth lies on the wood: a thin shade around its hem.
    plank *= 0.62 + 0.38 * smoothstep(0.0, 0.22, -hem);

    float covered = smoothstep(-edge, edge, hem) * (1.0 - cut) * step(-0.02, world.z);
    vec3 albedo = mix(plank, check, covered);
    float gloss = mix(0.62, 0.0, covered);
    vec3 c = shade(albedo, gloss, look.z, n, world);
    pixel = develop(c, 1.0);
}
