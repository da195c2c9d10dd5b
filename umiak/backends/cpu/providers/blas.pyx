"""BLAS as SciPy brings it, by the function pointers that it exports to Cython. Imported on first use."""
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer

from umiak.backends.cpu.providers.common cimport threads

ctypedef void (*set_t)(int) noexcept nogil

cdef Blas table
cdef bint usable = False
cdef set_t set_count = NULL
cdef int last_count = 0
cdef object keep = None


cdef Blas* blas() noexcept nogil:
    return &table if usable else NULL


cdef int pointer(dict exported, str name, void** target) except -1:
    capsule = exported[name]
    target[0] = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))
    return 0


def load():
    """Find the functions; ImportError or KeyError where SciPy is not as expected."""
    global usable
    if usable:
        return
    from scipy.linalg import cython_blas

    exported = cython_blas.__pyx_capi__
    pointer(exported, "sgemm", <void**>&table.s)
    pointer(exported, "dgemm", <void**>&table.d)
    pointer(exported, "cgemm", <void**>&table.c)
    pointer(exported, "zgemm", <void**>&table.z)
    find_threads()
    usable = True


cdef int find_threads() except -1:
    # SciPy's wheels carry an OpenBLAS of their own beside the package; another BLAS keeps its own thread count.
    global set_count, keep
    import ctypes
    from pathlib import Path

    import scipy

    cdef size_t address
    for path in sorted(Path(scipy.__file__).parents[1].glob("scipy.libs/*openblas*")):
        library = ctypes.CDLL(str(path))
        for name in ("scipy_openblas_set_num_threads", "scipy_openblas_set_num_threads64_", "openblas_set_num_threads"):
            if hasattr(library, name):
                address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
                set_count, keep = <set_t>address, library
                return 0
    return 0


def loaded():
    return usable


def follows_threads():
    """Return whether its thread count can be set."""
    return set_count != NULL


cdef int follow_threads() noexcept nogil:
    """To be called before a matmul: gives this BLAS the thread count, if it has changed."""
    return set_threads(threads())


cdef int set_threads(int n) noexcept nogil:
    """Let this BLAS, and LAPACK above it, use so many threads."""
    global last_count
    if n != last_count and set_count != NULL:
        last_count = n
        set_count(n)
    return 0
