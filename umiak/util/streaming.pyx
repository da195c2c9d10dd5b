# cython: language_level=3, binding=False
"""Copies past the caches. See streaming.pyi."""
cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    #if defined(__SSE2__)
    #include <emmintrin.h>
    static void umiak_stream(char *out, const char *x, size_t n)
    {
        size_t head = (size_t)(-(intptr_t)out & 15), i;
        if (head > n)
            head = n;
        memcpy(out, x, head);
        out += head, x += head, n -= head;
        for (i = 0; i + 64 <= n; i += 64) {
            __m128i a = _mm_loadu_si128((const __m128i *)(x + i)), b = _mm_loadu_si128((const __m128i *)(x + i + 16));
            __m128i c = _mm_loadu_si128((const __m128i *)(x + i + 32)), d = _mm_loadu_si128((const __m128i *)(x + i + 48));
            _mm_stream_si128((__m128i *)(out + i), a);
            _mm_stream_si128((__m128i *)(out + i + 16), b);
            _mm_stream_si128((__m128i *)(out + i + 32), c);
            _mm_stream_si128((__m128i *)(out + i + 48), d);
        }
        _mm_sfence();
        memcpy(out + i, x + i, n - i);
    }
    #else
    static void umiak_stream(char *out, const char *x, size_t n) { memcpy(out, x, n); }
    #endif
    """
    void umiak_stream(char* out, const char* x, size_t n) nogil


def stream_copy(unsigned char[::1] out not None, const unsigned char[::1] x not None):
    if out.shape[0] != x.shape[0]:
        raise ValueError(f"[stream_copy] requires arrays of one size, got {out.shape[0]} and {x.shape[0]} bytes")
    if out.shape[0]:
        with nogil:
            umiak_stream(<char*>&out[0], <const char*>&x[0], out.shape[0])
