# Made by tools/make_dtype_ids.py from umiak/util/dtypes.py: change the table there.
cdef enum:
    DTYPE_COUNT = 23
    BOOL = 0
    UINT8 = 1
    INT8 = 2
    INT16 = 3
    INT32 = 4
    INT64 = 5
    FLOAT16 = 6
    BFLOAT16 = 7
    FLOAT32 = 8
    FLOAT64 = 9
    COMPLEX64 = 10
    COMPLEX128 = 11
    FLOAT8_E4M3FN = 12
    FLOAT8_E5M2 = 13
    FLOAT8_E3M4 = 14
    FLOAT8_E4M3 = 15
    FLOAT8_E4M3B11FNUZ = 16
    FLOAT8_E4M3FNUZ = 17
    FLOAT8_E5M2FNUZ = 18
    FLOAT8_E8M0FNU = 19
    INT4 = 20
    UINT4 = 21
    FLOAT4_E2M1FN = 22
    # Sets of them, a bit for each id.
    FLOATING_IDS = 0x4ff3c0
    COMPLEX_IDS = 0xc00
    PACKED_IDS = 0x700000
