# cython: language_level=3, binding=False
"""Entries of captured programs: the one that serves a call is found without Python: docs/design/capture.md.

What a program was captured for is kept as an entry: a guard function over the arguments, the class and sizes of tensors, the modes of
the context, and the Python values that the function reads from fixed places. A call compares itself with the entries. It compares objects
by identity, and numbers and texts by value; whatever else differs, the general way in Python decides, which makes entries.
"""
from cpython.dict cimport PyDict_GetItem, PyDict_Next, PyDict_Size
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject, Py_EQ, PyObject_RichCompareBool
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

cimport cython
from umiak.core.captured cimport CapturedRun, ScalarSource
from umiak.core.context cimport EngineContext, context_pointer
from umiak.core.tensor cimport *
from umiak.util.size cimport Size

cdef extern from "Python.h":
    PyObject* PyCell_GET(PyObject*)
    bint PyFloat_CheckExact(object)
    bint PyLong_CheckExact(object)
    bint PyUnicode_CheckExact(object)
    bint PyBytes_CheckExact(object)
    bint PyBool_Check(object)
    PyObject* PyType_Of "Py_TYPE"(object)
    unsigned long PyThread_get_thread_ident()

from umiak.core.captured import SharedMemory, Stale

cdef uint32_t CLASS = K_DTYPE_MASK | K_RANK_MASK << K_RANK_SHIFT | K_PLACE_MASK << K_PLACE_SHIFT | K_NEEDS_GRAD
cdef str SWITCH = "enable_to_static"


cdef bint same(object a, object b):
    """Return whether two objects are one, or equal numbers or texts of one type."""
    cdef double x, y
    if a is b:
        return True
    if PyType_Of(a) != PyType_Of(b):
        return False
    if PyFloat_CheckExact(a):
        x = a
        y = b
        return memcmp(&x, &y, 8) == 0                    # 0.0 and -0.0 are two
    if PyLong_CheckExact(a) or PyUnicode_CheckExact(a) or PyBytes_CheckExact(a):
        return PyObject_RichCompareBool(a, b, Py_EQ)
    return False


# ---- Python values ---------------------------------------------------------------------------------------------------
cdef object contents(object x):
    """The contents of a list, set or dict, as a tuple; None for all else."""
    if type(x) is list or type(x) is Size or type(x) is set:
        return tuple(x)
    if type(x) is dict:
        return (*(<dict>x).keys(), *(<dict>x).values())
    return None


cdef bint same_contents(object x, tuple before) except -1:
    cdef Py_ssize_t i, n
    cdef PyObject* key
    cdef PyObject* value
    if type(x) is list or type(x) is Size:
        n = PyList_GET_SIZE(x)
        if n != PyTuple_GET_SIZE(before):
            return False
        for i in range(n):
            if i >= PyList_GET_SIZE(x) or not same((<list>x)[i], before[i]):
                return False
        return True
    if type(x) is dict:
        n = PyDict_Size(x)
        if 2 * n != PyTuple_GET_SIZE(before):
            return False
        i = 0
        at = 0
        while PyDict_Next(x, &i, &key, &value):
            if at >= n or not same(<object>key, before[at]) or not same(<object>value, before[n + at]):
                return False
            at += 1
        return True
    now = tuple(x)
    return len(now) == len(before) and all([same(a, b) for a, b in zip(now, before)])


@cython.final
cdef class Watch:
    """Places of Python values: ``reads`` are (cell, None) or (dict, name). ``counter`` is a list of one object, exchanged at every change of
    what else counts."""
    cdef list holders, names, counter

    def __init__(self, list reads not None, list counter not None):
        self.holders = [holder for holder, _ in reads]
        self.names = [name for _, name in reads]
        self.counter = counter

    cdef inline PyObject* value(self, int i) noexcept:
        """Borrowed; None where there is none."""
        cdef PyObject* holder = <PyObject*>(<list>self.holders)[i]
        cdef object name = (<list>self.names)[i]
        cdef PyObject* value
        value = PyCell_GET(holder) if name is None else PyDict_GetItem(<object>holder, name)
        return value if value != NULL else <PyObject*>None

    def take(self, containers):
        """Take a snapshot of the values; ``containers`` are further objects whose contents count."""
        cdef Snapshot s = Snapshot.__new__(Snapshot)
        cdef int i
        s.watch = self
        s.count = self.counter[0]
        s.values = [<object>self.value(i) for i in range(len(self.holders))]
        s.contents = [contents(x) for x in s.values]
        s.containers = list(containers)
        s.contained = [contents(x) for x in s.containers]
        return s


@cython.final
cdef class Snapshot:
    """The values that were at the places of a watch."""
    cdef Watch watch
    cdef object count
    cdef list values, contents, containers, contained

    cdef bint holds(self) except -1:
        cdef Watch watch = self.watch
        cdef PyObject* now
        cdef int i
        if <PyObject*>watch.counter[0] != <PyObject*>self.count:
            return False
        for i in range(len(self.values)):
            now = watch.value(i)
            if now != <PyObject*>self.values[i]:
                if self.contents[i] is not None or not same(<object>now, self.values[i]):
                    return False
                self.values[i] = <object>now             # found by identity next time
            elif self.contents[i] is not None and not same_contents(<object>now, <tuple>self.contents[i]):
                return False
        for i in range(len(self.containers)):
            if not same_contents(self.containers[i], <tuple>self.contained[i]):
                return False
        return True

    def same(self):
        """Return whether the values are still these."""
        return self.holds()


# ---- functions that were captured from bytecode ------------------------------------------------------------------------
@cython.final
cdef class Places:
    """``Places(plain, of_layers, tables, counter, snapshots, missing)``: the values that a captured function has read from fixed places.

    Places are (cell, None, value) or (dict, key, value); ``missing`` is the value where there was none. Those of layers, and ``tables``, whose
    contents count, are looked at again only when the object in ``counter`` was exchanged. ``snapshots``: of what else was read.
    """
    cdef list holders, keys, values, tables, contents, snapshots, counter
    cdef object count, missing
    cdef int n_plain

    def __init__(self, list plain not None, list of_layers not None, list tables not None, list counter not None, list snapshots not None, missing):
        rows = plain + of_layers
        self.n_plain = len(plain)
        self.holders = [holder for holder, _, _ in rows]
        self.keys = [key for _, key, _ in rows]
        self.values = [value for _, _, value in rows]
        self.tables = tables
        self.contents = [(*(<dict>x).keys(), *(<dict>x).values()) for x in tables]
        self.snapshots = snapshots
        self.counter = counter
        self.count = counter[0]
        self.missing = missing

    cdef bint hold_at(self, int i) except -1:
        cdef PyObject* holder = PyList_GET_ITEM(self.holders, i)
        cdef PyObject* key = PyList_GET_ITEM(self.keys, i)
        cdef PyObject* now
        now = PyCell_GET(holder) if key == <PyObject*>None else PyDict_GetItem(<object>holder, <object>key)
        if now == NULL:
            now = <PyObject*>self.missing
        if now == PyList_GET_ITEM(self.values, i):
            return True
        if not same(<object>now, <object>PyList_GET_ITEM(self.values, i)):
            return False
        self.values[i] = <object>now                     # found by identity next time
        return True

    cdef bint hold(self) except -1:
        cdef int i
        for i in range(self.n_plain):
            if not self.hold_at(i):
                return False
        if <PyObject*>self.counter[0] != <PyObject*>self.count:
            for i in range(self.n_plain, len(self.holders)):
                if not self.hold_at(i):
                    return False
            for i in range(len(self.tables)):
                if not same_table(<dict>self.tables[i], <tuple>self.contents[i]):
                    return False
            self.count = self.counter[0]
        for snapshot in self.snapshots:
            if not (<Snapshot>snapshot).holds():
                return False
        return True

    def different(self):
        """The places whose value is another one now, as (holder, key, value now)."""
        out = []
        for i in range(len(self.holders)):
            if not self.hold_at(i):
                holder, key = self.holders[i], self.keys[i]
                try:
                    now = holder.cell_contents if key is None else holder.get(key, self.missing)
                except ValueError:
                    now = self.missing
                out.append((holder, key, now))
        return out

    def holds(self):
        """Return whether the values are still these."""
        return self.hold()


cdef bint same_table(dict x, tuple before) except -1:
    cdef Py_ssize_t i = 0, at = 0, n = PyDict_Size(x)
    cdef PyObject* key
    cdef PyObject* value
    if 2 * n != PyTuple_GET_SIZE(before):
        return False
    while PyDict_Next(x, &i, &key, &value):
        if at >= n or not same(<object>key, before[at]) or value != PyTuple_GET_ITEM(before, n + at):
            return False
        at += 1
    return True


@cython.final
cdef class CallScalars(ScalarSource):
    """Numbers among the arguments of a call. ``kinds``: "int" or "float" of each."""
    cdef list kinds
    cdef int64_t* words
    cdef unsigned long thread      # whose call they are of

    def __init__(self, list kinds not None):
        self.count = len(kinds)
        self.kinds = kinds
        self.words = <int64_t*>malloc((self.count + 1) * 8)

    def __dealloc__(self):
        free(self.words)

    cdef bint set(self, tuple values) except -1:
        """Return False for a number that does not fit."""
        cdef double d
        cdef int i
        self.thread = PyThread_get_thread_ident()
        for i in range(self.count):
            if <PyObject*>self.kinds[i] == <PyObject*>"float" or self.kinds[i] == "float":
                d = values[i]
                memcpy(&self.words[i], &d, 8)
            else:
                try:
                    self.words[i] = values[i]
                except OverflowError:
                    return False
        return True

    cdef bint lost(self):
        """Return whether a call in another thread has set them since."""
        return self.thread != PyThread_get_thread_ident()

    cdef int read(self, int64_t* into) except -1:
        if self.lost():
            raise Stale()                                # the call sets them once more
        memcpy(into, self.words, self.count * 8)
        return 0


cdef class FrameCall


@cython.final
cdef class Tail:
    """A call that is left to do: of another frame with these arguments."""
    cdef FrameCall frame
    cdef tuple args

    def __init__(self, FrameCall frame not None, tuple args not None):
        self.frame = frame
        self.args = args


@cython.final
cdef class GuardedEntry:
    """``GuardedEntry(guard, places, tensors, axes, run, scalars, finish)``: the calls that one capture serves.

    ``guard(*args, **kwargs)`` gives the tensors, the numbers and further values of a call that the capture is for, else None. Tensors must be tensors,
    of the class and sizes of ``tensors``, but for the sizes on ``axes``, which are not 0 or 1. ``run``: the graph, None where there is none;
    ``finish(results, *values)`` gives the result of the call, None: it is the graph's only one.
    """
    cdef readonly object guard, finish
    cdef readonly Places places
    cdef CapturedRun run
    cdef CallScalars scalars
    cdef int n
    cdef uint32_t* keys
    cdef int64_t** sizes       # -1: free
    cdef uint64_t modes
    cdef int default_dtype
    cdef object place
    cdef readonly bint dynamic

    def __init__(self, guard, Places places not None, list tensors not None, list axes not None, CapturedRun run, CallScalars scalars, finish):
        cdef EngineContext ctx = <EngineContext>context_pointer()
        cdef Tensor t
        cdef int i, d
        self.guard = guard
        self.places = places
        self.run = run
        self.scalars = scalars
        self.finish = finish
        self.n = len(tensors)
        self.keys = <uint32_t*>malloc((self.n + 1) * sizeof(uint32_t))
        self.sizes = <int64_t**>malloc((self.n + 1) * sizeof(int64_t*))
        for i in range(self.n):
            t = <Tensor>tensors[i]
            self.keys[i] = t.key & CLASS
            self.sizes[i] = <int64_t*>malloc((t.ndim + 1) * 8)
            for d in range(t.ndim):
                self.sizes[i][d] = t.dims[d]
                if d in axes[i]:
                    self.dynamic = True
                    self.sizes[i][d] = -1
        self.dynamic = self.dynamic or scalars is not None
        self.modes = ctx.plan_mode
        self.default_dtype = ctx.state.default_dtype
        self.place = ctx.state.place

    def __dealloc__(self):
        cdef int i
        if self.sizes != NULL:
            for i in range(self.n):
                free(self.sizes[i])
        free(self.sizes)
        free(self.keys)

    cdef bint in_mode(self, EngineContext ctx):
        return ctx.plan_mode == self.modes and ctx.state.default_dtype == self.default_dtype and ctx.state.place is self.place \
            and ctx.inner_place < 0

    cdef tuple matched(self, EngineContext ctx, tuple args, dict kwargs):
        """The values that the guard gives for a call that this entry is for; None: it is for others."""
        cdef PyObject* one
        cdef Tensor t
        cdef int64_t size
        cdef list tensors
        cdef int i, k, d
        if not self.in_mode(ctx):
            return None
        values = self.guard(*args) if not kwargs else self.guard(*args, **kwargs)
        if values is None or not self.places.hold():
            return None
        tensors = <list>(<tuple>values)[0]
        for i in range(self.n):
            one = PyList_GET_ITEM(tensors, i)
            if not isinstance(<object>one, Tensor):
                return None
            t = <Tensor>one
            for k in range(i):
                if PyList_GET_ITEM(tensors, k) == one:
                    return None                          # one tensor, where there were two
            if t.kind:
                if t.kind & ~<uint32_t>KIND_VIEW:
                    return None
                refresh_if_view(t)
            if (t.key & CLASS) != self.keys[i]:
                return None
            for d in range(t.ndim):
                size = t.dims[d]
                if size != self.sizes[i][d] and (self.sizes[i][d] != -1 or size < 2):
                    return None
        if self.scalars is not None and not self.scalars.set(<tuple>(<tuple>values)[1]):
            return None
        return <tuple>values

    def why_not(self, args, kwargs):
        """Say what keeps this entry from serving a call: "mode", "guard", "places", "tensors" or ""."""
        cdef EngineContext ctx = <EngineContext>context_pointer()
        if not self.in_mode(ctx):
            return "mode"
        if self.guard(*args, **(kwargs or {})) is None:
            return "guard"
        if not self.places.hold():
            return "places"
        return "tensors" if self.matched(ctx, args, kwargs) is None else ""


cdef object NOT_SERVED = object()


cdef class FrameCall:
    """A call of a captured frame: the first entry that fits serves it; ``_general(args, kwargs)`` is any call, ``_failed(run, error, args,
    kwargs)`` one whose run has raised."""
    cdef readonly list entries

    def __cinit__(self, *args, **kwargs):
        self.entries = []

    def _enter(self, GuardedEntry entry not None, int most):
        """Have calls find this entry. Those with sizes and numbers of their own come before those that serve others, too."""
        cdef int i = 0
        if entry.dynamic:
            while i < len(self.entries) and not (<GuardedEntry>self.entries[i]).dynamic:
                i += 1
        self.entries.insert(i, entry)
        del self.entries[most:]

    def _attempt(self, GuardedEntry entry not None, tuple args not None, dict kwargs):
        """(result,) of a call by this entry, which may be a :class:`Tail`; None where it does not serve."""
        result = self.served(entry, <EngineContext>context_pointer(), args, kwargs)
        return None if result is NOT_SERVED else (result,)

    cdef object served(self, GuardedEntry entry, EngineContext ctx, tuple args, dict kwargs):
        cdef tuple values = entry.matched(ctx, args, kwargs)
        cdef list results
        cdef object error = None
        if values is None:
            return NOT_SERVED
        if entry.run is None:
            results = []
        else:
            try:
                results = entry.run.attempt(<list>values[0])
            except SharedMemory:                         # before anything was changed
                return NOT_SERVED
            except Exception as failed:
                error = failed
            if error is not None:
                return self._failed(entry.run, error, args, kwargs)
            while results is None and entry.scalars is not None and entry.scalars.lost():
                if not entry.scalars.set(<tuple>values[1]):
                    return NOT_SERVED
                results = entry.run.attempt(<list>values[0])
            if results is None:
                return NOT_SERVED
        if entry.finish is None:
            return results[0]
        return entry.finish(results, *<tuple>values[2])

    cdef object step(self, tuple args, dict kwargs):
        """The result, or what is left to do."""
        cdef EngineContext ctx = <EngineContext>context_pointer()
        cdef GuardedEntry entry
        if ctx.observers == 0 and ctx.saved_hooks is None and not ctx.trace and ctx.state.values.get(SWITCH, True):
            for entry in self.entries:
                result = self.served(entry, ctx, args, kwargs)
                if result is not NOT_SERVED:
                    return result
        return self._general(args, kwargs)

    def __call__(self, *args, **kwargs):
        result = self.step(args, kwargs)
        while type(result) is Tail:
            result = (<Tail>result).frame.step((<Tail>result).args, None)
        return result
