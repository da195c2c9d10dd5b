# cython: language_level=3
"""Refuses processors that the libraries do not run on. NumPy is compiled for x86-64-v2: on less, importing it ends the process
without a word. So this comes first and needs no more than the architecture."""

cdef extern from *:
    """
    static const char *umiak_lacking(void) {
    #if defined(__x86_64__)
        __builtin_cpu_init();
        if (!__builtin_cpu_supports("ssse3")) return "SSSE3";
        if (!__builtin_cpu_supports("sse4.1")) return "SSE4.1";
        if (!__builtin_cpu_supports("sse4.2")) return "SSE4.2";
        if (!__builtin_cpu_supports("popcnt")) return "POPCNT";
    #endif
        return "";
    }
    """
    const char* umiak_lacking()


def lacking():
    return umiak_lacking().decode()


def check(lacks):
    if lacks:
        raise ImportError(
            f"[umiak] requires a processor of the level x86-64-v2 (Intel since 2008, AMD since 2011), got one without {lacks}"
        )
