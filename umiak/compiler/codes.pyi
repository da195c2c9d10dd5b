"""Numbers that the compiler and the native code of backends share; codes.pxd says what they are."""

SCHEDULES: dict[int, str]
ZERO: int
UNIT: int
ANY: int
BACK: int
PAIR: int
ROWS: int
OUTER: int
INNER: int
ONE: int
ROW_BLOCKS: int
OUTER_BLOCKS: int
COLUMN_BLOCKS: int
TILE_BLOCKS: int
LOOP_END: int
CHUNK_POINTS: int
CHUNK_ROWS: int
CHUNK_COLUMN: int
STRIP_WIDTH: int
MAX_EPILOGUE: int
