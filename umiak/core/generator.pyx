"""Streams of random numbers: who gets which part of a stream.

A stream is a function of its 64-bit seed: word number i is lane i % 4 of the Philox block i // 4. A random op owns the words from an offset on;
offsets are given out here, in program order, in whole blocks. Nothing else about a generator changes, so its state is (seed, offset).
After 2**62 words a stream begins again.
"""
import os
from libc.stdint cimport int64_t, uint64_t

from umiak.core.context cimport EngineContext, OBSERVE_TRACE, RankState, context_pointer
from umiak.core.place cimport Place

from umiak.util.errors import op_error

cdef int64_t WORDS = <int64_t>1 << 62     # of a stream


cdef uint64_t entropy():
    return <uint64_t>int.from_bytes(os.urandom(8), "little")


cdef uint64_t as_key(object seed) except? 0:
    try:
        return <uint64_t>(int(seed.__index__()) & 0xFFFFFFFFFFFFFFFF)
    except AttributeError:
        raise TypeError(f"a seed must be an integer, got {type(seed).__name__}") from None


cdef class Generator:
    """A stream of random numbers and a position in it. Without a seed, the stream is another one in each process."""

    def __init__(self, seed=None):
        self.key = entropy() if seed is None else as_key(seed)

    def initial_seed(self):
        """Return the seed, between 0 and 2**64 - 1."""
        return self.key

    @property
    def offset(self):
        """The first word of the stream that was not given out."""
        return self.next

    def manual_seed(self, seed):
        """Start the stream of ``seed`` from its beginning. Returns the generator."""
        self.key = as_key(seed)
        self.next = 0
        return self

    def seed(self):
        """Start a stream that nobody can predict; returns its seed."""
        self.key = entropy()
        self.next = 0
        return self.key

    def reserve(self, n):
        """Take the next ``n`` 32-bit words, rounded up to whole blocks of 4: (seed, offset), params of a random op.

        The seed comes as a signed number, as params are 64-bit integers with a sign. A tracer of a captured function
        gives numbers that are read at every run.
        """
        cdef EngineContext ctx = <EngineContext>context_pointer()
        if ctx.observers & OBSERVE_TRACE and ctx.trace and ctx.trace[len(ctx.trace) - 1].reserve is not None:
            return ctx.trace[len(ctx.trace) - 1].reserve(self, n)
        if n > WORDS:
            raise op_error(MemoryError, "reserve", "at most the 2**62 words of a stream", n)
        cdef int64_t offset = reserve_words(self, n)
        return <int64_t>self.key, offset

    def give_back(self, offset, n):
        """The words that :meth:`reserve` gave for ``n`` were not drawn, as the call failed; the next call gets them.

        Nothing changes where others were reserved meanwhile, or the numbers are those of a tracer.
        """
        if isinstance(offset, int) and 0 <= offset < WORDS and 0 <= n <= WORDS and self.next == after(offset, n):
            self.next = offset

    def get_state(self):
        """(seed, offset)"""
        return self.key, self.next

    def set_state(self, state):
        """Go on from a state of :meth:`get_state`, this generator's or another's."""
        try:
            seed, offset = state
        except (TypeError, ValueError):
            raise TypeError(f"a state is the pair (seed, offset), got {state!r}") from None
        if not 0 <= offset < 1 << 63:
            raise ValueError(f"a state's offset must be at least 0 and below 2**63, got {offset}")
        self.key = as_key(seed)
        self.next = offset

    def __reduce__(self):
        return _restore, (self.key, self.next)

    def __repr__(self):
        return f"Generator(seed={self.key}, offset={self.next})"


def _restore(seed, offset):
    g = Generator(seed)
    g.set_state((seed, offset))
    return g


cdef int64_t after(int64_t offset, int64_t n) noexcept:
    """The first word behind ``n`` words in whole blocks."""
    return (offset + ((n + 3) & ~<int64_t>3)) & (WORDS - 1)


cdef int64_t reserve_words(Generator g, int64_t n) except -1:
    cdef int64_t offset = g.next & (WORDS - 1)
    if n < 0 or n > WORDS:
        raise ValueError(f"reserve() requires a number of words from 0 to 2**62, got {n}")
    g.next = after(offset, n)
    return offset


cdef Generator place_generator(int place):
    cdef RankState state = (<EngineContext>context_pointer()).state
    cdef Generator g = <Generator>state.generators.get(place)
    if g is None:
        g = Generator(state.values.get("seed"))
        state.generators[place] = g
    return g


def default_generator(Place place not None):
    """The generator of a place in the current rank, made on first use with the seed of :func:`seed_all`."""
    return place_generator(place.index)


def seed_all(seed):
    """Seed the generators of all places of the current rank, those included that are made later."""
    cdef RankState state = (<EngineContext>context_pointer()).state
    cdef Generator g
    as_key(seed)
    state.values["seed"] = seed
    for g in state.generators.values():
        g.manual_seed(seed)
