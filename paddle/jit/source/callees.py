"""Calls made by rewritten code: the user's functions and layers rewritten as well, everything else as it is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinMethodType, CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from paddle.jit.ignored import is_ignored
from paddle.jit.source import hidden_state
from paddle.jit.source.builtins_ import READ_BY, TABLE, of_math, of_numpy
from paddle.jit.source.code_owners import is_users
from paddle.jit.source.convert import convert, is_converted
from paddle.jit.source.errors import SourceError
from paddle.jit.source.namespaces import REPLACED
from paddle.jit.source.show import note
from paddle.jit.source.values import array_of, is_moved, tracing
from paddle.jit.source.world import world
from paddle.nn.layer._hooks import call_with_hooks
from paddle.nn.layer.container import Sequential
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.ir.sym import Sym
from umiak.ir.tracer import SymTensor
from umiak.util import pytree


def call(f: Any) -> Any:
    """Return the function to call in place of ``f``."""
    if not tracing():
        return f
    known = TABLE.get(id(f)) or REPLACED.get(id(f))
    if known is not None:
        return known
    if getattr(f, "__module__", None) == "numpy" or isinstance(f, np.ufunc):
        return of_numpy(f) or f
    if getattr(f, "__module__", None) == "math":
        return of_math(f) or f
    if isinstance(f, MethodType) and isinstance(f.__self__, Tensor) and f.__name__ in READ_BY:
        return functools.partial(READ_BY[f.__name__], f.__self__)
    if type(f) is BuiltinMethodType and is_moved(f.__self__):
        return getattr(array_of(f.__self__), f.__name__)
    hidden_state.check(f)
    return converted(f)


def converted(f: Any) -> Any:
    """``f`` with what it runs rewritten, where that is the user's."""
    if getattr(f, "__not_to_static__", False):
        inner = getattr(f, "__wrapped__", f)
        return MethodType(inner, f.__self__) if isinstance(f, MethodType) and inner is not f else inner
    original = getattr(f, "dygraph_function", None)
    if original is not None:  # captured by itself: here it is a part
        return converted(original)
    if isinstance(f, FunctionType):
        return _function(f)
    if isinstance(f, MethodType):
        inner = converted(f.__func__)
        return f if inner is f.__func__ else MethodType(inner, f.__self__)
    if type(f) is functools._lru_cache_wrapper:
        return functools.partial(_cached, f)
    if isinstance(f, functools.partial):
        inner = converted(f.func)
        return f if inner is f.func else functools.partial(inner, *f.args, **f.keywords)
    if isinstance(f, Layer):
        return _layer(f)
    own = type(f).__call__ if callable(f) else None
    if isinstance(own, FunctionType) and not isinstance(f, type):
        inner = converted(own)
        return f if inner is own else MethodType(inner, f)
    return f


def _cached(f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call of a function with ``functools.lru_cache``, which does not keep tensors of a program: they are known in
    one branch or loop alone, and not behind the program."""
    result = f(*args, **kwargs)
    if any(issubclass(type(x), (SymTensor, Sym)) for x in pytree.leaves((args, kwargs, result))):
        f.cache_clear()
        world().note(f, None)
    hidden_state.note_cached(f)
    return result


def _function(f: FunctionType) -> FunctionType:
    return _around(f) if is_kept(f) and not is_converted(f) else rewritten(f)


def rewritten(f: FunctionType) -> FunctionType:
    """Return a function with its text rewritten; itself where there is no text, or none of the user's."""
    if is_converted(f) or is_kept(f):
        return f
    try:
        made = convert(f)
    except SourceError as error:  # what it does without branches on tensors is captured nevertheless
        note(str(error), f)
        return f
    note("is called as it is" if made is f else "is rewritten", f)
    return made


def is_kept(f: FunctionType) -> bool:
    """Return whether a function is called as it is."""
    module = f.__globals__.get("__name__") or f.__module__ or ""
    if is_ignored(module):
        return True
    return not is_users(f.__code__, module)


def _around(f: FunctionType) -> FunctionType:
    """A wrapper that a decorator of a library (``no_grad``) has put around the user's function, around the rewritten
    one."""
    inner = getattr(f, "__wrapped__", None)
    if not isinstance(inner, FunctionType) or not f.__closure__:
        return f
    made = converted(inner)
    if made is inner:
        return f
    closure = tuple(CellType(made) if _holds(cell, inner) else cell for cell in f.__closure__)
    out = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, closure)
    out.__kwdefaults__ = f.__kwdefaults__
    return out


def _holds(cell: CellType, value: Any) -> bool:
    try:
        return cell.cell_contents is value
    except ValueError:
        return False


def _in_order(layer: Layer, x: Any) -> Any:
    for below in layer._sub_layers.values():
        x = call(below)(x)
    return x


def _layer(layer: Layer) -> Callable[..., Any]:
    """A call of a layer with its ``forward`` rewritten."""
    if type(layer).__call__ is not Layer.__call__:
        return MethodType(converted(type(layer).__call__), layer)
    forward = layer.forward
    inner = converted(forward)
    if getattr(forward, "__func__", None) is Sequential.forward:  # which calls its layers in C
        inner = functools.partial(_in_order, layer)
    if inner is forward and not (layer._forward_pre_hooks or layer._forward_post_hooks):
        return layer

    def run(*inputs: Any, **kwargs: Any) -> Any:
        if layer._forward_pre_hooks or layer._forward_post_hooks:
            return call_with_hooks(layer, inputs, kwargs, inner, call)
        return inner(*inputs, **kwargs)

    return run
