# cython: language_level=3, binding=False
"""The tensors that a node saved, as its gradient needs them: versions checked, hooks asked, histories given back."""
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF

from umiak.core.python_nodes import of_leaf

from umiak.core.node cimport Node, edge_at, saved_at
from umiak.core.plan cimport FLAG_INNER, Plan, TensorProgram
from umiak.core.storage cimport RESIDENT, Storage
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)

cdef enum:
    MANY_WRITES = 1 << 20      # more than come between a forward and its backward pass


cdef Tensor own_output(Tensor t, Node node, Plan plan, int at):
    """A saved output with its history; residuals have none of their own."""
    cdef Tensor o
    if at >= plan.n_visible or not plan.out_differentiable >> at & 1:
        return t
    o = detached(t)
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
    o = detached(t)
    o.node = <Node>e
    o.out_index = node.edge_index[operand]
    o.key |= K_NEEDS_GRAD
    return o


cdef Tensor unpacked(object unpack, tuple kept, str name):
    """The tensor that ``unpack`` makes of what pack_saved has kept, checked."""
    packed, version, shape, dtype = kept
    if isinstance(packed, Tensor) and (<Tensor>packed).storage is not None and tensor_version(<Tensor>packed) != version:
        raise RuntimeError(
            f"[{name}] requires what pack_hook returned (shape {list(packed.shape)}) as it was then, got it modified in place: "
            f"version {tensor_version(<Tensor>packed)}, expected {version}. Return a copy from pack_hook.")
    t = unpack(packed)
    if not isinstance(t, Tensor):
        raise TypeError(f"[saved_tensors_hooks] requires a Tensor from unpack, got {type(t).__name__}")
    if t.dtype is not dtype or t.shape != shape:
        raise ValueError(
            f"[saved_tensors_hooks] requires a tensor like the one that was saved from unpack, {dtype.name}{list(shape)}, "
            f"got {t.dtype.name}{list(t.shape)}")
    return <Tensor>t


cdef list saved_tensors(Node node, Plan plan, bint create):
    """The tensors that the node saved, versions checked; under create_graph outputs and residuals get their history back."""
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
                f"[{plan.op.name}] requires {what} (shape {list(t.shape)}) as it was in the forward pass for its gradient, got it modified in place: "
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


def held_alone(list nodes not None, int place):
    """The storages of a place, by index, that nothing holds but what these nodes saved: no variable, and no call that runs.

    What computes holds its operands, so nobody has read the address of such memory: it may be offloaded (Storage.offload).
    """
    cdef dict slots = {}       # by address of a tensor: how many slots of nodes hold it
    cdef dict holders = {}     # by address of a storage: how many of these tensors, which slots alone hold, are over it
    cdef PyObject* p
    cdef Storage s
    cdef Node node
    cdef int i
    for o in nodes:
        node = <Node?>o
        # A backward run that is under way has taken what its node keeps.
        if node.unpack is not None or (node.more_saved is not None and Py_REFCNT(<PyObject*>node.more_saved) > 1):
            continue
        for i in range(node.n_saved):
            p = saved_at(node, i)
            if p != <PyObject*>None:
                slots[<size_t>p] = slots.get(<size_t>p, 0) + 1
    for address, n in slots.items():
        p = <PyObject*><size_t>address
        if Py_REFCNT(p) == n and (<Tensor>p).storage is not None:
            key = <size_t><PyObject*>(<Tensor>p).storage
            holders[key] = holders.get(key, 0) + 1
    storages = []
    for address, n in holders.items():
        p = <PyObject*><size_t>address
        if Py_REFCNT(p) == n:
            s = <Storage>p
            if s.place == place and s.state == RESIDENT and s.pins == 0 and s.allocator is not None and s.nbytes:
                storages.append(s)
    return storages
