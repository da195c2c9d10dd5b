// The algorithms of torchvision's operators for CPUs, from their descriptions: suppression of sorted boxes pair by pair;
// RoI align with the positions and weights of a region's samples computed once; deformable convolution as sampled
// columns. vision_peer.py builds this for the processor that it runs on, for one thread, on dense float tensors.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

struct Sample { int64_t at[4]; float weight[4]; };

std::vector<Sample> samples(const float *box, int64_t h, int64_t w, int bins, float scale, int ratio) {
    const float x1 = box[0] * scale - .5f, y1 = box[1] * scale - .5f;
    const float width = box[2] * scale - .5f - x1, height = box[3] * scale - .5f - y1;
    const int n = ratio > 0 ? ratio : (int)std::ceil(height / bins), m = ratio > 0 ? ratio : (int)std::ceil(width / bins);
    std::vector<Sample> all((size_t)bins * bins * n * m);
    size_t k = 0;
    for (int i = 0; i < bins; i++)
        for (int j = 0; j < bins; j++)
            for (int a = 0; a < n; a++)
                for (int b = 0; b < m; b++, k++) {
                    float y = y1 + i * height / bins + (a + .5f) * height / bins / n;
                    float x = x1 + j * width / bins + (b + .5f) * width / bins / m;
                    Sample &s = all[k];
                    s = Sample{};
                    if (y < -1 || y > h || x < -1 || x > w) continue;
                    y = std::max(y, 0.f);
                    x = std::max(x, 0.f);
                    int64_t top = (int64_t)y, left = (int64_t)x, bottom = top + 1, right = left + 1;
                    if (top >= h - 1) { top = bottom = h - 1; y = (float)top; }
                    if (left >= w - 1) { left = right = w - 1; x = (float)left; }
                    const float fy = y - top, fx = x - left;
                    const int64_t at[4] = {top * w + left, top * w + right, bottom * w + left, bottom * w + right};
                    const float weight[4] = {(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx};
                    std::copy(at, at + 4, s.at);
                    std::copy(weight, weight + 4, s.weight);
                }
    return all;
}

float at(const float *x, int64_t h, int64_t w, int64_t i, int64_t j) {
    return i >= 0 && j >= 0 && i < h && j < w ? x[i * w + j] : 0.f;
}

float bilinear(const float *x, int64_t h, int64_t w, float y, float c) {
    if (y <= -1 || c <= -1 || y >= h || c >= w) return 0.f;
    const int64_t i = (int64_t)std::floor(y), j = (int64_t)std::floor(c);
    const float fy = y - i, fc = c - j;
    return (1 - fy) * ((1 - fc) * at(x, h, w, i, j) + fc * at(x, h, w, i, j + 1)) +
           fy * ((1 - fc) * at(x, h, w, i + 1, j) + fc * at(x, h, w, i + 1, j + 1));
}

}  // namespace

extern "C" {

int64_t peer_nms(const float *boxes, const int64_t *order, int64_t n, float threshold, int64_t *kept) {
    std::vector<uint8_t> suppressed(n);
    std::vector<float> area(n);
    for (int64_t i = 0; i < n; i++) area[i] = (boxes[4 * i + 2] - boxes[4 * i]) * (boxes[4 * i + 3] - boxes[4 * i + 1]);
    int64_t count = 0;
    for (int64_t a = 0; a < n; a++) {
        const int64_t i = order[a];
        if (suppressed[i]) continue;
        kept[count++] = i;
        const float *p = boxes + 4 * i;
        for (int64_t b = a + 1; b < n; b++) {
            const int64_t j = order[b];
            if (suppressed[j]) continue;
            const float *q = boxes + 4 * j;
            const float w = std::max(0.f, std::min(p[2], q[2]) - std::max(p[0], q[0]));
            const float h = std::max(0.f, std::min(p[3], q[3]) - std::max(p[1], q[1]));
            if (w * h / (area[i] + area[j] - w * h) > threshold) suppressed[j] = 1;
        }
    }
    return count;
}

// backward: from g in `out` to the gradient of x in `x`
void peer_roi_align(float *x, const float *boxes, const int64_t *image, int64_t regions, int64_t c, int64_t h, int64_t w,
                    int bins, float scale, int ratio, float *out, int backward) {
    for (int64_t r = 0; r < regions; r++) {
        const std::vector<Sample> all = samples(boxes + 4 * r, h, w, bins, scale, ratio);
        const size_t each = all.size() / (bins * bins);
        for (int64_t k = 0; k < c; k++) {
            float *plane = x + (image[r] * c + k) * h * w, *result = out + (r * c + k) * bins * bins;
            for (int b = 0; b < bins * bins; b++) {
                const Sample *s = all.data() + b * each;
                if (backward) {
                    const float g = result[b] / each;
                    for (size_t i = 0; i < each; i++)
                        for (int q = 0; q < 4; q++) plane[s[i].at[q]] += g * s[i].weight[q];
                } else {
                    float sum = 0;
                    for (size_t i = 0; i < each; i++)
                        for (int q = 0; q < 4; q++) sum += plane[s[i].at[q]] * s[i].weight[q];
                    result[b] = sum / each;
                }
            }
        }
    }
}

// Columns [c * taps, h * w] of a convolution with stride 1 that keeps the size; one deformable group.
void peer_columns(const float *x, const float *offset, const float *mask, int64_t c, int64_t h, int64_t w, int kernel,
                  float *columns) {
    const int64_t points = h * w, taps = kernel * kernel;
    for (int64_t k = 0; k < c; k++)
        for (int64_t i = 0; i < h; i++)
            for (int64_t j = 0; j < w; j++)
                for (int64_t t = 0; t < taps; t++) {
                    const int64_t p = i * w + j;
                    const float y = i - kernel / 2 + t / kernel + offset[2 * t * points + p];
                    const float z = j - kernel / 2 + t % kernel + offset[(2 * t + 1) * points + p];
                    columns[(k * taps + t) * points + p] = mask[t * points + p] * bilinear(x + k * points, h, w, y, z);
                }
}

void peer_columns_backward(const float *x, const float *offset, const float *mask, const float *g, int64_t c, int64_t h,
                           int64_t w, int kernel, float *gx, float *goffset, float *gmask) {
    const int64_t points = h * w, taps = kernel * kernel;
    for (int64_t k = 0; k < c; k++)   // the images
        for (int64_t t = 0; t < taps; t++)
            for (int64_t p = 0; p < points; p++) {
                const float y = p / w - kernel / 2 + t / kernel + offset[2 * t * points + p];
                const float z = p % w - kernel / 2 + t % kernel + offset[(2 * t + 1) * points + p];
                const float v = g[(k * taps + t) * points + p] * mask[t * points + p];
                const int64_t i = (int64_t)std::floor(y), j = (int64_t)std::floor(z);
                for (int64_t a = i; a <= i + 1; a++)
                    for (int64_t b = j; b <= j + 1; b++)
                        if (a >= 0 && b >= 0 && a < h && b < w)
                            gx[k * points + a * w + b] += v * (1 - std::abs(y - a)) * (1 - std::abs(z - b));
            }
    for (int64_t t = 0; t < taps; t++)   // offsets and masks
        for (int64_t p = 0; p < points; p++) {
            const float y = p / w - kernel / 2 + t / kernel + offset[2 * t * points + p];
            const float z = p % w - kernel / 2 + t % kernel + offset[(2 * t + 1) * points + p];
            float dy = 0, dz = 0, dm = 0;
            if (y > -1 && z > -1 && y < h && z < w) {
                const int64_t i = (int64_t)std::floor(y), j = (int64_t)std::floor(z);
                const float fy = y - i, fz = z - j;
                for (int64_t k = 0; k < c; k++) {
                    const float *q = x + k * points, v = g[(k * taps + t) * points + p];
                    const float x0 = at(q, h, w, i, j), x1 = at(q, h, w, i, j + 1);
                    const float x2 = at(q, h, w, i + 1, j), x3 = at(q, h, w, i + 1, j + 1);
                    dy += v * ((1 - fz) * (x2 - x0) + fz * (x3 - x1));
                    dz += v * ((1 - fy) * (x1 - x0) + fy * (x3 - x2));
                    dm += v * ((1 - fy) * ((1 - fz) * x0 + fz * x1) + fy * ((1 - fz) * x2 + fz * x3));
                }
            }
            goffset[2 * t * points + p] = mask[t * points + p] * dy;
            goffset[(2 * t + 1) * points + p] = mask[t * points + p] * dz;
            gmask[t * points + p] = dm;
        }
}

}  // extern "C"
