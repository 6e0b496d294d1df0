in vec3 world;
in vec3 local;
in vec3 nor;
in vec4 base;
in vec3 look;
in float opacity;
in float flash;

// Staggered rows of round dots on the belly of a pot: how much of a dot covers this place.
float dots(vec3 p) {
    const float rise = 0.30;
    const float around = 13.0;
    float row = floor(p.z / rise);
    float turn = atan(p.y, p.x) * (around / 6.2831853) + 0.5 * mod(row, 2.0);
    vec2 from = vec2((fract(turn) - 0.5) * 6.2831853 / around * length(p.xy), (fract(p.z / rise) - 0.5) * rise);
    // The width of a pixel from the place itself: `from` leaps between dots.
    float r = length(from), edge = max(0.7 * length(fwidth(p)), 0.003);
    float inside = step(0.5, row) * step(row, 3.5);
    return inside * (1.0 - smoothstep(0.078 - edge, 0.078 + edge, r));
}

void main() {
    vec3 n = normalize(gl_FrontFacing ? nor : -nor);
    vec3 albedo = base.rgb;
    if (look.y > 0.5) {
        // Cream dots, but blue ones where cream would not show.
        float pale = smoothstep(0.45, 0.6, dot(albedo, vec3(0.25, 0.65, 0.10)));
        albedo = mix(albedo, mix(vec3(0.86, 0.80, 0.68), vec3(0.07, 0.17, 0.38), pale), dots(local));
    }
    float open = look.z * (gl_FrontFacing ? 1.0 : 0.35);
    // Near the table less of the room is seen.
    open *= 0.55 + 0.45 * smoothstep(-0.05, 0.55, world.z + 0.25 * n.z);
    vec3 c = shade(albedo, base.a, open, n, world);
    if (flash > 0.0) {
        float away = 1.0 - max(dot(n, normalize(eye - world)), 0.0);
        c = mix(c, vec3(2.6, 2.4, 2.0), flash * (0.25 + 0.7 * away * away));
    }
    pixel = develop(c, opacity);
}
