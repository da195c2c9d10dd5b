"""The arguments of a native function for many rows of operands: see foreach.pyx and `many_t` in plan.pxd."""
from libc.stdint cimport int64_t, uint64_t

cdef struct Rows:              # what a `many` entry gets; all arrays are row after row
    int64_t count
    int64_t width              # pointers of a row: operands, then outputs
    int64_t words              # of the scalar pack of a row
    void** ptrs
    const int64_t* sizes       # elements of a row
    const uint64_t* scalars
    uint64_t fixed             # bit per pointer: one element, whatever the size of the row is
    bint apart                 # no row writes what another one touches: the order does not matter
    int64_t failed             # set with a code > 0: the row
