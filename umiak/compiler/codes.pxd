"""Numbers that the compiler and the native code of backends share; Python has them from codes.pyx."""

cdef enum:
    # Schedules: which loops a variant has. nest.py says what each is.
    MAP = 0
    TILE = 1
    ROW = 2
    COLUMN = 3
    STRIP = 4
    SPLIT_ROW = 5
    SPLIT_COLUMN = 6

cdef enum:
    # Kinds of strides along the innermost P axis and the innermost R axis, which a launch finds out.
    ZERO = 0
    UNIT = 1
    ANY = 2
    BACK = 3
    PAIR = 4                   # of parts of complex numbers, and of x[::2]

cdef enum:
    # What the parallel range [lo, hi) of a phase counts.
    ROWS = 0                   # points of all P axes
    OUTER = 1                  # points of all P axes but the innermost
    INNER = 2                  # points of the innermost P axis (there is no other)
    ONE = 3                    # a single point
    ROW_BLOCKS = 4             # points of all P axes, times blocks of R
    OUTER_BLOCKS = 5           # points of all P axes but the innermost, times blocks of R
    COLUMN_BLOCKS = 6          # points of all P axes but the innermost, times blocks of `Phase.block` along the innermost
    TILE_BLOCKS = 7            # points of all P axes but the innermost and the tile axis, times blocks of `Phase.block` along that
    LOOP_END = 8               # what the parallel loop's own end says (schedule/gpu.py)

cdef enum:
    # Sums of floats over more points of R than these go in chunks of so many (schedule/chunks.py).
    CHUNK_POINTS = 4096        # along the innermost axis
    CHUNK_ROWS = 32            # of several axes: rows of the innermost, where they are short
    CHUNK_COLUMN = 256         # where lanes run along columns

cdef enum:
    STRIP_WIDTH = 512          # columns of a strip: what one part of a STRIP computes
    MAX_EPILOGUE = 4           # steps that a launch of a matmul or a convolution may do behind it
