precision highp sampler2D;
uniform vec3 eye;
uniform vec3 key;
layout(location = 0) out vec4 pixel;

const vec3 KEY_COLOUR = vec3(1.0, 0.87, 0.70) * 2.35;

#ifdef SHADOWS
uniform sampler2D shadowMap;
uniform mat4 shadowMatrix;
// The share of the key light that arrives: 3 by 3 bilinear comparisons, from 16 texels.
float lit(vec3 p, vec3 n) {
    float grazing = 1.0 - clamp(dot(n, key), 0.0, 1.0);
    vec3 c = (shadowMatrix * vec4(p + n * (0.02 + 0.05 * grazing), 1.0)).xyz;
    ivec2 size = textureSize(shadowMap, 0);
    vec2 t = c.xy * vec2(size) - 0.5;
    ivec2 first = ivec2(floor(t));
    if (any(lessThan(first, ivec2(2))) || any(greaterThan(first, size - 4))) return 1.0;
    vec2 f = t - floor(t);
    float sum = 0.0;
    for (int y = -1; y <= 2; y++) {
        float wy = y == -1 ? 1.0 - f.y : y == 2 ? f.y : 1.0;
        for (int x = -1; x <= 2; x++) {
            float wx = x == -1 ? 1.0 - f.x : x == 2 ? f.x : 1.0;
            sum += wx * wy * step(c.z - 0.0012, texelFetch(shadowMap, first + ivec2(x, y), 0).r);
        }
    }
    return sum / 9.0;
}
#else
float lit(vec3 p, vec3 n) { return 1.0; }
#endif

// Light from the room without direction: cool from above, warm from the table below.
vec3 ambient(vec3 n) {
    return mix(vec3(0.36, 0.27, 0.21), vec3(0.52, 0.53, 0.57), n.z * 0.5 + 0.5);
}

// Panes of a window in the wall that lies towards `wall`, seen in direction r.
float window(vec3 r, vec2 wall) {
    float front = max(dot(r.xy, wall), 0.001);
    vec2 q = vec2(wall.x * r.y - wall.y * r.x, r.z) / front;
    q = abs(q - vec2(0.0, 0.72));
    vec2 pane = smoothstep(0.02, 0.05, q) * (1.0 - smoothstep(vec2(0.40, 0.44), vec2(0.45, 0.49), q));
    return pane.x * pane.y * step(0.01, front);
}

// The reflection in glaze: a warm room with a bright window towards the key light and a dimmer one across.
vec3 room(vec3 r) {
    vec3 c = mix(vec3(0.62, 0.50, 0.41), vec3(0.60, 0.63, 0.70), smoothstep(0.0, 0.8, r.z));
    c = mix(vec3(0.26, 0.21, 0.18), c, smoothstep(-0.30, 0.06, r.z));
    vec2 wall = normalize(key.xy);
    c += vec3(1.0, 0.96, 0.88) * (window(r, wall) * 12.0);
#ifdef LOW
    return c;
#else
    return c + vec3(0.85, 0.93, 1.0) * ((window(r, vec2(-wall.y, wall.x)) + window(r, vec2(wall.y, -wall.x))) * 6.0);
#endif
}

vec3 shade(vec3 albedo, float gloss, float open, vec3 n, vec3 p) {
    vec3 v = normalize(eye - p);
    float diffuse = max(dot(n, key), 0.0);
    float light = diffuse > 0.0 ? lit(p, n) : 0.0;
    vec3 c = albedo * (KEY_COLOUR * (diffuse * light) + ambient(n) * open);
    if (gloss > 0.01) {
        float away = 1.0 - max(dot(n, v), 0.0);
        float fresnel = (0.05 + 0.40 * away * away * away * away * away) * gloss * gloss;
        c = c * (1.0 - fresnel) + room(reflect(-v, n)) * (fresnel * open * mix(0.45, 1.0, light));
    }
    return c;
}

// A film's shoulder, then sRGB.
vec4 develop(vec3 c, float alpha) {
    c *= 0.62;
    c = clamp(c * (2.51 * c + 0.03) / (c * (2.43 * c + 0.59) + 0.14), 0.0, 1.0);
#ifdef LOW
    return vec4(sqrt(c), alpha);
#else
    return vec4(pow(c, vec3(1.0 / 2.2)), alpha);
#endif
}
