/* Rows in order, stable. NaN counts as larger than every number, and zeros of both signs are equal. */
#include "aot.h"
#include "umiak_inference.h"

#include <string.h>

typedef struct {
    uint64_t key;
    int64_t place;
} um_entry;

static uint64_t of_signed(int64_t x) { return (uint64_t)x ^ (uint64_t)1 << 63; }

static uint64_t of_double(double x) {
    uint64_t bits;
    if (x != x) return UINT64_MAX;
    if (x == 0) x = 0;
    memcpy(&bits, &x, 8);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double of_half(uint16_t h) {
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    double x = exponent ? (double)(mantissa + 1024) : (double)mantissa * 2;
    if (exponent == 31) return mantissa ? __builtin_nan("") : h >> 15 ? -__builtin_inf() : __builtin_inf();
    for (int e = exponent; e < 26; e++) x /= 2;
    for (int e = 26; e < exponent; e++) x *= 2;
    return h >> 15 ? -x : x;
}

/* An unsigned number that is larger where the element comes later. */
static uint64_t key_of(const void* x, int64_t at, int type) {
    switch (type) {
    case UMIAK_FLOAT32: return of_double(((const float*)x)[at]);
    case UMIAK_FLOAT64: return of_double(((const double*)x)[at]);
    case UMIAK_INT64: return of_signed(((const int64_t*)x)[at]);
    case UMIAK_INT32: return of_signed(((const int32_t*)x)[at]);
    case UMIAK_INT16: return of_signed(((const int16_t*)x)[at]);
    case UMIAK_INT8: return of_signed(((const int8_t*)x)[at]);
    case UMIAK_FLOAT16: return of_double(of_half(((const uint16_t*)x)[at]));
    case UMIAK_BFLOAT16: {
        const uint32_t bits = (uint32_t)((const uint16_t*)x)[at] << 16;
        float wide;
        memcpy(&wide, &bits, 4);
        return of_double(wide);
    }
    default: return ((const uint8_t*)x)[at];
    }
}

static um_entry* merge_sort(um_entry* a, um_entry* b, int64_t n) {
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * width) {
            const int64_t mid = lo + width < n ? lo + width : n, hi = lo + 2 * width < n ? lo + 2 * width : n;
            int64_t i = lo, j = mid;
            for (int64_t k = lo; k < hi; k++) b[k] = j >= hi || (i < mid && a[i].key <= a[j].key) ? a[i++] : a[j++];
        }
        um_entry* other = a;
        a = b;
        b = other;
    }
    return a;
}

int um_run_sort(const um_context* context, const void* what, int64_t lo, int64_t hi) {
    const um_sort* s = what;
    const size_t size = umiak_dtype_bytes(s->type);
    const char* x = um_at(context, s->x);
    char* values = um_at(context, s->values);
    int64_t* places = um_at(context, s->places);
    for (int64_t row = lo; row < hi; row++) {
        const int64_t o = row / s->inner, i = row % s->inner;
        const int64_t at = o * s->outer_stride + i * s->inner_stride;
        um_entry* entries = (um_entry*)context->local;
        for (int64_t k = 0; k < s->n; k++) {
            const uint64_t key = key_of(x, at + k * s->stride, s->type);
            entries[k] = (um_entry){s->descending ? ~key : key, k};
        }
        entries = merge_sort(entries, entries + s->n, s->n);
        for (int64_t k = 0; k < s->kept; k++) {
            const int64_t to = (o * s->kept + k) * s->inner + i;
            memcpy(values + (size_t)to * size, x + (size_t)(at + entries[k].place * s->stride) * size, size);
            places[to] = entries[k].place;
        }
    }
    return 0;
}
