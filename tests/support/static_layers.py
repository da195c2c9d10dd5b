"""What layers of ``paddle.static.nn`` give, here and in the reference, for weights that depend on their names alone.

    cd / && FLAGS_enable_pir_api=0 PYTHON_OF_THE_REFERENCE .../static_layers.py .../tests/data/static_layers.json

The reference runs most of them only on its older programs, hence the flag.
"""

from __future__ import annotations

import json
import sys
import zlib

import numpy as np

import paddle

# Inputs by shape, where None is a size that is not declared, and the call.
CASES = {
    "fc": ([(None, 3, 4)], lambda nn, x: nn.fc(x, 5, activation="relu")),
    "fc, last dim": ([(None, 3, 4)], lambda nn, x: nn.fc(x, 5, num_flatten_dims=2, bias_attr=False)),
    "fc of several": ([(None, 4), (None, 3)], lambda nn, x, y: nn.fc([x, y], 2, activation="tanh")),
    "conv2d": ([(None, 4, 6, 5)], lambda nn, x: nn.conv2d(x, 6, 3, padding=1, groups=2, act="relu")),
    "conv2d, strides": ([(None, 3, 7, 7)], lambda nn, x: nn.conv2d(x, 2, [3, 2], stride=2, dilation=[1, 2])),
    "conv3d": ([(None, 2, 4, 4, 4)], lambda nn, x: nn.conv3d(x, 3, 2, bias_attr=False)),
    "conv2d_transpose": (
        [(None, 4, 3, 3)], lambda nn, x: nn.conv2d_transpose(x, 2, filter_size=3, stride=2, padding=1),
    ),
    "conv2d_transpose, size": (
        [(None, 4, 3, 3)], lambda nn, x: nn.conv2d_transpose(x, 2, output_size=[7, 8], stride=2),
    ),
    "conv3d_transpose": ([(None, 2, 2, 3, 2)], lambda nn, x: nn.conv3d_transpose(x, 3, filter_size=2, groups=1)),
    "batch_norm": ([(None, 3, 4, 2)], lambda nn, x: nn.batch_norm(x, act="relu")),
    "batch_norm, test": ([(None, 3)], lambda nn, x: nn.batch_norm(x, is_test=True)),
    "layer_norm": ([(None, 3, 4)], lambda nn, x: nn.layer_norm(x, begin_norm_axis=1)),
    "layer_norm, last": ([(None, 3, 4)], lambda nn, x: nn.layer_norm(x, begin_norm_axis=2, shift=False, act="sigmoid")),
    "prelu, all": ([(None, 3, 4, 2)], lambda nn, x: nn.prelu(x, "all")),
    "prelu, channel": ([(None, 3, 4, 2)], lambda nn, x: nn.prelu(x, "channel")),
    "prelu, element": ([(None, 3, 4, 2)], lambda nn, x: nn.prelu(x, "element")),
    "bilinear": ([(None, 3), (None, 4)], lambda nn, x, y: nn.bilinear_tensor_product(x, y, 2)),
    "deform_conv2d": (
        [(None, 2, 5, 5), (None, 18, 5, 5), (None, 9, 5, 5)],
        lambda nn, x, o, m: nn.deform_conv2d(x, o, m, 3, 3, padding=1),
    ),
    "row_conv": ([(None, 5, 3)], lambda nn, x: nn.row_conv(x, 2)),
    "spectral_norm": ([(4, 3)], lambda nn, x: nn.spectral_norm(x, power_iters=2)),
}  # fmt: skip


def values_for(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers that depend on a name."""
    drawn = np.random.RandomState(zlib.crc32(name.encode())).uniform(0.2, 1.0, shape)
    return drawn.astype("float32")


def result(case: str) -> dict[str, object]:
    """Names and shapes of parameters, the result, and the gradients with respect to the first input and parameters."""
    shapes, call = CASES[case]
    main, startup = paddle.static.Program(), paddle.static.Program()
    with (
        paddle.utils.unique_name.guard(),
        paddle.static.scope_guard(paddle.static.Scope()),
        paddle.static.program_guard(main, startup),
    ):
        inputs = [paddle.static.data(f"x{i}", [-1 if n is None else n for n in s]) for i, s in enumerate(shapes)]
        for x in inputs:
            x.stop_gradient = False
        y = call(paddle.static.nn, *inputs)
        params = sorted(main.all_parameters(), key=lambda p: p.name)
        trained = [p for p in params if not p.stop_gradient]
        grads = paddle.static.gradients(paddle.mean(y * y), [inputs[0], *trained])
        exe = paddle.static.Executor()
        exe.run(startup)
        scope = paddle.static.global_scope()
        for p in params:
            scope.find_var(p.name).get_tensor().set(values_for(p.name, tuple(p.shape)), exe.place)
        feed = {
            f"x{i}": np.random.RandomState(i).standard_normal([2 if n is None else n for n in s]).astype("float32")
            for i, s in enumerate(shapes)
        }
        found = exe.run(main, feed=feed, fetch_list=[y, *grads])
        after = {p.name: np.array(scope.find_var(p.name).get_tensor()) for p in params if p.stop_gradient}
    return {
        "parameters": {p.name: [int(n) for n in p.shape] for p in params},
        "values": [np.asarray(v, "float64").round(6).tolist() for v in found],
        "kept": {name: v.astype("float64").round(6).tolist() for name, v in sorted(after.items())},
    }


if __name__ == "__main__":
    paddle.enable_static()
    with open(sys.argv[1], "w") as target:
        rows = [f"{json.dumps(case)}: {json.dumps(result(case))}" for case in CASES]
        target.write("{\n" + ",\n".join(rows) + "\n}\n")
