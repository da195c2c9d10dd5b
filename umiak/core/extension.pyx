# cython: language_level=3
"""Libraries with operators in C++ or C, by the interface of paddle/include/umiak/extension_abi.h.

A tensor goes out as a handle, which owns a reference to it and pins its memory; so an address that a library has read stays right for as
long as it holds the handle. The functions of the host take the lock of Python by themselves.
"""
import builtins
import sys
import threading

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from umiak.core.array cimport ask_tracer, tensor_over
from umiak.core.context cimport EngineContext, context_pointer
from umiak.core.dispatch cimport detached_copy
from umiak.core.dtype cimport ITEMSIZE, DType, dtype_from_id
from umiak.core.extension_abi cimport *
from umiak.core.place cimport Place, place_from_index
from umiak.core.storage cimport ACCESS_HOST, ACCESS_NOTHING, Storage, pin, place_access, resident, unpin, use_on_stream
from umiak.core.stream cimport Stream, get_stream, stream_handle
from umiak.core.tensor cimport *

from umiak.util.dtypes import TABLE

cdef extern from "Python.h":
    void PyErr_SetObject(object, object)
    int Py_IsInitialized() nogil
    int PyGILState_Check() nogil

cdef extern from *:
    """
    static __thread int umiak_calls_here = 0;
    """
    int CALLS_HERE "umiak_calls_here"    # calls of libraries' functions that run in this thread

cdef extern from "dlfcn.h":
    void* dlopen(const char*, int)
    void* dlsym(void*, const char*)
    char* dlerror()
    int RTLD_NOW, RTLD_LOCAL

cdef enum:
    MAX_RESULTS = 64
    NAMED_OPERATOR = 0               # the kind of operators whose kernels take elements to lie one after the other
    LONG_CALL = 65536          # elements above which a call runs without the lock of Python, as kernels do

cdef int64_t MOST_LENT = (<int64_t>1 << 62) // 128    # elements, so that bits of the widest dtype can be counted in 64

# Names of dtypes by their number in the interface.
cdef tuple DTYPE_NAMES = ("", "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64",
                          "complex64", "complex128", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
cdef int32_t[32] NUMBER_OF    # by dtype id
cdef dict ID_OF = {}
for _id, _row in enumerate(TABLE):
    NUMBER_OF[_id] = DTYPE_NAMES.index(_row.name) if _row.name in DTYPE_NAMES else 0
    ID_OF[_row.name] = _id

cdef object CALL = None       # (name, arguments) -> results: functions of the library, which the layer above gives
cdef dict ERRORS = {}         # thread -> (exception, its text)
cdef dict LENT = {}           # thread -> streams that its running calls have asked for
cdef list ELSEWHERE = []      # streams that threads without a call of their own have asked for while calls ran: threads of kernels
cdef int64_t RUNNING = 0      # calls of libraries' functions by the host, in all threads
cdef list LIBRARIES = []      # tables, which live as long as the process


def set_call(function):
    """Say what computes functions of the library by name: ``function(name, arguments)``."""
    global CALL
    CALL = function


class KernelError(RuntimeError, OSError):
    """Exception that a kernel in C++ has thrown. The reference framework raises OSError for PD_THROW and PD_CHECK."""


cdef object error_class(str kind):
    """The exception of Python's that a library names; of what is none, ``KernelError``."""
    error = getattr(builtins, kind, RuntimeError)
    return KernelError if error is RuntimeError or not (isinstance(error, type) and issubclass(error, Exception)) else error


# ---- tensors as handles

@cython.final
@cython.freelist(64)
cdef class Handle:
    cdef Tensor t
    cdef Storage storage

    def __dealloc__(self):
        if self.storage is not None:
            unpin(self.storage)


cdef Handle handle_of(Tensor t):
    if t.kind & KIND_SYMBOLIC:
        (<object>t).numpy()                                # refuses in its own words
    if t.kind & ~<uint8_t>KIND_VIEW or t.storage is None:
        raise TypeError(f"dense tensors with data are required, got {type(t).__name__}")
    refresh_if_view(t)
    ask_tracer(t)
    resident(t.storage)
    cdef Handle h = Handle.__new__(Handle)
    h.t = t
    h.storage = t.storage
    pin(h.storage)
    return h


cdef Tensor in_order(Tensor t):
    """The tensor, or a copy whose elements lie one after the other."""
    refresh_if_view(t)
    if t.kind & ~<uint8_t>KIND_VIEW or t.storage is None or t.key >> K_LAYOUT_SHIFT & K_LAYOUT_MASK == LAYOUT_CONTIGUOUS:
        return t
    return detached_copy(t)


cdef umiak_tensor* given(Handle h):
    Py_INCREF(h)
    return <umiak_tensor*><void*>h


cdef void retain_locked(umiak_tensor* x) noexcept:
    Py_INCREF(<object><void*>x)


cdef void release_locked(umiak_tensor* x) noexcept:
    Py_DECREF(<object><void*>x)


ctypedef void (*counted_t)(umiak_tensor*) noexcept nogil


cdef void host_retain(umiak_tensor* x) noexcept nogil:
    if PyGILState_Check():
        (<counted_t>retain_locked)(x)                      # `with gil` would take it again: 30 ns
    else:
        with gil:
            retain_locked(x)


cdef void host_release(umiak_tensor* x) noexcept nogil:
    # On any thread, and when the interpreter is gone: then the memory goes with the process.
    if PyGILState_Check():
        (<counted_t>release_locked)(x)
    elif Py_IsInitialized():
        with gil:
            release_locked(x)


cdef int keep_error(object error) except -1:
    ERRORS[threading.get_ident()] = (error, f"{type(error).__name__}: {error}".encode())
    return 0


cdef const char* host_last_error() noexcept with gil:
    cdef bytes text
    kept = ERRORS.get(threading.get_ident())
    if kept is None:
        return ""
    text = kept[1]                                         # lives in the table until the next error of this thread
    return PyBytes_AS_STRING(text)


cdef int host_describe(umiak_tensor* x, umiak_tensor_info* info) noexcept with gil:
    cdef Tensor t
    cdef Place place
    cdef bytes kind
    try:
        t = (<Handle><void*>x).t
        if info.size < sizeof(umiak_tensor_info):
            raise ValueError(f"a table of {sizeof(umiak_tensor_info)} bytes is required for facts of a tensor, got {info.size}")
        info.dtype = NUMBER_OF[t.key & K_DTYPE_MASK]
        info.ndim = t.ndim
        info.numel = t.numel
        info.sizes = t.dims
        info.strides = t.strides
        info.data = NULL
        info.device_id = 0
        if place_access(t.storage.place) == ACCESS_HOST:
            info.device_type = "cpu"
        else:
            place = place_from_index(t.storage.place)
            kind = DEVICE_TYPES.setdefault(place.device_type, place.device_type.encode())
            info.device_type = PyBytes_AS_STRING(kind)
            info.device_id = place.device_id
        if t.numel and place_access(t.storage.place) != ACCESS_NOTHING:
            info.data = tensor_data(t)
            # Kernels of the library go to the current stream.
            use_on_stream(t.storage, (<EngineContext>context_pointer()).stream[t.storage.place])
        return 0
    except BaseException as error:
        keep_error(error)
        return -1

cdef dict DEVICE_TYPES = {}    # their names as bytes, for C


cdef int place_for(const char* device_type, int32_t device_id) except -1:
    """The place of new memory: on the host, that of the running call where the host can read it."""
    cdef EngineContext context = <EngineContext>context_pointer()
    cdef int place = context.inner_place
    if place < 0:
        place = context.state.place.index if context.state.place is not None else 0
    if device_type == NULL:
        return place
    name = (<bytes>device_type).decode()
    if name == "cpu":
        return place if place_access(place) == ACCESS_HOST or place_access(place) == ACCESS_NOTHING else 0
    return (<Place>Place(name, device_id)).index


cdef umiak_tensor* host_empty(int32_t dtype, int32_t ndim, const int64_t* sizes, const char* device_type, int32_t device_id) noexcept with gil:
    cdef EngineContext context
    cdef int place, i
    try:
        context = <EngineContext>context_pointer()
        place = place_for(device_type, device_id)
        if not 0 <= ndim <= K_RANK_MASK:
            raise ValueError(f"[empty] requires at most {K_RANK_MASK} axes, got {ndim}")
        for i in range(ndim):
            if sizes[i] < 0:
                raise ValueError(f"[empty] requires sizes of 0 or more, got {[sizes[k] for k in range(ndim)]}")
        return given(handle_of(new_tensor(dtype_number(dtype), ndim, sizes, place, context.stream[place])))
    except BaseException as error:
        keep_error(error)
        return NULL


ctypedef void (*release_t)(void*) noexcept nogil

@cython.final
@cython.no_gc
cdef class Lent:
    """Owner of memory that a library has lent: tells it once that nobody uses it any more."""
    cdef void* context
    cdef release_t release

    def __dealloc__(self):
        if self.release != NULL:
            self.release(self.context)


cdef umiak_tensor* host_lend(void* data, int32_t dtype, int32_t ndim, const int64_t* sizes, const int64_t* strides, const char* device_type,
                             int32_t device_id, void* context, release_t release) noexcept with gil:
    cdef EngineContext engine
    cdef Lent owner
    cdef Tensor t
    cdef umiak_tensor* x
    cdef int place, number, i
    try:
        engine = <EngineContext>context_pointer()
        number = dtype_number(dtype)
        place = place_for(device_type, device_id)
        if not 0 <= ndim <= K_RANK_MASK:
            raise ValueError(f"[from_blob] requires at most {K_RANK_MASK} axes, got {ndim}")
        elements = 1
        for i in range(ndim):
            if sizes[i] < 0:
                raise ValueError(f"[from_blob] requires sizes of 0 or more, got {[sizes[k] for k in range(ndim)]}")
            elements *= sizes[i]
        if elements > MOST_LENT:
            raise ValueError(f"[from_blob] requires elements that 64 bits can count, got sizes {[sizes[k] for k in range(ndim)]}")
        owner = Lent.__new__(Lent)
        if elements == 0 or place_access(place) == ACCESS_NOTHING:
            t = new_tensor(number, ndim, sizes, place, engine.stream[place])
        else:
            if data == NULL:
                raise ValueError(f"[from_blob] requires the address of {elements} elements, got a null pointer")
            if <size_t>data % <size_t>min(ITEMSIZE[number], 8):
                raise ValueError(f"[from_blob] requires an address that is a multiple of {min(ITEMSIZE[number], 8)} for elements of "
                                 f"{DTYPE_NAMES[dtype]}, got {<size_t>data:#x}")
            t = tensor_over(number, ndim, sizes, strides, <char*>data, place, owner)
            t.storage.stream = engine.stream[place]
        x = given(handle_of(t))
        owner.context = context                                # nothing fails from here on: it is taken
        owner.release = release
        return x
    except BaseException as error:
        keep_error(error)
        return NULL


cdef int dtype_number(int32_t dtype) except -1:
    """The id of a dtype that has this number in the interface."""
    name = DTYPE_NAMES[dtype] if 0 < dtype < len(DTYPE_NAMES) else ""
    if name not in ID_OF:
        raise TypeError(f"a dtype is required, got {name or f'number {dtype}, which is none'}")
    return ID_OF[name]


cdef int64_t host_call(const char* name, const umiak_value* arguments, int64_t n, umiak_tensor** results, int64_t room) noexcept with gil:
    cdef int64_t i
    cdef list out
    try:
        if CALL is None:
            raise RuntimeError("functions of the library are there once paddle is imported")
        result = CALL((<bytes>name).decode(), [value_of(&arguments[i]) for i in range(n)])
        out = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(out) > room:
            raise ValueError(f"at most {room} results are allowed, got {len(out)}")
        handles = [handle_of(<Tensor?>x) for x in out]
        for i in range(len(out)):
            results[i] = given(handles[i])
        return len(out)
    except BaseException as error:
        keep_error(error)
        return -1


cdef int host_stream(umiak_tensor* x, const char* device_type, int32_t device_id, void** out) noexcept with gil:
    cdef int place
    cdef Stream s, other
    try:
        place = place_for(device_type, device_id) if x == NULL else (<Handle><void*>x).t.storage.place
        if place_access(place) == ACCESS_HOST:
            raise RuntimeError("a device with streams is required, got the host")
        s = get_stream(place, (<EngineContext>context_pointer()).stream[place])
        out[0] = stream_handle(s.state)
        if CALLS_HERE:
            LENT.setdefault(threading.get_ident(), []).append(s)
        elif RUNNING:                                      # of which call is not known. Without any there is no end at which to ask again
            for other in ELSEWHERE:
                if other.state is s.state:
                    return 0
            ELSEWHERE.append(s)
        return 0
    except BaseException as error:
        keep_error(error)
        return -1


cdef int64_t lent_before() except -1:
    """The number of streams that outer calls of this thread have asked for."""
    return len(LENT.get(threading.get_ident(), ())) if LENT else 0


cdef int take_back(int64_t before) except -1:
    """Ask each stream again that a call has asked for: its driver counts what was handed in since then as work."""
    global ELSEWHERE
    cdef list streams
    cdef Stream s
    if ELSEWHERE:
        streams = ELSEWHERE
        if not RUNNING:
            ELSEWHERE = []
        for s in streams:
            stream_handle(s.state)
    if not LENT:
        return 0
    thread = threading.get_ident()
    streams = LENT.get(thread)
    if streams is None:
        return 0
    for s in streams[before:]:
        stream_handle(s.state)
    del streams[before:]
    if not streams:
        del LENT[thread]
    return 0


def lent_streams():
    """The number of streams that running calls have asked for and that will be asked again."""
    return len(ELSEWHERE) + sum(map(len, LENT.values()))


cdef object tensor_at(umiak_tensor* x):
    return None if x == NULL else (<Handle><void*>x).t


cdef object value_of(const umiak_value* v):
    """A value of the library's as one of Python."""
    cdef int64_t i
    if v.kind == UMIAK_NONE:
        return None
    if v.kind == UMIAK_TENSOR:
        return tensor_at(v.content.tensor)
    if v.kind == UMIAK_IS_BOOL:
        return v.content.integer != 0
    if v.kind == UMIAK_IS_INT:
        return v.content.integer
    if v.kind == UMIAK_IS_FLOAT:
        return v.content.real
    if v.kind == UMIAK_IS_TEXT:
        return v.content.text[:v.count].decode()
    if v.kind == UMIAK_IS_DTYPE:
        return dtype_from_id(dtype_number(<int32_t>v.content.integer))
    if v.kind == UMIAK_IS_PLACE:
        kind, _, number = v.content.text[:v.count].decode().partition(":")
        return Place(kind, int(number or 0))
    if v.kind == UMIAK_TENSORS:
        return [tensor_at(v.content.tensors[i]) for i in range(v.count)]
    if v.kind == UMIAK_INTS:
        return [v.content.ints[i] for i in range(v.count)]
    if v.kind == UMIAK_FLOATS:
        return [v.content.reals[i] for i in range(v.count)]
    if v.kind == UMIAK_BOOLS:
        return [v.content.ints[i] != 0 for i in range(v.count)]
    if v.kind == UMIAK_TEXTS:
        return [v.content.texts[i].data[:v.content.texts[i].length].decode() for i in range(v.count)]
    raise TypeError(f"an argument of a known kind is required, got kind {v.kind}")


# ---- for functions that Python calls by itself

cdef dict PLACE_NAMES = {}     # as bytes, for C


cdef int host_from_object(void* object_pointer, umiak_value* v) noexcept with gil:
    cdef bytes name
    try:
        x = <object>object_pointer
        v.kind = UMIAK_NONE
        v.count = 0
        v.content.integer = 0
        if isinstance(x, Tensor):
            v.content.tensor = given(handle_of(<Tensor>x))
            v.kind = UMIAK_TENSOR
        elif isinstance(x, DType):
            v.kind = UMIAK_IS_DTYPE
            v.content.integer = NUMBER_OF[(<DType>x).id]
        elif isinstance(x, Place):
            v.kind = UMIAK_IS_PLACE
            name = PLACE_NAMES.setdefault(x.name, x.name.encode())
            v.count = len(name)
            v.content.text = PyBytes_AS_STRING(name)
        return 0
    except BaseException as error:
        keep_error(error)
        return -1


cdef void* host_to_object(const umiak_value* v) noexcept with gil:
    try:
        x = value_of(v)
        Py_INCREF(x)
        return <void*>x
    except BaseException as error:
        keep_error(error)
        return NULL


cdef void host_raise_error(const char* kind, const char* message) noexcept with gil:
    kept = ERRORS.pop(threading.get_ident(), None)
    if kind == NULL and kept is not None:
        error = kept[0]
    else:
        error = error_class("" if kind == NULL else text_at(kind))(text_at(message))
    PyErr_SetObject(type(error), error)


cdef umiak_host HOST
memset(&HOST, 0, sizeof(umiak_host))
HOST.size = sizeof(umiak_host)
HOST.abi_major = UMIAK_ABI_MAJOR
HOST.abi_minor = UMIAK_ABI_MINOR
HOST.version = "umiak"
HOST.retain = host_retain
HOST.release = host_release
HOST.describe = <int (*)(umiak_tensor*, umiak_tensor_info*) noexcept nogil>host_describe
HOST.empty = <umiak_tensor* (*)(int32_t, int32_t, const int64_t*, const char*, int32_t) noexcept nogil>host_empty
HOST.call = <int64_t (*)(const char*, const umiak_value*, int64_t, umiak_tensor**, int64_t) noexcept nogil>host_call
HOST.last_error = <const char* (*)() noexcept nogil>host_last_error
HOST.stream = <int (*)(umiak_tensor*, const char*, int32_t, void**) noexcept nogil>host_stream
HOST.from_object = <int (*)(void*, umiak_value*) noexcept nogil>host_from_object
HOST.to_object = <void* (*)(const umiak_value*) noexcept nogil>host_to_object
HOST.raise_error = <void (*)(const char*, const char*) noexcept nogil>host_raise_error
HOST.lend = <umiak_tensor* (*)(void*, int32_t, int32_t, const int64_t*, const int64_t*, const char*, int32_t, void*, release_t) noexcept nogil>host_lend


# ---- arguments for the library

@cython.final
cdef class Facts:
    """Sizes and dtype in place of a tensor; ``mapping``: for each axis the axis of the mesh that it is sharded on, or -1."""
    cdef readonly tuple shape
    cdef readonly DType dtype
    cdef readonly object mapping

    def __init__(self, tuple shape, DType dtype, mapping=None):
        self.shape = shape
        self.dtype = dtype
        self.mapping = mapping


cdef void* room_for(list kept, int64_t nbytes) except NULL:
    cdef bytes memory = PyBytes_FromStringAndSize(NULL, nbytes + 8)
    kept.append(memory)
    return PyBytes_AS_STRING(memory)


cdef const int64_t* ints_of(object xs, list kept) except NULL:
    cdef int64_t* out = <int64_t*>room_for(kept, 8 * len(xs))
    cdef int64_t i
    for i in range(len(xs)):
        out[i] = xs[i]
    return out


cdef int fill_meta(umiak_meta* m, Facts x, list kept) except -1:
    m.dtype = NUMBER_OF[x.dtype.id]
    m.ndim = len(x.shape)
    m.sizes = ints_of(x.shape, kept)
    m.mapping = NULL if x.mapping is None else ints_of(x.mapping, kept)
    return 0


cdef int fill_list(umiak_value* v, object xs, list kept, bint dense) except -1:
    cdef int64_t i, n = len(xs)
    cdef umiak_tensor** tensors
    cdef umiak_meta* metas
    cdef umiak_text* texts
    cdef double* reals
    v.count = n
    if n and all([x is None or isinstance(x, Tensor) for x in xs]):
        v.kind = UMIAK_TENSORS
        tensors = <umiak_tensor**>room_for(kept, n * sizeof(void*))
        for i in range(n):
            tensors[i] = NULL
            if xs[i] is not None:
                h = handle_of(in_order(<Tensor>xs[i]) if dense else <Tensor>xs[i])
                kept.append(h)
                tensors[i] = <umiak_tensor*><void*>h
        v.content.tensors = tensors
    elif n and type(xs[0]) is Facts:
        v.kind = UMIAK_METAS
        metas = <umiak_meta*>room_for(kept, n * sizeof(umiak_meta))
        for i in range(n):
            fill_meta(&metas[i], <Facts?>xs[i], kept)
        v.content.metas = metas
    elif n and all([isinstance(x, str) for x in xs]):
        v.kind = UMIAK_TEXTS
        texts = <umiak_text*>room_for(kept, n * sizeof(umiak_text))
        for i in range(n):
            encoded = (<str>xs[i]).encode()
            kept.append(encoded)
            texts[i].data = PyBytes_AS_STRING(encoded)
            texts[i].length = len(encoded)
        v.content.texts = texts
    elif n and any([isinstance(x, float) for x in xs]):
        v.kind = UMIAK_FLOATS
        reals = <double*>room_for(kept, 8 * n)
        for i in range(n):
            reals[i] = xs[i]
        v.content.reals = reals
    else:
        v.kind = UMIAK_BOOLS if n and all([isinstance(x, bool) for x in xs]) else UMIAK_INTS
        v.content.ints = ints_of(xs, kept)
    return 0


cdef int fill_value(umiak_value* v, object x, list kept, bint dense) except -1:
    cdef umiak_meta* meta
    v.count = 0
    v.content.integer = 0
    if isinstance(x, Tensor):
        h = handle_of(in_order(<Tensor>x) if dense else <Tensor>x)
        kept.append(h)
        v.kind = UMIAK_TENSOR
        v.content.tensor = <umiak_tensor*><void*>h
    elif x is None:
        v.kind = UMIAK_NONE
    elif isinstance(x, bool):
        v.kind = UMIAK_IS_BOOL
        v.content.integer = x
    elif isinstance(x, int):
        v.kind = UMIAK_IS_INT
        v.content.integer = x
    elif isinstance(x, float):
        v.kind = UMIAK_IS_FLOAT
        v.content.real = x
    elif isinstance(x, (str, Place)):
        v.kind = UMIAK_IS_TEXT if isinstance(x, str) else UMIAK_IS_PLACE
        encoded = (<str>x).encode() if isinstance(x, str) else x.name.encode()
        kept.append(encoded)
        v.count = len(encoded)
        v.content.text = PyBytes_AS_STRING(encoded)
    elif isinstance(x, DType):
        v.kind = UMIAK_IS_DTYPE
        v.content.integer = NUMBER_OF[(<DType>x).id]
    elif isinstance(x, (list, tuple)):
        fill_list(v, x, kept, dense)
    elif type(x) is Facts:
        v.kind = UMIAK_META
        meta = <umiak_meta*>room_for(kept, sizeof(umiak_meta))
        fill_meta(meta, <Facts>x, kept)
        v.content.metas = meta
    else:
        raise TypeError(f"tensors, numbers, strings, dtypes, places, None, or lists of these are required, got {type(x).__name__}")
    return 0


# ---- calls of the library's functions

@cython.final
cdef class Answers:
    """Shapes, dtypes, placements and complaints of a function of the library."""
    cdef list complaints, shapes, dtypes, inputs, outputs

    def __cinit__(self):
        self.complaints, self.shapes, self.dtypes, self.inputs, self.outputs = [], [], [], [], []


cdef void complain(void* context, const char* kind, const char* message) noexcept with gil:
    (<Answers>context).complaints.append(((<bytes>kind).decode(errors="replace"), (<bytes>message).decode(errors="replace")))


cdef void give_shape(void* context, int32_t ndim, const int64_t* sizes) noexcept with gil:
    cdef int i
    (<Answers>context).shapes.append(tuple([sizes[i] for i in range(ndim)]))


cdef void give_dtype(void* context, int32_t dtype) noexcept with gil:
    (<Answers>context).dtypes.append(dtype)


cdef void give_mapping(void* context, int32_t is_input, int32_t ndim, const int64_t* mapping, int32_t n_partial,
                       const int64_t* partial) noexcept with gil:
    cdef int i
    answers = (<Answers>context).inputs if is_input else (<Answers>context).outputs
    answers.append(([mapping[i] for i in range(ndim)], [partial[i] for i in range(n_partial)]))


cdef str text_at(const char* x):
    return "" if x == NULL else (<bytes>x).decode(errors="replace")


cdef tuple names_at(umiak_names names):
    cdef int64_t i
    return tuple([text_at(names.names[i]) for i in range(names.count)])


@cython.final
cdef class Declaration:
    """An operator that a library declares, and its functions."""
    cdef const umiak_operator* row
    cdef readonly int kind
    cdef readonly str name, key, file
    cdef readonly int line
    cdef readonly tuple inputs, outputs, attributes, inplace
    cdef public str label      # the name in messages

    @property
    def runs(self):
        """Return whether there is a kernel."""
        return self.row.run != NULL

    @property
    def infers_shape(self):
        """Return whether there is a function of shapes."""
        return self.row.infer_shape != NULL

    @property
    def infers_dtype(self):
        """Return whether there is a function of dtypes."""
        return self.row.infer_dtype != NULL

    @property
    def places(self):
        """Return whether there is a sharding rule."""
        return self.row.infer_sharding != NULL

    def run(self, tuple args not None, tuple counts=None):
        """The results of the kernel, tensors or None. ``counts``: how many tensors each declared output is.

        Above 65,536 elements the kernel runs without the lock of Python.
        """
        return self.called(self.row.run, args, counts, Answers())

    def shapes(self, tuple args not None):
        """Shapes of the results, of ``Facts`` in place of tensors."""
        cdef Answers answers = Answers()
        self.called(self.row.infer_shape, args, None, answers)
        return answers.shapes

    def dtypes(self, tuple args not None):
        """Dtypes of the results, of ``Facts`` in place of tensors."""
        cdef Answers answers = Answers()
        self.called(self.row.infer_dtype, args, None, answers)
        return [dtype_from_id(dtype_number(number)) for number in answers.dtypes]

    def mappings(self, tuple args not None):
        """(inputs, outputs): for each tensor its axes' axes of the mesh, and the axes that it is a partial sum over."""
        cdef Answers answers = Answers()
        self.called(self.row.infer_sharding, args, None, answers)
        return answers.inputs, answers.outputs

    cdef list called(self, umiak_function function, tuple args, tuple counts, Answers answers):
        global RUNNING, CALLS_HERE
        cdef umiak_value[16] inline
        cdef umiak_value* values = inline
        cdef umiak_tensor* results[MAX_RESULTS]
        cdef umiak_call call
        cdef list kept = [], out = []
        cdef int64_t i, n = len(args), elements = 0, before
        cdef int status
        if function == NULL:
            raise NotImplementedError(f"[{self.label}] requires a function that its library does not have ({self.file}:{self.line})")
        if n > 16:
            values = <umiak_value*>room_for(kept, n * sizeof(umiak_value))
        try:
            for i in range(n):
                fill_value(&values[i], args[i], kept, self.kind == NAMED_OPERATOR)
        except (TypeError, ValueError, OverflowError) as error:
            if type(error) not in (TypeError, ValueError, OverflowError):
                raise
            raise type(error)(f"[{self.label}] argument {i}: {error}") from None
        for x in kept:
            if type(x) is Handle:
                elements += (<Handle>x).t.numel
        memset(&call, 0, sizeof(umiak_call))
        memset(results, 0, sizeof(results))
        call.size = sizeof(umiak_call)
        call.n_arguments = n
        call.arguments = values
        call.room = MAX_RESULTS
        call.results = results
        if counts is not None:
            call.counts = ints_of(counts, kept)
        call.context = <void*>answers
        call.complain = <void (*)(void*, const char*, const char*) noexcept nogil>complain
        call.give_shape = <void (*)(void*, int32_t, const int64_t*) noexcept nogil>give_shape
        call.give_dtype = <void (*)(void*, int32_t) noexcept nogil>give_dtype
        call.give_mapping = <void (*)(void*, int32_t, int32_t, const int64_t*, int32_t, const int64_t*) noexcept nogil>give_mapping
        before = lent_before()
        RUNNING += 1
        CALLS_HERE += 1
        if elements > LONG_CALL:
            with nogil:
                status = function(self.row.self, &call)
        else:
            status = function(self.row.self, &call)
        RUNNING -= 1
        CALLS_HERE -= 1
        take_back(before)
        if status != UMIAK_OK:
            for i in range(min(max(call.n_results, 0), MAX_RESULTS)):
                if results[i] != NULL:
                    release_locked(results[i])
            self.fail(status, answers)
        if ERRORS:
            ERRORS.pop(threading.get_ident(), None)        # one that the library has caught
        for i in range(min(max(call.n_results, 0), MAX_RESULTS)):
            out.append(tensor_at(results[i]))
            if results[i] != NULL:
                release_locked(results[i])
        return out

    cdef int fail(self, int status, Answers answers) except -1:
        kept = ERRORS.pop(threading.get_ident(), None) if ERRORS else None
        if status == UMIAK_HOST_FAILED and kept is not None:
            error = kept[0]
            if type(error).__module__ != "builtins" or len(error.args) != 1:
                raise error
            raise type(error)(f"[{self.label}] {error}") from error
        kind, text = answers.complaints[len(answers.complaints) - 1] if answers.complaints else ("RuntimeError", f"it failed with status {status} and no message")
        if not text.endswith(")") or ":" not in text.rpartition("(")[2]:
            text = f"{text} (of the operator at {self.file}:{self.line})"
        raise error_class(kind)(f"[{self.label}] {text}")

    def __repr__(self):
        return f"<declaration of {self.name} at {self.file}:{self.line}>"


cdef Declaration declaration(const umiak_operator* row, str path):
    if row == NULL or row.size < sizeof(umiak_operator):
        raise ImportError(f"[load] requires tables of operators of {sizeof(umiak_operator)} bytes in {path}, got a smaller one")
    cdef Declaration d = Declaration.__new__(Declaration)
    d.row = row
    d.kind = row.kind
    d.name, d.key, d.file, d.line = text_at(row.name), text_at(row.key), text_at(row.file), row.line
    d.inputs, d.outputs = names_at(row.inputs), names_at(row.outputs)
    d.attributes, d.inplace = names_at(row.attributes), names_at(row.inplace)
    d.label = d.name
    return d


# Fields that every table has: a table may come from a library that is wrong about all else.
cdef enum:
    TABLE_HEAD = 8

def open_library(str path not None):
    """The declarations of a library, in their order. It stays in the process.

    ImportError where it cannot be loaded, has no operators, or is of another version of the interface.
    """
    cdef bytes name = path.encode(sys.getfilesystemencoding(), "surrogateescape")
    cdef void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)
    cdef void* entry
    cdef const umiak_extension_table* table
    cdef int64_t i
    if library == NULL:
        raise ImportError(f"[load] requires a library that loads, got {text_at(dlerror())}. Something that it uses is defined nowhere, or "
                          "it was built for another framework: build it with paddle.utils.cpp_extension", path=path)
    entry = dlsym(library, "umiak_extension")
    if entry == NULL:
        raise ImportError(f"[load] requires a library with operators, got {path}, which has no function umiak_extension. Include "
                          "paddle/extension.h or torch/library.h of this installation in one of its sources", path=path)
    with nogil:
        table = (<umiak_extension_function>entry)(&HOST)
    if table == NULL or table.size < TABLE_HEAD:
        raise ImportError(f"[load] requires a table of operators, got none from {path}", path=path)
    own = f"{UMIAK_ABI_MAJOR}.{UMIAK_ABI_MINOR}"
    if table.abi_major != UMIAK_ABI_MAJOR or table.abi_minor > UMIAK_ABI_MINOR:
        raise ImportError(f"[load] requires an extension that was built for version {own} of the interface, or an earlier "
                          f"{UMIAK_ABI_MAJOR}.x, got {path}, which was built for {table.abi_major}.{table.abi_minor}. Build it again with the "
                          "headers of this installation (paddle.sysconfig.get_include())", path=path)
    if table.size < sizeof(umiak_extension_table):
        raise ImportError(f"[load] requires a table of {sizeof(umiak_extension_table)} bytes, got {table.size} from {path}", path=path)
    if table.error != NULL:
        raise ImportError(f"[load] requires declarations that are right in {path}, got: {text_at(table.error)}", path=path)
    return [declaration(table.operators[i], path) for i in range(table.n_operators)]


def abi_version():
    """(major, minor) of the interface of extensions."""
    return UMIAK_ABI_MAJOR, UMIAK_ABI_MINOR
