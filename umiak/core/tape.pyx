# cython: language_level=3, binding=False
"""Reverse-mode differentiation over recorded calls.

A backward run owns its state: nodes reached, how many consumers each still waits for, gradients collected so far. A node remembers its slot in
the run that claimed it first; a second run that meets it meanwhile (another thread, a hook that calls backward) looks its slots up in a
dict of its own. So runs may nest and overlap.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

from umiak.core.eager import apply
from umiak.core.call_program import drop_cast_weights
from umiak.util.errors import op_error

from umiak.core.context cimport AMP_MASK, AMP_LEVEL_SHIFT, EngineContext, MODE_GRAD, OBSERVE_PROFILE, OBSERVE_TRACE, context_pointer
from umiak.core.dispatch cimport call2, detached_copy, dispatch
from umiak.core.dtype cimport FLOAT32
from umiak.core.operand cimport Operand
from umiak.core.plan cimport FLAG_INNER, FLAG_INTO, FLAG_UNOBSERVED, OpBase, Plan, TensorProgram
from umiak.core.storage cimport ACCESS_HOST, place_access
from umiak.core.tensor cimport *
from umiak.core.views cimport view_params


cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)
    PyObject** PySequence_Fast_ITEMS(list)

cdef OpBase ADD = None
cdef OpBase COPY = None
cdef list FULL = None          # dtype id -> Full op
cdef object VJP_PLAN = None
cdef object PROBE = None
cdef int64_t RUNS = 0


def install(OpBase add not None, OpBase copy not None, list full not None, vjp_plan not None):
    """Give the tape the ops it needs itself: the sum of gradients, a copy, a constant; and the maker of vjp programs."""
    global ADD, COPY, FULL, VJP_PLAN
    ADD = add
    COPY = copy
    FULL = full
    VJP_PLAN = vjp_plan


def watch(probe):
    """Tell ``probe`` of runs and of their nodes, in threads where the profiler observes; None ends that.

    ``probe.begin(name, in a run)`` gives a token, which ``probe.end(token)`` gets, after an error too.
    """
    global PROBE
    PROBE = probe


cdef struct Entry:
    PyObject* node             # owned
    int deps                   # consumers still to come
    int first                  # its gradients start here in `grads`
    int n_out
    int wanted                 # 0 when nothing below is asked for (grad), else 1


cdef enum:
    FEW = 16                   # nodes for which a run needs no memory beyond itself
    MANY_WRITES = 1 << 20      # more than come between a forward and its backward pass


cdef void* grown(void* old, void* inline_old, size_t used, size_t wanted) except NULL:
    """``old`` (bytes used) with room for ``wanted`` bytes; the arrays within the run itself are left, not freed."""
    cdef void* made
    if old != inline_old:
        made = realloc(old, wanted)
    else:
        made = malloc(wanted)
        if made != NULL:
            memcpy(made, old, used)
    if made == NULL:
        raise MemoryError()
    return made


@cython.final
@cython.no_gc                              # nothing refers to a run
@cython.freelist(8)
cdef class Run:
    """State of one backward pass."""
    cdef Entry few_entries[FEW]
    cdef PyObject* few_grads[FEW]
    cdef int few_stack[FEW]
    cdef int64_t id
    cdef Entry* entries
    cdef int count, capacity
    cdef PyObject** grads      # owned, NULL where none came
    cdef int n_grads, grads_capacity
    cdef int* stack
    cdef int n_stack, stack_capacity
    cdef dict overflow         # id(node) -> slot, for nodes claimed by another run
    cdef dict leaves           # id(leaf) -> [leaf, contributions to come, sum] for leaves with hooks
    cdef dict captures         # id(leaf) or (id(node), index) -> position in results
    cdef list results
    cdef list wanted           # what `grad` was asked for
    cdef set blocked           # ids of leaves, (id(node), index) of others that gradients do not pass
    cdef bint accumulate, retain, create
    cdef bint hides            # a node may reach leaves that its edges do not show
    cdef EngineContext ctx

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

    cdef int claim(self, Node node) except -1:
        """Give the node a slot."""
        cdef int slot = self.count
        cdef int size, i
        if self.accumulate:
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
        if self.find(root) >= 0:
            return 0
        self.push(self.claim(root))
        while self.n_stack:
            self.n_stack -= 1
            node = <Node>self.entries[self.stack[self.n_stack]].node
            if node.opaque:
                self.hides = True
            for i in range(node.n_edges):
                e = <object>edge_at(node, i)
                if e is None:
                    continue
                if isinstance(e, Node):
                    slot = self.find(<Node>e)
                    if slot < 0:
                        slot = self.claim(<Node>e)
                        self.push(slot)
                    self.entries[slot].deps += 1
                elif (<Tensor>e).hooks is not None:
                    self.expect(<Tensor>e)
        return 0

    cdef int expect(self, Tensor leaf) except -1:
        """One more contribution will come to a leaf with hooks: they run once, on the sum."""
        if self.leaves is None:
            self.leaves = {}
        record = self.leaves.get(id(leaf))
        if record is None:
            self.leaves[id(leaf)] = [leaf, 1, None]
        else:
            record[1] += 1
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

    cdef int give(self, object edge, uint32_t index, PyObject* g) except -1:
        """Deliver a gradient (or its absence) along an edge."""
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
            return self.give(edge, (<Tensor>edge).shaped, <PyObject*>now)
        if self.leaves is not None:
            record = self.leaves.get(id(edge))
            if record is not None:
                record[1] -= 1
                if g != NULL:
                    record[2] = <object>g if record[2] is None else call2(ADD, record[2], <object>g)
                if record[1] == 0 and record[2] is not None:
                    g_obj = call_hooks((<Tensor>edge).hooks, record[2])
                    record[2] = None
                    self.leaf(<Tensor>edge, <PyObject*>g_obj)
                return 0
        if g != NULL:
            self.leaf(<Tensor>edge, g)
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
                        g = call_hooks(hooks, <object>self.grads[entry.first + index])
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
                self.watched(node, entry.first, entry.n_out)
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
                self.give(e, node.edge_index[i], NULL)
        return 0

    cdef int watched(self, Node node, int first, int n_out) except -1:
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
        for i in range(n_out):
            Py_XDECREF(self.grads[first + i])
            self.grads[first + i] = NULL
        if returned is not None:
            for i in range(n_edges):
                e = <object>edge_at(node, i)
                g = returned[i]
                returned[i] = None
                if e is not None:
                    self.give(e, node.edge_index[i], <PyObject*>g if g is not None else NULL)
                g = None
            return 0
        i = 0
        try:
            while i < n_edges:
                t = edge_at(node, i)
                if t != <PyObject*>None:
                    self.give(<object>t, node.edge_index[i], results[i])
                Py_XDECREF(results[i])
                results[i] = NULL
                i += 1
        finally:
            while i < n_edges:
                Py_XDECREF(results[i])
                i += 1
        return 0


cdef int check_released(Node node) except -1:
    if node.released:
        raise RuntimeError(
            f"[backward] requires a graph that is still there, got node {node.name!r} whose saved tensors are freed. "
            "Pass retain_graph=True to the first backward to run a second one.")
    return 0


cdef inline TensorProgram vjp_of(Plan plan, uint64_t mask, bint create):
    if create and plan.fused:
        found = plan.recorded.get(mask)
        return VJP_PLAN(plan, mask, True) if found is None else found
    if plan.vjp_mask == mask:
        return plan.vjp
    found = plan.vjps.get(mask)
    return VJP_PLAN(plan, mask) if found is None else found


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
            f"[backward] requires leaves that have the shape that they were used with, got {leaf.shape} for a gradient of shape {g.shape}")
    return g


cdef object call_hooks(list hooks, object g):
    for entry in list(hooks):
        if type(entry) is Sink:
            continue
        replaced = entry[0](g)
        if replaced is not None:
            if not isinstance(replaced, Tensor):
                raise TypeError(f"[hook] requires a Tensor or None as result, got {type(replaced).__name__}")
            if replaced.shape != g.shape or replaced.dtype is not g.dtype and not getattr(entry[0], "changes_dtype", False):
                raise ValueError(
                    f"[hook] requires a gradient of shape {g.shape} and dtype {g.dtype.name} as result, "
                    f"got shape {replaced.shape} and dtype {replaced.dtype.name}")
            g = replaced
    return g


cdef Tensor own_output(Tensor t, Node node, Plan plan, int at):
    """A saved output with its history; residuals have none of their own."""
    cdef Tensor o
    if at >= plan.n_visible or not plan.out_differentiable >> at & 1:
        return t
    o = shallow(t)
    o.node = node
    o.out_index = at
    o.key |= K_NEEDS_GRAD
    return o


cdef Tensor relink(Tensor t, Node node, int operand):
    """An unpacked operand with the history that the operand had."""
    cdef Tensor o
    e = <object>edge_at(node, operand)
    if not isinstance(e, Node):
        return of_leaf(t, <Tensor>e) if (<Tensor>e).shaped == node.edge_index[operand] and (<Tensor>e).shape == t.shape else t
    o = shallow(t)
    o.node = <Node>e
    o.out_index = node.edge_index[operand]
    o.key |= K_NEEDS_GRAD
    return o


cdef Tensor unpacked(object unpack, tuple kept, str name):
    """What ``unpack`` makes of what pack_saved has kept, checked."""
    packed, version, shape, dtype = kept
    if isinstance(packed, Tensor) and (<Tensor>packed).storage is not None and tensor_version(<Tensor>packed) != version:
        raise RuntimeError(
            f"[{name}] requires what pack_hook returned (shape {packed.shape}) as it was then, got it modified in place: "
            f"version {tensor_version(<Tensor>packed)}, expected {version}. Return a copy from pack_hook.")
    t = unpack(packed)
    if not isinstance(t, Tensor):
        raise TypeError(f"[saved_tensors_hooks] requires a Tensor from unpack, got {type(t).__name__}")
    if t.dtype is not dtype or t.shape != shape:
        raise ValueError(
            f"[saved_tensors_hooks] requires a tensor like the one that was saved from unpack, {dtype.name}{shape}, "
            f"got {t.dtype.name}{t.shape}")
    return <Tensor>t


cdef list saved_tensors(Node node, Plan plan, bint create):
    """What the node saved, versions checked; under create_graph outputs and residuals get their history back."""
    cdef int i, at
    cdef list out = []
    cdef Tensor t, o
    cdef uint32_t version
    cdef PyObject* inputs[64]
    cdef PyObject* residuals[64]
    cdef TensorProgram program
    cdef list saved = [<object>saved_at(node, i) for i in range(node.n_saved)]      # an unpack hook may run a backward that drops them
    for i in range(len(saved)):
        e = saved[i]
        if e is None:
            out.append(None)
            continue
        if node.unpack is not None:
            e = unpacked(node.unpack, <tuple>e, plan.op.name)
            if create and i < plan.n_save_in and edge_at(node, plan.save_in[i]) != <PyObject*>None:
                e = relink(<Tensor>e, node, plan.save_in[i])
            elif create and i >= plan.n_save_in:
                e = own_output(<Tensor>e, node, plan, plan.save_out[i - plan.n_save_in])
            out.append(e)
            continue
        t = <Tensor>e
        version = node.versions[i]
        o = t
        while saved_version(o) != version and o.view is not None and o.view.former:
            o = o.view.parent                            # another shape was given to it in place
        if saved_version(o) == version:
            t = o
        elif t.storage is not None and t.numel:
            what = f"operand {plan.save_in[i]}" if i < plan.n_save_in else f"output {plan.save_out[i - plan.n_save_in]}"
            raise RuntimeError(
                f"[{plan.op.name}] requires {what} (shape {t.shape}) as it was in the forward pass for its gradient, got it modified in place: "
                f"version {tensor_version(t)}, expected {<uint32_t>(version - saved_version(t) + tensor_version(t))}. Clone it before the in-place operation.")
        else:
            # What has no elements is as it was, but for its shape: of its former selves, that from which writes alone lead here. Another
            # shape tells by a multiple of a factor (saved_version), and those lie far from 0.
            o = t
            while saved_version(o) - version > MANY_WRITES and o.view is not None and o.view.former:
                o = o.view.parent
            t = o
        if create:
            if i >= plan.n_save_in:
                t = own_output(t, node, plan, plan.save_out[i - plan.n_save_in])
            else:
                e = <object>edge_at(node, plan.save_in[i])
                if e is not None and e is not t and (t.node is not e or not t.key & K_NEEDS_GRAD):
                    t = relink(t, node, plan.save_in[i])          # its history was cut or moved since
        out.append(t)
    if create and plan.residuals is not None:
        program = <TensorProgram>plan.residuals
        for i in range(plan.n_save_in):
            inputs[i] = <PyObject*>out[i] if out[i] is not None else NULL
        program.execute(inputs, node.ints, residuals, FLAG_INNER)
        for i in range(program.n_outputs):
            fresh = <object>residuals[i]
            Py_DECREF(fresh)
            for at in range(plan.n_save_out):
                if plan.save_out[at] == plan.n_visible + i:
                    out[plan.n_save_in + at] = fresh
    return out


cdef list replaced_by(Node node, object replaced, int n, str what):
    """What a hook put in the place of ``n`` gradients, checked: the caller indexes without bounds."""
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
        made = node.python(*grads)
        result = list(made) if isinstance(made, (tuple, list)) else [made]
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
                        f"got shape {(<Tensor>result[i]).shape} and dtype {(<Tensor>result[i]).dtype.name}")
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


cdef int accumulate(Tensor leaf, PyObject* grad, bint create) except -1:
    """``leaf.grad += grad``: by taking the tensor when nobody but the caller holds it, in place when that is safe.

    A sum may release the GIL, so the old value is taken out first: whoever else adds meanwhile finds none, leaves its own,
    and the loop adds that too.
    """
    cdef Tensor g = <Tensor>grad
    cdef Tensor old
    cdef Operand xs[2]
    cdef PyObject* into[2]
    # References: the caller's and `g`. With more, or with shared memory, a later in-place sum would be seen elsewhere.
    # Selected rows are taken likewise: their own values are the tensor.
    cdef bint mine = Py_REFCNT(grad) <= 2 and g.node is None and not g.key >> K_LAYOUT_SHIFT & K_LAYOUT_MASK \
        and not g.kind & ~<uint32_t>KIND_SELECTED_ROWS and Py_REFCNT(<PyObject*>g.storage) == 1
    while True:
        if leaf.held_grad is None:
            if leaf.grad_state == GRAD_CLEARED and not is_like(leaf, g):
                make_zeros(leaf)
                continue
            if not create:
                if not mine:
                    g = <Tensor>apply(COPY, (g,), ()) if g.kind & KIND_SELECTED_ROWS else detached_copy(g)
                    mine = True
                    continue
                g.key &= ~<uint32_t>K_NEEDS_GRAD
            set_grad(leaf, g)
            return 0
        old = <Tensor?>leaf.held_grad
        leaf.held_grad = None
        if not create and not (old.kind | g.kind) and old.node is None and Py_REFCNT(<PyObject*>old) <= 1 and old.ndim == g.ndim \
                and (old.key & (K_DTYPE_MASK | K_LAYOUT_MASK << K_LAYOUT_SHIFT)) == (g.key & K_DTYPE_MASK):
            xs[0].t = <PyObject*>old
            xs[1].t = <PyObject*>g
            xs[0].n_bits = xs[1].n_bits = 0
            into[0] = <PyObject*>old
            into[1] = NULL
            try:
                dispatch(ADD, xs, 2, NULL, 0, 0, FLAG_INTO | FLAG_UNOBSERVED, into)
            except BaseException:
                leaf.held_grad = old
                raise
            g = old
        else:
            try:
                g = call2(ADD, old, g)
            except BaseException:
                leaf.held_grad = old
                raise
        mine = True


cdef bint is_like(Tensor t, Tensor g) noexcept:
    """Whether ``g`` is a dense tensor of the dtype, place and shape of ``t``."""
    return not (g.kind & ~<uint32_t>KIND_VIEW) and g.ndim == t.ndim \
        and not (g.key ^ t.key) & (K_DTYPE_MASK | K_PLACE_MASK << K_PLACE_SHIFT) and memcmp(g.dims, t.dims, 8 * t.ndim) == 0


cdef object full_like(Tensor t, double value, PyObject** into=NULL):
    """A tensor of the shape, dtype and place of ``t``, or ``into`` filled; nothing is recorded or observed."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef int outer_place = ctx.inner_place
    cdef uint64_t modes = ctx.plan_mode
    cdef Operand[1] xs
    cdef uint64_t[64] shape
    cdef int i, place = (t.key >> K_PLACE_SHIFT) & K_PLACE_MASK
    cdef Tensor o
    if t.numel == 1 and into == NULL and t.key & K_DTYPE_MASK == FLOAT32 and place_access(place) == ACCESS_HOST:
        # Where a run usually begins: one number in the host's memory is no launch.
        o = new_tensor(FLOAT32, t.ndim, t.dims, place, ctx.stream[place])
        (<float*>tensor_data(o))[0] = <float>value
        return o
    xs[0].t = NULL
    xs[0].desc = TAG_FLOAT << K_TAG_SHIFT
    xs[0].bits[1] = 0
    xs[0].n_bits = 1
    xs[0].bits[0] = (<uint64_t*>&value)[0]
    for i in range(t.ndim):
        shape[i] = <uint64_t>t.dims[i]
    ctx.inner_place = place
    ctx.plan_mode = 0
    try:
        return dispatch(<OpBase>FULL[t.key & K_DTYPE_MASK], xs, 1, shape, t.ndim, <uint64_t>(t.ndim + 1),
                        FLAG_UNOBSERVED if into == NULL else FLAG_UNOBSERVED | FLAG_INTO, into)
    finally:
        ctx.inner_place = outer_place
        ctx.plan_mode = modes


# ---- clearing --------------------------------------------------------------------------------------------------------
cdef int make_zeros(Tensor t) except -1:
    """The gradient of a cleared tensor, as somebody looks at it."""
    cdef object zeros = full_like(t, 0.0)
    if t.grad_state == GRAD_CLEARED:                     # still: making them may have run a collection
        set_grad(t, zeros)
    return 0


cdef int clear_grad(Tensor t, bint to_zero) except -1:
    """Zeros in place of the gradient, if there is one, or None.

    Zeros that nobody would see are not written: the next contribution takes their place. Who has the tensor that is the gradient, or a
    view of it, sees it become zero; arrays over its memory keep what they show, and so does a tensor that was assigned.
    """
    cdef PyObject* held = <PyObject*>t.held_grad
    cdef PyObject* into[2]
    cdef Tensor g
    cdef bint seen
    if t.held_grad is None or not to_zero or (<Tensor?>t.held_grad).kind & KIND_SELECTED_ROWS:
        if t.held_grad is not None or not to_zero:
            set_grad(t, None)
        return 0
    if capturing() is not None:
        g = <Tensor>held
        return set_grad(t, apply(FULL[g.key & K_DTYPE_MASK], (0,), (tuple((<object>g).shape),)))
    seen = Py_REFCNT(held) > 1 or Py_REFCNT(<PyObject*>(<Tensor>held).storage) - (<Tensor>held).storage.pins > 1
    g = <Tensor>held
    if seen and t.grad_state == GRAD_MADE and g.node is None and not g.kind & ~<uint8_t>KIND_VIEW:
        into[0] = held
        into[1] = NULL
        full_like(g, 0.0, into)
    elif is_like(t, g):
        set_grad(t, None, GRAD_CLEARED)
    else:
        set_grad(t, full_like(g, 0.0))
    return 0


def is_cleared(Tensor t not None):
    """Whether ``t.grad`` is zeros that nobody has looked at: asking for it would have them made."""
    return t.grad_state == GRAD_CLEARED


cdef int check_start(Tensor t, object g) except -1:
    """Whether a run may begin at ``t`` with ``g`` (None: ones)."""
    if not t.key & K_NEEDS_GRAD:
        raise RuntimeError("[backward] requires a tensor with stop_gradient=False, got one with stop_gradient=True")
    if g is None:
        return 0
    if not isinstance(g, Tensor):
        raise TypeError(f"[backward] requires a Tensor or None as gradient, got {type(g).__name__}")
    if (<Tensor>g).shape != t.shape:
        raise ValueError(f"[backward] requires a gradient of the tensor's shape {t.shape}, got {(<Tensor>g).shape}")
    if (<Tensor>g).dtype is not t.dtype:
        raise TypeError(f"[backward] requires a gradient of the tensor's dtype {t.dtype.name}, got {(<Tensor>g).dtype.name}")
    return 0


cdef object capturing():
    """The tracer of the function that is being captured, which turns gradients into operations; else None."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    if ctx.observers & OBSERVE_TRACE and ctx.trace and ctx.trace[len(ctx.trace) - 1].captures:
        return ctx.trace[len(ctx.trace) - 1]
    return None


def capture_of():
    """The tracer of the function that is being captured, None outside of one."""
    return capturing()


cdef int drive(Run run, PyObject** roots, PyObject** grads, int n) except -1:
    """Common part of backward and grad: from ``n`` roots, with their gradients (None: ones)."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef uint64_t modes = ctx.plan_mode
    cdef int i, outer_place = ctx.inner_place
    cdef Tensor t
    cdef object g, outer_wanted = ctx.wanted, probe = None, token
    if ctx.observers & OBSERVE_TRACE:
        raise RuntimeError(
            "[backward] requires eager tensors, got a call while a program is traced. Differentiate the program instead.")
    for i in range(n):
        t = <Tensor?><object>roots[i]
        refresh_if_view(t)
        check_start(t, <object>grads[i])
    # Gradients are neither cast nor recorded, except that create_graph records them.
    ctx.plan_mode = (modes & ~<uint64_t>(AMP_MASK | MODE_GRAD)) | (MODE_GRAD if run.create else 0)
    ctx.backward_depth += 1
    if ctx.backward_depth == 1:
        ctx.run = run
    ctx.wanted = run.wanted
    run.ctx = ctx
    if ctx.observers & OBSERVE_PROFILE and PROBE is not None:
        probe = PROBE
        token = probe.begin("backward" if run.accumulate else "grad", False)
    try:
        for i in range(n):
            t = <Tensor>roots[i]
            if t.node is not None:
                run.discover(t.node)
            elif t.hooks is not None:
                run.expect(t)
        if run.captures is not None:
            run.mark_wanted()
        for i in range(n):
            t = <Tensor>roots[i]
            g = <object>grads[i]
            if g is None:
                g = full_like(t, 1.0)
            if t.node is None:
                run.give(t, t.shaped, <PyObject*>g)
            else:
                run.add_to(run.entries[run.find(t.node)].first + t.out_index, <Tensor>g)
            g = None
        for i in range(run.count):
            if run.entries[i].deps == 0:
                run.push(i)
        run.execute()
        if ctx.after_run is not None and ctx.backward_depth == 1:
            end_run(ctx, True)
    except BaseException:
        if ctx.after_run is not None and ctx.backward_depth == 1:
            end_run(ctx, False)
        raise
    finally:
        ctx.plan_mode = modes
        ctx.backward_depth -= 1
        if ctx.backward_depth == 0:
            ctx.run = None
        ctx.wanted = outer_wanted
        ctx.inner_place = outer_place
        if ctx.holds_low and ctx.backward_depth == 0 and not modes >> AMP_LEVEL_SHIFT & 3:
            # Casts of parameters that the gradients made: nobody else would end them.
            drop_cast_weights()
        if probe is not None:
            probe.end(token)
    return 0


cdef int end_run(EngineContext ctx, bint complete) except -1:
    """Call what waits for the end of the outermost run."""
    cdef list calls = ctx.after_run
    cdef object failed = None
    ctx.after_run = ctx.pulses = None
    for call in calls:
        try:
            call(complete)
        except BaseException as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return 0


cdef class Sink:
    """An entry of a leaf's hooks: its owner gets what would be added to ``.grad``, after the hooks have seen it.

    ``owner.take(key, leaf, gradient, create_graph)`` is called once per run, the runs within a run included.
    """
    cdef readonly object owner
    cdef readonly object key

    def __init__(self, owner, key):
        self.owner = owner
        self.key = key

    def put(self, Tensor leaf not None):
        """Have the gradients of ``leaf`` from now on. ValueError where somebody else has them."""
        if sink_of(leaf) is not None:
            raise ValueError("[Sink] requires a leaf whose gradients nobody else takes, got one that has a sink")
        leaf._grad_hooks().append(self)

    def drop(self, Tensor leaf not None):
        """Leave the gradients of ``leaf`` to ``.grad`` again."""
        if leaf.hooks is not None and self in leaf.hooks:
            leaf.hooks.remove(self)


def sink_of(Tensor leaf not None):
    """The sink of a leaf, None where it has none."""
    if leaf.hooks is not None:
        for entry in leaf.hooks:
            if type(entry) is Sink:
                return entry
    return None


def add_gradient(Tensor leaf not None, Tensor g not None):
    """``leaf.grad += g``, where ``leaf`` has a sink or not."""
    accumulate(leaf, <PyObject*>g, False)


def after_run(call, pulse=None):
    """``call(complete)`` once at the end of the outermost run of this thread, the modes being those of the run.

    ``complete`` is False where the run ends with an error, which is raised afterwards. ``pulse()`` is called after each
    node until then.
    """
    cdef EngineContext ctx = <EngineContext>context_pointer()
    if ctx.backward_depth == 0:
        raise RuntimeError("[after_run] requires a backward that is running, got none")
    if ctx.after_run is None:
        ctx.after_run = []
    ctx.after_run.append(call)
    if pulse is not None:
        if ctx.pulses is None:
            ctx.pulses = []
        ctx.pulses.append(pulse)


def expected_leaves():
    """Identities of the leaves with hooks that the outermost run reaches, and whether it may reach others, too."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef Run run = ctx.run
    if run is None:
        return frozenset(), False
    return frozenset(run.leaves or ()), run.hides


cdef Run new_run(bint retain, bint create):
    global RUNS
    cdef Run run = Run.__new__(Run)
    RUNS += 1
    run.id = RUNS
    run.retain = retain
    run.create = create
    run.accumulate = True
    return run


def in_backward():
    """Whether this thread is computing gradients."""
    return (<EngineContext>context_pointer()).backward_depth > 0


def backward(tensors, grads=None, bint retain_graph=False, bint create_graph=False):
    """Accumulate into ``.grad`` of the leaves the gradients of ``tensors``, weighted by ``grads`` (ones where None)."""
    cdef list roots = list(tensors)
    cdef list weights = [None] * len(roots) if grads is None else list(grads)
    cdef object tracer = capturing()
    if len(weights) != len(roots):
        raise ValueError(f"[backward] requires one gradient per tensor ({len(roots)}), got {len(weights)}")
    if tracer is not None:
        tracer.backward(roots, weights)
        return
    drive(new_run(retain_graph or create_graph, create_graph), PySequence_Fast_ITEMS(roots), PySequence_Fast_ITEMS(weights), <int>len(roots))


cdef object backward1(Tensor tensor, object grad, bint retain_graph):
    """``backward`` of one tensor, without lists for it."""
    cdef PyObject* root = <PyObject*>tensor
    cdef PyObject* weight = <PyObject*>grad
    cdef object tracer = capturing()
    if grad is not None:
        if not isinstance(grad, Tensor):
            raise op_error(TypeError, "backward", "a Tensor for grad_tensor", type(grad).__name__)
        if grad.shape != (<object>tensor).shape:
            raise op_error(ValueError, "backward", f"a grad_tensor of shape {(<object>tensor).shape}", grad.shape)
    if tracer is not None:
        tracer.backward([tensor], [grad])
        return None
    drive(new_run(retain_graph, False), &root, &weight, 1)
    return None


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, bint create_graph=False, bint allow_unused=False, no_grad_vars=None):
    """Gradients of ``outputs`` with respect to ``inputs``; ``.grad`` of leaves is left alone.

    Raises ValueError when an input has no part in the outputs, unless ``allow_unused``.
    """
    cdef list roots = list(outputs)
    cdef list wanted = list(inputs)
    cdef list weights = [None] * len(roots) if grad_outputs is None else list(grad_outputs)
    cdef Tensor t
    cdef int i
    if len(weights) != len(roots):
        raise ValueError(f"[grad] requires one gradient per output ({len(roots)}), got {len(weights)}")
    cdef object tracer = capturing()
    if tracer is not None:
        return tracer.gradients_of(roots, wanted, weights, create_graph, allow_unused, no_grad_vars)
    cdef Run run = new_run(create_graph if retain_graph is None else retain_graph, create_graph)
    run.accumulate = False
    run.captures = {}
    run.wanted = wanted
    run.results = [None] * len(wanted)
    doubles = {}
    for i in range(len(wanted)):
        t = <Tensor?>wanted[i]
        refresh_if_view(t)
        if not t.key & K_NEEDS_GRAD:
            raise RuntimeError(f"[grad] requires inputs with stop_gradient=False, got stop_gradient=True at position {i}")
        key = id(t) if t.node is None else (id(t.node), t.out_index)
        if key in run.captures:
            doubles[i] = run.captures[key]
        else:
            run.captures[key] = i
    if no_grad_vars:
        run.blocked = set()
        for t in no_grad_vars:
            refresh_if_view(t)
            run.blocked.add(id(t) if t.node is None else (id(t.node), t.out_index))
    drive(run, PySequence_Fast_ITEMS(roots), PySequence_Fast_ITEMS(weights), <int>len(roots))
    for i, at in doubles.items():
        run.results[i] = run.results[at]
    if not allow_unused:
        for i in range(len(wanted)):
            if run.results[i] is None:
                raise ValueError(
                    f"[grad] requires inputs that the outputs depend on, got an unused one at position {i}. Pass allow_unused=True to get None for it.")
    return run.results


def python_node(str name, inputs, outputs, backward):
    """Attach to ``outputs`` a node whose gradient is ``backward(*output_grads)``, one gradient (or None) per input."""
    cdef Node node = new_node()
    cdef Tensor t
    cdef int i
    cdef object tracer = capturing()
    if tracer is not None:
        return tracer.python_node(name, inputs, outputs, backward)
    node.n_out = len(outputs)
    node.python = _Python(name, backward)
    inputs = list(inputs)
    make_room(node, len(inputs), 0, 0)
    for i, x in enumerate(inputs):
        if x is not None:
            refresh_if_view(<Tensor?>x)
        if x is None or not (<Tensor>x).key & K_NEEDS_GRAD:
            set_edge(node, i, None)
            continue
        t = <Tensor>x
        set_edge(node, i, t if t.node is None else t.node)
        node.edge_index[i] = t.shaped if t.node is None else t.out_index
    node.in_meta = [None if x is None else ((<Tensor?>x).shape, (<Tensor>x).dtype) for x in inputs]
    for i, x in enumerate(outputs):
        t = <Tensor?>x
        t.node = node
        t.out_index = i
        t.key |= K_NEEDS_GRAD
    tensor_slots().changes += 1
    return node


def with_history(Tensor t not None, Node node not None, int index):
    """The same data as output ``index`` of ``node``: how a saved output gets its history back without a cycle."""
    cdef Tensor o = shallow(t)
    o.node = node
    o.out_index = index
    o.key |= K_NEEDS_GRAD
    return o


class _Same:
    """The gradient as it is."""

    traceable = True                                 # see Capture.python_node

    def __call__(self, g):
        return (g,)


def of_leaf(Tensor t not None, Tensor leaf not None):
    """The data of ``t``, with gradients that go to ``leaf``: what a leaf was, where it may be something else by now."""
    cdef Tensor o
    if t is leaf:
        return t
    o = shallow(t) if not t.kind & KIND_SYMBOLIC else t.detach()
    python_node("unpacked", [leaf], [o], _Same())
    return o


class _Python:
    """A Python-defined gradient and its name."""

    __slots__ = ("call", "name")

    def __init__(self, name, call):
        self.name = name
        self.call = call

    def __call__(self, *grads):
        return self.call(*grads)


tensor_slots().make_zeros = make_zeros
tensor_slots().clear_grad = clear_grad
tensor_slots().backward = backward1
