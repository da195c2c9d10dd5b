# cython: language_level=3, binding=False
"""Reverse-mode differentiation over recorded calls.

A backward run owns its state: nodes reached, how many consumers each still waits for, gradients collected so far. A node remembers its slot in
the run that claimed it first; a second run that meets it meanwhile (another thread, a hook that calls backward) looks its slots up in a
dict of its own. So runs may nest and overlap.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF, Py_XINCREF
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from umiak.core.eager import apply
from umiak.util.errors import freed_graph

from umiak.core.context cimport OBSERVE_PROFILE
from umiak.core.dispatch cimport call2
from umiak.core.leaf_gradients cimport ADD, Sink, accumulate
from umiak.core.node cimport Node, drop_saved, edge_at, saved_at
from umiak.core.own_memory cimport set_apart
from umiak.core.plan cimport FLAG_INNER, Plan, TensorProgram
from umiak.core.saved_tensors cimport saved_tensors
from umiak.core.tensor cimport *
from umiak.core.views cimport view_params

cdef object PROBE = None
cdef object VJP_PLAN = None
cdef int64_t RUNS = 0


def install(vjp_plan not None):
    """Set the function that makes a gradient program: ``vjp_plan(plan, mask of present gradients[, True under create_graph])``."""
    global VJP_PLAN
    VJP_PLAN = vjp_plan


def watch(probe):
    """Tell ``probe`` of runs and of their nodes, in threads where the profiler observes; None ends that.

    ``probe.begin(name, in a run)`` gives a token, which ``probe.end(token)`` gets, after an error too.
    """
    global PROBE
    PROBE = probe


cdef void* grown(void* old, void* inline_old, size_t used, size_t wanted) except NULL:
    """``old`` (bytes used) with room for ``wanted`` bytes; the arrays within the run itself are left, not freed."""
    cdef void* grown
    if old != inline_old:
        grown = realloc(old, wanted)
    else:
        grown = malloc(wanted)
        if grown != NULL:
            memcpy(grown, old, used)
    if grown == NULL:
        raise MemoryError()
    return grown


@cython.final
@cython.no_gc                              # nothing refers to a run
@cython.freelist(8)
cdef class Run:
    """State of one backward pass."""

    def __cinit__(self):
        self.entries = self.few_entries
        self.grads = self.few_grads
        self.stack = self.few_stack
        self.capacity = self.grads_capacity = self.stack_capacity = FEW

    def __dealloc__(self):
        cdef int i
        for i in range(self.count):
            if self.entries[i].node != NULL:
                if (<Node>self.entries[i].node).run == self.id:
                    (<Node>self.entries[i].node).run = -1
                Py_DECREF(<object>self.entries[i].node)
        for i in range(self.n_grads):
            Py_XDECREF(self.grads[i])
        if self.entries != self.few_entries:
            free(self.entries)
        if self.grads != self.few_grads:
            free(self.grads)
        if self.stack != self.few_stack:
            free(self.stack)

    cdef int push(self, int slot) except -1:
        if self.n_stack == self.stack_capacity:
            self.stack = <int*>grown(
                self.stack, self.few_stack, self.n_stack * sizeof(int), self.stack_capacity * 4 * sizeof(int))
            self.stack_capacity *= 4
        self.stack[self.n_stack] = slot
        self.n_stack += 1
        return 0

    cdef int find(self, Node node) except -2:
        """The node's slot, or -1."""
        if node.run == self.id:
            return <int>node.slot
        if self.overflow is not None:
            return self.overflow.get(id(node), -1)
        return -1

    cdef int claim(self, Node node, bint certain) except -1:
        """Give the node a slot. ``certain``: a gradient arrives there, as far as can be told before the run."""
        cdef int slot = self.count
        cdef int size, i
        if self.accumulate and certain:
            check_released(node)
        if self.count == self.capacity:
            size = self.capacity * 4
            self.entries = <Entry*>grown(self.entries, self.few_entries, self.count * sizeof(Entry), size * sizeof(Entry))
            self.capacity = size
        if self.n_grads + node.n_out > self.grads_capacity:
            size = self.grads_capacity * 4 + node.n_out
            self.grads = <PyObject**>grown(
                self.grads, self.few_grads, self.n_grads * sizeof(PyObject*), size * sizeof(PyObject*))
            self.grads_capacity = size
        for i in range(node.n_out):
            self.grads[self.n_grads + i] = NULL
        Py_INCREF(node)
        self.entries[slot].node = <PyObject*>node
        self.entries[slot].deps = 0
        self.entries[slot].first = self.n_grads
        self.entries[slot].n_out = node.n_out
        self.entries[slot].wanted = 1
        self.entries[slot].certain = certain and node.plan is not None  # a gradient in Python may give none
        self.n_grads += node.n_out
        self.count += 1
        if node.run == -1:
            node.run = self.id
            node.slot = slot
        else:
            if self.overflow is None:
                self.overflow = {}
            self.overflow[id(node)] = slot
        return slot

    cdef int discover(self, Node root) except -1:
        """Reach everything below ``root`` and count consumers."""
        cdef Node node
        cdef object e
        cdef int slot, i
        cdef bint certain
        if self.find(root) >= 0:
            return 0
        self.push(self.claim(root, True))
        while self.n_stack:
            self.n_stack -= 1
            node = <Node>self.entries[self.stack[self.n_stack]].node
            certain = self.entries[self.stack[self.n_stack]].certain
            if node.opaque:
                self.hides = True
            for i in range(node.n_edges):
                e = <object>edge_at(node, i)
                if e is None:
                    continue
                if isinstance(e, Node):
                    slot = self.find(<Node>e)
                    if slot < 0:
                        slot = self.claim(<Node>e, certain)
                        self.push(slot)
                    self.entries[slot].deps += 1
                elif (<Tensor>e).hooks is not None:
                    self.expect(<Tensor>e)
        return 0

    cdef int expect(self, Tensor leaf) except -1:
        """One more contribution will come to a leaf with hooks: they run once, on the sum."""
        if self.leaves is None:
            self.leaves = {}
        pending = self.leaves.get(id(leaf))
        if pending is None:
            self.leaves[id(leaf)] = [leaf, 1, None]
        else:
            pending[1] += 1
        return 0

    cdef int mark_wanted(self) except -1:
        """For grad(): an entry is wanted when a captured value lies below it. The others are neither run nor freed."""
        cdef int i, slot, child, index
        cdef object e
        cdef Node node
        cdef bytearray state = bytearray(self.count)     # 0 unseen, 1 open, 2 done
        for i in range(self.count):
            self.entries[i].wanted = 0
        for i in range(self.count):
            if state[i]:
                continue
            self.push(i)
            while self.n_stack:
                slot = self.stack[self.n_stack - 1]
                node = <Node>self.entries[slot].node
                if state[slot] == 0:
                    state[slot] = 1
                    for index in range(node.n_edges):
                        e = <object>edge_at(node, index)
                        if e is not None and isinstance(e, Node):
                            child = self.find(<Node>e)
                            if state[child] == 0:
                                self.push(child)
                    continue
                self.n_stack -= 1
                if state[slot] == 2:
                    continue
                state[slot] = 2
                if node.opaque:
                    self.entries[slot].wanted = 1
                for index in range(node.n_edges):
                    e = <object>edge_at(node, index)
                    if e is None:
                        continue
                    if isinstance(e, Node):
                        child = self.find(<Node>e)
                        if self.entries[child].wanted or (id(e), node.edge_index[index]) in self.captures:
                            self.entries[slot].wanted = 1
                    elif id(e) in self.captures:
                        self.entries[slot].wanted = 1
        return 0

    cdef int add_to(self, int at, Tensor g) except -1:
        """Add a contribution to a gradient slot."""
        cdef object total
        if self.grads[at] == NULL:
            Py_INCREF(g)
            self.grads[at] = <PyObject*>g
        else:
            total = call2(ADD, <Tensor>self.grads[at], g)
            Py_INCREF(total)
            Py_DECREF(<object>self.grads[at])
            self.grads[at] = <PyObject*>total
        return 0

    cdef int give(self, object edge, uint32_t index, PyObject** given) except -1:
        """Deliver a gradient along an edge; NULL: there is none. The caller's reference may be taken, which leaves NULL there."""
        cdef PyObject* g = given[0]
        cdef int slot
        cdef Entry* entry
        if isinstance(edge, Node):
            slot = self.find(<Node>edge)
            entry = &self.entries[slot]
            if g != NULL:
                self.add_to(entry.first + index, <Tensor>g)
                entry = &self.entries[slot]
            entry.deps -= 1
            if entry.deps == 0:
                self.push(slot)
            return 0
        if g != NULL and (<Tensor>edge).shaped != index:
            now = seen_as_now(<Tensor>edge, index, <Tensor>g)
            g = <PyObject*>now
            return self.give_kept(edge, (<Tensor>edge).shaped, g)
        if self.leaves is not None:
            pending = self.leaves.get(id(edge))
            if pending is not None:
                pending[1] -= 1
                if g != NULL:
                    pending[2] = <object>g if pending[2] is None else call2(ADD, pending[2], <object>g)
                    given[0] = NULL                      # `pending` alone has it, so that nobody copies it
                    Py_DECREF(<object>g)
                if pending[1] == 0 and pending[2] is not None:
                    g_obj = pending[2]
                    pending[2] = None
                    g_obj = call_hooks((<Tensor>edge).hooks, g_obj, 2)
                    self.leaf(<Tensor>edge, <PyObject*>g_obj)
                return 0
        if g != NULL:
            self.leaf(<Tensor>edge, g)
        return 0

    cdef int give_kept(self, object edge, uint32_t index, PyObject* g) except -1:
        """``give``, where the caller keeps the gradient."""
        cdef PyObject* given = g
        Py_XINCREF(given)
        try:
            self.give(edge, index, &given)
        finally:
            Py_XDECREF(given)
        return 0

    cdef int leaf(self, Tensor t, PyObject* g) except -1:
        """A gradient arrives at a leaf."""
        if self.blocked is not None and id(t) in self.blocked:
            return 0
        if self.captures is not None:
            at = self.captures.get(id(t))
            if at is not None:
                self.results[at] = <object>g if self.results[at] is None else call2(ADD, self.results[at], <Tensor>g)
        if self.accumulate:
            if t.hooks is not None:
                for entry in t.hooks:
                    if type(entry) is Sink:
                        (<Sink>entry).owner.take((<Sink>entry).key, t, <object>g, self.create)
                        return 0
            accumulate(t, g, self.create)
        return 0

    cdef int execute(self) except -1:
        """Run every ready node until none is left."""
        cdef int slot, i
        cdef Entry entry
        cdef Node node
        cdef PyObject** grads
        cdef list out
        cdef object g
        cdef uint32_t index
        while self.n_stack:
            self.n_stack -= 1
            slot = self.stack[self.n_stack]
            entry = self.entries[slot]
            node = <Node>entry.node
            if node.tensor_hooks is not None:
                for index, hooks in list(node.tensor_hooks.items()):
                    if self.grads[entry.first + index] != NULL and hooks:
                        g = call_hooks(hooks, <object>self.grads[entry.first + index], 2)
                        Py_INCREF(g)
                        Py_DECREF(<object>self.grads[entry.first + index])
                        self.grads[entry.first + index] = <PyObject*>g
                        g = None
            if node.retained is not None and self.accumulate:
                for index, ref in node.retained.items():
                    t = ref()
                    if t is not None and self.grads[entry.first + index] != NULL:
                        accumulate(<Tensor>t, self.grads[entry.first + index], self.create)
                    t = None
            if self.captures is not None:
                for i in range(entry.n_out):
                    at = self.captures.get((id(node), i))
                    if at is not None and self.grads[entry.first + i] != NULL:
                        self.results[at] = <object>self.grads[entry.first + i]
            if self.blocked is not None:
                for i in range(entry.n_out):
                    if (id(node), i) in self.blocked:
                        Py_XDECREF(self.grads[entry.first + i])
                        self.grads[entry.first + i] = NULL
            if entry.wanted and self.ctx.observers & OBSERVE_PROFILE and PROBE is not None:
                self.profiled_step(node, entry.first, entry.n_out)
            elif entry.wanted:
                self.step(node, entry.first, entry.n_out)
            else:
                self.skip(node, entry.first, entry.n_out)
            if self.ctx.pulses is not None:
                for pulse in self.ctx.pulses:
                    pulse()
        return 0

    cdef int skip(self, Node node, int first, int n_out) except -1:
        """Nothing below is asked for: forget the gradients, and let what lies below be skipped too."""
        cdef int i
        for i in range(n_out):
            Py_XDECREF(self.grads[first + i])
            self.grads[first + i] = NULL
        for i in range(node.n_edges):
            e = <object>edge_at(node, i)
            if e is not None:
                self.give_kept(e, node.edge_index[i], NULL)
        return 0

    cdef int profiled_step(self, Node node, int first, int n_out) except -1:
        """``step``, of which the profiler is told."""
        cdef object probe = PROBE, token = probe.begin(node.name, True)
        try:
            self.step(node, first, n_out)
        finally:
            probe.end(token)
        return 0

    cdef int step(self, Node node, int first, int n_out) except -1:
        """Differentiate one node and deliver."""
        cdef PyObject* inputs_inline[64]
        cdef PyObject* results[32]
        cdef PyObject* t
        cdef int i, k = 0, n_edges = node.n_edges, n_saved = node.n_saved
        cdef uint64_t mask = 0
        cdef Plan plan
        cdef TensorProgram vjp
        cdef list returned = None
        cdef list keep = None
        cdef object saved0 = None, saved1 = None, more_saved = None
        cdef object e, g
        for i in range(n_out):
            if self.grads[first + i] != NULL:
                mask |= <uint64_t>1 << i
        if mask == 0:
            return self.skip(node, first, n_out)
        check_released(node)
        if node.plan is None or node.pre_hooks is not None or node.post_hooks is not None or n_edges > 32 or n_saved + n_out > 64:
            returned = python_step(self, node, first, n_out, mask)
        else:
            plan = <Plan>node.plan
            vjp = vjp_of(plan, mask, self.create)
            if n_saved and not self.create and node.unpack is None:
                # The usual case: what was saved, if its version is the same. Another run may drop it from the node meanwhile.
                saved0, saved1, more_saved = node.saved0, node.saved1, node.more_saved
                for i in range(n_saved):
                    t = saved_at(node, i)
                    if t == <PyObject*>None:
                        t = NULL
                    elif saved_version(<Tensor>t) != node.versions[i]:
                        keep = saved_tensors(node, plan, False)      # says what was overwritten, or finds what has another shape now
                        break
                    inputs_inline[k] = t
                    k += 1
                if keep is not None:
                    k = 0
                    for e in keep:
                        inputs_inline[k] = <PyObject*>e if e is not None else NULL
                        k += 1
                    e = None
            elif n_saved:
                keep = saved_tensors(node, plan, self.create)
                for i in range(n_saved):
                    e = keep[i]
                    inputs_inline[k] = <PyObject*>e if e is not None else NULL
                    k += 1
            for i in range(n_out):
                if self.grads[first + i] != NULL:
                    inputs_inline[k] = self.grads[first + i]
                    k += 1
            self.ctx.inner_place = plan.place
            vjp.execute(inputs_inline, node.ints, results, FLAG_INNER)
            self.ctx.inner_place = -1
        if not self.retain:
            drop_saved(node)
            node.released = True
            keep = None
            if node.plan is None:
                node.python.call = None                  # and with it what a PyLayer saved
                node.released = node.python.call is None
        for i in range(n_out):
            Py_XDECREF(self.grads[first + i])
            self.grads[first + i] = NULL
        if returned is not None:
            for i in range(n_edges):
                e = <object>edge_at(node, i)
                g = returned[i]
                returned[i] = None
                if e is not None:
                    t = NULL
                    if g is not None:
                        t = <PyObject*>g
                        Py_INCREF(g)
                    g = None
                    try:
                        self.give(e, node.edge_index[i], &t)
                    finally:
                        Py_XDECREF(t)
                g = None
            return 0
        i = 0
        try:
            while i < n_edges:
                t = edge_at(node, i)
                if t != <PyObject*>None:
                    self.give(<object>t, node.edge_index[i], &results[i])
                Py_XDECREF(results[i])
                results[i] = NULL
                i += 1
        finally:
            while i < n_edges:
                Py_XDECREF(results[i])
                i += 1
        return 0


cdef Run new_run(bint retain, bint create):
    global RUNS
    cdef Run run = Run.__new__(Run)
    RUNS += 1
    run.id = RUNS
    run.retain = retain
    run.create = create
    run.accumulate = True
    return run


cdef int check_released(Node node) except -1:
    if node.released:
        raise freed_graph("backward", node.name)
    return 0


cdef inline TensorProgram vjp_of(Plan plan, uint64_t mask, bint create):
    if create and plan.fused:
        vjp_plan = plan.recorded.get(mask)
        return VJP_PLAN(plan, mask, True) if vjp_plan is None else vjp_plan
    if plan.vjp_mask == mask:
        return plan.vjp
    vjp_plan = plan.vjps.get(mask)
    return VJP_PLAN(plan, mask) if vjp_plan is None else vjp_plan


cdef object seen_as_now(Tensor leaf, uint32_t shaped, Tensor g):
    """The gradient of a leaf that got another shape in place since it was used."""
    cdef Tensor t = leaf
    cdef list steps = []
    while t.shaped != shaped and t.kind & KIND_VIEW and t.view.former:
        steps.append((t.view.op, view_params(t.view)))
        t = t.view.parent
    if t.shaped == shaped:
        for op, params in reversed(steps):
            g = apply(op, (g,), params)
    elif g.shape != leaf.shape and not g.kind & KIND_SELECTED_ROWS:
        raise RuntimeError(
            f"[backward] requires leaves that have the shape that they were used with, got {list(leaf.shape)} for a gradient of shape {list(g.shape)}")
    return g


cdef object call_hooks(list hooks, object g, Py_ssize_t held):
    """The gradient after its hooks. ``held``: the references that the run itself and this call have to it."""
    cdef bint apart = False
    for entry in list(hooks):
        if type(entry) is Sink:
            continue
        if not apart:
            g = set_apart(<Tensor>g, held)
            apart = True
        replaced = entry[0](g)
        if replaced is not None:
            if not isinstance(replaced, Tensor):
                raise TypeError(f"[hook] requires a Tensor or None as result, got {type(replaced).__name__}")
            if replaced.shape != g.shape or replaced.dtype is not g.dtype and not getattr(entry[0], "changes_dtype", False):
                raise ValueError(
                    f"[hook] requires a gradient of shape {list(g.shape)} and dtype {g.dtype.name} as result, "
                    f"got shape {list(replaced.shape)} and dtype {replaced.dtype.name}")
            g = replaced
    return g


cdef list replaced_by(Node node, object replaced, int n, str what):
    """The gradients that a hook put in the place of ``n`` ones, checked: the caller indexes without bounds."""
    if not isinstance(replaced, (tuple, list)) or len(replaced) != n:
        raise ValueError(f"[{node.name}] requires a tuple of {n} gradients from a {what}, got {replaced!r}")
    for g in replaced:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"[{node.name}] requires tensors or None from a {what}, got {type(g).__name__}")
    return list(replaced)


cdef list python_step(Run run, Node node, int first, int n_out, uint64_t mask):
    """The general path: Python-defined gradients, node hooks, very wide nodes."""
    cdef list grads = [<object>run.grads[first + i] if run.grads[first + i] != NULL else None for i in range(n_out)]
    cdef list result = []
    cdef list values
    cdef PyObject** inputs
    cdef PyObject** outs
    cdef TensorProgram vjp
    cdef Plan plan
    cdef int i
    if node.pre_hooks is not None:
        for entry in list(node.pre_hooks):
            replaced = entry[0](tuple(grads))
            if replaced is not None:
                grads = replaced_by(node, replaced, n_out, "prehook")
    if node.plan is None:
        if getattr(node.python, "may_write", False):
            for i in range(n_out):
                if grads[i] is not None:                 # held by the run, by the list, and in passing
                    grads[i] = set_apart(<Tensor>grads[i], 3)
        computed = node.python(*grads)
        result = list(computed) if isinstance(computed, (tuple, list)) else [computed]
        if len(result) != node.n_edges:
            raise RuntimeError(
                f"[{node.name}] requires as many gradients as tensor inputs ({node.n_edges}), got {len(result)}")
        # Of a captured function's program the shapes are known.
        for i in range(len(result) if node.in_meta is not None else 0):
            if edge_at(node, i) != <PyObject*>None and isinstance(result[i], Tensor):
                shape, dtype = node.in_meta[i]
                if (<Tensor>result[i]).kind & KIND_SELECTED_ROWS and result[i].full_shape == shape:
                    shape = (<Tensor>result[i]).shape
                if (<Tensor>result[i]).shape != shape or (<Tensor>result[i]).dtype is not dtype:
                    raise ValueError(
                        f"[{node.name}] requires a gradient of shape {shape} and dtype {dtype.name} for input {i}, "
                        f"got shape {list((<Tensor>result[i]).shape)} and dtype {(<Tensor>result[i]).dtype.name}")
    else:
        plan = node.plan
        mask = 0
        for i in range(n_out):
            if grads[i] is not None:
                mask |= <uint64_t>1 << i
        vjp = vjp_of(plan, mask, run.create)
        values = saved_tensors(node, plan, run.create) + [g for g in grads if g is not None]
        inputs = <PyObject**>calloc(len(values) + 1, sizeof(PyObject*))
        outs = <PyObject**>calloc(vjp.n_outputs + 1, sizeof(PyObject*))
        try:
            if inputs == NULL or outs == NULL:
                raise MemoryError()
            for i in range(len(values)):
                inputs[i] = <PyObject*>values[i] if values[i] is not None else NULL
            run.ctx.inner_place = plan.place
            vjp.execute(inputs, node.ints, outs, FLAG_INNER)
            run.ctx.inner_place = -1
            for i in range(vjp.n_outputs):
                result.append(<object>outs[i] if outs[i] != NULL else None)
                Py_XDECREF(outs[i])
        finally:
            free(inputs)
            free(outs)
    if node.post_hooks is not None:
        for entry in list(node.post_hooks):
            replaced = entry[0](tuple(result), tuple(grads))
            if replaced is not None:
                result = replaced_by(node, replaced, node.n_edges, "hook")
    for g in result:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"[{node.name}] requires tensors or None as gradients, got {type(g).__name__}")
    return result
