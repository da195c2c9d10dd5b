# cython: language_level=3, binding=False
"""The memory of a tensor, as its sizes and strides describe it: a reshape without a copy, elements that share memory, the bytes it covers."""
from umiak.core.dtype cimport ITEMSIZE, bytes_of
from umiak.core.tensor cimport *


cdef bint reshape_strides(Tensor t, int nd, const int64_t* dims, int64_t* strides) noexcept:
    """Strides of ``t`` seen with other sizes, if its layout allows that without a copy."""
    cdef int64_t[K_RANK_MASK + 1] od
    cdef int64_t[K_RANK_MASK + 1] os
    cdef int i, n = 0, a, b
    cdef int64_t have, want, s
    if t.numel == 0 or ((t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK) == LAYOUT_CONTIGUOUS:
        s = 1
        for i in range(nd - 1, -1, -1):
            strides[i] = s
            s *= dims[i] if dims[i] else 1
        return True
    for i in range(t.ndim):                              # axes of size 1 have no say
        if t.dims[i] != 1:
            od[n] = t.dims[i]
            os[n] = t.strides[i]
            n += 1
    # Runs of old axes that are contiguous among themselves are matched with runs of new axes of the same product, from the last axis on.
    a = n - 1
    b = nd - 1
    while a >= 0:
        have = od[a]
        s = os[a]
        while a > 0 and os[a - 1] == od[a] * os[a]:
            a -= 1
            have *= od[a]
        a -= 1
        want = 1
        while b >= 0 and want * dims[b] <= have:
            want *= dims[b]
            strides[b] = s
            s *= dims[b]
            b -= 1
            if want == have and (b < 0 or dims[b] != 1):
                break
        if want != have:
            return False
    while b >= 0:
        strides[b] = 1
        b -= 1
    return True


cdef inline int64_t abs64(int64_t v) noexcept:
    return -v if v < 0 else v


cdef bint self_overlaps(Tensor x) noexcept:
    """Return whether elements may share memory (expanded views, sliding windows)."""
    cdef int order[K_RANK_MASK + 1]
    cdef int i, j, k, n = 0
    cdef int64_t span = 0, s
    if ((x.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK) == LAYOUT_CONTIGUOUS:
        return False
    for i in range(x.ndim):
        if x.dims[i] > 1:
            j = n
            while j > 0 and abs64(x.strides[order[j - 1]]) > abs64(x.strides[i]):
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
            n += 1
    for k in range(n):
        s = abs64(x.strides[order[k]])
        if s <= span:
            return True
        span += s * (x.dims[order[k]] - 1)
    return False


cdef int refuse_overlap(str name, Tensor x) except -1:
    raise RuntimeError(
        f"[{name}] requires a tensor whose elements have memory of their own, got a view of shape {list(x.shape)} with strides {(<object>x).strides}. "
        "Write into a copy of it instead.")


cdef int byte_range(Tensor t, int64_t* low, int64_t* high) noexcept:
    """The bytes of the storage that hold elements of ``t``."""
    cdef int64_t size = ITEMSIZE[t.key & K_DTYPE_MASK]
    cdef int i
    low[0] = t.offset
    if size == 0:                                        # packed, so contiguous
        high[0] = t.offset + bytes_of(t.key & K_DTYPE_MASK, t.numel)
        return 0
    high[0] = t.offset + size
    for i in range(t.ndim):
        if t.strides[i] < 0:
            low[0] += t.strides[i] * (t.dims[i] - 1) * size
        else:
            high[0] += t.strides[i] * (t.dims[i] - 1) * size
    return 0
