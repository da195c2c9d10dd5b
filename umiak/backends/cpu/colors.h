/* Changes of colours, equal to Pillow's to the bit: pixels are red, green, blue and a byte that means nothing.

   What Pillow computes in float or double is rounded so here, which decides where a result lies on a step. Loops without
   branches, which compilers turn into vectors; -std=c11 keeps them from contracting products and sums. */
#ifndef UMIAK_COLORS_H
#define UMIAK_COLORS_H

#include <stdint.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define COLORS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define COLORS_CLONES
#endif

#define PIXEL(r, g, b) ((uint32_t)(r) | (uint32_t)(g) << 8 | (uint32_t)(b) << 16 | 0xff000000u)
#define RED(p) ((int32_t)((p)&255))
#define GREEN(p) ((int32_t)((p) >> 8 & 255))
#define BLUE(p) ((int32_t)((p) >> 16 & 255))

/* Weights of ITU-R BT.601 in parts of 65536. */
#define BRIGHTNESS(p) ((int32_t)((RED(p) * 19595 + GREEN(p) * 38470 + BLUE(p) * 7471 + 0x8000) >> 16))

/* a or b, without a branch, which would keep the loop from becoming vectors. */
static inline int32_t colors_pick(int32_t condition, int32_t a, int32_t b)
{
    return b ^ ((a ^ b) & -condition);
}

/* From RGB to HSV in bytes, the hue moved on by `shift` of 256, and back. */
COLORS_CLONES static void colors_shift_hues(const uint32_t *x, uint32_t *out, int64_t n, int32_t shift)
{
    for (int64_t i = 0; i < n; i++) {
        const int32_t r = RED(x[i]), g = GREEN(x[i]), b = BLUE(x[i]);
        const int32_t rg_high = r > g ? r : g, rg_low = r > g ? g : r;
        const int32_t high = rg_high > b ? rg_high : b, low = rg_low > b ? b : rg_low, range = high - low;
        const int32_t is_r = high == r, is_g = high == g;

        /* Grey has a range and a saturation of 0; its hue does not matter. */
        const float spread = (float)(range + (range == 0)), top = (float)(high + (high == 0));
        const float plus = (float)(high - colors_pick(is_r, b, colors_pick(is_g, r, g))) / spread;
        const float minus = (float)(high - colors_pick(is_r, g, colors_pick(is_g, b, r))) / spread;
        const double start = (double)colors_pick(is_r, 0, colors_pick(is_g, 2, 4));
        const float sextants = (float)((start + (double)plus) - (double)minus);
        const double circle = (double)sextants / 6.0 + 1.0;
        const float hue = (float)(circle - (double)(int32_t)circle);
        const int32_t hue_byte = (int32_t)((double)hue * 255.0), saturation = (int32_t)((double)((float)range / top) * 255.0);

        const double angle = (double)((hue_byte + shift) & 255) * 6.0 / 255.0;
        const int32_t sextant = (int32_t)angle; /* 0 to 6; 6 is 0 */
        const float rest = (float)(angle - (double)sextant), s = (float)((double)saturation / 255.0);
        const double v = (double)high;
        const int32_t p = (int32_t)(v * (1.0 - (double)s) + 0.5);
        const int32_t q = (int32_t)(v * (1.0 - (double)(s * rest)) + 0.5);
        const int32_t t = (int32_t)(v * (1.0 - (double)s * (1.0 - (double)rest)) + 0.5);
        const int32_t of_0 = (sextant == 0) | (sextant == 6), of_1 = sextant == 1, of_2 = sextant == 2;
        const int32_t of_3 = sextant == 3, of_4 = sextant == 4, of_5 = sextant == 5;
        const int32_t red = colors_pick(of_0 | of_5, high, colors_pick(of_1, q, colors_pick(of_4, t, p)));
        const int32_t green = colors_pick(of_1 | of_2, high, colors_pick(of_3, q, colors_pick(of_0, t, p)));
        const int32_t blue = colors_pick(of_3 | of_4, high, colors_pick(of_5, q, colors_pick(of_2, t, p)));
        out[i] = PIXEL(red, green, blue);
    }
}

static inline int32_t colors_between(float from, float part, int32_t to)
{
    const float value = from + part * ((float)to - from);
    return (int32_t)(value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value);
}

/* Between a value that all pixels share, at a factor of 0, and each of them, at 1, or beyond. */
COLORS_CLONES static void colors_blend_value(const uint32_t *x, uint32_t *out, int64_t n, float value, float factor)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = PIXEL(colors_between(value, factor, RED(x[i])), colors_between(value, factor, GREEN(x[i])),
                       colors_between(value, factor, BLUE(x[i])));
}

/* Between each pixel's brightness, at a factor of 0, and the pixel, at 1, or beyond. */
COLORS_CLONES static void colors_blend_grey(const uint32_t *x, uint32_t *out, int64_t n, float factor)
{
    for (int64_t i = 0; i < n; i++) {
        const float grey = (float)BRIGHTNESS(x[i]);
        out[i] = PIXEL(colors_between(grey, factor, RED(x[i])), colors_between(grey, factor, GREEN(x[i])),
                       colors_between(grey, factor, BLUE(x[i])));
    }
}

COLORS_CLONES static int64_t colors_sum_of_brightness(const uint32_t *x, int64_t n)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++)
        total += BRIGHTNESS(x[i]);
    return total;
}

#endif
