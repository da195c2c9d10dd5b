"""``summary``: the layers of a model with their sizes and parameters."""

from __future__ import annotations

import inspect
import math
from contextlib import ExitStack
from typing import Any

from paddle._public import public
from paddle.framework.grad_mode import no_grad
from paddle.framework.mode import in_dynamic_mode
from paddle.hapi._tables import all_layers, centred, counted, inputs_like, parameter_counts, shapes_of, tensors_of
from paddle.nn.layer.container import Sequential
from paddle.nn.layer.layers import Layer
from paddle.static.program import Program, default_main_program, program_guard
from umiak.util.errors import op_error

HEAD = ("Layer (type)", "Input Shape", "Output Shape", "Param #")
MB = 1 << 20


@public("paddle paddle.hapi")
def summary(net: Layer, input_size: Any = None, dtypes: Any = None, input: Any = None) -> dict[str, int]:
    """Print a table of the layers of ``net`` in the order in which a call of it runs through them.

    ``Param #`` are a layer's own parameters; the totals count every parameter once, shared ones and those that no
    call uses included. Containers have no row.

    Args:
        net: a layer; it runs once, in evaluation mode.
        input_size: the shape of the input, a list of shapes, or input specs; a tuple of shapes in that list stands for
            an input that is a tuple, such as the states of an LSTM. Sizes of None and -1 are 1.
        dtypes: the dtype of the inputs, or one for each; by default float32, or that of a spec.
        input: the input itself instead: a tensor, a dict of tensors, or a list of inputs, which is the one input of a
            net that takes one.

    Returns:
        ``{"total_params": ..., "trainable_params": ...}``.

    Raises:
        ValueError: neither ``input_size`` nor ``input``, or sizes below 1.

    Example:
        >>> import paddle
        >>> found = paddle.summary(paddle.nn.Sequential(paddle.nn.Linear(4, 3), paddle.nn.ReLU()), (1, 4))
        ------------------------------------------------
        Layer (type)  Input Shape  Output Shape  Param #
        ================================================
          Linear-1      [[1, 4]]      [1, 3]        15
           ReLU-1       [[1, 3]]      [1, 3]        0
        ================================================
        Total params: 15
        Trainable params: 15
        Non-trainable params: 0
        ------------------------------------------------
        Input size (MB): 0.00
        Forward/backward pass size (MB): 0.00
        Params size (MB): 0.00
        Estimated total size (MB): 0.00
        ------------------------------------------------
        >>> found
        {'total_params': 15, 'trainable_params': 15}
    """
    if not isinstance(net, Layer):
        raise op_error(TypeError, "summary", "a layer", type(net).__name__)
    with ExitStack() as stack:
        if not in_dynamic_mode():  # what it records is thrown away
            stack.enter_context(program_guard(default_main_program().clone(), Program()))
        return _summary(net, input_size, dtypes, input)


def _summary(net: Layer, input_size: Any, dtypes: Any, input: Any) -> dict[str, int]:
    if input is not None:
        given = list(input) if isinstance(input, (list, tuple)) and not _takes_one(net) else [input]
    elif input_size is not None:
        given = inputs_like("summary", input_size, dtypes)
    else:
        raise op_error(ValueError, "summary", "input_size or input", "neither")
    rows: dict[int, tuple[Any, Any]] = {}
    passed = _run(net, given, rows)

    layers = {id(x): x for x in all_layers(net)}
    shown = [layers[key] for key in rows]
    rest = [x for x in layers.values() if id(x) not in rows and x._parameters]  # with parameters that no call uses
    names = counted([*shown, *rest])
    rest = [x for x in rest if names[id(x)][1]]  # those of the cells of an LSTM are the LSTM's
    lines = [list(HEAD)]
    for layer in [*shown, *rest]:
        name, own = names[id(layer)]
        ins, outs = rows.get(id(layer), ("-", "-"))
        lines.append([name, str(ins), str(outs), f"{own:,}"])
    total, trained = parameter_counts(net)
    print("\n".join(_text(lines, total, trained, sum(map(_bytes, tensors_of(given))), passed, _parameter_bytes(net))))
    return {"total_params": total, "trainable_params": trained}


def _takes_one(net: Layer) -> bool:
    """Has ``forward`` one parameter, which several inputs could not be given to?"""
    parameters = list(inspect.signature(net.forward).parameters.values())
    return len(parameters) == 1 and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL


def _run(net: Layer, given: list[Any], rows: dict[int, tuple[Any, Any]]) -> int:
    """Call the net, noting shapes; gives the bytes of all results."""
    passed = 0
    handles = []

    def note(layer: Layer, inputs: Any, outputs: Any) -> None:
        nonlocal passed
        if id(layer) not in rows:
            rows[id(layer)] = [shapes_of(x) for x in inputs], shapes_of(outputs)
        passed += sum(map(_bytes, tensors_of(outputs)))

    for layer in all_layers(net):
        # Layers of recurrent networks are lists of cells, and computed as a whole.
        is_container = type(layer).forward in (Layer.forward, Sequential.forward)
        if is_container or (layer is net and layer._sub_layers and not layer._parameters):
            continue
        handles.append(layer.register_forward_post_hook(note))
    training = [(x, x.training) for x in all_layers(net)]
    try:
        net.eval()
        with no_grad():
            net(*given)
    finally:
        for layer, was in training:
            layer.training = was
        for handle in handles:
            handle.remove()
    return passed


def _bytes(x: Any) -> int:
    return x.dtype.nbytes(math.prod(x.shape))


def _parameter_bytes(net: Layer) -> int:
    return sum(_bytes(p) for p in {id(p): p for p in net.parameters()}.values())


def _text(lines: list[list[str]], total: int, trained: int, given: int, passed: int, held: int) -> list[str]:
    table = [line.rstrip() for line in centred(lines)]
    width = max(map(len, table))
    thin, thick = "-" * width, "=" * width
    sizes = {
        "Input size": given,
        "Forward/backward pass size": 2 * passed,  # a gradient for each result
        "Params size": held,
        "Estimated total size": given + 2 * passed + held,
    }
    return [
        thin,
        table[0],
        thick,
        *table[1:],
        thick,
        f"Total params: {total:,}",
        f"Trainable params: {trained:,}",
        f"Non-trainable params: {total - trained:,}",
        thin,
        *(f"{name} (MB): {n / MB:.2f}" for name, n in sizes.items()),
        thin,
    ]
