# cython: binding=False
"""Matmuls of float32 by tile registers of bfloat16: when, and in which pieces. The arithmetic is in split_matmul.h.

A piece of the right operand is packed by all threads; then each takes blocks of rows of the left one, packs them, and
multiplies them by that piece. Blocks whose operands have numbers that a split cannot hold are left to a library. No sum is divided among threads, so results do not depend on
them.
"""
from libc.stdint cimport int64_t, uint32_t

from umiak.backends.cpu.launcher cimport parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport NO_MEMORY, scratch_alloc, scratch_free

cdef extern from "split_matmul.h" nogil:
    enum:
        SPLIT_COMPILED, SPLIT_LINES, SPLIT_TERMS, SPLIT_STEP
    ctypedef struct SplitRange:
        uint32_t least, most
    ctypedef struct SplitOperand:
        const float* x
        int64_t lines, terms, by_line, by_term
        int columns
    SplitRange SPLIT_NOTHING
    SplitRange split_both(SplitRange a, SplitRange b)
    int split_fits(SplitRange a, SplitRange b, int64_t terms)
    void split_begin()
    void split_end()
    SplitRange split_pack(const SplitOperand* o, int64_t line, int64_t first, int64_t steps, char* to)
    void split_multiply(const char* a, int64_t a_panel, const char* b, int64_t b_panel, int64_t steps, float* c, int64_t c_row,
                        int64_t rows, int64_t columns, int add)

cdef enum:
    BLOCK = 256                # rows that are packed at a time; columns whose range is known
    PIECE_TERMS = 512          # at most: of so many a block lies in the second level of the cache
    PIECE_COLUMNS = 2048
    COLUMN_BLOCKS = 8          # PIECE_COLUMNS / BLOCK
    MIN_COLUMNS = 64           # of a unit of work
    UNITS = 4                  # for each thread
    LEAST = 32                 # of rows, columns and terms

# Picoseconds of a product by vectors and by tiles, of packing a number, and of adding to an element of the result; only ratios count.
cdef double BY_VECTORS = 12.2, BY_TILES = 7.0, PACKING = 250, WRITING = 300

cdef enum:                     # states
    UNDECIDED = 0
    PERMITTED = 1
    REFUSED = 2
cdef int state = UNDECIDED


cdef struct Work:
    SplitOperand a
    SplitOperand b
    float* c
    int64_t ldc, terms
    bint accumulate
    library_matmul_t library
    int libs
    # What is packed of b: columns [column, column + columns), terms [term, term + 32 steps).
    int64_t column, columns, term, steps, panel                      # bytes of a panel
    char* packed
    SplitRange[COLUMN_BLOCKS] range
    int64_t share, across                                          # columns of a unit; units along a block of rows


def permit(bint on):
    global state
    state = PERMITTED if on and SPLIT_COMPILED else REFUSED


cdef int prepare() except -1:
    if state == UNDECIDED:
        from umiak.backends.cpu import tile_registers
        from umiak.compiler.render.target import Target

        tile_registers.LISTENERS.append(permit)
        permit(tile_registers.splits_f32(Target.host()))
    return 0


cdef inline int64_t up(int64_t n, int64_t step) noexcept nogil:
    return (n + step - 1) // step * step


cdef bint worth_splitting(int64_t m, int64_t n, int64_t k) noexcept nogil:
    """Return whether tiles need less time, packing included. By sizes alone."""
    cdef double full
    if state != PERMITTED or m < LEAST or n < LEAST or k < LEAST:
        return False
    full = <double>up(m, SPLIT_LINES // 2) * <double>up(n, SPLIT_LINES // 2) * <double>up(k, SPLIT_TERMS)
    return (
        full * BY_TILES + (<double>m + <double>n) * <double>k * PACKING + <double>m * <double>n * pieces(k) * WRITING
        < <double>m * <double>n * <double>k * BY_VECTORS
    )


cdef inline int64_t pieces(int64_t k) noexcept nogil:
    return (k + PIECE_TERMS - 1) // PIECE_TERMS


cdef SplitRange pack(const Work* w, const SplitOperand* o, int64_t first, int64_t lines, char* to) noexcept nogil:
    """Panels of lines from ``first`` on, of the terms in hand."""
    cdef SplitRange range = SPLIT_NOTHING
    cdef int64_t line = 0
    while line < lines:
        range = split_both(range, split_pack(o, first + line, w.term, w.steps, to + line // SPLIT_LINES * w.panel))
        line += SPLIT_LINES
    return range


cdef int pack_columns(void* arg, int64_t part) noexcept nogil:
    cdef Work* w = <Work*>arg
    cdef int64_t at = part * BLOCK
    w.range[part] = pack(w, &w.b, w.column + at, min(<int64_t>BLOCK, w.columns - at), w.packed + at // SPLIT_LINES * w.panel)
    return 0


cdef inline const float* element(const SplitOperand* o, int64_t line, int64_t term) noexcept nogil:
    return o.x + line * o.by_line + term * o.by_term


cdef int multiply_unit(void* arg, int64_t part) noexcept nogil:
    """Some columns of a block of rows."""
    cdef Work* w = <Work*>arg
    cdef int64_t row = part // w.across * BLOCK, rows = min(<int64_t>BLOCK, w.a.lines - row), columns
    cdef int64_t at = part % w.across * w.share, end = min(at + w.share, w.columns)
    cdef bint add = w.accumulate or w.term > 0, ta = w.a.by_term != 1, tb = w.b.by_term == 1
    cdef char* packed = <char*>scratch_alloc(up(rows, SPLIT_LINES) // SPLIT_LINES * w.panel)
    cdef SplitRange range
    cdef float* c
    cdef int bad = 0
    if packed == NULL:
        return NO_MEMORY
    range = pack(w, &w.a, row, rows, packed)
    split_begin()
    while at < end and not bad:
        columns, c = min(<int64_t>BLOCK, end - at), w.c + row * w.ldc + w.column + at
        if split_fits(range, w.range[at // BLOCK], w.terms):
            split_multiply(packed, w.panel, w.packed + at // SPLIT_LINES * w.panel, w.panel, w.steps, c, w.ldc, rows, columns, add)
        else:
            bad = w.library(
                w.libs, ta, tb, rows, columns, min(w.steps * SPLIT_TERMS, w.terms - w.term), element(&w.a, row, w.term),
                w.a.by_term if ta else w.a.by_line, element(&w.b, w.column + at, w.term), w.b.by_line if tb else w.b.by_term, c, w.ldc, add,
            )
        at += columns
    split_end()
    scratch_free(packed)
    return bad


cdef int multiply(Work* w) noexcept nogil:
    """Add the contribution of the terms in hand to the columns in hand."""
    cdef int64_t blocks = up(w.a.lines, BLOCK) // BLOCK
    cdef int bad = parallel_for(pack_columns, w, up(w.columns, BLOCK) // BLOCK)
    w.share = up(w.columns, MIN_COLUMNS)
    while thread_count() > 1 and blocks * (up(w.columns, w.share) // w.share) < UNITS * thread_count() and w.share > (
        BLOCK if blocks > 1 else MIN_COLUMNS
    ):
        w.share = up(w.share // 2, BLOCK if w.share > BLOCK else MIN_COLUMNS)
    w.across = up(w.columns, w.share) // w.share
    return bad if bad else parallel_for(multiply_unit, w, blocks * w.across)


cdef int split_matmul(
    library_matmul_t library, int libs, bint ta, bint tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
    int64_t ldb, float* c, int64_t ldc, bint accumulate
) noexcept nogil:
    cdef Work w
    cdef int64_t terms = up((k + pieces(k) - 1) // pieces(k), SPLIT_TERMS)
    cdef int bad = 0
    w.a.x, w.a.lines, w.a.terms, w.a.by_line, w.a.by_term, w.a.columns = a, m, k, lda, 1, False
    w.b.x, w.b.lines, w.b.terms, w.b.by_line, w.b.by_term, w.b.columns = b, n, k, 1, ldb, True
    if ta:
        w.a.by_line, w.a.by_term = 1, lda
    if tb:
        w.b.by_line, w.b.by_term = ldb, 1
    w.c, w.ldc, w.terms, w.accumulate, w.library, w.libs = c, ldc, k, accumulate, library, libs
    w.packed = <char*>scratch_alloc(
        up(min(n, <int64_t>PIECE_COLUMNS), SPLIT_LINES) // SPLIT_LINES * (terms // SPLIT_TERMS) * SPLIT_STEP
    )
    if w.packed == NULL:
        return NO_MEMORY
    w.column = 0
    while w.column < n and not bad:
        w.columns, w.term = min(<int64_t>PIECE_COLUMNS, n - w.column), 0
        while w.term < k and not bad:
            w.steps = min(terms, up(k - w.term, SPLIT_TERMS)) // SPLIT_TERMS
            w.panel = w.steps * SPLIT_STEP
            bad = multiply(&w)
            w.term += terms
        w.column += PIECE_COLUMNS
    scratch_free(w.packed)
    return bad
