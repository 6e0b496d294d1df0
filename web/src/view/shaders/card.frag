in vec2 place;
in vec4 shine;
layout(location = 0) out vec4 pixel;
void main() {
    float d = 1.0 - min(dot(place, place), 1.0);
    pixel = vec4(shine.rgb, shine.a * d * d);
}
