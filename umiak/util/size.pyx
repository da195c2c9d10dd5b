# cython: language_level=3, binding=False
"""Sizes of a tensor as an object: ``x.shape``, and ``x.size``, which may be called."""
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t

from umiak.util.errors import op_error

cdef extern from "umiak/util/size.h":
    object umiak_size_of(PyTypeObject*, const int64_t*, Py_ssize_t)
    object umiak_size_of_items(PyTypeObject*, PyObject**, Py_ssize_t, Py_ssize_t)
    object umiak_size_item(object, object)
    object umiak_size_compare(object, object, int)
    object umiak_size_join(PyTypeObject*, object, object)
    void umiak_open_sizes(PyTypeObject*)
    object umiak_count_of(int64_t, PyTypeObject*, const int64_t*, Py_ssize_t, PyObject* sizes)
    object umiak_open_counts()

cdef extern from "Python.h":
    bint PyIndex_Check(object)
    bint PyLong_CheckExact(object)
    bint PyList_Check(object)
    bint PyTuple_CheckExact(object)
    object PyList_AsTuple(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    PyObject** PySequence_Fast_ITEMS(object)


cdef class Size(list):
    """List of sizes, such as the shape of a tensor, that knows how many elements they make.

    It is equal to a tuple of its sizes, too.

    Args:
        iterable: the sizes, integers; by default none.

    Raises:
        TypeError: a size is not an integer.

    Example:
        >>> import paddle
        >>> size = paddle.Size([2, 3])
        >>> size.numel(), size[1:] == (3,)
        (6, True)
    """

    def __init__(self, iterable=()):
        list.__init__(self, iterable)
        for n in self:
            if not PyIndex_Check(n) and not getattr(n, "is_symbolic", False):
                raise op_error(TypeError, "Size", "integers", type(n).__name__)

    def numel(self):
        """The product of the sizes."""
        product = 1
        for n in self:
            product = product * n
        return product

    def __repr__(self):
        return f"paddle.Size({list.__repr__(self)})"

    def __getitem__(self, index):
        return umiak_size_item(self, index)

    def __richcmp__(self, other, int comparison):
        return umiak_size_compare(self, other, comparison)

    __hash__ = None

    def __add__(self, other):
        return umiak_size_join(<PyTypeObject*>Size, self, other) if isinstance(other, (list, tuple)) else NotImplemented

    def __radd__(self, other):
        return umiak_size_join(<PyTypeObject*>Size, other, self) if isinstance(other, (list, tuple)) else NotImplemented

    def __iadd__(self, other):
        list.extend(self, other)
        return self

    def __mul__(self, times):
        return sized(list(self) * times) if isinstance(times, int) else NotImplemented

    def __rmul__(self, times):
        return self * times

    def __reduce__(self):
        return Size, (list(self),)


cdef Size sized(list sizes):
    return umiak_size_of_items(<PyTypeObject*>Size, PySequence_Fast_ITEMS(sizes), len(sizes), 1)


umiak_open_sizes(<PyTypeObject*>Size)


def size_of(list sizes not None):
    """Sizes that are known to be some: of a shape that may be symbolic."""
    return sized(sizes)


cdef object new_size(const int64_t* dims, Py_ssize_t n):
    return umiak_size_of(<PyTypeObject*>Size, dims, n)


# Number of elements of a tensor, an int; called, the sizes of the tensor, or that of one dim.
ElementCount = umiak_open_counts()


cdef object new_count(int64_t numel, const int64_t* dims, Py_ssize_t n):
    return umiak_count_of(numel, <PyTypeObject*>Size, dims, n, NULL)


def count_of(int64_t numel, Size sizes not None):
    """The number of elements of a tensor of these sizes."""
    return umiak_count_of(numel, <PyTypeObject*>Size, NULL, 0, <PyObject*>sizes)


def plain_ints(x, long long least=-1 << 62):
    """A list or tuple of ints, none of them below ``least``, as a tuple; None of anything else, which needs a closer look."""
    cdef PyObject** items
    cdef int overflow = 0
    cdef Py_ssize_t i
    if not PyList_Check(x) and not PyTuple_CheckExact(x):
        return None
    items = PySequence_Fast_ITEMS(x)
    for i in range(len(x)):
        if not PyLong_CheckExact(<object>items[i]) or PyLong_AsLongLongAndOverflow(<object>items[i], &overflow) < least or overflow:
            return None
    return x if PyTuple_CheckExact(x) else PyList_AsTuple(x)
