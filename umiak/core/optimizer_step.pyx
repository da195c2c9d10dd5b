# cython: language_level=3, binding=False
"""Steps of optimizers for all parameters at once: gradients, updates of slots; rows of one tensor that are written."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from umiak.core.context cimport EngineContext, OBSERVE_TRACE, context_pointer
from umiak.core.dtype cimport ITEMSIZE
from umiak.core.foreach cimport run_rows
from umiak.core.foreach_rows cimport read
from umiak.core.plan cimport INLINE_X, OpBase
from umiak.core.slot cimport Slot, SlotRow, SlotRows
from umiak.core.storage cimport ACCESS_HOST, place_access, resident
from umiak.core.tensor cimport *

from umiak.core.dtype import int64


# ---- gradients of parameters -----------------------------------------------------------------------------------------
def gradients(list tensors not None):
    """``.grad`` of each, None where it wants none."""
    cdef list grads = []
    cdef Tensor t
    for x in tensors:
        t = <Tensor?>x
        grads.append(tensor_grad(t) if t.key & K_NEEDS_GRAD else None)
    return grads


def lacks_slot(list slots not None, list grads not None):
    """Return whether there is a gradient whose slot is None."""
    cdef Py_ssize_t i
    for i in range(min(len(slots), len(grads))):
        if slots[i] is None and grads[i] is not None:
            return True
    return False


def drop_gradients(list tensors not None):
    """Set ``.grad`` of each to None."""
    for x in tensors:
        set_grad(<Tensor?>x, None)


def zero_gradients(list tensors not None):
    """``clear_grad()`` of each."""
    for x in tensors:
        tensor_slots().clear_grad(<Tensor?>x, True)


# ---- steps of optimizers ---------------------------------------------------------------------------------------------
def step_rows(list slots not None, list grads not None, double rate, layout, params_of, list stepped not None, list others not None):
    """Count a step of every slot that has a gradient, and the rows of their updates, as one ``SlotRows``; None where there are none.

    ``layout`` says what the operands are; ``params_of(slot)`` is asked anew where the numbers or the count of steps differ from those
    before. Slots are appended to ``stepped``; those whose gradient is not dense are not counted but appended to ``others``, with it.
    """
    cdef SlotRows rows = SlotRows.__new__(SlotRows)
    cdef Slot slot
    cdef SlotRow* row
    cdef object hyper = None, params = None, factor = None, own
    cdef double used = rate
    cdef int64_t steps = -1
    cdef int i
    if len(slots) != len(grads):
        raise ValueError(f"[step_rows] requires a gradient or None for each of {len(slots)} slots, got {len(grads)}")
    rows.n = <int>len(layout)
    if rows.n > INLINE_X:
        raise ValueError(f"[step_rows] requires at most {INLINE_X} operands, got {rows.n}")
    for i in range(rows.n):
        rows.layout[i] = layout[i]
    rows.slots, rows.grads, rows.kept = slots, grads, []
    rows.memory = PyBytes_FromStringAndSize(NULL, (len(slots) + 1) * sizeof(SlotRow))
    rows.row = <SlotRow*>PyBytes_AS_STRING(rows.memory)
    for i in range(<int>len(slots)):
        grad = grads[i]
        if grad is None:
            continue
        slot = <Slot?>slots[i]
        if (<Tensor?>grad).kind & ~<uint8_t>KIND_VIEW:
            others.append((slot, grad))
            continue
        slot.steps += 1
        stepped.append(slot)
        if slot.hyper is not hyper or slot.steps != steps:
            hyper, steps = slot.hyper, slot.steps
            params = params_of(slot)
            rows.kept.append(params)
        own = slot.rate["learning_rate"]
        if own is not factor:
            factor = own
            used = rate * <double>own
        row = &rows.row[rows.count]
        row.slot, row.grad, row.params, row.rate = <PyObject*>slot, <PyObject*>grad, <PyObject*>params, used
        rows.count += 1
    return rows if rows.count else None


def step_slots(OpBase op not None, list tensors not None, list slots not None, double rate, layout, params_of):
    """``gradients`` of the tensors, ``step_rows`` and ``apply_foreach_into`` in one. False, and nothing is done, where there is more to do:
    a gradient is not dense or has no slot yet, or calls are traced. A step that is refused is not counted.
    """
    cdef list grads, stepped = []
    cdef SlotRows rows
    cdef int i
    if len(slots) != len(tensors) or op.variadic or (<EngineContext>context_pointer()).observers & OBSERVE_TRACE:
        return False
    grads = gradients(tensors)
    for i in range(<int>len(grads)):
        if grads[i] is not None and (slots[i] is None or (<Tensor?>grads[i]).kind & ~<uint8_t>KIND_VIEW):
            return False
    try:
        rows = step_rows(slots, grads, rate, layout, params_of, stepped, [])
        if rows is not None:
            run_rows(read(op, [rows], None))
    except BaseException:
        for slot in stepped:
            (<Slot>slot).steps -= 1
        raise
    return True


# ---- some rows of a tensor -------------------------------------------------------------------------------------------
def write_rows(Tensor into not None, Tensor rows not None, Tensor values not None):
    """``into[rows] = values``, in place: the rows alone are touched. Of a row that comes twice the last one stays.

    All are contiguous, ``rows`` of int64; memory is the host's.
    """
    cdef int64_t i, row, size, step = ITEMSIZE[into.key & K_DTYPE_MASK]
    cdef const int64_t* at
    cdef const char* source
    cdef char* target
    cdef int d
    if not step:
        raise TypeError(f"[write_rows] requires a dtype of whole bytes, got {into.dtype.name}")
    for t in (into, rows, values):
        if (<Tensor>t).kind & ~<uint8_t>KIND_VIEW or ((<Tensor>t).key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK or \
                place_access((<Tensor>t).storage.place) != ACCESS_HOST:
            raise ValueError(f"[write_rows] requires contiguous tensors in the host's memory, got {t!r}")
    if rows.ndim != 1 or rows.dtype is not int64:
        raise ValueError(f"[write_rows] requires rows of one dim and int64, got {rows!r}")
    if not into.ndim or values.ndim != into.ndim or values.dims[0] != rows.numel or values.dtype is not into.dtype or \
            list(values.shape[1:]) != list(into.shape[1:]):
        raise ValueError(
            f"[write_rows] requires values of {into.dtype.name} {[rows.numel, *into.shape[1:]]}, got {values.dtype.name} {list(values.shape)}")
    for d in range(1, into.ndim):
        step *= into.dims[d]
    size = into.dims[0]
    at = <const int64_t*>tensor_data(rows)
    for i in range(rows.numel):
        if not 0 <= at[i] < size:
            raise IndexError(f"[write_rows] requires rows from 0 to {size - 1}, got {at[i]}")
    resident(into.storage)
    resident(values.storage)
    target = tensor_data(into)
    source = tensor_data(values)
    with nogil:
        for i in range(rows.numel):
            memcpy(target + at[i] * step, source + i * step, step)
    bump_version(into)
