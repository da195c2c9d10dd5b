"""``flops``: the arithmetic of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from paddle._public import public
from paddle.framework.grad_mode import no_grad
from paddle.hapi._tables import all_layers, centred, counted, inputs_like, parameter_counts, shapes_of
from paddle.nn.layer.layers import Layer
from umiak.observe.flops import Counter
from umiak.runtime.observe import observe
from umiak.util.errors import op_error

HEAD = ("Layer Name", "Input Shape", "Output Shape", "Params", "Flops")


@dataclass
class _Row:
    layer: Layer
    inputs: Any
    outputs: Any
    flops: int = 0


class _Count:
    """Counts the ops of a call, those of each layer apart from those of layers below it."""

    def __init__(self, custom: Mapping[type, Callable[..., Any]]) -> None:
        self.custom = custom
        self.counter = Counter()
        self.rows: dict[int, _Row] = {}
        self.open: list[list[int]] = []  # the count at the start of each layer that runs, and that of layers below it
        self.inside = 0  # layers that a function counts

    def begin(self, layer: Layer, inputs: Any) -> None:
        self.open.append([self.counter.total, 0])
        self.inside += type(layer) in self.custom

    def end(self, layer: Layer, inputs: Any, outputs: Any) -> None:
        start, below = self.open.pop()
        own = self.counter.total - start - below
        function = self.custom.get(type(layer))
        if function is not None:
            # It says what all of the layer is, whatever runs inside.
            self.inside -= 1
            own, below = _by_function(function, layer, inputs, outputs), 0
            self.counter.total = start + own
        if self.open:
            self.open[-1][1] += below + own
        if not self.inside:
            shape = shapes_of(inputs[0] if len(inputs) == 1 else inputs)
            row = self.rows.setdefault(id(layer), _Row(layer, shape, shapes_of(outputs)))
            row.flops += own


def _by_function(function: Callable[..., Any], layer: Layer, inputs: Any, outputs: Any) -> int:
    layer.total_ops = 0
    try:
        function(layer, inputs, outputs)
        return int(layer.total_ops)
    finally:
        del layer.total_ops


@public("paddle paddle.hapi")
def flops(
    net: Any, input_size: Any, custom_ops: Mapping[type, Callable[..., Any]] | None = None, print_detail: bool = False
) -> int:
    """Count the arithmetic of a call of ``net``, a multiply-add as one; the count is printed and returned.

    Ops are counted where they run, so layers of your own and functions count as well: convolutions, matmuls,
    attention (of causal attention what is seen), recurrent layers, batch norms, averages of windows, leaky relus. What
    else there is counts nothing. Standard layers count as in the reference framework, which leaves out functions,
    attention, recurrent layers, and batch norms in one and three dimensions.

    Args:
        net: a layer, which runs once in evaluation mode, or a function of tensors.
        input_size: the shape of the input, or a list of shapes.
        custom_ops: functions ``f(layer, inputs, outputs)`` by class of layers, which add to ``layer.total_ops``,
            instead of counting what these layers run; None: none.
        print_detail: print a row per layer. What a layer runs beside the layers in it is its own.

    Returns:
        The count, an int.

    Raises:
        TypeError: a net that cannot be called, or sizes that are none.

    Example:
        >>> import paddle
        >>> paddle.flops(paddle.nn.Sequential(paddle.nn.Linear(4, 3), paddle.nn.ReLU()), [2, 4])
        Total Flops: 24     Total Params: 15
        24
    """
    if not callable(net):
        raise op_error(TypeError, "flops", "a layer or a function", type(net).__name__)
    given = inputs_like("flops", input_size, None)
    count = _Count(custom_ops or {})
    layers = list(all_layers(net)) if isinstance(net, Layer) else []
    handles = [
        h for x in layers for h in (x.register_forward_pre_hook(count.begin), x.register_forward_post_hook(count.end))
    ]
    training = [(x, x.training) for x in layers]
    try:
        if layers:
            net.eval()
        with no_grad(), observe(count.counter):
            net(*given)
    finally:
        for layer, was in training:
            layer.training = was
        for handle in handles:
            handle.remove()
    total = count.counter.total
    params = parameter_counts(net)[0] if layers else 0
    if print_detail:
        print("\n".join(_table(count)))
    print(f"Total Flops: {total}     Total Params: {params}")
    return total


def _table(count: _Count) -> list[str]:
    rows = [list(HEAD)]
    names = counted([row.layer for row in count.rows.values()])
    for row in count.rows.values():
        if not row.layer._sub_layers or row.flops or row.layer._parameters:
            own = names[id(row.layer)][1]
            rows.append([row.layer.full_name(), str(row.inputs), str(row.outputs), str(own), str(row.flops)])
    rule = None
    lines = []
    for line in centred(rows, gap=3):
        rule = rule or "+" + "-" * (len(line) + 2) + "+"
        lines.append(f"| {line} |")
    assert rule is not None
    return [rule, lines[0], rule, *lines[1:], rule]
