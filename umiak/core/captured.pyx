# cython: language_level=3, binding=False
"""A run of a captured function: docs/design/capture.md.

Around the calls of its program (binding.pyx) a captured function compares what it was captured for, takes words out of random streams, asks
for scalars that differ between runs, exchanges ``.grad`` of leaves, and records one node where gradients are wanted. A run that does not
serve says so before anything has changed.
"""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cimport cython
from umiak.core.binding cimport FITS, GENERAL, MISFIT, Binding, Frame
from umiak.core.context cimport AMP_MASK, EngineContext, MODE_GRAD, context_pointer
from umiak.core.generator cimport Generator, place_generator, reserve_words
from umiak.core.node cimport Node, edge_at, make_room, new_node, set_edge
from umiak.core.plan cimport int_array
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    PyObject* PyList_GET_ITEM(list, Py_ssize_t)

import operator
import threading

from umiak.core.inplace import assign
from umiak.core.tape import backward
from umiak.util.errors import freed_graph


globals().update(NONE=REPLACED_NONE, GIVEN=REPLACED_GIVEN, ZEROS=REPLACED_ZEROS, ROWS=REPLACED_ROWS)


FIRST_RUN = threading.RLock()                                # for threads that make a first call at the same time


class Stale(Exception):
    """A captured function does not serve these arguments, or this state, any more: capture it anew."""


class SharedMemory(ValueError):
    """Arguments of a program that writes to them share memory, which makes them one where the program knows several."""


cdef class ScalarSource:
    cdef int read(self, int64_t* into) except -1:
        raise NotImplementedError(f"{type(self).__name__} must read its {self.count} scalars")

    cdef int undo(self) except -1:
        return 0


@cython.final
cdef class PythonScalars(ScalarSource):
    """Scalars that a Python function gives. It may raise :class:`Stale`; ``take_back()`` follows a run that failed."""
    cdef list kinds
    cdef object ask, take_back

    def __init__(self, list kinds not None, ask, take_back):
        self.count = len(kinds)
        self.kinds = kinds
        self.ask = ask
        self.take_back = take_back

    cdef int read(self, int64_t* into) except -1:
        cdef list values = list(self.ask())
        cdef double d
        cdef int i
        if len(values) != self.count:
            raise ValueError(f"requires {self.count} scalars for a run, got {len(values)}")
        for i in range(self.count):
            if self.kinds[i] == "float":
                d = values[i]
                memcpy(&into[i], &d, 8)
            else:
                into[i] = operator.index(values[i])
        return 0

    cdef int undo(self) except -1:
        self.take_back()
        return 0


@cython.final
cdef class Stream:
    """``place``: the index of one whose default generator it is, of the rank that runs; else ``generator`` itself."""

    def __init__(self, int place, Generator generator):
        self.place = place
        self.generator = generator

    cdef Generator find(self):
        return place_generator(self.place) if self.generator is None else self.generator


@cython.final
cdef class Part:
    """``late``: the leaves whose gradients the program gets, in the order of the executor's. ``scalars``: for each scalar of the program its
    place among those of a run, which are the sources', then seed and offset of each stream."""

    def __init__(self, executor, list extras not None, list late not None, list scalars not None):
        self.executor = executor
        self.binding = executor.binding(extras)
        self.late = int_array(late)
        self.n_late = len(late)
        self.scalars = int_array(scalars)
        self.n_scalars = len(scalars)
        self.stamp = -1

    def __dealloc__(self):
        free(self.late)
        free(self.scalars)


@cython.final
cdef class Backward:
    """``saved``: ("input", i) or ("output", i) of the forward part. ``asked``: for each scalar of the backward one, which symbol of the
    forward part it is, -1 - i for scalar i of the run, or the symbol that a region of the forward part binds. ``histories``: for each output
    that has a gradient a number, the same for outputs that have an operation in common; ``reached``: for each input with a gradient the
    outputs that depend on it, a bit each. ``between``: a bit for each output that another one depends on; ``read``: the inputs that tell
    whether the operations could run once more, None where no output is one of these."""

    def __init__(self, Part part not None, saved, list wrt not None, list seeded not None, list asked not None, list histories not None,
                 list reached not None, between=0, list read=None):
        self.part = part
        self.histories = histories
        self.reached = reached
        self.between = between
        self.read = read if between else None
        self.separate = any([h != (ONE << len(seeded)) - 1 for h in histories])
        self.saved = int_array([i if kind == "input" else -1 - i for kind, i in saved])
        self.n_saved = len(saved)
        self.wrt = int_array(wrt)
        self.n_wrt = len(wrt)
        self.seeded = int_array(seeded)
        self.n_seeded = len(seeded)
        self.asked = asked

    def __dealloc__(self):
        free(self.saved)
        free(self.wrt)
        free(self.seeded)


class _Ended:
    """The gradient of a result whose history is gone."""

    name = "captured"

    @property
    def call(self):
        return self

    @call.setter
    def call(self, value):
        pass                                             # there is nothing to free

    def __call__(self, *grads):
        raise freed_graph("backward", self.name)


cdef object ENDED = _Ended()
cdef object ONE = 1                                          # of bits in numbers of any length


@cython.final
cdef class Junction:
    """In the place of a run whose results have histories of their own by now: hands gradients on to these."""
    cdef readonly str name

    @property
    def call(self):
        return self

    @call.setter
    def call(self, value):
        pass                                             # there is nothing to free

    def __call__(self, *grads):
        return grads

    def take_apart(self, Node node not None, int i, bint asked):
        """Return where the gradient of a result is complete."""
        e = <object>edge_at(node, i)
        return (e, node.edge_index[i]) if isinstance(e, Node) else None


cdef uint64_t versions(list tensors) except? 0:
    """A number that changes when one of the tensors is written to: versions grow."""
    cdef uint64_t total = 1
    for t in tensors:
        total += saved_version(<Tensor>t)
    return total


cdef int end_history(Tensor t) except -1:
    """Let a result be no leaf, and refuse gradients: as after ``backward``."""
    cdef Node node = new_node()
    node.n_out = 1
    node.python = ENDED
    node.opaque = True                                   # what it led to is not known any more: grad() is refused, too
    make_room(node, 0, 0, 0)
    t.node = node
    t.out_index = 0
    t.key |= K_NEEDS_GRAD
    return 0


cdef object run_frame(Part part, PyObject** arguments, const int64_t* words, list taken, dict inside):
    """The outputs of a program that surrounds nothing; ``inside``: the scalars that regions of the forward part have bound."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef Frame f = part.binding.frame()
    cdef int fit
    part.binding.enter(f, arguments)
    fit = part.binding.set_symbols(f, words)
    if fit == FITS:
        fit = part.binding.admit(f, ctx)
    if fit == FITS:
        results = part.binding.execute(f)
        part.binding.give_back(f)
        return results
    return part.executor.from_words(taken, [words[i] for i in range(part.n_scalars)], dict(inside))


cdef class CapturedRun:
    """A captured function. A subclass, which made the capture, describes it by :meth:`_prepare` and makes the programs: ``_plain()`` gives
    the part without history, ``_recording()`` the forward part and its ``Backward``. ``_holds(executor, arguments, words)`` says whether the guards
    hold where C could not; ``_differentiable_gradients(...)`` computes gradients that have a history; ``_history_of(run, i)`` gives the results with
    gradients between them. ``_rows(table, index, values)`` makes a
    gradient of selected rows, ``_with_rows(gradients, tables)`` those among the results of the backward part, which has more of them then."""

    def _prepare(self, *, name, pinned, apart, leaves, absent, inner, hooks, kept, needs, sources, streams, open, constants, tensors, replaced, assigned, outer,
                 records, results, ended, own_leaves=()):
        """``pinned``: (number, tensor) of arguments that are captured tensors; ``apart``: ids of captured tensors that no argument may be.
        ``open``: whether it is known after the run alone how many words a stream gives; the last outputs say it then.
        ``leaves``, whose ``.grad`` counts: captured tensors or indices of arguments; ``absent``: whether they have none, ``inner``: whether
        they have a history, which is where gradients go then, ``hooks`` what they have. ``kept``: captured tensors, ``needs``: their stop_gradient. ``constants``: the results, ``tensors``: the places of tensors
        among them; ``replaced``: (leaf, what comes: ``NONE``, ``GIVEN``, ``ZEROS``, ``ROWS``) of those that get another one. ``assigned`` are written to after the run,
        as they have a history then, ``outer`` have one before, and gradients that go on there. ``results``: outputs of the program. ``ended``: results
        whose history the function has used up by ``backward``; ``own_leaves``: outputs that are leaves, to which gradients go."""
        self.name = name
        self.pinned = pinned
        self.apart = apart
        self.leaves = leaves
        self.leaves_are_arguments = any(isinstance(x, int) for x in leaves)
        self.absent = bytes(absent)
        self.inner = bytes(inner)
        self.hooks = hooks
        self.kept = kept
        self.needs = bytes(needs)
        self.dtypes = bytes([(<Tensor>x).key & K_DTYPE_MASK for x in kept])
        self.sources = sources
        self.streams = streams
        self.open = open
        self.constants = constants
        self.tensors = tensors
        free(self.replaced)
        self.replaced = int_array([x for pair in replaced for x in pair])
        self.n_replaced = len(replaced)
        self.assigned = assigned
        self.outer = outer
        self.records = records
        self.n_results = results
        self.ended = ended
        self.own_leaves = list(own_leaves)

    def __dealloc__(self):
        free(self.replaced)

    @property
    def _executor(self):
        """The executor of the program without history; None before its first run."""
        return None if self.plain is None else self.plain.executor

    def run(self, list tensors not None):
        """The leaves for these tensors. Raises :class:`Stale` where the capture does not serve, before anything is changed."""
        results = self.attempt(tensors)
        if results is None:
            raise Stale
        return results

    cdef list attempt(self, list arguments):
        """The leaves; None where it does not serve."""
        cdef EngineContext ctx = <EngineContext>context_pointer()
        cdef uint64_t modes = ctx.plan_mode
        cdef list tensors = arguments, leaves = self.leaves, results
        cdef Part part
        if self.pinned:
            tensors = list(arguments)
            for at, x in reversed(self.pinned):
                if arguments[at] is not x:
                    return None
                del tensors[at]
        if self.leaves_are_arguments:
            leaves = [tensors[<int>x] if isinstance(x, int) else x for x in leaves]
        if not self.serves(tensors, leaves):
            return None
        ctx.plan_mode = modes & ~<uint64_t>AMP_MASK
        try:
            if self.records and modes & MODE_GRAD:
                if self.forward is None:
                    with FIRST_RUN:
                        if self.forward is None:
                            self.forward, self.backward = self._recording()
                part = self.forward
            else:
                if self.plain is None:
                    with FIRST_RUN:
                        if self.plain is None:
                            self.plain = self._plain()
                part = self.plain
            ctx.plan_mode &= ~<uint64_t>MODE_GRAD
            results = self.run_part(ctx, part, tensors, leaves)
        except Stale:
            return None
        finally:
            ctx.plan_mode = modes
        return self.spread(results, tensors, leaves)

    cdef bint serves(self, list tensors, list leaves) except -1:
        """Return whether tensors are in the state that the function was captured for."""
        cdef const char* absent = self.absent
        cdef const char* inner = self.inner
        cdef PyObject* leaf
        cdef Tensor t
        cdef object wanted
        cdef int i
        if self.apart:
            for x in tensors:
                if <size_t><PyObject*>x in self.apart:
                    return False
        for i in range(len(leaves)):
            leaf = PyList_GET_ITEM(leaves, i)
            refresh_if_view(<Tensor>leaf)
            if ((<Tensor>leaf).node is not None) != inner[i]:
                return False
            # Zeros that nobody has looked at are as good as none, and are made for who reads them.
            if ((<Tensor>leaf).held_grad is None and (absent[i] or (<Tensor>leaf).grad_state != GRAD_CLEARED)) != absent[i]:
                return False
            if (<Tensor>leaf).hooks:
                wanted = self.hooks[i]
                if wanted is None or tuple((<Tensor>leaf).hooks) != wanted:
                    return False
            elif PyList_GET_ITEM(self.hooks, i) != <PyObject*>None:
                return False
        for at in self.assigned:
            t = <Tensor>(tensors[at] if isinstance(at, int) else at)
            refresh_if_view(t)
            if t.node is None and t.key & K_NEEDS_GRAD:
                return False                             # the next capture refuses to write to a leaf
        return True

    cdef bint keeps(self, Part part) except -1:
        """Return whether captured tensors have the dtypes that they had, and want gradients as they did.

        Those that the binding knows are as before while its stamp is.
        """
        cdef const char* needs = self.needs
        cdef const char* dtypes = self.dtypes
        cdef Tensor t
        cdef int i
        if part.apart is None:
            known = {id(x) for x in part.binding.constants}
            part.apart = [i for i in range(len(self.kept)) if id(self.kept[i]) not in known]
        for i in part.apart if part.stamp == part.binding.stamp else range(len(self.kept)):
            t = <Tensor>self.kept[i]
            refresh_if_view(t)
            if (t.key & K_NEEDS_GRAD == 0) != needs[i] or (t.key & K_DTYPE_MASK) != <uint32_t>dtypes[i]:
                return False
        part.stamp = part.binding.stamp
        return True

    cdef list run_part(self, EngineContext ctx, Part part, list tensors, list leaves):
        cdef Binding binding = part.binding
        cdef list arguments = list(tensors), results, words
        cdef Frame f
        cdef Generator generator
        cdef int i, k, n = 0, n_sources = 0, read = 0, drawn = 0, fit
        cdef int64_t count
        cdef int64_t* scalars
        cdef int64_t* chosen
        cdef int64_t* draws
        cdef PyObject** pointers
        cdef dict inside = {}
        cdef list generators = []
        for source in self.sources:
            n_sources += (<ScalarSource>source).count
        n = n_sources + 2 * <int>len(self.streams)
        for i in range(part.n_late):
            arguments.append(tensor_grad(<Tensor>leaves[part.late[i]]))
        scalars = <int64_t*>malloc((n + part.n_scalars + 2 * len(self.streams) + len(arguments) + 1) * 8)
        if scalars == NULL:
            raise MemoryError()
        try:
            chosen = scalars + n
            draws = chosen + part.n_scalars
            pointers = <PyObject**>(draws + 2 * len(self.streams))
            k = 0
            for source in self.sources:
                (<ScalarSource>source).read(scalars + k)
                read += 1
                k += (<ScalarSource>source).count
            for i in range(n_sources, n):
                scalars[i] = 0                           # seeds and offsets decide nothing
            for i in range(len(arguments)):
                pointers[i] = <PyObject*>arguments[i]
            for i in range(part.n_scalars):
                chosen[i] = scalars[part.scalars[i]]
            f = binding.frame()
            binding.enter(f, pointers)
            if not self.keeps(part):
                raise Stale
            fit = binding.set_symbols(f, chosen)
            if fit == FITS:
                fit = binding.admit(f, ctx)
            if fit != FITS:
                words = [chosen[i] for i in range(part.n_scalars)]
                if not self._holds(part.executor, arguments, words):
                    raise Stale
            # From here on it is a run.
            for stream in self.streams:
                count = f.regs[binding.extras[drawn]] if fit == FITS else self._drawn(drawn, part.executor, arguments, words)
                generator = (<Stream>stream).find()
                draws[2 * drawn] = reserve_words(generator, count)
                draws[2 * drawn + 1] = count
                scalars[n_sources + 2 * drawn] = <int64_t>generator.key
                scalars[n_sources + 2 * drawn + 1] = draws[2 * drawn]
                generators.append(generator)
                drawn += 1
            if drawn:
                for i in range(part.n_scalars):
                    chosen[i] = scalars[part.scalars[i]]
                if fit == FITS:
                    binding.set_symbols(f, chosen)
            if fit == FITS:
                results = binding.execute(f)
            else:
                words = [chosen[i] for i in range(part.n_scalars)]
                results = part.executor.from_words(arguments, words, inside)
            if part is self.forward:
                words = [f.regs[i] for i in range(binding.n_symbols)] if fit == FITS else part.executor.symbol_words(arguments, words)
                self.record(part, f, results, arguments, [scalars[i] for i in range(n)], words, inside)
            k = self.n_results - <int>sum(self.open)
            for i in range(drawn):
                if self.open[i]:
                    reserve_words(<Generator>generators[i], results[k])
                    k += 1
            binding.give_back(f)
        except BaseException as error:
            for i in range(drawn):
                (<Generator>generators[i]).give_back(draws[2 * i], draws[2 * i + 1])
            for i in range(read):
                (<ScalarSource>self.sources[i]).undo()
            if isinstance(error, Exception):
                part.executor.located(error, arguments, [chosen[i] for i in range(part.n_scalars)])
            raise
        finally:
            free(scalars)
        return results

    cdef list spread(self, list results, list tensors, list leaves):
        """Put what a run gave into its places; the leaves of the function's result."""
        cdef list out = list(self.constants)
        cdef PyObject* leaf
        cdef int* replaced = self.replaced
        cdef int* end = replaced + 2 * self.n_replaced
        cdef int i, k = <int>len(self.tensors)
        for i in range(k):
            out[self.tensors[i]] = results[i]
        for i in self.ended:
            end_history(<Tensor>out[i])
        for i in self.own_leaves:
            (<Tensor>results[i]).key |= K_NEEDS_GRAD
        for at in self.assigned:
            assign(tensors[at] if isinstance(at, int) else at, results[k])
            k += 1
        while replaced < end:
            leaf = PyList_GET_ITEM(leaves, replaced[0])
            if replaced[1] == REPLACED_GIVEN:
                set_grad(<Tensor>leaf, results[k])
                k += 1
            elif replaced[1] == REPLACED_ROWS:
                set_grad(<Tensor>leaf, self._rows(<Tensor>leaf, results[k], results[k + 1]))
                k += 2
            elif (<Tensor>leaf).held_grad is not None and (<Tensor>(<Tensor>leaf).held_grad).kind & KIND_SELECTED_ROWS:
                set_grad(<Tensor>leaf, None)             # rows are dropped in any case
            else:
                set_grad(<Tensor>leaf, None, GRAD_CLEARED if replaced[1] == REPLACED_ZEROS else GRAD_GIVEN)
            replaced += 2
        if self.outer:
            backward([tensors[at] if isinstance(at, int) else at for at in self.outer], results[k:k + len(self.outer)], True)
        return out

    # ---- gradients ---------------------------------------------------------------------------------------------------
    cdef int record(self, Part part, Frame f, list results, list arguments, list scalars, list words, dict inside) except -1:
        """Let the results have a node that runs backward. ``words``: the symbols of the forward part."""
        cdef Backward b = self.backward
        cdef Replay r = Replay.__new__(Replay)
        cdef Node node = new_node()
        cdef Tensor t
        cdef int i, at
        r.owner = self
        r.backward = b
        r.name = self.name
        r.arguments = arguments
        r.scalars = scalars
        r.words = []
        r.saved = []
        r.versions = []
        r.sources = []
        for i in range(b.n_saved):
            at = b.saved[i]
            if at >= 0:
                t = <Tensor>f.inputs[at]
                r.versions.append(saved_version(t))
            else:
                t = <Tensor>results[-1 - at]
                r.versions.append(saved_version(t) if -1 - at < self.n_results else None)   # others are nobody else's
            r.saved.append(t)
        r.inside = inside
        if b.read is not None:
            r.read = [<object>f.inputs[<int>i] for i in b.read]
            r.read_version = versions(r.read)
        for what in b.asked:
            if not isinstance(what, int):
                r.words.append(inside[what])
            else:
                at = what
                r.words.append(words[at] if at >= 0 else scalars[-1 - at])
        del results[self.n_results:]
        if b.n_seeded > 1:
            r.like = [((<Tensor>results[b.seeded[i]]).shape, (<Tensor>results[b.seeded[i]]).dtype, (<Tensor>results[b.seeded[i]]).place) for i in range(b.n_seeded)]
        node.n_out = b.n_seeded
        node.python = r
        make_room(node, b.n_wrt + <int>len(self.own_leaves), 0, 0)
        for i in range(b.n_wrt + <int>len(self.own_leaves)):
            if i < b.n_wrt:
                t = <Tensor>f.inputs[b.wrt[i]]
                refresh_if_view(t)
            else:
                t = <Tensor>results[self.own_leaves[i - b.n_wrt]]
                t.key |= K_NEEDS_GRAD
            r.sources.append(t)
            if not t.key & K_NEEDS_GRAD or not b.reached[i]:
                set_edge(node, i, None)
                continue
            set_edge(node, i, t if t.node is None else t.node)
            node.edge_index[i] = t.shaped if t.node is None else t.out_index
        for i in range(b.n_seeded):
            t = <Tensor>results[b.seeded[i]]
            t.node = node
            t.out_index = i
            t.key |= K_NEEDS_GRAD
        tensor_slots().changes += 1
        return 0


@cython.final
cdef class Replay:
    """The gradient of one run, called by the tape with the gradients of the results."""
    cdef CapturedRun owner
    cdef Backward backward
    cdef readonly str name
    cdef readonly list sources             # what is differentiated with respect to
    cdef readonly list arguments, scalars  # of the run
    cdef list saved, versions, words
    cdef dict inside           # scalars that regions of the forward part have bound
    cdef list like                         # (shape, dtype, place) of the results that have a gradient, where these are several
    cdef object given                      # the results, a bit each, whose gradient came in the last run
    cdef object used                       # the results whose histories backward runs have gone through, a bit each
    cdef list read                         # tensors that the operations read, if a result may be asked for the gradient of another
    cdef uint64_t read_version

    @property
    def call(self):
        return None if self.saved is None else self

    @call.setter
    def call(self, value):
        # None: the tape lets go of it.  Results that have nothing in common with those that were differentiated have, as in eager mode, a
        # history of their own, which stays.
        cdef int i
        if self.backward.separate and self.given:
            self.used = self.used or 0
            for i in range(self.backward.n_seeded):
                if self.given >> i & 1:
                    self.used |= self.backward.histories[i]
            if self.used != (ONE << self.backward.n_seeded) - 1:
                return
        self.saved = self.versions = self.words = self.sources = self.arguments = self.scalars = self.read = None

    @property
    def seeded(self):
        """The indices of the results that have a gradient."""
        return [self.backward.seeded[i] for i in range(self.backward.n_seeded)]

    def take_apart(self, Node node not None, int i, bint asked):
        """Let results of which one depends on another have histories of their own: the operations run once more, recorded.

        Return where the gradient of result ``i`` is complete then, None: where it was. ``asked``: for gradients with respect to it.
        """
        cdef Tensor t
        cdef int k
        if not self.backward.between >> i & 1:
            return None
        if self.saved is None or (self.used and self.used >> i & 1):
            if asked:
                raise freed_graph("grad", self.name)
            return None
        if node.run != -1:
            raise RuntimeError(
                f"[{self.name}] requires hooks on a result that other results of the captured function depend on, and gradients with respect "
                "to it, to be asked for before backward() goes through these, got a call from a hook. Register it before")
        if versions(self.read) != self.read_version:
            raise RuntimeError(
                f"[{self.name}] requires what it read not to change before a result that others depend on gets a hook, or is asked for its "
                "gradient, got a tensor that was written to. Ask before, or inside of the captured function")
        results = self.owner._history_of(self, i)
        make_room(node, self.backward.n_seeded, 0, 0)
        for k in range(self.backward.n_seeded):
            t = <Tensor>results[k]
            if not t.key & K_NEEDS_GRAD:
                set_edge(node, k, None)
                continue
            set_edge(node, k, t if t.node is None else t.node)
            node.edge_index[k] = t.shaped if t.node is None else t.out_index
        node.python = Junction.__new__(Junction)
        (<Junction>node.python).name = self.name
        return node.python.take_apart(node, i, asked)

    def __call__(self, *grads):
        cdef Part part = self.backward.part
        cdef list taken = list(self.saved)
        cdef Tensor t
        cdef int64_t* words
        cdef PyObject** pointers
        cdef int i
        for i in range(len(taken)):
            t = <Tensor>taken[i]
            if self.versions[i] is not None and saved_version(t) != <uint32_t>self.versions[i]:
                raise RuntimeError(
                    f"[{self.name}] requires what it read not to change before the gradient is computed, got a tensor of shape "
                    f"{list(t.shape)} that was written to. Write to a copy (x.clone())")
        if self.backward.n_seeded > 1:
            self.given = 0
            for i, g in enumerate(grads):
                if g is not None:
                    self.given |= ONE << i
            self.check_unused()
        if (<EngineContext>context_pointer()).plan_mode & MODE_GRAD:
            return self.owner._differentiable_gradients(self, grads)
        for i, g in enumerate(grads):
            taken.append(self.owner._zeros(*self.like[i]) if g is None else g)
        pointers = <PyObject**>malloc((len(taken) + part.n_scalars + 1) * 8)
        if pointers == NULL:
            raise MemoryError()
        try:
            words = <int64_t*>(pointers + len(taken))
            for i in range(len(taken)):
                pointers[i] = <PyObject*>taken[i]
            for i in range(part.n_scalars):
                words[i] = self.words[i]
            results = run_frame(part, pointers, words, taken, self.inside)
        finally:
            free(pointers)
        if len(results) > len(self.sources):
            results = self.owner._with_rows(results, self.sources)
        if self.backward.n_seeded > 1 and self.given != (ONE << self.backward.n_seeded) - 1:
            # What depends on no result that has a gradient has none.
            return tuple([g if reached & self.given else None for g, reached in zip(results, self.backward.reached)])
        return tuple(results)

    cdef int check_unused(self) except -1:
        """Refuse what backward has gone through before, where the tape does not know: other results kept the node."""
        if self.used and self.given & self.used:
            raise freed_graph("backward", self.name)
        return 0
