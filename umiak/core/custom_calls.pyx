# cython: language_level=3, binding=False
"""Calls of users' operators: the way of a call whose arguments were seen before, what it keeps for its gradient, and how its results
get their history."""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

from umiak.core.eager import apply
from umiak.core.python_nodes import python_node

from umiak.core.context cimport EngineContext, MODE_GRAD, context_pointer, is_tracing
from umiak.core.node cimport Node
from umiak.core.tensor cimport *

import weakref

cdef object SAVE = None        # (tensor, name of the operator, node): a tensor that Kept is not for; the layer above gives both
cdef object GIVE_BACK = None   # (tensor, version, node, output, name of the operator): one that has changed since


class OtherClass(RuntimeError):
    """Numbers or sizes decide ranks or dtypes of results: these are of another class, ``results``, than those of the
    op's first call on such operands. An op with this class as its attribute takes the call."""

    def __init__(self, text: str, results: tuple) -> None:
        super().__init__(text)
        self.results = results


def set_saved_tensors(save, give_back):
    """Say what keeps tensors that hooks or a trace want to see, and what gives tensors back that were changed since."""
    global SAVE, GIVE_BACK
    SAVE, GIVE_BACK = save, give_back


cdef class GradientContext:
    """Object that ``setup_context`` writes into and ``backward`` reads; attributes may be set freely."""
    cdef public object materialize_grads
    cdef public object kept
    cdef public object fixed
    cdef public object needs_input_grad
    cdef dict __dict__

    def __cinit__(self):
        self.materialize_grads = True
        self.kept = self.fixed = self.needs_input_grad = ()

    def save_for_backward(self, *tensors):
        """Keep tensors, or Nones, for ``backward``."""
        self.kept = tensors

    def saved_tensor(self):
        """Return what was kept. RuntimeError where a tensor was modified in place since."""
        return tuple([x if x is None or isinstance(x, Tensor) else x.get() for x in self.kept])

    @property
    def saved_tensors(self):
        """The same."""
        return self.saved_tensor()

    def mark_non_differentiable(self, *tensors):
        """Say that no gradient passes through these results."""
        self.fixed = tensors

    def set_materialize_grads(self, value):
        """Set what ``backward`` gets for results without a gradient: zeros (True, as at first) or None."""
        self.materialize_grads = value


cdef class BackwardCall:
    """The gradient function of one call: what it needs to know of the call."""
    cdef public object definition, form, ctx, packing
    cdef public object metas       # of results, where there are several
    cdef public object tracked     # those that have gradients


@cython.final
cdef class Kept:
    """A tensor for the backward run, checked by its version. An output of the node that keeps it is held without its history."""
    cdef Tensor tensor
    cdef object node               # of the tensor, weakly where it is the one that keeps it
    cdef bint own
    cdef uint32_t index, version
    cdef str name

    def get(self):
        """The tensor. RuntimeError where it was modified in place since."""
        cdef Tensor o
        node = self.node() if self.own else self.node
        if tensor_version(self.tensor) + self.tensor.shaped != self.version:
            return GIVE_BACK(self.tensor, <int64_t>self.version, node, self.index, self.name)
        if node is None or self.tensor.node is node:
            return self.tensor
        o = detached(self.tensor)
        o.node = <Node>node
        o.out_index = self.index
        o.key |= K_NEEDS_GRAD
        return o


cdef object keep(object x, str name, object node, EngineContext context):
    cdef Tensor t
    cdef Kept kept
    if not isinstance(x, Tensor):
        return x
    t = <Tensor>x
    if context.saved_hooks is not None or type(x) is not Tensor or t.kind or t.storage is None or t.numel == 0:
        return SAVE(x, name, node)
    kept = Kept.__new__(Kept)
    kept.name = name
    kept.index = t.out_index
    kept.own = t.node is node
    kept.node = weakref.ref(node) if kept.own else t.node
    kept.tensor = detached(t) if kept.own else t
    kept.version = tensor_version(t) + t.shaped if not kept.own else tensor_version(kept.tensor) + kept.tensor.shaped
    return kept


cdef bint needs(object x):
    if type(x) is Tensor and not (<Tensor>x).kind:
        return (<Tensor>x).key & K_NEEDS_GRAD != 0
    return isinstance(x, Tensor) and not x.stop_gradient


cdef bint is_continuous(object x):
    return x.dtype.is_continuous


def attach(definition, form, tuple args not None, tensors, list results not None, packing, like, call_class):
    """The results, packed, with the operator's gradient as their history.

    ``like``: makes what is remembered of a result; ``call_class``: the class of gradient functions, a BackwardCall.
    """
    cdef EngineContext context = <EngineContext>context_pointer()
    cdef GradientContext ctx = GradientContext.__new__(GradientContext)
    cdef BackwardCall run
    cdef uint64_t recorded
    cdef object packed
    cdef list tracked
    cdef tuple kept
    cdef str name
    if packing is Tensor:
        packed = results[0]
    else:
        packed = None if packing is type(None) else packing(results)
    ctx.needs_input_grad = tuple([needs(x) for x in args])
    if definition.setup is not None:
        recorded = context.plan_mode & MODE_GRAD
        context.plan_mode &= ~<uint64_t>MODE_GRAD
        try:
            definition.setup(ctx, args, packed)
        finally:
            context.plan_mode |= recorded
    if len(results) == 1 and not ctx.fixed:
        tracked = [0] if is_continuous(results[0]) else []
    else:
        fixed = {id(y) for y in ctx.fixed}
        tracked = [i for i, y in enumerate(results) if is_continuous(y) and id(y) not in fixed]
    if not tracked:
        return packed
    run = call_class.__new__(call_class)
    run.definition, run.form, run.ctx, run.packing = definition, form, ctx, packing
    if len(results) > 1:
        run.metas, run.tracked = [like(y) for y in results], tracked
    name = definition.name
    node = python_node(name, tensors, [results[i] for i in tracked], run)
    kept = ctx.kept
    if kept:
        ctx.kept = tuple([keep(x, name, node, context) for x in kept])
    return packed


cdef tuple NO_SCALARS = ((), ())

cdef class OperatorCall:
    """An operator that is called. A subclass has ``_general(values)``, for arguments of classes that were not seen before,
    ``_varied(values)``, for calls that end in OtherClass, and ``_with_gradient(op, args, tensors, scalars)``."""
    cdef public object definition
    # By the classes of arguments, where these decide the form: the op, and what sorts arguments; None: all are tensors.
    cdef readonly dict _ways
    cdef object __weakref__

    def __init__(self, definition):
        self.definition = definition
        self._ways = {}

    def __call__(self, *args, **kwargs):
        cdef EngineContext context
        cdef tuple way, operands, scalars
        cdef object x, op, outputs
        if not kwargs:
            way = self._ways.get(tuple([type(x) for x in args]))
            if way is not None and not is_tracing():
                op = way[0]
                if way[1] is None:
                    operands, scalars = args, NO_SCALARS
                else:
                    operands, scalars = way[1](args)
                context = <EngineContext>context_pointer()
                try:
                    if context.plan_mode & MODE_GRAD:
                        for x in operands:
                            if (<Tensor>x).key & K_NEEDS_GRAD:
                                return self._with_gradient(op, args, operands, scalars)
                    outputs = apply(op, operands, scalars)
                except OtherClass:
                    return self._varied(args)
                return outputs[0] if op.packing is Tensor else op.packed_up(outputs)
        return self._general(self.definition.schema.bound(args, kwargs))
