# cython: language_level=3, binding=False
"""Launches of a list that run side by side, each on one thread: docs/design/launch.md.

A group is a run of launches that falls apart into lanes, of which none reads or writes what another one writes. Lanes are parts of one piece of
work for the threads; in a lane launches have one thread and come in the order of the list. Which groups there are follows from what launches
take, on one thread and on all, and each group is then compared with the same launches in a row.
"""
from cpython.exc cimport PyErr_Clear, PyErr_Occurred
from libc.stdint cimport INT64_MAX, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

cimport cython
from umiak.core.launch_list cimport Launch, play_launch

from umiak.util import flags

cdef extern from *:
    """
    #include <stdint.h>
    #include <time.h>
    static inline int64_t umiak_clock(void)
    {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
    }
    """
    int64_t umiak_clock() nogil

ctypedef int (*part_t)(void* arg, int64_t part) noexcept nogil
ctypedef int (*lanes_t)(part_t fn, void* arg, int64_t parts) noexcept nogil
ctypedef int (*count_t)() noexcept nogil

cdef enum:
    WINDOW = 128               # launches that a group may have
    PRICE = 4000               # ns that threads take to begin and to end together, where they may sleep
    TRIALS = 4                 # of each way, of which the shortest counts

# What the assembler installs: parts with one thread each, and the number of threads.
cdef lanes_t run_lanes = NULL
cdef count_t thread_count = NULL
cdef int chosen = AUTO

MODES = ("never", "auto", "always")


def install(size_t lanes, size_t count):
    """Have lanes run by ``int lanes(int (*part)(void*, int64_t), void*, int64_t)``, where there are ``int count()`` threads."""
    global run_lanes, thread_count
    run_lanes = <lanes_t><void*>lanes
    thread_count = <count_t><void*>count


def _choose(str name not None):
    global chosen
    if name not in MODES:
        raise ValueError(f"[FLAGS_parallel_branches] requires one of {', '.join(MODES)}, got {name!r}")
    chosen = MODES.index(name)


flags.define(
    "parallel_branches", "auto",
    "launches of a captured program side by side, each on one thread: auto (where that was measured to be faster), never, always (wherever "
    "none needs another one)", on_change=_choose)


cdef int mode() noexcept:
    return chosen


cdef bint wanted() noexcept:
    return chosen != NEVER and thread_count != NULL and thread_count() > 1


# ---- which groups ----------------------------------------------------------------------------------------------------
cdef inline int leader(int* parent, int i) noexcept:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def grouped(list before not None, list alone not None, list together not None, list allowed not None, int threads, int64_t price=PRICE):
    """Groups of launches as (begin, end, lanes), with which a list takes the least time.

    ``before``: for each launch those of smaller number that it has to follow. ``alone``, ``together``: what it takes on one thread, and on all.
    ``allowed``: whether it may be in a group. ``price``: what a group takes besides. Lanes are lists of launches, the longest lane first.
    """
    cdef int n = len(alone), a, b, k, p, q, lanes
    cdef int64_t total, longest, time
    cdef int64_t* best = <int64_t*>malloc((n + 1) * 8)
    cdef int64_t* own = <int64_t*>malloc((n + 1) * 8)
    cdef int64_t* lane = <int64_t*>malloc((n + 1) * 8)
    cdef int64_t* bins = <int64_t*>malloc((threads + 1) * 8)
    cdef int* came = <int*>malloc((n + 1) * sizeof(int))
    cdef int* parent = <int*>malloc((n + 1) * sizeof(int))
    cdef int* start = <int*>malloc((n + 2) * sizeof(int))
    cdef int* edges = <int*>malloc((sum(map(len, before)) + 1) * sizeof(int))
    cdef list groups = []
    try:
        if best == NULL or own == NULL or lane == NULL or bins == NULL or came == NULL or parent == NULL or start == NULL or edges == NULL:
            raise MemoryError()
        k = 0
        for b in range(n):
            own[b] = alone[b]
            best[b + 1] = INT64_MAX
            start[b] = k
            for p in before[b]:
                edges[k] = p
                k += 1
        start[n] = k
        best[0] = 0
        for a in range(n):
            if best[a] + <int64_t>together[a] < best[a + 1]:
                best[a + 1] = best[a] + <int64_t>together[a]
                came[a + 1] = a
            lanes, total, longest = 0, 0, 0
            for b in range(a, min(n, a + WINDOW)):
                if not allowed[b]:
                    break
                parent[b], lane[b] = b, own[b]
                total += own[b]
                lanes += 1
                for k in range(start[b], start[b + 1]):
                    if edges[k] < a:
                        continue
                    p, q = leader(parent, edges[k]), leader(parent, b)
                    if p != q:
                        parent[p] = q
                        lane[q] += lane[p]
                        lanes -= 1
                longest = max(longest, lane[leader(parent, b)])
                if lanes < 2:
                    continue
                time = best[a] + price + with_margin(max(longest, total // threads))
                if time < best[b + 1] and lanes > threads:
                    time = best[a] + price + with_margin(span(parent, lane, a, b + 1, bins, threads))
                if time < best[b + 1]:
                    best[b + 1] = time
                    came[b + 1] = a
        b = n
        while b > 0:
            a = came[b]
            if b - a > 1:
                groups.append((a, b, lanes_of(before, alone, a, b)))
            b = a
        return groups[::-1]
    finally:
        free(best)
        free(own)
        free(lane)
        free(bins)
        free(came)
        free(parent)
        free(start)
        free(edges)


cdef inline int64_t with_margin(int64_t ns) noexcept:
    """Threads share caches and memory."""
    return ns + ns // 10


cdef int64_t span(int* parent, const int64_t* lane, int a, int b, int64_t* bins, int threads) noexcept:
    """Return the time of lanes that threads take in turn."""
    cdef int i, k, least
    cdef int64_t longest = 0
    for k in range(threads):
        bins[k] = 0
    for i in range(a, b):
        if parent[i] != i:
            continue
        least = 0
        for k in range(1, threads):
            if bins[k] < bins[least]:
                least = k
        bins[least] += lane[i]
        longest = max(longest, bins[least])
    return longest


cdef list lanes_of(list before, list alone, int a, int b):
    cdef dict lane = {}        # launch -> the list that it is in
    cdef list one, other
    for i in range(a, b):
        one = [i]
        lane[i] = one
        for p in before[i]:
            if p >= a and lane[p] is not one:
                other = lane[p]
                other += one
                for k in one:
                    lane[k] = other
                one = other
    distinct = {id(x): sorted(x) for x in lane.values()}.values()
    return sorted(distinct, key=lambda x: -sum([alone[i] for i in x]))


# ---- runs ------------------------------------------------------------------------------------------------------------
cdef struct Lanes:             # a group at work
    void* branches
    Group* group
    void** ptrs
    const int64_t* regs
    int64_t stream

cdef struct One:
    const Launch* launch
    void** ptrs
    const int* scalars
    const int64_t* regs
    uint64_t* words
    int64_t stream
    int code


cdef int run_lane(void* arg, int64_t number) noexcept nogil:
    cdef Lanes* w = <Lanes*>arg
    return play_lane(<Branches>w.branches, w, <int>number)


cdef int play_lane(Branches b, Lanes* w, int number) noexcept nogil:
    cdef Group* g = w.group
    cdef int k, code
    for k in range(g.first[number], g.first[number + 1]):
        code = play_launch(&b.launches[g.order[k]], w.ptrs, b.scalars, w.regs, b.words + number * b.n_words, w.stream)
        if code:
            b.failed[2 * number], b.failed[2 * number + 1] = g.order[k], code
            return 1
    return 0


cdef int run_one(void* arg, int64_t _) noexcept nogil:
    cdef One* w = <One*>arg
    w.code = play_launch(w.launch, w.ptrs, w.scalars, w.regs, w.words, w.stream)
    return 0


@cython.final
cdef class Branches:
    """The groups of a list, or what is known on the way to them."""

    cdef list sets(self):
        """The groups, as ``grouped`` gives them."""
        cdef list costs = [[self.alone[i] for i in range(self.n_launches)], [self.together[i] for i in range(self.n_launches)]]
        cdef int threads = thread_count()
        if chosen == ALWAYS:
            costs = [[1000] * self.n_launches, [2000] * self.n_launches]
        return grouped(self.before, costs[0], costs[1], self.allowed, max(threads, 2), 0 if chosen == ALWAYS else PRICE)

    cdef int set_groups(self, list groups) except -1:
        """Run these from now on."""
        cdef Group* g
        cdef int i, k, number
        self.forget()
        self.groups = <Group*>calloc(len(groups) + 1, sizeof(Group))
        if self.groups == NULL:
            raise MemoryError()
        for i, (begin, end, lanes) in enumerate(groups):
            g = &self.groups[i]
            g.begin, g.end, g.n_lanes, g.used = begin, end, len(lanes), True
            g.apart = g.together = INT64_MAX
            self.n_groups = i + 1
            self.most_lanes = max(self.most_lanes, g.n_lanes)
            g.first = <int*>malloc((g.n_lanes + 1) * sizeof(int))
            g.order = <int*>malloc((end - begin + 1) * sizeof(int))
            if g.first == NULL or g.order == NULL:
                raise MemoryError()
            k = 0
            for number, lane in enumerate(lanes):
                g.first[number] = k
                for launch in lane:
                    g.order[k] = launch
                    k += 1
            g.first[g.n_lanes] = k
        # Lanes write to lines of the cache of their own.
        free(self.words)
        free(self.failed)
        self.words = <uint64_t*>malloc((self.most_lanes + 1) * self.n_words * 8)
        self.failed = <int*>calloc(2 * self.most_lanes + 2, sizeof(int))
        if self.words == NULL or self.failed == NULL:
            raise MemoryError()
        self.turn = 0
        self.phase = SETTLED if chosen == ALWAYS else COMPARES
        return 0

    cdef list used(self):
        """The lanes of each group that runs."""
        cdef Group* g
        cdef int i, k
        out = []
        for i in range(self.n_groups if self.phase != MEASURES else 0):
            g = &self.groups[i]
            if g.used:
                out.append([[g.order[j] for j in range(g.first[k], g.first[k + 1])] for k in range(g.n_lanes)])
        return out

    cdef int forget(self) noexcept:
        cdef int i
        for i in range(self.n_groups):
            free(self.groups[i].first)
            free(self.groups[i].order)
        free(self.groups)
        self.groups = NULL
        self.n_groups = self.most_lanes = 0
        return 0

    def __dealloc__(self):
        self.forget()
        free(self.words)
        free(self.failed)
        free(self.alone)
        free(self.together)

    cdef int play(self, void** ptrs, const int64_t* regs, int64_t stream, int* at) noexcept nogil:
        """All launches; the code of one that failed, which is number ``at``."""
        cdef int i, code, next_launch = 0
        cdef int64_t start
        cdef Group* g
        cdef bint apart
        if thread_count() < 2 or chosen == NEVER:
            return self.play_range(0, self.n_launches, ptrs, regs, stream, at)
        if self.phase == MEASURES:
            return self.play_measured(ptrs, regs, stream, at)
        for i in range(self.n_groups):
            g = &self.groups[i]
            if not g.used:
                continue
            code = self.play_range(next_launch, g.begin, ptrs, regs, stream, at)
            if code:
                return code
            next_launch = g.end
            if self.phase == COMPARES:
                apart = self.turn & 1
                start = umiak_clock()
                code = self.play_group(g, ptrs, regs, stream, at) if apart else \
                    self.play_range(g.begin, g.end, ptrs, regs, stream, at)
                if apart:
                    g.apart = min(g.apart, umiak_clock() - start)
                else:
                    g.together = min(g.together, umiak_clock() - start)
            else:
                code = self.play_group(g, ptrs, regs, stream, at)
            if code:
                return code
        code = self.play_range(next_launch, self.n_launches, ptrs, regs, stream, at)
        if code == 0 and self.phase == COMPARES:
            self.turn += 1
            if self.turn == 2 * TRIALS:
                self.compare()
        return code

    cdef int compare(self) noexcept nogil:
        """Leave out groups that are no faster than their launches one after the other."""
        cdef int i
        for i in range(self.n_groups):
            self.groups[i].used = self.groups[i].apart < self.groups[i].together
        self.phase = SETTLED
        return 0

    cdef int play_range(self, int begin, int end, void** ptrs, const int64_t* regs, int64_t stream, int* at) noexcept nogil:
        cdef int i, code
        for i in range(begin, end):
            code = play_launch(&self.launches[i], ptrs, self.scalars, regs, self.words, stream)
            if code:
                at[0] = i
                return code
        return 0

    cdef int play_measured(self, void** ptrs, const int64_t* regs, int64_t stream, int* at) noexcept nogil:
        """Every other time with one thread."""
        cdef One one
        cdef int64_t* ns = self.alone if self.turn & 1 else self.together
        cdef int64_t start, end
        cdef int i, code
        one.ptrs, one.scalars, one.regs, one.words, one.stream = ptrs, self.scalars, regs, self.words, stream
        start = umiak_clock()
        for i in range(self.n_launches):
            one.launch = &self.launches[i]
            if self.turn & 1:
                run_lanes(run_one, &one, 1)
            else:
                run_one(&one, 0)
            if one.code:
                at[0] = i
                return one.code
            end = umiak_clock()
            ns[i] = min(ns[i], end - start)
            start = end
        self.turn += 1
        if self.turn == 2 * TRIALS:
            self.phase = DUE
        return 0

    cdef int play_group(self, Group* g, void** ptrs, const int64_t* regs, int64_t stream, int* at) noexcept nogil:
        cdef Lanes work
        cdef int i, code = 0, first = self.n_launches
        work.branches, work.group, work.ptrs, work.regs, work.stream = <void*>self, g, ptrs, regs, stream
        for i in range(g.n_lanes):
            self.failed[2 * i + 1] = 0
        if run_lanes(run_lane, &work, g.n_lanes) == 0:
            return 0
        for i in range(g.n_lanes):
            if self.failed[2 * i + 1] and self.failed[2 * i] < first:
                first, code = self.failed[2 * i], self.failed[2 * i + 1]
        at[0] = first
        with gil:
            # One that is set is of any lane, and of another thread it is lost: the launch says it again.
            if PyErr_Occurred():
                PyErr_Clear()
            if code < 0:
                play_launch(&self.launches[first], ptrs, self.scalars, regs, self.words, stream)
        return code

    cdef bint alone_is_alike(self, int i, void** ptrs, void** others, const int64_t* regs) noexcept:
        """Launch on all threads with ``ptrs`` and on one with ``others``; whether both went well. Pointers are by number of the list."""
        cdef One one
        one.launch, one.ptrs, one.scalars, one.regs, one.words, one.stream = &self.launches[i], ptrs, self.scalars, regs, self.words, 0
        run_one(&one, 0)
        if one.code == 0:
            one.ptrs = others
            run_lanes(run_one, &one, 1)
        return one.code == 0
