"""``Layer``: parameters, buffers and sublayers with names, and hooks around ``forward``.

Methods that walk over layers, save and load them or convert them stand in modules of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import paddle
from paddle._public import also, other_keywords, public
from paddle.framework import unique_name
from paddle.framework.dtype import get_default_dtype
from paddle.framework.mode import in_declarative_mode  # noqa: F401  packages import it from here
from paddle.framework.param_attr import ParamAttr
from paddle.framework.parameter import Parameter
from paddle.nn.initializer.initializers import defaults as _initializer_defaults
from paddle.nn.layer import _conversion, _state_dict, _traversal
from paddle.nn.layer._hooks import HookRemoveHelper, HookTable, call_built, call_with_hooks
from paddle.nn.layer._registry import CHANGES, TABLES, Registry
from umiak.core.context import capture_of
from umiak.core.direct import by_forward
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def _snake(name: str) -> str:
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


_NOTHING: Any = object()


@public("paddle.nn")
class Layer:
    """Base of every neural-network layer and model.

    A subclass makes its parameters and sublayers in ``__init__`` and computes in ``forward``. Assigning a
    ``Parameter``, a ``Layer`` or a ``Tensor`` to an attribute registers it.

    Args:
        name_scope: prefix of the names of its parameters; by default the class name in snake case.
        dtype: dtype of the parameters made by ``create_parameter``. Both ``"float32"`` and None stand for the default
            dtype (``paddle.set_default_dtype``).

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
        paddle.Size([2, 3])
        >>> sorted(layer.state_dict())
        ['scale', 'shift']
    """

    training: bool
    _rare_hooks: bool  # whether a hook with `with_kwargs` or `always_call` was ever registered
    _full_name: str
    _dtype: str
    _parameters: Registry
    _buffers: Registry
    _sub_layers: Registry
    _non_persistable_buffer_names_set: set[str]
    _forward_pre_hooks: HookTable
    _forward_post_hooks: HookTable
    _hook_flags: dict[int, dict[str, bool]]
    _state_dict_hooks: HookTable

    _built = False  # whether `_build_once` was called

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_build_once" in vars(cls) and cls.__call__ is Layer.__call__:
            cls.__call__ = call_built  # type: ignore[method-assign]

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        d = self.__dict__
        d["training"] = True
        d["_full_name"] = unique_name.generate(name_scope or _snake(type(self).__name__))
        d["_dtype"] = dtype if type(dtype) is str else get_default_dtype() if dtype is None else convert(dtype).name
        d["_parameters"] = Registry(self)
        d["_buffers"] = Registry(self)
        d["_sub_layers"] = Registry(self)
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
                return call_with_hooks(self, inputs, kwargs)
            return self.forward(*inputs, **kwargs)
        # One input, the usual call: in this frame, without needless tuples and dicts.
        pre, post = self._forward_pre_hooks, self._forward_post_hooks
        if not (pre or post):
            return self.forward(input)
        inputs = (input,)
        if self._rare_hooks:
            return call_with_hooks(self, inputs, {})
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

    def backward(self, *inputs: Any) -> Any:
        """Nothing: gradients come from ``Tensor.backward``, never from a layer.

        Raises:
            ValueError: always.
        """
        raise op_error(ValueError, "backward", "a tensor such as the loss", type(self).__name__)

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
            hook: the function; ``inputs`` is a tuple.
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
            hook: the function; ``inputs`` is a tuple.
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
            elif name not in self._non_persistable_buffer_names_set:
                _keep_state(value)
            self._buffers[name] = value
        elif name in self._buffers:
            self._only_none(value, "buffer", name, "Tensor")
            self._buffers[name] = None
        elif name in TABLES:
            d[name] = Registry(self, value)
        else:
            CHANGES[0] += 1
            object.__setattr__(self, name, value)

    @staticmethod
    def _only_none(value: Any, assigned_to: str, name: str, kind: str) -> None:
        if value is not None:
            raise TypeError(
                f"assignment to {assigned_to} {name!r} requires a {kind} or None, got {type(value).__name__}"
            )

    def _claim(self, name: str, table: Registry) -> None:
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
        for table in TABLES:
            for name in state[table]:
                state.pop(name, None)
            state[table] = dict(state[table])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        tables = {t: state.pop(t) for t in TABLES}
        self.__dict__.update(state)
        for table, items in tables.items():
            self.__dict__[table] = Registry(self, items)

    def full_name(self) -> str:
        """The unique name of this layer, such as ``linear_0``."""
        return self._full_name

    @property
    def _helper(self) -> Any:
        """A helper that layers of packages ask for the default dtype."""
        from paddle.framework.layer_helper import LayerHelper

        return LayerHelper(self._full_name, name=self._full_name)

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
            dtype: by default the dtype of the layer, or the default dtype where that is float32.
            is_bias: named ``.b_`` and filled with zeros by default; otherwise ``.w_`` and Xavier-uniform.
            default_initializer: used when neither ``attr`` nor ``set_global_initializer`` names one.
            device: where to put it.
        """
        attr = ParamAttr._to_attr(attr)
        if attr is False:
            return None
        initializer = attr.initializer or _initializer_defaults.instead_of(default_initializer, is_bias)
        name = attr.name or unique_name.generate(f"{self._full_name}.{'b' if is_bias else 'w'}")
        return Parameter.create(shape, dtype or self._parameter_dtype(), name, attr, initializer, device)

    def _parameter_dtype(self) -> str:
        """float32, with which layers are made, stands for the default dtype."""
        return get_default_dtype() if self._dtype == "float32" else self._dtype

    def create_tensor(self, name: str | None = None, persistable: bool | None = None, dtype: Any = None) -> Any:
        """An empty tensor of this layer's dtype, to be filled later."""
        tensor = paddle.empty([0], dtype=dtype or self._dtype)
        tensor.name = name or unique_name.generate(f"{self._full_name}._generated_var")
        tensor.persistable = bool(persistable)
        return tensor

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

    @other_keywords(persistent="persistable")
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
        _keep_state(tensor)
        self._buffers[name] = tensor
        (self._non_persistable_buffer_names_set.discard if persistable else self._non_persistable_buffer_names_set.add)(
            name
        )

    def _check_name(self, name: str, table: Registry, kind: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a {kind} must be a string, got {type(name).__name__}")
        if "." in name or name == "":
            raise KeyError(f"the name of a {kind} must not be empty or contain '.', got {name!r}")
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute {name!r} of {type(self).__name__} already exists")

    # --- walking ---------------------------------------------------------------------------------------------------

    named_sublayers = _traversal.named_sublayers
    named_modules = _traversal.named_modules
    named_children = _traversal.named_children
    named_parameters = _traversal.named_parameters
    named_buffers = _traversal.named_buffers
    sublayers = _traversal.sublayers
    modules = _traversal.modules
    children = _traversal.children
    parameters = _traversal.parameters
    buffers = _traversal.buffers
    apply = _traversal.apply

    @property
    def _modules(self) -> Registry:
        return self._sub_layers

    @property
    def _non_persistent_buffers_set(self) -> set[str]:
        return self._non_persistable_buffer_names_set

    def _get_name(self) -> str:
        """Return the name of the class, as ``repr`` shows it."""
        return type(self).__name__

    def _dygraph_call_func(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and the hooks around it: what ``__call__`` does, for classes that have one of their own."""
        return call_built(self, *inputs, **kwargs)

    def _build_once(self, *inputs: Any, **kwargs: Any) -> None:
        """Do nothing; a class may define what its layers do before their first ``forward``, with its inputs."""

    # --- members by dotted name ------------------------------------------------------------------------------------

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

    def _member(self, target: str, table: str, kind: str) -> Any:
        scope, _, name = target.rpartition(".")
        owner = self.get_sublayer(scope)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        if name not in getattr(owner, table):
            raise AttributeError(f"`{name}` of {type(owner).__name__} is not a {kind}")
        return getattr(owner, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with dotted name ``target``. Raises AttributeError where there is none."""
        return self._member(target, "_parameters", "Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with dotted name ``target``. Raises AttributeError where there is none."""
        return self._member(target, "_buffers", "buffer")

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

    _state_dict_impl = _state_dict._state_dict_impl
    state_dict = _state_dict.state_dict
    to_static_state_dict = _state_dict.to_static_state_dict
    sharded_state_dict = _state_dict.sharded_state_dict
    full = _state_dict.full
    register_state_dict_hook = _state_dict.register_state_dict_hook
    set_state_dict = _state_dict.set_state_dict
    set_dict = _state_dict.set_state_dict
    load_dict = _state_dict.set_state_dict
    load_state_dict = _state_dict.load_state_dict

    def get_extra_state(self) -> Any:
        """State beside parameters and buffers; a layer that has some defines this."""
        raise RuntimeError(f"{type(self).__name__} defines no get_extra_state")

    # --- moving and casting ----------------------------------------------------------------------------------------

    to = _conversion.to
    _to_impl = _conversion._to_impl
    _apply = _conversion._apply
    _transform = _conversion._transform
    astype = _conversion.astype
    type = _conversion.type
    float = _conversion.float
    float16 = _conversion.float16
    bfloat16 = _conversion.bfloat16
    half = _conversion.half
    double = _conversion.double
    cpu = _conversion.cpu
    cuda = _conversion.cuda
    xpu = _conversion.xpu

    # --- printing --------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """Text between the parentheses in ``repr``; subclasses define it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        below = [f"({name}): {layer!r}".replace("\n", "\n  ") for name, layer in self._sub_layers.items()]
        head = self._get_name()
        if "\n" in extra:
            extra = "\n  " + extra.replace("\n", "\n  ") + "\n"
        return "\n  ".join([f"{head}({extra}", *below]) + ("\n)" if below else ")")


def _keep_state(x: Tensor | None) -> None:
    """Have a program that is recorded keep between runs what it writes to a buffer."""
    if x is not None and (tracer := capture_of()) is not None:
        tracer.makes_state(x)


Module = also(Layer, "Module", "paddle.nn")
