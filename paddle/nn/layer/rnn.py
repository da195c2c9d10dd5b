"""Recurrent cells, what runs cells over time, and whole recurrent networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import paddle.nn.functional as F
from paddle._public import public
from paddle.framework.param_attr import ParamAttr
from paddle.nn.functional.rnn import recurrent, recurrent_cell, step_mask, swapped, time_first
from paddle.nn.initializer import Constant, Uniform
from paddle.nn.layer.container import LayerList
from paddle.nn.layer.layers import Layer
from paddle.tensor._args import create_on
from umiak import ops
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.util import pytree


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, (list, tuple)) and all(isinstance(n, int) for n in shape)


@public("paddle.nn")
class RNNCellBase(Layer):
    """Base of cells: one step of a recurrence, ``forward(inputs, states) -> (outputs, new_states)``.

    A subclass says in ``state_shape`` (and, if need be, ``state_dtype``) what its states are, without the batch.

    Args:
        name_scope: beginning of the names of parameters; None: the name of the class.
        dtype: of parameters that name none.

    Shape:
        inputs: ``[batch, *]``, or a nest of such tensors.
        states: a nest of tensors ``[batch, *state_shape]``.
        outputs: ``[batch, *]``, or a nest of such tensors, beside the new states.

    Raises:
        NotImplementedError: first states are asked for, and the cell has no ``state_shape``.

    Example:
        >>> import paddle
        >>> class Sum(paddle.nn.RNNCellBase):
        ...     state_shape = (3,)
        ...
        ...     def forward(self, inputs, states):
        ...         return inputs + states, inputs + states
        >>> outputs, last = paddle.nn.RNN(Sum())(paddle.ones([1, 2, 3]))
        >>> last.tolist()
        [[2.0, 2.0, 2.0]]
    """

    def get_initial_states(
        self,
        batch_ref: Any,
        shape: Any = None,
        dtype: Any = None,
        init_value: float = 0.0,
        batch_dim_idx: int = 0,
    ) -> Any:
        """Make states filled with one number, a row for each row of ``batch_ref``.

        Args:
            batch_ref: a tensor (or a nest of them) with the batch at ``batch_dim_idx``, on whose place the states lie.
            shape: of a state without the batch, or a nest of shapes; by default ``state_shape``. A leading -1 stands
                for the batch.
            dtype: one for all, or a nest of dtypes; by default ``state_dtype``, or the layer's dtype where the cell has
                none.
            init_value: the number.
            batch_dim_idx: the dim of ``batch_ref`` that is the batch.

        Returns:
            A tensor ``[batch, *shape]``, or a nest of them.

        Raises:
            NotImplementedError: no shape is given, and the cell has no ``state_shape``.
        """
        like = pytree.leaves(batch_ref)[0]
        batch = like.shape[batch_dim_idx]
        shapes = self.state_shape if shape is None else shape
        if dtype is None:
            try:
                dtype = self.state_dtype
            except NotImplementedError:
                dtype = self._dtype

        def make(shape: Any, dtype: Any) -> Any:
            if _is_shape(shape):
                sizes = shape[1:] if shape and shape[0] == -1 else shape
                return create_on(like.place, ops.full, init_value, convert(dtype), (batch, *sizes))
            kinds = dtype if isinstance(dtype, (list, tuple)) else [dtype] * len(shape)
            return type(shape)(make(s, d) for s, d in zip(shape, kinds, strict=True))

        return make(shapes, dtype)

    @property
    def state_shape(self) -> Any:
        """Shapes of the states without the batch."""
        raise NotImplementedError(
            f"[{type(self).__name__}] requires state_shape to make its first states. Define it, or give initial states"
        )

    @property
    def state_dtype(self) -> Any:
        """Dtypes of the states."""
        raise NotImplementedError(f"[{type(self).__name__}] has no state_dtype: states have the default dtype")


class _Cell(RNNCellBase):
    """A cell of the library: its parameters, and its step in one op."""

    _mode: str
    _gates: int
    weight_ho: Tensor | None = None

    def __init__(self, input_size: int, hidden_size: int, attrs: Sequence[Any], proj_size: int = 0) -> None:
        super().__init__(dtype=None)
        kind = type(self).__name__
        if hidden_size <= 0:
            raise ValueError(f"[{kind}] requires a hidden_size above 0, got {hidden_size}")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"[{kind}] requires a proj_size from 0 to below hidden_size, got {proj_size}")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.proj_size = proj_size
        bound = 1.0 / math.sqrt(hidden_size)
        rows = self._gates * hidden_size

        def make(shape: list[int], attr: Any, bias: bool) -> Any:
            if attr is not False:
                return self.create_parameter(shape, attr, is_bias=bias, default_initializer=Uniform(-bound, bound))
            # Not trained and without effect (biases), or ones.
            fixed = ParamAttr(initializer=Constant(0.0 if bias else 1.0), trainable=False)
            return self.create_parameter(shape, fixed, is_bias=bias)

        self.weight_ih = make([rows, input_size], attrs[0], False)
        self.weight_hh = make([rows, proj_size or hidden_size], attrs[1], False)
        self.bias_ih = make([rows], attrs[2], True)
        self.bias_hh = make([rows], attrs[3], True)
        if proj_size:
            self.weight_ho = make([hidden_size, proj_size], attrs[1], False)

    @property
    def _weights(self) -> tuple:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, self.weight_ho

    @property
    def state_shape(self) -> Any:
        return (self.hidden_size,)

    def _step(self, inputs: Tensor, states: tuple) -> tuple:
        return recurrent_cell(self._mode, inputs, states, self._weights)

    def forward(self, inputs: Tensor, states: Tensor | None = None) -> tuple[Tensor, Tensor]:
        h = self.get_initial_states(inputs, dtype=inputs.dtype) if states is None else states
        (h,) = self._step(inputs, (h,))
        return h, h

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


@public("paddle.nn")
class SimpleRNNCell(_Cell):
    """Elman's cell, ``h' = activation(weight_ih x + bias_ih + weight_hh h + bias_hh)``.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        activation: ``"tanh"`` or ``"relu"``.
        weight_ih_attr: attributes of the weight ``[hidden_size, input_size]`` on the input, uniform within
            ``1 / sqrt(hidden_size)`` by default; False for ones that are not trained.
        weight_hh_attr: attributes of the weight ``[hidden_size, hidden_size]`` on the state, the same.
        bias_ih_attr: attributes of the bias ``[hidden_size]`` beside ``weight_ih``, uniform as well by default; False
            for none (zeros that are not trained).
        bias_hh_attr: attributes of the bias ``[hidden_size]`` beside ``weight_hh``, the same.

    Shape:
        inputs: ``[batch, input_size]``, of the weights' dtype.
        states: ``[batch, hidden_size]``; None for zeros.
        outputs: the new state ``[batch, hidden_size]``, twice.

    Raises:
        TypeError: in a call, inputs of another dtype than the weights'.
        ValueError: an unknown activation, or a hidden_size below 1.

    References:
        Elman, 1990: Finding Structure in Time.

    Example:
        >>> import paddle
        >>> cell = paddle.nn.SimpleRNNCell(4, 3)
        >>> outputs, states = cell(paddle.ones([2, 4]))
        >>> states.shape
        paddle.Size([2, 3])
    """

    _gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        if activation not in ("tanh", "relu"):
            raise ValueError(f"[SimpleRNNCell] requires activation 'tanh' or 'relu', got {activation!r}")
        super().__init__(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr))
        self.activation = self._mode = activation

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.activation == "tanh" else f", activation={self.activation}")


@public("paddle.nn")
class GRUCell(_Cell):
    """Gated recurrent unit whose reset gate is applied after the matmul with the state.

    ``r, z = sigmoid(...)``, ``n = tanh(W_in x + b_in + r (W_hn h + b_hn))``, ``h' = z h + (1 - z) n``; rows of the
    parameters are those of r, z and n.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        weight_ih_attr: attributes of the weight ``[3 * hidden_size, input_size]`` on the input, uniform within
            ``1 / sqrt(hidden_size)`` by default; False for ones that are not trained.
        weight_hh_attr: attributes of the weight ``[3 * hidden_size, hidden_size]`` on the state, the same.
        bias_ih_attr: attributes of the bias ``[3 * hidden_size]`` beside ``weight_ih``, uniform as well by default;
            False for none (zeros that are not trained).
        bias_hh_attr: attributes of the bias ``[3 * hidden_size]`` beside ``weight_hh``, the same.

    Shape:
        inputs: ``[batch, input_size]``, of the weights' dtype.
        states: ``[batch, hidden_size]``; None for zeros.
        outputs: the new state ``[batch, hidden_size]``, twice.

    Raises:
        TypeError: in a call, inputs of another dtype than the weights'.
        ValueError: a hidden_size below 1.

    References:
        Cho et al., 2014: Learning Phrase Representations using RNN Encoder-Decoder.

    Example:
        >>> import paddle
        >>> outputs, states = paddle.nn.GRUCell(4, 3)(paddle.ones([2, 4]))
        >>> states.shape
        paddle.Size([2, 3])
    """

    _mode = "gru"
    _gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr))


@public("paddle.nn")
class LSTMCell(_Cell):
    """Long short-term memory, one step of it.

    ``i, f, o = sigmoid(...)``, ``g = tanh(...)``, ``c' = f c + i g``, ``h' = o tanh(c')``; rows of the parameters are
    those of i, f, g and o.

    Args:
        input_size: features of the input.
        hidden_size: features of the cell state.
        weight_ih_attr: attributes of the weight ``[4 * hidden_size, input_size]`` on the input, uniform within
            ``1 / sqrt(hidden_size)`` by default; False for ones that are not trained.
        weight_hh_attr: attributes of the weight ``[4 * hidden_size, proj_size or hidden_size]`` on the state, the same.
            With proj_size also of ``weight_ho [hidden_size, proj_size]``.
        bias_ih_attr: attributes of the bias ``[4 * hidden_size]`` beside ``weight_ih``, uniform as well by default;
            False for none (zeros that are not trained).
        bias_hh_attr: attributes of the bias ``[4 * hidden_size]`` beside ``weight_hh``, the same.
        proj_size: features of the state where it is projected by ``h' weight_ho``, below hidden_size; 0 for no
            projection.

    Shape:
        inputs: ``[batch, input_size]``, of the weights' dtype.
        states: a pair (h, c) of ``[batch, proj_size or hidden_size]`` and ``[batch, hidden_size]``; None for zeros.
        outputs: the new h, and the pair (h, c).

    Raises:
        TypeError: in a call, inputs of another dtype than the weights'.
        ValueError: a hidden_size below 1, or a proj_size that is not below it.

    References:
        Hochreiter and Schmidhuber, 1997: Long Short-Term Memory.
        Sak, Senior and Beaufays, 2014, for the projection.

    Example:
        >>> import paddle
        >>> outputs, (h, c) = paddle.nn.LSTMCell(4, 3)(paddle.ones([2, 4]))
        >>> h.shape, c.shape
        (paddle.Size([2, 3]), paddle.Size([2, 3]))
    """

    _mode = "lstm"
    _gates = 4

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
        name: str | None = None,
    ) -> None:
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__(input_size, hidden_size, attrs, proj_size)

    @property
    def state_shape(self) -> Any:
        return (self.proj_size or self.hidden_size,), (self.hidden_size,)

    def forward(self, inputs: Tensor, states: Any = None) -> tuple[Tensor, Any]:
        states = self.get_initial_states(inputs, dtype=inputs.dtype) if states is None else states
        if len(states) != 2:
            raise ValueError(f"[LSTMCell] requires states (h, c), got {len(states)} of them")
        h, c = self._step(inputs, tuple(states))
        return h, (h, c)


# --- over time -----------------------------------------------------------------------------------------------------


def _runs_in_one_op(cell: Any, kwargs: dict) -> bool:
    """Return whether all steps of a cell run as one op: nothing hooks or overrides a single step."""
    plain = type(cell) in (SimpleRNNCell, GRUCell, LSTMCell)
    return plain and not kwargs and not cell._forward_pre_hooks and not cell._forward_post_hooks


def _lengths(op_name: str, lengths: Any) -> None:
    if lengths is not None and not isinstance(lengths, Tensor):
        raise ValueError(f"[{op_name}] requires sequence_length to be a Tensor, got {type(lengths).__name__}")


def rnn(
    cell: Any,
    inputs: Any,
    initial_states: Any = None,
    sequence_length: Tensor | None = None,
    time_major: bool = False,
    is_reverse: bool = False,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Run ``cell`` over time; see :class:`RNN`."""
    _lengths("rnn", sequence_length)
    if initial_states is None:
        dtype = pytree.leaves(inputs)[0].dtype if isinstance(cell, _Cell) else None
        initial_states = cell.get_initial_states(inputs, dtype=dtype, batch_dim_idx=1 if time_major else 0)
    run = _all_at_once if _runs_in_one_op(cell, kwargs) else _step_by_step
    xs = inputs if time_major else pytree.map(time_first if run is _all_at_once else swapped, inputs)
    outputs, states = run(cell, xs, initial_states, sequence_length, is_reverse, kwargs)
    return (outputs if time_major else pytree.map(swapped, outputs)), states


def _all_at_once(cell: _Cell, x: Tensor, states: Any, lengths: Any, reverse: bool, kwargs: dict) -> tuple[Any, Any]:
    first = tuple(states) if isinstance(states, (tuple, list)) else (states,)
    out, *last = recurrent(cell._mode, x, first, cell._weights, lengths, reverse)
    if lengths is not None:
        # Behind a sequence's end a cell still answers, from the state that has been left there.
        steps, batch = x.shape[:2]
        held = first if reverse else last

        def rows(v: Tensor) -> Tensor:
            return ops.reshape(v, shape=(steps * batch, v.shape[2]))

        repeated = tuple(rows(ops.broadcast_to(v, shape=(steps, *v.shape))) for v in held)
        beyond = cell._step(rows(x), repeated)[0]
        mask = ops.unsqueeze(step_mask(lengths, steps), axes=(2,))
        out = ops.where(mask, out, ops.reshape(beyond, shape=tuple(out.shape)))
    return out, tuple(last) if len(last) > 1 else last[0]


def _step_by_step(cell: Any, xs: Any, states: Any, lengths: Any, reverse: bool, kwargs: dict) -> tuple[Any, Any]:
    steps = pytree.leaves(xs)[0].shape[0]
    mask = None if lengths is None else step_mask(lengths, steps)
    outputs = []
    for t in reversed(range(steps)) if reverse else range(steps):
        out, new = cell(pytree.map(lambda v, t=t: v[t], xs), states, **kwargs)
        if mask is not None:
            new = _chosen(mask[t], new, states)
        states = new
        outputs.append(out)
    if not outputs:
        raise ValueError(f"[rnn] requires at least one step for a {type(cell).__name__}, got inputs of length 0")
    return pytree.map(lambda *made: ops.stack(made, axis=0), *(reversed(outputs) if reverse else outputs)), states


def _chosen(mask: Tensor, new: Any, old: Any) -> Any:
    """Rows of ``new`` where ``mask`` (``[batch]``) holds, of ``old`` elsewhere."""

    def choose(a: Tensor, b: Tensor) -> Tensor:
        return ops.where(ops.reshape(mask, shape=(a.shape[0],) + (1,) * (a.ndim - 1)), a, b)

    return pytree.map(choose, new, old)


def birnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_states: Any = None,
    sequence_length: Tensor | None = None,
    time_major: bool = False,
    **kwargs: Any,
) -> tuple[Any, tuple[Any, Any]]:
    """Run two cells over time, in both directions; see :class:`BiRNN`."""
    first = (None, None) if initial_states is None else initial_states
    directions = [
        rnn(cell, inputs, states, sequence_length, time_major, reverse, **kwargs)
        for cell, states, reverse in ((cell_fw, first[0], False), (cell_bw, first[1], True))
    ]
    outputs = pytree.map(lambda a, b: ops.concat((a, b), axis=a.ndim - 1), directions[0][0], directions[1][0])
    return outputs, (directions[0][1], directions[1][1])


@public("paddle.nn")
class RNN(Layer):
    """Run a cell over time. The cells of this package run all steps in one op; others are called step by step.

    Args:
        cell: a :class:`RNNCellBase`, or anything like it that can be called.
        is_reverse: run from the end of each sequence to its start.
        time_major: inputs and outputs are ``[time, batch, *]`` instead of ``[batch, time, *]``.

    Shape:
        inputs: ``[batch, time, *]``, or a nest of such tensors.
        initial_states: as the cell takes them; None for zeros.
        sequence_length: integers ``[batch]``, or None where all sequences are as long as the inputs. States stay as
            they are beyond the end of a sequence; outputs beyond it are what the cell computes of the padding.
        outputs: ``[batch, time, *]``, and the last states. Further keywords of a call go to the cell.

    Raises:
        ValueError: in a call, a ``sequence_length`` that is no tensor, or inputs without a step for a cell of your own.

    Example:
        >>> import paddle
        >>> outputs, h = paddle.nn.RNN(paddle.nn.GRUCell(4, 3))(paddle.ones([2, 5, 4]))
        >>> outputs.shape, h.shape
        (paddle.Size([2, 5, 3]), paddle.Size([2, 3]))
    """

    def __init__(self, cell: Any, is_reverse: bool = False, time_major: bool = False) -> None:
        super().__init__(dtype=None)
        self.cell = cell
        self.is_reverse = is_reverse
        self.time_major = time_major

    def forward(
        self, inputs: Any, initial_states: Any = None, sequence_length: Tensor | None = None, **kwargs: Any
    ) -> tuple[Any, Any]:
        return rnn(self.cell, inputs, initial_states, sequence_length, self.time_major, self.is_reverse, **kwargs)


@public("paddle.nn")
class BiRNN(Layer):
    """Run two cells over time, one from each end of the sequences.

    Args:
        cell_fw: the cell that runs forward.
        cell_bw: the cell that runs backward, of the same input size.
        time_major: inputs and outputs are ``[time, batch, *]`` instead of ``[batch, time, *]``.

    Shape:
        inputs: ``[batch, time, *]``.
        initial_states: a pair, for each cell what it takes; None for zeros.
        sequence_length: integers ``[batch]``, or None; the backward cell begins at the end of each sequence.
        outputs: ``[batch, time, *]``, those of both cells side by side in the last dim, and the pair of last states.

    Raises:
        ValueError: cells of different input sizes; in a call, a ``sequence_length`` that is no tensor.

    Example:
        >>> import paddle
        >>> both = paddle.nn.BiRNN(paddle.nn.GRUCell(4, 3), paddle.nn.GRUCell(4, 3))
        >>> outputs, (forward, backward) = both(paddle.ones([2, 5, 4]))
        >>> outputs.shape
        paddle.Size([2, 5, 6])
    """

    def __init__(self, cell_fw: Any, cell_bw: Any, time_major: bool = False) -> None:
        super().__init__(dtype=None)
        sizes = [getattr(cell, "input_size", None) for cell in (cell_fw, cell_bw)]
        if None not in sizes and sizes[0] != sizes[1]:
            raise ValueError(f"[BiRNN] requires cells of one input size, got {sizes[0]} and {sizes[1]}")
        self.cell_fw = cell_fw
        self.cell_bw = cell_bw
        self.time_major = time_major

    def forward(
        self, inputs: Any, initial_states: Any = None, sequence_length: Tensor | None = None, **kwargs: Any
    ) -> tuple[Any, tuple[Any, Any]]:
        return birnn(self.cell_fw, self.cell_bw, inputs, initial_states, sequence_length, self.time_major, **kwargs)


# --- networks ------------------------------------------------------------------------------------------------------

DIRECTIONS = {"forward": 1, "bidirect": 2, "bidirectional": 2}


class RNNBase(LayerList):
    """Layers of cells one above the other, in one direction or both.

    Args:
        mode: the cells: ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: how many layers, each on the outputs of the one below.
        direction: ``"forward"``, or ``"bidirect"`` (``"bidirectional"``) for both, with outputs side by side.
        time_major: inputs and outputs are ``[time, batch, *]`` instead of ``[batch, time, *]``.
        dropout: probability of zero between layers, while training.
        weight_ih_attr: attributes of the weights on inputs.
        weight_hh_attr: attributes of the weights on states.
        bias_ih_attr: attributes of the biases beside the weights on inputs; False for none.
        bias_hh_attr: attributes of the biases beside the weights on states; False for none.
        proj_size: features of outputs where an LSTM projects them; 0 for no projection.

    Raises:
        ValueError: another mode or direction, or sizes out of range.

    Example:
        >>> import paddle
        >>> outputs, h = paddle.nn.layer.rnn.RNNBase("GRU", 4, 3)(paddle.ones([2, 5, 4]))
        >>> outputs.shape
        paddle.Size([2, 5, 3])
    """

    could_use_cudnn = True  # of the reference's weights, which one buffer may hold

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
    ) -> None:
        super().__init__()
        if mode not in _CELLS:
            raise ValueError(f"[{type(self).__name__}] requires mode among {', '.join(_CELLS)}, got {mode!r}")
        if direction not in DIRECTIONS:
            raise ValueError(
                f"[{type(self).__name__}] requires direction among {', '.join(DIRECTIONS)}, got {direction!r}"
            )
        if num_layers < 1:
            raise ValueError(f"[{type(self).__name__}] requires num_layers of 1 or more, got {num_layers}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.num_directions = DIRECTIONS[direction]
        self.time_major = time_major
        self.dropout = dropout
        self.proj_size = proj_size
        self.state_components = 2 if mode == "LSTM" else 1
        both = self.num_directions == 2
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        size = input_size
        for _ in range(num_layers):
            cells = [_CELLS[mode](size, hidden_size, attrs, proj_size) for _ in range(self.num_directions)]
            self.append(BiRNN(cells[0], cells[1], time_major) if both else RNN(cells[0], False, time_major))
            size = (proj_size or hidden_size) * self.num_directions
        # Files hold each parameter under two names: the network's, in this order, and its cell's.
        kinds = [
            "weight_ih",
            "weight_hh",
            *(k for k, attr in zip(("bias_ih", "bias_hh"), attrs[2:]) if attr is not False),
        ]
        ends = ["", "_reverse"][: self.num_directions]
        names = [f"{kind}_l{i}{end}" for i in range(num_layers) for end in ends for kind in kinds]
        for name, parameter in zip(names, self.parameters()):
            setattr(self, name, parameter)

    @property
    def _cells(self) -> list[list[_Cell]]:
        """By layer and direction."""
        both = self.num_directions == 2
        return [[layer.cell_fw, layer.cell_bw] if both else [layer.cell] for layer in self]

    def forward(self, inputs: Tensor, initial_states: Any = None, sequence_length: Tensor | None = None) -> Any:
        op_name = type(self).__name__
        _lengths(op_name, sequence_length)
        if inputs.ndim != 3:
            raise ValueError(f"[{op_name}] requires inputs of rank 3, got {list(inputs.shape)}")
        x = inputs if self.time_major else time_first(inputs)
        first = self._first_states(x, initial_states)
        last: list[tuple] = []
        for i, cells in enumerate(self._cells):
            if i and self.dropout:
                x = F.dropout(x, self.dropout, training=self.training, mode="upscale_in_train")
            directions = []
            for k, cell in enumerate(cells):
                at = i * self.num_directions + k
                states = tuple(ops.squeeze(_part(v, at), axes=(0,)) for v in first)
                out, *ended = recurrent(cell._mode, x, states, cell._weights, sequence_length, k == 1)
                directions.append(out)
                last.append(tuple(ended))
            x = directions[0] if len(directions) == 1 else ops.concat(directions, axis=2)
        ends = tuple(ops.stack(states, axis=0) for states in zip(*last))
        return (x if self.time_major else swapped(x)), (ends if len(ends) > 1 else ends[0])

    def _first_states(self, x: Tensor, given: Any) -> tuple:
        """States ``[layers * directions, batch, size]``, time-major or not."""
        count, batch = self.num_layers * self.num_directions, x.shape[1]
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[: self.state_components]
        if given is None:
            return tuple(create_on(x.place, ops.full, 0.0, x.dtype, (count, batch, n)) for n in sizes)
        states = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        if len(states) != self.state_components:
            raise ValueError(
                f"[{type(self).__name__}] requires {self.state_components} initial states, got {len(states)}"
            )
        for v in states:
            if v.ndim != 3 or v.shape[0] != count:
                raise ValueError(
                    f"[{type(self).__name__}] requires initial states [layers * directions, batch, size] with {count} "
                    f"of them, got {list(v.shape)}"
                )
        return states

    def flatten_parameters(self) -> None:
        """Do nothing: the weights are read where they are."""

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.time_major:
            text += f", time_major={self.time_major}"
        return text + (f", dropout={self.dropout}" if self.dropout else "")


# The cells of each mode: of an input size, a hidden size, four attributes and a size of projections.
_CELLS: dict[str, Callable[[int, int, tuple[Any, Any, Any, Any], int], _Cell]] = {
    "LSTM": lambda size, hidden, attrs, projected: LSTMCell(size, hidden, *attrs, projected),
    "GRU": lambda size, hidden, attrs, projected: GRUCell(size, hidden, *attrs),
    "RNN_TANH": lambda size, hidden, attrs, projected: SimpleRNNCell(size, hidden, "tanh", *attrs),
    "RNN_RELU": lambda size, hidden, attrs, projected: SimpleRNNCell(size, hidden, "relu", *attrs),
}


def _part(x: Tensor, at: int) -> Tensor:
    return ops.slice(x, axes=(0,), starts=(at,), sizes=(1,), steps=(1,))


@public("paddle.nn")
class SimpleRNN(RNNBase):
    """Recurrent network: layers of :class:`SimpleRNNCell`.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: how many layers, each on the outputs of the one below.
        direction: ``"forward"``, or ``"bidirect"`` (``"bidirectional"``) for both, with outputs side by side.
        time_major: inputs and outputs are ``[time, batch, *]`` instead of ``[batch, time, *]``.
        dropout: probability of zero between layers, while training.
        activation: ``"tanh"`` or ``"relu"``.
        weight_ih_attr: attributes of the weights on inputs, of all layers, uniform within ``1 / sqrt(hidden_size)`` by
            default; False for ones that are not trained.
        weight_hh_attr: attributes of the weights on states, the same.
        bias_ih_attr: attributes of the biases beside the weights on inputs, uniform as well by default; False for none
            (zeros that are not trained).
        bias_hh_attr: attributes of the biases beside the weights on states, the same.

    Shape:
        inputs: ``[batch, time, input_size]``, of the weights' dtype.
        initial_states: ``[num_layers * directions, batch, hidden_size]``; None for zeros.
        sequence_length: integers ``[batch]``, or None where all sequences are as long as the inputs. Outputs are 0
            behind the end of a sequence, states are those at its end, and the backward direction begins there.
        outputs: ``[batch, time, directions * hidden_size]``, and the last states, of the shape of the initial ones.

    Raises:
        TypeError: in a call, inputs of another dtype than the weights'.
        ValueError: an unknown direction or activation, or a hidden_size or num_layers below 1; in a call, inputs or
            states of another rank, or states of another number of layers.

    Example:
        >>> import paddle
        >>> net = paddle.nn.SimpleRNN(4, 3, num_layers=2)
        >>> outputs, h = net(paddle.ones([2, 5, 4]), None, paddle.to_tensor([5, 3]))
        >>> outputs.shape, h.shape
        (paddle.Size([2, 5, 3]), paddle.Size([2, 2, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        if activation not in ("tanh", "relu"):
            raise ValueError(f"[SimpleRNN] requires activation 'tanh' or 'relu', got {activation!r}")
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__(
            f"RNN_{activation.upper()}",
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            *attrs,
        )
        self.activation = activation


@public("paddle.nn")
class LSTM(RNNBase):
    """Recurrent network: layers of :class:`LSTMCell`.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: how many layers, each on the outputs of the one below.
        direction: ``"forward"``, or ``"bidirect"`` (``"bidirectional"``) for both, with outputs side by side.
        time_major: inputs and outputs are ``[time, batch, *]`` instead of ``[batch, time, *]``.
        dropout: probability of zero between layers, while training.
        weight_ih_attr: attributes of the weights on inputs, of all layers, uniform within ``1 / sqrt(hidden_size)`` by
            default; False for ones that are not trained.
        weight_hh_attr: attributes of the weights on states, the same.
        bias_ih_attr: attributes of the biases beside the weights on inputs, uniform as well by default; False for none
            (zeros that are not trained).
        bias_hh_attr: attributes of the biases beside the weights on states, the same.
        proj_size: features of outputs and of the state h where it is projected, below hidden_size; 0 for no projection.

    Shape:
        inputs: ``[batch, time, input_size]``, of the weights' dtype.
        initial_states: a pair (h, c) of ``[num_layers * directions, batch, size]``, where size is hidden_size for c;
            None for zeros.
        sequence_length: integers ``[batch]``, or None where all sequences are as long as the inputs. Outputs are 0
            behind the end of a sequence, states are those at its end, and the backward direction begins there.
        outputs: ``[batch, time, directions * (proj_size or hidden_size)]``, and the last states, of the shape of the
            initial ones.

    Raises:
        TypeError: in a call, inputs of another dtype than the weights'.
        ValueError: an unknown direction, a hidden_size or num_layers below 1, or a proj_size that is not below it; in a
            call, inputs or states of another rank or number of layers.

    Example:
        >>> import paddle
        >>> outputs, (h, c) = paddle.nn.LSTM(4, 3, direction="bidirect")(paddle.ones([2, 5, 4]))
        >>> outputs.shape, h.shape
        (paddle.Size([2, 5, 6]), paddle.Size([2, 2, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
        name: str | None = None,
    ) -> None:
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            *attrs,
            proj_size,
        )


@public("paddle.nn")
class GRU(RNNBase):
    """Recurrent network: layers of :class:`GRUCell`.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: how many layers, each on the outputs of the one below.
        direction: ``"forward"``, or ``"bidirect"`` (``"bidirectional"``) for both, with outputs side by side.
        time_major: inputs and outputs are ``[time, batch, *]`` instead of ``[batch, time, *]``.
        dropout: probability of zero between layers, while training.
        weight_ih_attr: attributes of the weights on inputs, of all layers, uniform within ``1 / sqrt(hidden_size)`` by
            default; False for ones that are not trained.
        weight_hh_attr: attributes of the weights on states, the same.
        bias_ih_attr: attributes of the biases beside the weights on inputs, uniform as well by default; False for none
            (zeros that are not trained).
        bias_hh_attr: attributes of the biases beside the weights on states, the same.

    Shape:
        inputs: ``[batch, time, input_size]``, of the weights' dtype.
        initial_states: ``[num_layers * directions, batch, hidden_size]``; None for zeros.
        sequence_length: integers ``[batch]``, or None where all sequences are as long as the inputs. Outputs are 0
            behind the end of a sequence, states are those at its end, and the backward direction begins there.
        outputs: ``[batch, time, directions * hidden_size]``, and the last states, of the shape of the initial ones.

    Raises:
        TypeError: in a call, inputs of another dtype than the weights'.
        ValueError: an unknown direction, or a hidden_size or num_layers below 1; in a call, inputs or states
            of another rank, or states of another number of layers.

    Example:
        >>> import paddle
        >>> outputs, h = paddle.nn.GRU(4, 3)(paddle.ones([2, 5, 4]))
        >>> outputs.shape, h.shape
        (paddle.Size([2, 5, 3]), paddle.Size([1, 2, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        attrs = (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            *attrs,
        )
