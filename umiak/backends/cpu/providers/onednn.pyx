"""oneDNN through ``dlopen``: nothing of it is needed to build, and a system without it runs on other providers."""
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport strcmp, strncmp, memset

from umiak.backends.cpu.providers.common cimport LIBRARY_FAILED, NO_MEMORY, scratch_free, lock, scratch_alloc, threads, unlock

cdef extern from "<dlfcn.h>" nogil:
    void* dlopen(const char* name, int flags)
    void* dlsym(void* handle, const char* name)
    const char* dlerror()
    int dlclose(void* handle)
    int RTLD_NOW
    int RTLD_LOCAL

cdef extern from "signals.h" nogil:
    int umiak_signals_init()
    void umiak_signals_stack()

ctypedef const char* (*name_t)(int) noexcept nogil

cdef struct Version:
    int major, minor, patch
    const char* hash
    unsigned cpu_runtime, gpu_runtime

ctypedef const Version* (*version_t)() noexcept nogil

cdef enum:
    RUNTIME_SEQUENTIAL = 1
    RUNTIME_OPENMP = 2

if umiak_signals_init() != 0:
    raise MemoryError("no key for thread-specific data is left")

cdef Library lib
cdef bint usable = False
cdef object version_found = None

# Numbers are not part of the C symbols, so a library is trusted only when it calls them as we do.
_ALGORITHMS = {
    CONVOLUTION_DIRECT: b"convolution_direct", POOLING_AVERAGE: b"pooling_avg_include_padding", ELTWISE_RELU: b"eltwise_relu", ELTWISE_TANH: b"eltwise_tanh",
    ELTWISE_LOGISTIC: b"eltwise_logistic", ELTWISE_GELU_TANH: b"eltwise_gelu_tanh", ELTWISE_SWISH: b"eltwise_swish",
    ELTWISE_GELU_ERF: b"eltwise_gelu_erf", BINARY_ADD: b"binary_add",
}
_TYPES = {F16: b"f16", BF16: b"bf16", F32: b"f32", S32: b"s32"}


cdef Library* library() noexcept nogil:
    return &lib if usable else NULL


cdef int bind(void* handle, void** target, bytes name) except -1:
    target[0] = dlsym(handle, name)
    if target[0] == NULL:
        raise OSError(f"it lacks {name.decode()}")
    return 0


cdef int probe(void* handle) except -1:
    """Fill ``lib`` from an open library; OSError says why it cannot be used."""
    cdef version_t version
    cdef name_t algorithm, data_type
    cdef const Version* v
    bind(handle, <void**>&version, b"dnnl_version")
    v = version()
    global version_found
    version_found = (v.major, v.minor, v.patch)
    if v.major != 3:
        raise OSError(f"it requires version 3, got {v.major}.{v.minor}.{v.patch}")
    if v.cpu_runtime not in (RUNTIME_SEQUENTIAL, RUNTIME_OPENMP):
        raise OSError(f"it requires a library for OpenMP or one thread, got CPU runtime {v.cpu_runtime}")
    bind(handle, <void**>&algorithm, b"dnnl_alg_kind2str")
    bind(handle, <void**>&data_type, b"dnnl_dt2str")
    for number, name in _ALGORITHMS.items():
        if <bytes>algorithm(number) != name:
            raise OSError(f"it requires algorithm {number} to be {name.decode()}, got {(<bytes>algorithm(number)).decode()}")
    for number, name in _TYPES.items():
        if <bytes>data_type(number) != name:
            raise OSError(f"it requires data type {number} to be {name.decode()}, got {(<bytes>data_type(number)).decode()}")
    bind(handle, <void**>&lib.sgemm, b"dnnl_sgemm")
    bind(handle, <void**>&lib.engine_create, b"dnnl_engine_create")
    bind(handle, <void**>&lib.stream_create, b"dnnl_stream_create")
    bind(handle, <void**>&lib.desc_strided, b"dnnl_memory_desc_create_with_strides")
    bind(handle, <void**>&lib.desc_tagged, b"dnnl_memory_desc_create_with_tag")
    bind(handle, <void**>&lib.desc_named, b"dnnl_memory_desc_create_with_string_tag")
    bind(handle, <void**>&lib.desc_clone, b"dnnl_memory_desc_clone")
    bind(handle, <void**>&lib.desc_destroy, b"dnnl_memory_desc_destroy")
    bind(handle, <void**>&lib.desc_equal, b"dnnl_memory_desc_equal")
    bind(handle, <void**>&lib.desc_size, b"dnnl_memory_desc_get_size")
    bind(handle, <void**>&lib.memory_create, b"dnnl_memory_create")
    bind(handle, <void**>&lib.memory_set, b"dnnl_memory_set_data_handle")
    bind(handle, <void**>&lib.memory_destroy, b"dnnl_memory_destroy")
    bind(handle, <void**>&lib.attr_create, b"dnnl_primitive_attr_create")
    bind(handle, <void**>&lib.attr_destroy, b"dnnl_primitive_attr_destroy")
    bind(handle, <void**>&lib.attr_scratchpad, b"dnnl_primitive_attr_set_scratchpad_mode")
    bind(handle, <void**>&lib.attr_post_ops, b"dnnl_primitive_attr_set_post_ops")
    bind(handle, <void**>&lib.post_ops_create, b"dnnl_post_ops_create")
    bind(handle, <void**>&lib.post_ops_destroy, b"dnnl_post_ops_destroy")
    bind(handle, <void**>&lib.append_eltwise, b"dnnl_post_ops_append_eltwise")
    bind(handle, <void**>&lib.append_sum, b"dnnl_post_ops_append_sum")
    bind(handle, <void**>&lib.append_binary, b"dnnl_post_ops_append_binary")
    bind(handle, <void**>&lib.matmul, b"dnnl_matmul_primitive_desc_create")
    bind(handle, <void**>&lib.conv, b"dnnl_convolution_forward_primitive_desc_create")
    bind(handle, <void**>&lib.conv_data, b"dnnl_convolution_backward_data_primitive_desc_create")
    bind(handle, <void**>&lib.conv_weights, b"dnnl_convolution_backward_weights_primitive_desc_create")
    bind(handle, <void**>&lib.pool, b"dnnl_pooling_forward_primitive_desc_create")
    bind(handle, <void**>&lib.pool_back, b"dnnl_pooling_backward_primitive_desc_create")
    bind(handle, <void**>&lib.reorder, b"dnnl_reorder_primitive_desc_create")
    bind(handle, <void**>&lib.pd_destroy, b"dnnl_primitive_desc_destroy")
    bind(handle, <void**>&lib.pd_query, b"dnnl_primitive_desc_query")
    bind(handle, <void**>&lib.pd_desc, b"dnnl_primitive_desc_query_md")
    bind(handle, <void**>&lib.primitive_create, b"dnnl_primitive_create")
    bind(handle, <void**>&lib.primitive_destroy, b"dnnl_primitive_destroy")
    bind(handle, <void**>&lib.execute, b"dnnl_primitive_execute")
    bind(handle, <void**>&lib.isa_query, b"dnnl_get_effective_cpu_isa")
    bind(handle, <void**>&lib.cache_capacity, b"dnnl_set_primitive_cache_capacity")
    lib.omp_max, lib.omp_set = NULL, NULL
    if v.cpu_runtime == RUNTIME_OPENMP:
        # Of the very libgomp that this library is bound to: a process may hold several.
        bind(handle, <void**>&lib.omp_max, b"omp_get_max_threads")
        bind(handle, <void**>&lib.omp_set, b"omp_set_num_threads")
    if lib.engine_create(&lib.engine, 1, 0) or lib.stream_create(&lib.stream, lib.engine, 1):
        raise OSError("it makes no engine for the CPU")
    lib.isa = lib.isa_query()
    # Primitives are cached here; its own cache would only keep those that were evicted.
    lib.cache_capacity(0)
    return 0


def load(str path):
    """Use the library at ``path`` from now on. OSError says why not; then nothing has changed."""
    global usable
    cdef void* handle = dlopen(path.encode(), RTLD_NOW | RTLD_LOCAL)
    if handle == NULL:
        raise OSError(f"oneDNN at {path} cannot be used: {dlerror().decode()}")
    if usable:
        return
    try:
        probe(handle)
    except OSError as error:
        dlclose(handle)
        raise OSError(f"oneDNN at {path} cannot be used: {error}") from None
    usable = True


def loaded():
    """Its version, or None."""
    return version_found if usable else None


def isa():
    """Its name for the instructions it uses, as a number of ``dnnl_cpu_isa_t``."""
    return lib.isa


cdef int enter() noexcept nogil:
    cdef int before, n = threads()
    umiak_signals_stack()
    if lib.omp_max == NULL:
        return n
    before = lib.omp_max()
    if before != n:
        lib.omp_set(n)
    return before


cdef void leave(int before) noexcept nogil:
    # The count belongs to the calling thread and to everyone who uses this OpenMP on it.
    if lib.omp_set != NULL and before != threads():
        lib.omp_set(before)


cdef void drop(handle_t desc) noexcept nogil:
    """A memory descriptor, or NULL."""
    if desc != NULL:
        library().desc_destroy(desc)


cdef void drop_wishes(handle_t ops, handle_t attr) noexcept nogil:
    """Post-ops and attributes, or NULL."""
    if ops != NULL:
        library().post_ops_destroy(ops)
    if attr != NULL:
        library().attr_destroy(attr)


cdef handle_t worth_having(handle_t pd, handle_t hint, bint bad) noexcept nogil:
    """A primitive's descriptor, unless it failed or has only plain loops; its hint is dropped."""
    if hint != NULL:
        library().pd_destroy(hint)
    if pd != NULL and (bad or is_reference(pd)):
        library().pd_destroy(pd)
        return NULL
    return pd


cdef bint is_reference(handle_t pd) noexcept nogil:
    """Return whether the library has only its slow plain loops for this."""
    cdef const char* name = NULL
    if lib.pd_query(pd, QUERY_IMPL, 0, &name) or name == NULL:
        return True
    return strncmp(name, "ref", 3) == 0 or strncmp(name, "simple:", 7) == 0 and strcmp(name, "simple:any") == 0


# --- programs -------------------------------------------------------------------------------------------------------
# Primitives run one after the other over buffers: pointers of the launch, or places in one block of scratch.


cdef Program* new_program() noexcept nogil:
    return <Program*>calloc(1, sizeof(Program))


cdef void free_program(void* value) noexcept nogil:
    cdef Program* p = <Program*>value
    cdef Set* s
    cdef int i
    if p == NULL:
        return
    while p.free_sets != NULL:
        s = p.free_sets
        p.free_sets = s.next
        free_set(p, s)
    for i in range(p.step_count):
        if p.steps[i].primitive != NULL:
            lib.primitive_destroy(p.steps[i].primitive)
    for i in range(p.buffer_count):
        lib.desc_destroy(p.desc[i])
    free(p)


cdef void free_set(Program* p, Set* s) noexcept nogil:
    cdef int i
    for i in range(p.buffer_count):
        if s.memory[i] != NULL:
            lib.memory_destroy(s.memory[i])
    free(s)


cdef int add_buffer(Program* p, handle_t desc, int external) noexcept nogil:
    """The number of a new buffer, or -1. ``desc`` is copied."""
    cdef int i = p.buffer_count
    if i == MAX_BUFFERS or lib.desc_clone(&p.desc[i], desc):
        return -1
    p.buffer_count += 1
    p.external[i] = external
    if external >= 0:
        p.external_count = max(p.external_count, external + 1)
    else:
        p.offset[i] = p.scratch
        p.scratch += (<int64_t>lib.desc_size(desc) + 63) // 64 * 64
    return i


cdef Step* add_step(Program* p, handle_t pd) noexcept nogil:
    """A step that runs a primitive of this description, with its scratchpad; NULL when there is none."""
    cdef Step* s = &p.steps[p.step_count]
    cdef handle_t scratchpad
    cdef int buffer
    if p.step_count == MAX_STEPS or lib.primitive_create(&s.primitive, pd):
        return NULL
    p.step_count += 1
    scratchpad = lib.pd_desc(pd, QUERY_SCRATCHPAD, 0)
    if scratchpad != NULL and lib.desc_size(scratchpad):
        buffer = add_buffer(p, scratchpad, -1)
        if buffer < 0 or add_argument(s, ARG_SCRATCHPAD, buffer):
            return NULL
    return s


cdef int add_argument(Step* s, int arg, int buffer) noexcept nogil:
    if s.count == MAX_ARGUMENTS or buffer < 0:
        return 1
    s.arg[s.count], s.buffer[s.count] = arg, buffer
    s.count += 1
    return 0


cdef int reordered(Program* p, int source, int target) noexcept nogil:
    """Add a step that copies one buffer to another that lies differently; not 0 where that failed."""
    cdef handle_t pd = NULL, attr = NULL
    cdef Step* step = NULL
    if source < 0 or target < 0:
        return 1
    if lib.attr_create(&attr) == 0 and lib.attr_scratchpad(attr, 1) == 0:
        if lib.reorder(&pd, p.desc[source], lib.engine, p.desc[target], lib.engine, attr) == 0:
            step = add_step(p, pd)
    if pd != NULL:
        lib.pd_destroy(pd)
    if attr != NULL:
        lib.attr_destroy(attr)
    return step == NULL or add_argument(step, ARG_SRC, source) or add_argument(step, ARG_DST, target)


cdef Set* new_set(Program* p) noexcept nogil:
    cdef Set* s = <Set*>calloc(1, sizeof(Set))
    cdef int i, j
    if s == NULL:
        return NULL
    for i in range(p.buffer_count):
        if lib.memory_create(&s.memory[i], p.desc[i], lib.engine, NULL):
            free_set(p, s)
            return NULL
    for i in range(p.step_count):
        for j in range(p.steps[i].count):
            s.arguments[i][j].arg = p.steps[i].arg[j]
            s.arguments[i][j].memory = s.memory[p.steps[i].buffer[j]]
    return s


cdef int run_program(Program* p, void** externals) noexcept nogil:
    """Between ``enter`` and ``leave``: primitives run on as many threads as they were made for."""
    cdef Set* s
    cdef char* scratch = NULL
    cdef int i, bad = 0
    lock()
    s = p.free_sets
    if s != NULL:
        p.free_sets = s.next
    unlock()
    if s == NULL:
        s = new_set(p)
        if s == NULL:
            return NO_MEMORY
    if p.scratch:
        scratch = <char*>scratch_alloc(p.scratch)
        if scratch == NULL:
            bad = NO_MEMORY
    if not bad:
        for i in range(p.buffer_count):
            lib.memory_set(s.memory[i], externals[p.external[i]] if p.external[i] >= 0 else scratch + p.offset[i])
        for i in range(p.step_count):
            if lib.execute(p.steps[i].primitive, lib.stream, p.steps[i].count, s.arguments[i]):
                bad = LIBRARY_FAILED
                break
    scratch_free(scratch)
    lock()
    s.next = p.free_sets
    p.free_sets = s
    unlock()
    return bad
