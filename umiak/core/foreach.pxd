"""One op on many rows of operands: see foreach.pyx."""
from umiak.core.foreach_rows cimport ForeachCall

cdef int run_rows(ForeachCall w) except -1
