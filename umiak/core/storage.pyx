"""Memory that may move, the allocators it comes from, and what must be over before it goes back."""
cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint32_t

from umiak.core.context cimport EngineContext, context_pointer
from umiak.core.stream cimport RUNNING, STREAM_PLACES, get_stream, mark_opened, open_place, record_ticket, stream_idle, stream_state, ticket_done, wait_ticket
from umiak.core.stream import place_name
from umiak.util.errors import called

cdef extern from *:
    """
    #include "umiak/util/object_pool.h"
    UMIAK_POOL(umiak_storages, 512, 0, UMIAK_STRAIGHT, UMIAK_STRAIGHT_END)
    """
    object umiak_own(PyObject*)
    PyObject* umiak_storages_take()
    void umiak_storages_open(PyTypeObject*, void (*)(PyObject*) noexcept)

cdef PyObject* _allocators[64]         # owned references, by place index
cdef list _waiting = []                # foreign memory in use when it was dropped: [owner, place, [(stream, ticket), ...]]


cdef class Allocator:
    """Gives and takes back raw memory of one place. ``access``: 0 for a device's memory, 1 for the host's, 2 for none at all."""

    cdef int allocate(self, Storage s, int64_t nbytes, int64_t stream) except -1:
        raise NotImplementedError(f"{type(self).__name__} cannot allocate")

    cdef void release(self, Storage s) noexcept:
        pass

    cdef int relocate(self, Storage s) except -1:
        raise NotImplementedError(f"{type(self).__name__} cannot move memory")

    cdef int copy(self, char* target, const char* source, int64_t nbytes) except -1:
        raise NotImplementedError(f"{type(self).__name__} cannot copy memory")

    cdef object save(self, Storage s):
        raise NotImplementedError(f"{type(self).__name__} cannot offload memory")

    cdef int load(self, Storage s, object kept) except -1:
        raise NotImplementedError(f"{type(self).__name__} cannot offload memory")

    def stats(self):
        """Counts as a dict of ints; see umiak.memory.stats."""
        return {}

    def empty_cache(self):
        """Give cached memory back to the system; returns how many bytes."""
        return 0


# no_gc: what a storage refers to is memory (an allocator, a list of ints, the owner of a buffer), not a graph. A buffer whose
# owner refers back to a tensor over it is never collected; in exchange no op pays for a tracked storage.
@cython.no_gc
cdef class Storage:
    """A piece of memory of one place, shared by tensors. Made by :func:`allocate`, freed with its last reference."""

    def __init__(self):
        raise TypeError("storages are made by allocate(place, nbytes)")

    def __dealloc__(self):
        end(self)

    @property
    def version(self):
        return self.version

    @property
    def pinned(self):
        return self.pins > 0

    @property
    def foreign(self):
        """True where the memory belongs to someone else (NumPy, DLPack)."""
        return self.allocator is None

    @property
    def later_streams(self):
        """Streams beside the owning one that used it; it is not reused before they are done."""
        return tuple(self.later) if self.later is not None else ()

    def data_ptr(self):
        """The address at this moment. Pin the storage to keep it."""
        resident(self)
        return <size_t>self.data

    def pin(self):
        """Count one more user of the address; a pinned storage does not move."""
        resident(self)
        pin(self)

    def unpin(self):
        if self.pins <= 0:
            raise RuntimeError("unpin() requires a pinned storage")
        unpin(self)

    def bump(self):
        """Count an in-place write."""
        bump_storage(self)

    def use_on_stream(self, int64_t stream):
        """Tell that work on ``stream`` uses this memory: when freed, it waits for that work."""
        use_on_stream(self, stream)

    def come_after_users(self, int64_t stream):
        """Let later work of a stream wait for the others that are known to use this memory. The host does not wait."""
        if self.stream != stream:
            get_stream(self.place, stream).wait(get_stream(self.place, self.stream).record())
        if self.later is not None:
            for other in tuple(self.later):             # a wait may let other threads run
                if other != stream:
                    get_stream(self.place, stream).wait(get_stream(self.place, other).record())

    def wait_for_users(self):
        """Let the host wait for all streams that are known to use this memory."""
        get_stream(self.place, self.stream).synchronize()
        if self.later is not None:
            for other in tuple(self.later):
                get_stream(self.place, other).synchronize()

    def relocate(self):
        """Move to other memory of the same allocator (as defragmenting does)."""
        check_movable(self, "relocate()")
        self.allocator.relocate(self)

    def offload(self):
        """Save the contents elsewhere and give the memory back. The next use brings them back, at another address."""
        cdef uint32_t version, generation
        cdef Storage memory
        while self.state != OFFLOADED:
            check_movable(self, "offload()")
            version = self.version
            generation = self.generation
            kept = self.allocator.save(self)            # which may let other threads run
            if self.state == RESIDENT and self.version == version and self.generation == generation and not self.pins and not RUNNING[self.place]:
                memory = give_up(self, OFFLOADED)
                self.owner = kept

    def reload(self):
        """Bring offloaded contents back."""
        resident(self)

    def fill(self):
        """Get memory, whose contents are arbitrary, if the storage is unfilled."""
        fill(self)

    def free(self):
        """Give the memory back although tensors still refer to it. Any later use is an error."""
        if self.state == FREED:
            return
        if self.pins > 0:
            raise RuntimeError(f"free() requires a storage whose address is not in use, got one with {self.pins} pins")
        if RUNNING[self.place]:
            raise RuntimeError(f"free() requires that no kernel is running on {place_name(self.place)}: it may use the memory")
        if self.allocator is None:
            drop_foreign(self)
        elif self.state == RESIDENT:
            give_up(self, FREED)
        self.owner = None
        vacate(self, FREED)

    def __repr__(self):
        state = ("resident", "offloaded", "freed", "unfilled")[self.state]
        return f"Storage({place_name(self.place)}, {self.nbytes} bytes, {state}, stream={self.stream}, generation={self.generation}, pins={self.pins})"


cdef int end(Storage s) except -1:
    """Nobody refers to it any more."""
    if s.allocator is not None:
        if s.state == RESIDENT:
            s.allocator.release(s)
    elif s.owner is not None:
        drop_foreign(s)
    return 0


cdef void empty_storage(PyObject* o) noexcept:
    """End it, and leave it as a new one."""
    end(<Storage>o)
    (<Storage>o).data = NULL
    (<Storage>o).nbytes = (<Storage>o).capacity = (<Storage>o).handle = (<Storage>o).stream = 0
    (<Storage>o).version = (<Storage>o).generation = 0
    (<Storage>o).pins = (<Storage>o).place = 0
    (<Storage>o).state = RESIDENT
    # None takes the place of None for nothing but time.
    if (<Storage>o).later is not None: (<Storage>o).later = None
    if (<Storage>o).allocator is not None: (<Storage>o).allocator = None
    if (<Storage>o).owner is not None: (<Storage>o).owner = None


cdef inline Storage fresh():
    cdef PyObject* o = umiak_storages_take()
    return <Storage>umiak_own(o) if o != NULL else Storage.__new__(Storage)


umiak_storages_open(<PyTypeObject*>Storage, empty_storage)


cdef int vacate(Storage s, int state) except -1:
    s.data = NULL
    s.capacity = 0
    s.later = None
    s.state = state
    return 0


cdef Storage give_up(Storage s, int state):
    """Take the memory of a storage; the result releases it when it goes. That may let other threads run, for which it is gone."""
    cdef Storage memory = fresh()
    memory.nbytes = s.nbytes
    memory.stream = s.stream
    memory.place = s.place
    memory.later = s.later
    memory.data = s.data
    memory.capacity = s.capacity
    memory.handle = s.handle
    memory.allocator = s.allocator
    vacate(s, state)
    return memory


cdef Storage room_for(Storage s):
    """Memory for a storage that has none. To get it may let other threads run, which may be first."""
    cdef Storage memory = fresh()
    memory.nbytes = s.nbytes
    memory.stream = s.stream
    memory.place = s.place
    s.allocator.allocate(memory, s.nbytes, s.stream)
    memory.allocator = s.allocator
    return memory


cdef int take_over(Storage s, Storage memory) except -1:
    """The memory becomes that of a storage which has none."""
    s.data = memory.data
    s.capacity = memory.capacity
    s.handle = memory.handle
    s.owner = None
    s.state = RESIDENT
    s.generation += 1
    memory.allocator = None
    return 0


cdef int check_movable(Storage s, str what) except -1:
    if s.allocator is None:
        raise RuntimeError(f"{what} requires memory of one of our allocators, got memory of {type(s.owner).__name__}")
    if s.state == FREED:
        raise RuntimeError(f"{what} requires a storage that was not freed")
    resident(s)
    if s.pins > 0:
        raise RuntimeError(f"{what} requires a storage whose address is not in use, got one with {s.pins} pins")
    if not quiet(s):
        raise RuntimeError(f"{what} requires a storage that no stream is using; synchronize {place_name(s.place)} first")
    return 0


cdef int quiet(Storage s) except -1:
    """Return whether nothing that may use the memory is still running."""
    if RUNNING[s.place] or not stream_idle(s.place, s.stream):
        return 0
    if s.later is not None:
        for stream in s.later:
            if not stream_idle(s.place, stream):
                return 0
    return 1


cdef int move_to(Storage s, char* data, int64_t capacity, int64_t handle) except -1:
    cdef uint32_t version = s.version, generation = s.generation
    check_movable(s, "move_to()")
    if capacity < s.nbytes:
        raise ValueError(f"move_to() requires room for {s.nbytes} bytes, got {capacity}")
    s.allocator.copy(data, s.data, s.nbytes)
    if s.version != version or s.generation != generation or s.state != RESIDENT or s.pins or RUNNING[s.place]:
        raise RuntimeError("move_to() requires a storage that no other thread uses meanwhile; have them wait, or call it again")
    s.data = data
    s.capacity = capacity
    s.handle = handle
    s.generation += 1
    return 0


cdef bint exchange(Storage s, Storage other) noexcept:
    """Let two storages of one size have each other's memory. False, and nothing is done, where somebody may know an address."""
    if s.place != other.place or s.stream != other.stream or s.nbytes != other.nbytes or s.state | other.state or s.pins | other.pins or \
            s.allocator is None or s.allocator is not other.allocator or s.later is not None or other.later is not None or RUNNING[s.place]:
        return False
    s.data, other.data = other.data, s.data
    s.capacity, other.capacity = other.capacity, s.capacity
    s.handle, other.handle = other.handle, s.handle
    s.generation += 1
    other.generation += 1
    return True


cdef int adopt(Storage s, Storage other) except -1:
    """Foreign memory becomes that of ``other``, which holds the same contents and is given up."""
    s.data = other.data
    s.capacity = other.capacity
    s.handle = other.handle
    s.stream = other.stream
    s.allocator = other.allocator
    s.owner = None
    s.generation += 1
    other.allocator = None
    return vacate(other, FREED)


cdef int forsake(Storage s) except -1:
    """Let go of foreign memory, of which the storage has nothing any more."""
    s.owner = None
    return vacate(s, FREED)


cdef int make_resident(Storage s) except -1:
    if s.state == FREED:
        raise RuntimeError("this tensor's memory was freed by free(); make a new tensor, or free it later")
    if s.state == UNFILLED:
        raise RuntimeError(s.owner)
    cdef Storage memory
    cdef object kept
    while s.state == OFFLOADED:
        kept = s.owner
        memory = room_for(s)
        # By stream order the memory may be one that queued work still uses, which `load` does not wait for.
        if s.allocator.access == ACCESS_DEVICE and not stream_idle(s.place, s.stream):
            wait_ticket(stream_state(s.place, s.stream), record_ticket(s.place, s.stream))
        s.allocator.load(memory, kept)
        if s.owner is kept and s.state == OFFLOADED:
            take_over(s, memory)
    if s.state == FREED:
        raise RuntimeError("this tensor's memory was freed while it was brought back")
    return 0


cdef int fill(Storage s) except -1:
    cdef Storage memory
    if s.state == UNFILLED:
        memory = room_for(s)
        if s.state == UNFILLED:
            take_over(s, memory)
    return 0


cdef void use_on_stream(Storage s, int64_t stream):
    if stream == s.stream:
        return
    if s.later is None:
        s.later = [stream]
    elif stream not in s.later:
        s.later.append(stream)


cdef int drop_foreign(Storage s) except -1:
    """Let go of the owner of foreign memory, once the streams that used it are done."""
    if not _waiting and not RUNNING[s.place] and s.stream == 0 and s.later is None and stream_idle(s.place, 0):
        return 0                            # the usual case: the reference in s.owner is dropped by the caller
    collect_foreign()
    cdef list tickets = []
    for stream in [s.stream] + (s.later or []):
        if not stream_idle(s.place, stream):
            tickets.append((stream, record_ticket(s.place, stream)))
    if tickets:
        _waiting.append([s.owner, s.place, tickets])
    return 0


def collect_foreign():
    """Let go of foreign memory whose last users are done; returns how many buffers still wait."""
    global _waiting
    cdef list kept = []
    cdef list entry
    for entry in _waiting:
        entry[2] = [(stream, ticket) for stream, ticket in entry[2] if not ticket_done(entry[1], stream, ticket)]
        if entry[2]:
            kept.append(entry)
    former = _waiting
    _waiting = kept
    del former[:]                           # may run arbitrary destructors: after the list is in order
    return len(_waiting)


cdef Allocator find_allocator(int place):
    """Ask the backend of a place without an allocator for one, or say that there is none."""
    if 0 <= place < STREAM_PLACES:
        open_place(place)
        if _allocators[place] != NULL:
            return <Allocator>_allocators[place]
    raise RuntimeError(f"{place_name(place)} has no allocator: no backend is registered for it, or its backend gave none")


cdef Allocator get_allocator(int place):
    if 0 <= place < STREAM_PLACES and _allocators[place] != NULL:
        return <Allocator>_allocators[place]
    return find_allocator(place)


cdef int place_access(int place) except -1:
    return get_allocator(place).access


cdef int set_allocator(int place, Allocator a) except -1:
    if place < 0 or place >= STREAM_PLACES:
        raise ValueError(f"requires a place index in [0, {STREAM_PLACES}), got {place}")
    cdef PyObject* former = _allocators[place]
    if a is None:
        _allocators[place] = NULL
    else:
        Py_INCREF(a)
        _allocators[place] = <PyObject*>a
        mark_opened(place)
    Py_XDECREF(former)
    return 0


cdef Storage new_storage(int place, int64_t nbytes, int64_t stream):
    cdef PyObject* a = _allocators[place]
    cdef Storage s
    if a == NULL:
        find_allocator(place)               # raises, or fills the table
        a = _allocators[place]
    s = fresh()
    s.nbytes = nbytes
    s.stream = stream
    s.place = place
    (<Allocator>a).allocate(s, nbytes, stream)
    s.allocator = <Allocator>a              # only now: a failed allocation has nothing to release
    return s


cdef Storage unfilled_storage(int place, int64_t nbytes, int64_t stream, str why):
    """A storage without memory; reading it is a RuntimeError with the text ``why``."""
    cdef Storage s = fresh()
    s.nbytes = nbytes
    s.stream = stream
    s.place = place
    s.allocator = get_allocator(place)
    s.owner = why
    s.state = UNFILLED
    return s


cdef Storage foreign_storage(int place, char* data, int64_t nbytes, object owner):
    cdef Storage s = fresh()
    s.data = data
    s.nbytes = nbytes
    s.capacity = nbytes
    s.place = place
    s.owner = owner
    return s


cdef str size_text(int64_t n):
    if n < 1 << 10:
        return f"{n} bytes"
    if n < 1 << 20:
        return f"{n / 1024.0:.1f} KiB"
    if n < 1 << 30:
        return f"{n / 1048576.0:.1f} MiB"
    return f"{n / 1073741824.0:.2f} GiB"


cdef int out_of_memory(int place, int64_t nbytes, int64_t allocated, int64_t reserved, int64_t limit, str why) except -1:
    """Raise MemoryError: what was asked for, where, what was in use, what to do."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    op = f"[{called((<object>ctx.running).name)}] " if ctx.running != NULL else ""
    text = f"{op}out of memory on {place_name(place)}: {size_text(nbytes)} requested, {size_text(allocated)} in use, {size_text(reserved)} reserved"
    if limit > 0:
        text += f", limit {size_text(limit)}"
    raise MemoryError(f"{text} ({why}). Use a smaller batch, drop tensors that are not needed, or recompute activations")


# ---- Python face

def allocate(int place, int64_t nbytes, int64_t stream=0):
    """A storage of ``nbytes`` bytes on a place (by index), owned by a stream."""
    if place < 0 or place >= STREAM_PLACES or nbytes < 0:
        raise ValueError(f"requires a place index in [0, {STREAM_PLACES}) and a size of at least 0, got {place} and {nbytes}")
    return new_storage(place, nbytes, stream)


def allocator(int place):
    """The allocator of a place."""
    return get_allocator(place)


def install_allocator(int place, Allocator a):
    """Set the allocator of a place (None: none); storages keep the one they came from. Returns the former one."""
    former = <object>_allocators[place] if 0 <= place < STREAM_PLACES and _allocators[place] != NULL else None
    set_allocator(place, a)
    return former


globals().update(UNFILLED=UNFILLED, ACCESS_DEVICE=ACCESS_DEVICE, ACCESS_HOST=ACCESS_HOST, ACCESS_NOTHING=ACCESS_NOTHING)
