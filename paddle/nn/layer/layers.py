"""``Layer``: parameters, buffers and sublayers with names, hooks around ``forward``, saving and loading."""

from __future__ import annotations

import re
import warnings
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

import paddle
from paddle._public import also, public
from paddle.framework import unique_name
from paddle.framework.param_attr import ParamAttr
from paddle.framework.parameter import Parameter
from paddle.nn.initializer import Constant, XavierUniform
from paddle.nn.initializer.initializers import defaults as _initializer_defaults
from umiak.core import dispatch
from umiak.core.context import no_grad_guard
from umiak.core.direct import by_forward
from umiak.core.dtype import DType, convert
from umiak.core.tensor import Tensor

_IncompatibleKeys = namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])


# How often an attribute of any layer was set: what has looked at layers knows whether to look again.
# Of layers: one number, another object after each change.
CHANGES = [0]


def changes() -> int:
    """A number that grows whenever an attribute, a parameter, a sublayer or a hook of a layer is set or removed."""
    return CHANGES[0]


class _Registry(dict):
    """One of a layer's tables by name. Every change is made in the instance ``__dict__`` of the layer too.

    Names are therefore plain attributes (no ``__getattr__``, three times faster in ``forward``), while code that edits
    ``layer._parameters`` directly keeps working. The layer is held weakly: a layer is freed without the cycle
    collector.
    """

    __slots__ = ("_layer",)

    def __init__(self, layer: Layer, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__()
        self._layer = weakref.ref(layer)
        self.update(items)

    def _namespace(self) -> dict[str, Any]:
        layer = self._layer()
        return {} if layer is None else layer.__dict__

    def __setitem__(self, name: str, value: Any) -> None:
        CHANGES[0] += 1
        super().__setitem__(name, value)
        self._namespace()[name] = value

    def __delitem__(self, name: str) -> None:
        CHANGES[0] += 1
        super().__delitem__(name)
        self._namespace().pop(name, None)

    def pop(self, name: str, *default: Any) -> Any:
        CHANGES[0] += 1
        if name in self:
            self._namespace().pop(name, None)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        CHANGES[0] += 1
        name, value = super().popitem()
        self._namespace().pop(name, None)
        return name, value

    def clear(self) -> None:
        for name in list(self):
            del self[name]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def __ior__(self, other: Any) -> _Registry:  # type: ignore[misc]
        self.update(other)
        return self

    def __reduce__(self) -> tuple:
        return dict, (dict(self),)


_TABLES = ("_parameters", "_buffers", "_sub_layers")


class HookRemoveHelper:
    """What registering a hook returns: ``remove()`` takes the hook away again."""

    next_hook_id: int = 0

    def __init__(self, hooks: dict[int, Any], *flags: dict[int, bool]) -> None:
        self._tables = [weakref.ref(t) for t in (hooks, *flags)]
        self._hook_id = HookRemoveHelper.next_hook_id
        HookRemoveHelper.next_hook_id += 1

    def remove(self) -> None:
        """Take the hook away. A second call does nothing."""
        for table in self._tables:
            found = table()
            if found is not None:
                found.pop(self._hook_id, None)


class HookTable(dict):
    """Hooks by number, as a dict that a handle can refer to weakly. ``order`` is a tuple of those there are now."""

    __slots__ = ("__weakref__", "order")

    def __init__(self) -> None:
        super().__init__()
        self.order: tuple = ()

    def put(self, key: int, value: Any, first: bool = False) -> None:
        former = list(self.items()) if first else ()
        if first:
            self.clear()
        self[key] = value
        self.update(former)


def _ordered(change: Callable) -> Callable:
    def changed(self: HookTable, *args: Any, **kwargs: Any) -> Any:
        result = change(self, *args, **kwargs)
        CHANGES[0] += 1
        self.order = tuple(self.values())
        return result

    return changed


# A loop over a tuple needs no copy of the hooks: a hook that adds or removes others leaves the tuple as it is.
for _name in ("__setitem__", "__delitem__", "pop", "popitem", "clear", "update", "setdefault", "__ior__"):
    setattr(HookTable, _name, _ordered(getattr(dict, _name)))


def _snake(name: str) -> str:
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


_NOTHING: Any = object()


@public("paddle.nn")
class Layer:
    """Base of every neural-network layer and model.

    A subclass makes its parameters and sublayers in ``__init__`` and computes in ``forward``. Assigning a
    ``Parameter``,
    a ``Layer`` or a ``Tensor`` to an attribute registers it.

    Args:
        name_scope: prefix of the names of its parameters; by default the class name in snake case.
        dtype: default dtype of the parameters made by ``create_parameter``.

    Example:
        >>> import paddle
        >>> class Affine(paddle.nn.Layer):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.scale = self.create_parameter([3])
        ...         self.shift = self.create_parameter([3], is_bias=True)
        ...     def forward(self, x):
        ...         return x * self.scale + self.shift
        >>> layer = Affine()
        >>> layer(paddle.ones([2, 3])).shape
        [2, 3]
        >>> sorted(layer.state_dict())
        ['scale', 'shift']
    """

    training: bool
    _rare_hooks: bool  # whether a hook with `with_kwargs` or `always_call` was ever registered
    _full_name: str
    _dtype: str
    _parameters: _Registry
    _buffers: _Registry
    _sub_layers: _Registry
    _non_persistable_buffer_names_set: set[str]
    _forward_pre_hooks: HookTable
    _forward_post_hooks: HookTable
    _hook_flags: dict[int, dict[str, bool]]
    _state_dict_hooks: HookTable

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        d = self.__dict__
        d["training"] = True
        d["_full_name"] = unique_name.generate(name_scope or _snake(type(self).__name__))
        d["_dtype"] = dtype if type(dtype) is str else convert(dtype).name
        d["_parameters"] = _Registry(self)
        d["_buffers"] = _Registry(self)
        d["_sub_layers"] = _Registry(self)
        d["_non_persistable_buffer_names_set"] = set()
        d["_rare_hooks"] = False
        d["_forward_pre_hooks"] = HookTable()
        d["_forward_post_hooks"] = HookTable()
        d["_hook_flags"] = {}
        d["_state_dict_hooks"] = HookTable()

    # --- calling ---------------------------------------------------------------------------------------------------

    @by_forward
    def __call__(self, input: Any = _NOTHING, /, *rest: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and the hooks around it."""
        if rest or kwargs or input is _NOTHING:
            inputs = () if input is _NOTHING else (input, *rest)
            if self._forward_pre_hooks or self._forward_post_hooks:
                return self._call_with_hooks(inputs, kwargs)
            return self.forward(*inputs, **kwargs)
        # One input, the usual call: in this frame, without needless tuples and dicts.
        pre, post = self._forward_pre_hooks, self._forward_post_hooks
        if not (pre or post):
            return self.forward(input)
        inputs = (input,)
        if self._rare_hooks:
            return self._call_with_hooks(inputs, {})
        if pre:
            for hook in pre.order:
                result = hook(self, inputs)
                if result is not None:
                    inputs = result if isinstance(result, tuple) else (result,)
            outputs = self.forward(*inputs)
        else:
            outputs = self.forward(input)
        for hook in post.order:
            result = hook(self, inputs, outputs)
            if result is not None:
                outputs = result
        return outputs

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The computation of the layer: every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def _call_with_hooks(self, inputs: tuple, kwargs: dict[str, Any]) -> Any:
        """A call with hooks of any kind and any inputs."""
        flags = self._hook_flags
        called = set()
        outputs = None
        try:
            for key, hook in list(self._forward_pre_hooks.items()):
                if flags[key]["with_kwargs"]:
                    result = hook(self, inputs, kwargs)
                    if result is not None:
                        if not (isinstance(result, tuple) and len(result) == 2):
                            raise RuntimeError(
                                f"[{type(self).__name__}] requires a forward pre-hook to return None or "
                                f"(inputs, kwargs), got {result!r}"
                            )
                        inputs, kwargs = result
                else:
                    result = hook(self, inputs)
                    if result is not None:
                        inputs = result
                if not isinstance(inputs, tuple):
                    inputs = (inputs,)
            outputs = self.forward(*inputs, **kwargs)
            for key, hook in list(self._forward_post_hooks.items()):
                called.add(key)
                outputs = self._after(hook, flags[key], inputs, kwargs, outputs)
            return outputs
        except Exception:
            # Hooks with always_call have not run yet where something before them failed.
            for key, hook in list(self._forward_post_hooks.items()):
                if flags[key]["always_call"] and key not in called:
                    try:
                        outputs = self._after(hook, flags[key], inputs, kwargs, outputs)
                    except Exception as inner:
                        warnings.warn(
                            f"a forward hook with always_call failed while another error was raised: {inner}",
                            stacklevel=3,
                        )
            raise

    def _after(self, hook: Callable, flags: dict[str, bool], inputs: tuple, kwargs: dict, outputs: Any) -> Any:
        result = hook(self, inputs, kwargs, outputs) if flags["with_kwargs"] else hook(self, inputs, outputs)
        return outputs if result is None else result

    def _add_hook(self, table: HookTable, hook: Callable, prepend: bool, **flags: bool) -> HookRemoveHelper:
        handle = HookRemoveHelper(table)
        self._hook_flags[handle._hook_id] = flags
        if True in flags.values():
            self.__dict__["_rare_hooks"] = True
        table.put(handle._hook_id, hook, first=prepend)
        return handle

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookRemoveHelper:
        """Call ``hook(layer, inputs)`` before ``forward``; what it returns replaces the inputs (unless None).

        Args:
            prepend: run before the hooks registered so far.
            with_kwargs: call ``hook(layer, inputs, kwargs)``, which returns None or ``(inputs, kwargs)``.

        Example:
            >>> import paddle
            >>> layer = paddle.nn.ReLU()
            >>> handle = layer.register_forward_pre_hook(lambda layer, inputs: (-inputs[0],))
            >>> float(layer(paddle.to_tensor(-2.0)))
            2.0
            >>> handle.remove()
        """
        return self._add_hook(self._forward_pre_hooks, hook, prepend, with_kwargs=with_kwargs)

    def register_forward_post_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookRemoveHelper:
        """Call ``hook(layer, inputs, outputs)`` after ``forward``; what it returns replaces the outputs (unless None).

        Args:
            prepend: run before the hooks registered so far.
            with_kwargs: call ``hook(layer, inputs, kwargs, outputs)``.
            always_call: call it also when ``forward`` raises.
        """
        return self._add_hook(self._forward_post_hooks, hook, prepend, with_kwargs=with_kwargs, always_call=always_call)

    register_forward_hook = register_forward_post_hook

    # --- attributes ------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        d = self.__dict__
        parameters = d.get("_parameters")
        if parameters is None:
            if isinstance(value, (Parameter, Layer)):
                raise RuntimeError(f"{type(self).__name__} requires super().__init__() before {name!r} is assigned")
            object.__setattr__(self, name, value)
        elif isinstance(value, Parameter):
            self._claim(name, parameters)
            parameters[name] = value
        elif name in parameters:
            self._only_none(value, "parameter", name, "Parameter")
            parameters[name] = None
        elif isinstance(value, Layer):
            self._claim(name, self._sub_layers)
            self._sub_layers[name] = value
        elif name in self._sub_layers:
            self._only_none(value, "sublayer", name, "Layer")
            self._sub_layers[name] = None
        elif isinstance(value, Tensor):
            if name not in self._buffers:
                self._non_persistable_buffer_names_set.add(name)
            self._buffers[name] = value
        elif name in self._buffers:
            self._only_none(value, "buffer", name, "Tensor")
            self._buffers[name] = None
        elif name in _TABLES:
            d[name] = _Registry(self, value)
        else:
            CHANGES[0] += 1
            object.__setattr__(self, name, value)

    @staticmethod
    def _only_none(value: Any, what: str, name: str, kind: str) -> None:
        if value is not None:
            raise TypeError(f"assignment to {what} {name!r} requires a {kind} or None, got {type(value).__name__}")

    def _claim(self, name: str, table: _Registry) -> None:
        """Take ``name`` out of the other tables before it enters ``table``."""
        for other in (self._parameters, self._buffers, self._sub_layers):
            if other is not table and name in other:
                del other[name]
        self._non_persistable_buffer_names_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._sub_layers):
            if name in table:
                del table[name]
                self._non_persistable_buffer_names_set.discard(name)
                return
        object.__delattr__(self, name)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for table in _TABLES:
            for name in state[table]:
                state.pop(name, None)
            state[table] = dict(state[table])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        tables = {t: state.pop(t) for t in _TABLES}
        self.__dict__.update(state)
        for table, items in tables.items():
            self.__dict__[table] = _Registry(self, items)

    def full_name(self) -> str:
        """The unique name of this layer, such as ``linear_0``."""
        return self._full_name

    # --- making parameters and buffers -----------------------------------------------------------------------------

    def create_parameter(
        self,
        shape: Any,
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
        device: Any = None,
    ) -> Any:
        """Make a parameter named after this layer; assign it to an attribute to register it.

        Args:
            shape: sizes.
            attr: a ``ParamAttr``, an initializer, a name, or False for no parameter (None is returned).
            dtype: by default the dtype of the layer.
            is_bias: named ``.b_`` and filled with zeros by default; otherwise ``.w_`` and Xavier-uniform.
            default_initializer: used when neither ``attr`` nor ``set_global_initializer`` names one.
            device: where to put it.
        """
        attr = ParamAttr._to_attr(attr)
        if attr is False:
            return None
        common = _initializer_defaults.bias if is_bias else _initializer_defaults.weight
        initializer = (
            attr.initializer or common or default_initializer or (Constant(0.0) if is_bias else XavierUniform())
        )
        name = attr.name or unique_name.generate(f"{self._full_name}.{'b' if is_bias else 'w'}")
        return Parameter.create(shape, dtype or self._dtype, name, attr, initializer, device)

    def create_tensor(self, name: str | None = None, persistable: bool | None = None, dtype: Any = None) -> Any:
        """An empty tensor of this layer's dtype, to be filled later."""
        made = paddle.empty([0], dtype=dtype or self._dtype)
        made.name = name or unique_name.generate(f"{self._full_name}._generated_var")
        made.persistable = bool(persistable)
        return made

    create_variable = create_tensor

    def add_parameter(self, name: str, parameter: Parameter | None) -> Parameter | None:
        """Register ``parameter`` as attribute ``name``. Raises KeyError for a name that is taken or contains a dot."""
        self._check_name(name, self._parameters, "parameter")
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(f"[add_parameter] requires a Parameter or None, got {type(parameter).__name__}")
        self._parameters[name] = parameter
        return parameter

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register ``param`` as attribute ``name``."""
        self.add_parameter(name, param)

    def add_sublayer(self, name: str, sublayer: Layer | None) -> Layer | None:
        """Register ``sublayer`` as attribute ``name``."""
        if sublayer is not None and not isinstance(sublayer, Layer):
            raise TypeError(f"[add_sublayer] requires a Layer or None, got {type(sublayer).__name__}")
        self._claim(name, self._sub_layers)
        self._sub_layers[name] = sublayer
        return sublayer

    def add_module(self, name: str, module: Layer | None) -> None:
        """Register ``module`` as attribute ``name``."""
        self.add_sublayer(name, module)

    register_module = add_module

    def register_buffer(self, name: str, tensor: Tensor | None, persistable: bool = True) -> None:
        """Register a tensor that is not trained as attribute ``name``; ``state_dict`` has it if ``persistable``.

        Example:
            >>> import paddle
            >>> layer = paddle.nn.Layer()
            >>> layer.register_buffer("steps", paddle.zeros([1]))
            >>> list(layer.state_dict())
            ['steps']
        """
        self._check_name(name, self._buffers, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"[register_buffer] requires a Tensor or None, got {type(tensor).__name__}")
        self._buffers[name] = tensor
        (self._non_persistable_buffer_names_set.discard if persistable else self._non_persistable_buffer_names_set.add)(
            name
        )

    def _check_name(self, name: str, table: _Registry, what: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a {what} must be a string, got {type(name).__name__}")
        if "." in name or name == "":
            raise KeyError(f"the name of a {what} must not be empty or contain '.', got {name!r}")
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute {name!r} of {type(self).__name__} already exists")

    # --- walking ---------------------------------------------------------------------------------------------------

    def named_sublayers(
        self, prefix: str = "", include_self: bool = False, layers_set: set | None = None, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Layer]]:
        """All layers below this one with their dotted names, parents first."""
        seen = set() if layers_set is None else layers_set
        if include_self:
            if self in seen:
                return
            if remove_duplicate:
                seen.add(self)
            yield prefix, self
        for name, layer in self._sub_layers.items():
            if layer is not None:
                inner = f"{prefix}.{name}" if prefix else name
                yield from layer.named_sublayers(inner, True, seen, remove_duplicate)

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Layer]]:
        """This layer and all below it with their dotted names."""
        return self.named_sublayers(prefix, True, memo, remove_duplicate)

    def sublayers(self, include_self: bool = False) -> list[Layer]:
        """All layers below this one."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def modules(self) -> Iterator[Layer]:
        """This layer and all below it."""
        return (layer for _, layer in self.named_sublayers(include_self=True))

    def named_children(self) -> Iterator[tuple[str, Layer]]:
        """The direct sublayers with their names, each layer once."""
        seen = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and layer not in seen:
                seen.add(layer)
                yield name, layer

    def children(self) -> Iterator[Layer]:
        """The direct sublayers."""
        return (layer for _, layer in self.named_children())

    @property
    def _modules(self) -> _Registry:
        return self._sub_layers

    def _named_members(
        self, table: str, prefix: str, include_sublayers: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        layers = self.named_sublayers(prefix, True, None, remove_duplicate) if include_sublayers else ((prefix, self),)
        for scope, layer in layers:
            for name, member in getattr(layer, table).items():
                if member is None or (remove_duplicate and id(member) in seen):
                    continue
                seen.add(id(member))
                yield f"{scope}.{name}" if scope else name, member

    def named_parameters(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The parameters with their dotted names; a shared one comes once unless ``remove_duplicate`` is False."""
        return self._named_members("_parameters", prefix, include_sublayers, remove_duplicate)

    def parameters(self, include_sublayers: bool = True) -> list[Any]:
        """The parameters of this layer and of those below it, each once.

        Example:
            >>> import paddle
            >>> [p.shape for p in paddle.nn.Linear(2, 3).parameters()]
            [[2, 3], [3]]
        """
        return [p for _, p in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names."""
        return self._named_members("_buffers", prefix, include_sublayers, remove_duplicate)

    def buffers(self, include_sublayers: bool = True) -> list[Tensor]:
        """The buffers of this layer and of those below it, each once."""
        return [b for _, b in self.named_buffers(include_sublayers=include_sublayers)]

    def get_sublayer(self, target: str) -> Layer:
        """The layer with dotted name ``target``. Raises AttributeError where there is none."""
        layer: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(layer, name):
                raise AttributeError(f"{type(layer).__name__} has no attribute `{name}`")
            layer = getattr(layer, name)
            if not isinstance(layer, Layer):
                raise AttributeError(f"`{name}` of {target!r} is not a Layer but {type(layer).__name__}")
        return layer

    get_submodule = get_sublayer

    def set_sublayer(self, target: str, layer: Layer, strict: bool = False) -> None:
        """Put ``layer`` at dotted name ``target``; with ``strict``, only where a layer already is."""
        if not target:
            raise ValueError("[set_sublayer] requires a non-empty target, got ''")
        scope, _, name = target.rpartition(".")
        parent = self.get_sublayer(scope)
        if strict and not isinstance(getattr(parent, name, None), Layer):
            raise AttributeError(f"{type(parent).__name__} has no layer `{name}`")
        if not isinstance(layer, Layer):
            raise ValueError(f"[set_sublayer] requires a Layer, got {type(layer).__name__}")
        setattr(parent, name, layer)

    set_submodule = set_sublayer

    def _member(self, target: str, table: str, what: str) -> Any:
        scope, _, name = target.rpartition(".")
        owner = self.get_sublayer(scope)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        if name not in getattr(owner, table):
            raise AttributeError(f"`{name}` of {type(owner).__name__} is not a {what}")
        return getattr(owner, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with dotted name ``target``. Raises AttributeError where there is none."""
        return self._member(target, "_parameters", "Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with dotted name ``target``. Raises AttributeError where there is none."""
        return self._member(target, "_buffers", "buffer")

    def apply(self, fn: Callable[[Layer], Any]) -> Layer:
        """Call ``fn`` on every layer below this one, then on this one. Returns the layer."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    # --- modes and gradients ---------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Layer:
        """Set training mode here and below (dropout drops, batch norm uses the batch)."""
        for layer in self.sublayers(include_self=True):
            layer.__dict__["training"] = mode
        CHANGES[0] += 1
        return self

    def eval(self) -> Layer:
        """Set evaluation mode here and below."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Layer:
        """Switch gradients of all parameters on or off."""
        for p in self.parameters():
            p.stop_gradient = not requires_grad
        return self

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Set the gradients of all parameters to zeros, or to None with ``set_to_zero=False``."""
        for p in self.parameters():
            if not p.stop_gradient:
                p.clear_gradient(set_to_zero)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zeros with ``set_to_none=False``."""
        self.clear_gradients(set_to_zero=not set_to_none)

    # --- saving and loading ----------------------------------------------------------------------------------------

    def _collect(
        self,
        destination: dict[str, Any],
        prefix: str,
        include_sublayers: bool,
        use_hook: bool,
        keep_vars: bool,
        all_buffers: bool,
    ) -> dict:
        def put(name: str, value: Tensor) -> None:
            destination[prefix + name] = value if keep_vars else value.detach()

        for name, p in self._parameters.items():
            if p is not None:
                put(name, p)
        for name, b in self._buffers.items():
            if b is not None and (all_buffers or name not in self._non_persistable_buffer_names_set):
                put(name, b)
        if include_sublayers:
            for name, layer in self._sub_layers.items():
                if layer is not None:
                    inner = f"{prefix}{name}."
                    destination = layer._collect(destination, inner, True, use_hook, keep_vars, all_buffers)
        if use_hook:
            for hook in list(self._state_dict_hooks.values()):
                result = hook(destination)
                if result is not None:
                    destination = result
        return destination

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """All parameters and persistable buffers by dotted name.

        Args:
            destination: the dict to fill, a new one by default.
            include_sublayers: False for this layer's own only.
            structured_name_prefix (or prefix): put before every name.
            use_hook: run the hooks of ``register_state_dict_hook``.
            keep_vars: False gives detached tensors instead of the parameters themselves.

        Example:
            >>> import paddle
            >>> list(paddle.nn.Linear(2, 3).state_dict())
            ['weight', 'bias']
        """
        return self._state_dict(False, *args, **kwargs)

    def to_static_state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Like ``state_dict``, with the buffers that are not persistable too."""
        return self._state_dict(True, *args, **kwargs)

    def _state_dict(
        self,
        all_buffers: bool,
        destination: dict[str, Any] | None = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
        *,
        prefix: str | None = None,
    ) -> dict[str, Any]:
        destination = OrderedDict() if destination is None else destination
        return self._collect(
            destination, prefix or structured_name_prefix, include_sublayers, use_hook, keep_vars, all_buffers
        )

    def sharded_state_dict(self, structured_name_prefix: str = "") -> dict[str, Any]:
        """What this rank holds of all parameters and persistable buffers, as ``ShardedWeight`` by dotted name.

        A layer that holds a part of a tensor defines this for itself; here every tensor is whole.

        Args:
            structured_name_prefix: put before every name.

        Example:
            >>> import paddle
            >>> layer = paddle.nn.Sequential(paddle.nn.Linear(2, 3))
            >>> layer.sharded_state_dict()["0.weight"].global_shape
            (2, 3)
        """
        from paddle.distributed.flex_checkpoint.dcp.sharded_weight import build_sharded_state_dict

        own = self.state_dict(include_sublayers=False)
        out = dict(build_sharded_state_dict(own, None, structured_name_prefix))
        for name, layer in self._sub_layers.items():
            if layer is not None:
                out.update(layer.sharded_state_dict(f"{structured_name_prefix}{name}."))
        return out

    def full(self, aoa_config: Mapping[str, Any] | None = None, **kwargs: Any) -> Iterator[tuple[str, Tensor]]:
        """All parameters and persistable buffers, whole, one after the other by name, put together from all ranks.

        All ranks iterate together. Tensors are merged in batches of at most 256 MiB.

        Args:
            aoa_config: a dict of ``"aoa_statements"`` that rename and rearrange, as for
                ``paddle.distributed.load_state_dict``.
            process_group: the ranks that hold the parts; all by default.
            h_group, v_group: instead of it, two groups that cross in this rank, for the ranks of both.
            num_splits, shard_idx: with these two, only part ``shard_idx`` of the sorted names cut into ``num_splits``.
            memory_growth_threshold: bytes of a batch, where fewer than 256 MiB.

        Example:
            >>> import paddle
            >>> layer = paddle.nn.Linear(2, 3)
            >>> statements = ["weight^T -> w", "bias -> _"]
            >>> [(name, t.shape) for name, t in layer.full({"aoa_statements": statements})]
            [('w', [3, 2])]
        """
        from paddle.distributed.flex_checkpoint.dcp.full_param import full_param

        return full_param(self.sharded_state_dict(), aoa_config, **kwargs)

    def register_state_dict_hook(self, hook: Callable[[dict], Any]) -> HookRemoveHelper:
        """Call ``hook(state_dict)`` whenever ``state_dict`` has been filled; it may change it or return another."""
        handle = HookRemoveHelper(self._state_dict_hooks)
        self._state_dict_hooks.put(handle._hook_id, hook)
        return handle

    def set_state_dict(
        self, state_dict: Mapping[str, Any], use_structured_name: bool = True
    ) -> tuple[list[str], list[str]]:
        """Copy values into the parameters and buffers, in place.

        Entries that are missing or have another shape are skipped with a warning. A shape of one element fits any of
        one element.

        Args:
            state_dict: tensors or arrays by dotted name, or by ``tensor.name`` with ``use_structured_name=False``.

        Returns:
            the names that were not loaded, and those of ``state_dict`` that found no place.

        Raises:
            TypeError: an entry has another dtype.

        Example:
            >>> import paddle
            >>> a, b = paddle.nn.Linear(2, 3), paddle.nn.Linear(2, 3)
            >>> b.set_state_dict(a.state_dict())
            ([], [])
        """
        matched, missing, used = [], [], set()
        for key, own in self.state_dict(use_hook=False).items():
            name = key if use_structured_name else own.name
            if name not in state_dict:
                problem = f"{name} is not found in the provided dict"
            else:
                value = state_dict[name]
                shape = list(value.shape)
                if shape == list(own.shape):
                    matched.append((name, own, value))
                    used.add(name)
                    continue
                problem = f"{name} has shape {shape}, but {list(own.shape)} is required"
            warnings.warn(f"Skip loading for {key}: {problem}.", stacklevel=2)
            missing.append(key)
        for name, own, value in matched:
            _copy_into(own, value, name)
        return missing, [k for k in state_dict if k not in used]

    set_dict = set_state_dict
    load_dict = set_state_dict

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Like ``set_state_dict``, raising RuntimeError for missing or unexpected keys when ``strict``.

        With ``assign`` the tensors become the parameters' data instead of being copied, and may have another dtype.
        """
        if assign:
            own = self.state_dict(use_hook=False)
            fits = {k: v for k, v in state_dict.items() if k in own and list(v.shape) == list(own[k].shape)}
            for k, v in fits.items():
                own[k]._share((v if isinstance(v, Tensor) else paddle.to_tensor(v)).detach())
            missing, unexpected = [k for k in own if k not in fits], [k for k in state_dict if k not in fits]
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                missing, unexpected = self.set_state_dict(state_dict)
        if strict and (missing or unexpected):
            lines = [f"[{type(self).__name__}.load_state_dict] the keys do not fit:"]
            if missing:
                lines.append(f"Missing key(s) in state_dict: {', '.join(map(repr, missing))}.")
            if unexpected:
                lines.append(f"Unexpected key(s) in state_dict: {', '.join(map(repr, unexpected))}.")
            raise RuntimeError("\n\t".join(lines))
        return _IncompatibleKeys(missing, unexpected)

    # --- moving and casting ----------------------------------------------------------------------------------------

    def to(
        self, device: Any = None, dtype: Any = None, blocking: bool | None = None, non_blocking: bool | None = None
    ) -> Layer:
        """Move parameters and buffers to ``device`` and cast the floating ones to ``dtype``, in place. Returns the
        layer.

        Example:
            >>> import paddle
            >>> paddle.nn.Linear(2, 3).to(dtype="float64").weight.dtype
            paddle.float64
        """
        self._convert(device, None if dtype is None else convert(dtype), ())
        return self

    def _convert(self, device: Any, dtype: DType | None, excluded: tuple[type, ...]) -> None:
        for layer in self.sublayers(include_self=True):
            if not (excluded and isinstance(layer, excluded)):
                layer._convert_own(dtype, device)

    def _convert_own(self, dtype: DType | None, device: Any = None) -> None:
        """Cast and move this layer's own parameters and buffers. A shared one is converted by the first that comes."""
        if dtype is not None:
            self.__dict__["_dtype"] = dtype.name
        for t in (*self._parameters.values(), *self._buffers.values()):
            if t is not None:
                _convert_tensor(t, device, dtype)

    def astype(self, dtype: Any = None) -> Layer:
        """Cast floating parameters and buffers. Raises ValueError for a dtype that is not floating or complex."""
        target = convert(dtype)
        if not (target.is_floating or target.is_complex):
            raise ValueError(f"[Layer.astype] requires a floating or complex dtype, got {target.name}")
        return self.to(dtype=target)

    def type(self, dst_type: Any) -> Layer:
        """The same as :meth:`astype`."""
        return self.astype(dst_type)

    def _cast(self, dtype: str, excluded_layers: Any) -> Layer:
        excluded = (
            tuple(excluded_layers)
            if isinstance(excluded_layers, (list, tuple))
            else (excluded_layers,)
            if excluded_layers
            else ()
        )
        self._convert(None, convert(dtype), excluded)
        return self

    def float(self, excluded_layers: Any = None) -> Layer:
        """Cast floating parameters and buffers to float32, but not those of ``excluded_layers`` (a layer class or
        list of them).
        """
        return self._cast("float32", excluded_layers)

    def float16(self, excluded_layers: Any = None) -> Layer:
        """Cast floating parameters and buffers to float16, but not those of ``excluded_layers``."""
        return self._cast("float16", excluded_layers)

    def bfloat16(self, excluded_layers: Any = None) -> Layer:
        """Cast floating parameters and buffers to bfloat16, but not those of ``excluded_layers``."""
        return self._cast("bfloat16", excluded_layers)

    def half(self) -> Layer:
        """Cast floating parameters and buffers to float16."""
        return self._cast("float16", None)

    def double(self) -> Layer:
        """Cast floating parameters and buffers to float64."""
        return self._cast("float64", None)

    def cpu(self) -> Layer:
        """Move parameters and buffers to the host."""
        return self.to(device="cpu")

    # --- printing --------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands between the parentheses in ``repr``; subclasses define it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = [extra] if extra else []
        below = [f"({name}): {layer!r}".replace("\n", "\n  ") for name, layer in self._sub_layers.items()]
        head = type(self).__name__
        if not below:
            return f"{head}({extra})"
        return "\n  ".join([f"{head}(", *lines, *below]) + "\n)"


Module = also(Layer, "Module", "paddle.nn")


def _copy_into(own: Tensor, value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        value = paddle.to_tensor(np.asarray(value))
    if value.dtype is not own.dtype:
        raise TypeError(f"[set_state_dict] requires {name} of dtype {own.dtype.name}, got {value.dtype.name}")
    with no_grad_guard():
        dispatch.assign(own, value.detach() if value.place is own.place else value.to(own.place).detach())


def _convert_tensor(t: Any, device: Any, dtype: DType | None) -> None:
    cast = dtype is not None and (t.dtype.is_floating or t.dtype.is_complex) and t.dtype is not dtype
    for holder in (t, t.grad):
        if holder is None:
            continue
        new: Any = holder.detach()
        if cast:
            new = new.astype(dtype)
        if device is not None:
            new = new.to(device)
        if cast or new.place is not holder.place:
            holder._share(new)
