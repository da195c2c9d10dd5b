# cython: language_level=3, binding=False
"""Nodes whose gradient is a Python function, and histories given to tensors."""
from umiak.core.context cimport EngineContext, MODE_GRAD, capture_of, context_pointer
from umiak.core.node cimport Node, make_room, new_node, set_edge
from umiak.core.tensor cimport *


def python_node(str name, inputs, outputs, backward):
    """Attach to ``outputs`` a node whose gradient is ``backward(*output_grads)``, one gradient (or None) per input."""
    cdef Node node = new_node()
    cdef Tensor t
    cdef int i
    cdef object tracer = capture_of()
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


def wants_gradient(tuple xs not None):
    """Return whether calls are recorded, and one of these tensors asks for a gradient."""
    if not (<EngineContext>context_pointer()).plan_mode & MODE_GRAD:
        return False
    for x in xs:
        if (<Tensor?>x).key & K_NEEDS_GRAD:
            return True
    return False


def plain_version(x):
    """The version of a tensor that has memory and elements (``Tensor.inplace_version``); -1 for all else."""
    cdef Tensor t
    if type(x) is not Tensor:
        return -1
    t = <Tensor>x
    if t.storage is None or t.kind & KIND_SYMBOLIC or t.numel == 0:
        return -1
    return <int64_t>(tensor_version(t) + t.shaped)


class _Python:
    """A Python-defined gradient and its name. ``may_write``: whether it is the user's, who may write to what it gets."""

    __slots__ = ("call", "may_write", "name")

    def __init__(self, name, call):
        self.name = name
        self.call = call
        self.may_write = getattr(call, "may_write", False)

    def __call__(self, *grads):
        return self.call(*grads)


def with_history(Tensor t not None, Node node not None, int index):
    """The same data as output ``index`` of ``node``: how a saved output gets its history back without a cycle."""
    cdef Tensor o = detached(t)
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
    o = detached(t) if not t.kind & KIND_SYMBOLIC else t.detach()
    python_node("unpacked", [leaf], [o], _Same())
    return o
