# cython: binding=False
"""Numbers that the compiler and the native code of backends share."""

# The name of a schedule, by number.
SCHEDULES = {
    MAP: "map", TILE: "tile", ROW: "row", COLUMN: "column", STRIP: "strip", SPLIT_ROW: "split_row", SPLIT_COLUMN: "split_column",
}

globals().update(
    ZERO=ZERO, UNIT=UNIT, ANY=ANY, BACK=BACK, PAIR=PAIR,
    ROWS=ROWS, OUTER=OUTER, INNER=INNER, ONE=ONE, ROW_BLOCKS=ROW_BLOCKS, OUTER_BLOCKS=OUTER_BLOCKS, COLUMN_BLOCKS=COLUMN_BLOCKS,
    TILE_BLOCKS=TILE_BLOCKS, LOOP_END=LOOP_END,
    CHUNK_POINTS=CHUNK_POINTS, CHUNK_ROWS=CHUNK_ROWS, CHUNK_COLUMN=CHUNK_COLUMN, STRIP_WIDTH=STRIP_WIDTH,
    MAX_EPILOGUE=MAX_EPILOGUE)
