/* The epilogue of a matmul, element by element, where a library does not do it itself. */
#pragma once
#include <math.h>
#include <stdint.h>
#include "plain.h"

enum {
    STEP_BIAS, STEP_ADD, STEP_RELU, STEP_TANH, STEP_SIGMOID, STEP_SILU, STEP_GELU_TANH, STEP_GELU_ERF, STEP_HARD_SWISH,
    STEP_SCALE, STEP_SHIFT
};

/* number: what the step multiplies by or adds. */
static inline double epilogue_value(int step, double x, double number) {
    switch (step) {
        case STEP_RELU: return x < 0 ? 0 : x;
        case STEP_TANH: return tanh(x);
        case STEP_SIGMOID: return 1 / (1 + exp(-x));
        case STEP_SILU: return x / (1 + exp(-x));
        case STEP_GELU_TANH: return x * (0.5 + 0.5 * tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
        case STEP_GELU_ERF: return x * (0.5 + 0.5 * erf(x * 0.7071067811865476));
        case STEP_HARD_SWISH: return x * (x < -3 ? 0 : x > 3 ? 6 : x + 3) / 6;
        case STEP_SCALE: return x * number;
        case STEP_SHIFT: return x + number;
        default: return x;
    }
}

static inline double epilogue_load(int dtype, const void *p, int64_t i) {
    switch (dtype) {
        case 0: return ((const float *)p)[i];
        case 1: return ((const double *)p)[i];
        default: {
            uint16_t h = ((const uint16_t *)p)[i];
            return dtype == 4 ? plain_from_bf16(h) : plain_from_f16(h);
        }
    }
}

/* What needs no function, on elements that lie side by side. */
#define EPILOGUE_PLAIN(type) \
    { \
        type *to = (type *)c + at; \
        const type *from = (const type *)other + other_at; \
        if (kind == STEP_RELU) \
            for (int64_t j = 0; j < n; j++) to[j] = to[j] < 0 ? 0 : to[j]; \
        else \
            for (int64_t j = 0; j < n; j++) to[j] += from[j]; \
        return; \
    }

/* n elements of c from ``at`` on, ``step`` apart; other[at...] is the bias (other_step apart) or the residual,
 * number what a step multiplies by or adds. */
static void epilogue_row(int kind, int dtype, void *c, int64_t at, int64_t step, const void *other, int64_t other_at,
                         int64_t other_step, int64_t n, double number) {
    if (step == 1 && (kind == STEP_RELU || ((kind == STEP_BIAS || kind == STEP_ADD) && other_step == 1))) {
        if (dtype == 0) EPILOGUE_PLAIN(float)
        if (dtype == 1) EPILOGUE_PLAIN(double)
    }
    for (int64_t j = 0; j < n; j++) {
        double x = epilogue_load(dtype, c, at + j * step);
        if (kind == STEP_BIAS || kind == STEP_ADD)
            x += epilogue_load(dtype, other, other_at + j * other_step);
        else
            x = epilogue_value(kind, x, number);
        switch (dtype) {
            case 0: ((float *)c)[at + j * step] = (float)x; break;
            case 1: ((double *)c)[at + j * step] = x; break;
            case 4: ((uint16_t *)c)[at + j * step] = plain_to_bf16((float)x); break;
            default: ((uint16_t *)c)[at + j * step] = plain_to_f16((float)x);
        }
    }
}
