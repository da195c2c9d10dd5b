# cython: language_level=3, binding=False
"""Backward runs over recorded calls, as callers start them: into ``.grad`` of leaves, or as the gradients of given tensors."""
from cpython.object cimport PyObject

from umiak.core.call_program import drop_cast_weights
from umiak.core.tensor import own_place
from umiak.util.errors import op_error

from umiak.core.backward_run cimport PROBE, Run, new_run
from umiak.core.context cimport (
    AMP_LEVEL_SHIFT, AMP_MASK, EngineContext, MODE_GRAD, OBSERVE_PROFILE, OBSERVE_TRACE, capture_of, context_pointer)
from umiak.core.leaf_gradients cimport full_like
from umiak.core.own_memory cimport give_own
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(list)


def backward(tensors, grads=None, bint retain_graph=False, bint create_graph=False):
    """Accumulate into ``.grad`` of the leaves the gradients of ``tensors``, weighted by ``grads`` (ones where None).

    Tensors with ``stop_gradient=True`` have none, which is no error.
    """
    cdef list roots = list(tensors)
    cdef list weights = [None] * len(roots) if grads is None else list(grads)
    cdef object tracer = capture_of()
    if len(weights) != len(roots):
        raise ValueError(f"[backward] requires one gradient per tensor ({len(roots)}), got {len(weights)}")
    if tracer is not None:
        tracer.backward(roots, weights, retain_graph or create_graph)
        return
    for root in roots:
        refresh_if_view(<Tensor?>root)
    # What needs no gradient gives none to any leaf.
    weights = [g for t, g in zip(roots, weights) if (<Tensor>t).key & K_NEEDS_GRAD]
    roots = [t for t in roots if (<Tensor>t).key & K_NEEDS_GRAD]
    drive(new_run(retain_graph or create_graph, create_graph), PySequence_Fast_ITEMS(roots), PySequence_Fast_ITEMS(weights), <int>len(roots))


cdef object backward1(Tensor tensor, object grad, bint retain_graph):
    """``backward`` of one tensor, without lists for it."""
    cdef PyObject* root = <PyObject*>tensor
    cdef PyObject* weight = <PyObject*>grad
    cdef object tracer = capture_of()
    if grad is not None:
        if not isinstance(grad, Tensor):
            raise op_error(TypeError, "backward", "a Tensor for grad_tensor", type(grad).__name__)
        if grad.shape != (<object>tensor).shape:
            raise op_error(ValueError, "backward", f"a grad_tensor of shape {list((<object>tensor).shape)}", grad.shape)
    if tracer is not None:
        tracer.backward([tensor], [grad], retain_graph)
        return None
    refresh_if_view(tensor)
    if not tensor.key & K_NEEDS_GRAD:
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
    cdef bint retain = create_graph if retain_graph is None else retain_graph
    cdef object tracer = capture_of()
    if tracer is not None:
        return tracer.gradients_of(roots, wanted, weights, retain, create_graph, allow_unused, no_grad_vars)
    cdef Run run = new_run(retain, create_graph)
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
        key = place_of(t)
        if key in run.captures:
            doubles[i] = run.captures[key]
        else:
            run.captures[key] = i
    if no_grad_vars:
        run.blocked = set()
        for t in no_grad_vars:
            refresh_if_view(t)
            run.blocked.add(place_of(t))
    drive(run, PySequence_Fast_ITEMS(roots), PySequence_Fast_ITEMS(weights), <int>len(roots))
    for i, at in doubles.items():
        run.results[i] = run.results[at]
    if not create_graph:
        give_own(run.results)
    if not allow_unused:
        for i in range(len(wanted)):
            if run.results[i] is None:
                raise ValueError(
                    f"[grad] requires inputs that the outputs depend on, got an unused one at position {i}. Pass allow_unused=True to get None for it.")
    return run.results


cdef object place_of(Tensor t):
    """The key of the gradient of ``t`` in a run: a leaf, or a node and the number of an output."""
    if t.node is None:
        return id(t)
    if t.node.python is None:
        return id(t.node), t.out_index
    node, index = own_place(t, True)
    return id(node), index


def tensors_of(x):
    """``[x]`` of a tensor, the items of a list or tuple of tensors; None of anything else."""
    cdef list tensors
    if isinstance(x, Tensor):
        return [x]
    if not isinstance(x, (list, tuple)):
        return None
    tensors = list(x)
    for t in tensors:
        if not isinstance(t, Tensor):
            return None
    return tensors


def any_of_kind(list tensors not None, int kind):
    """Return whether one of the tensors is of this kind, one of KIND_*."""
    for t in tensors:
        if (<Tensor?>t).kind & kind:
            return True
    return False


cdef int check_start(Tensor t, object g) except -1:
    """Refuse a run that may not begin at ``t`` with ``g`` (None: ones)."""
    if not t.key & K_NEEDS_GRAD:
        raise RuntimeError("[backward] requires a tensor with stop_gradient=False, got one with stop_gradient=True")
    if g is None:
        return 0
    if not isinstance(g, Tensor):
        raise TypeError(f"[backward] requires a Tensor or None as gradient, got {type(g).__name__}")
    if (<Tensor>g).shape != t.shape:
        raise ValueError(f"[backward] requires a gradient of the tensor's shape {list(t.shape)}, got {list((<Tensor>g).shape)}")
    if (<Tensor>g).dtype is not t.dtype:
        raise TypeError(f"[backward] requires a gradient of the tensor's dtype {t.dtype.name}, got {(<Tensor>g).dtype.name}")
    return 0


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
        # What the run reads was made before its roots were, on whichever streams.
        if t.storage is not None and (t.storage.stream != ctx.stream[t.storage.place] or t.storage.later is not None):
            t.storage.come_after_users(ctx.stream[t.storage.place])
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
                run.give_kept(t, t.shaped, <PyObject*>g)
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


# ---- within a run ----------------------------------------------------------------------------------------------------
def in_backward():
    """Return whether this thread is computing gradients."""
    return (<EngineContext>context_pointer()).backward_depth > 0


def expected_leaves():
    """Identities of the leaves with hooks that the outermost run reaches, and whether it may reach others, too."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef Run run = ctx.run
    if run is None:
        return frozenset(), False
    return frozenset(run.leaves or ()), run.hides


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


tensor_slots().backward = backward1
