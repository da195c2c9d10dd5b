"""Programs in the reference's older operators, with what they give: saved by the reference as its version 2 did.

    cd / && FLAGS_enable_pir_api=0 FLAGS_enable_pir_in_executor=0 PYTHON_OF_THE_REFERENCE \
        .../legacy_programs.py .../tests/data/legacy_programs.npz

For each name the file has the bytes of ``<name>/program`` and ``<name>/values`` (all parameters in one stream), and
arrays ``<name>/in/<i>/<input>`` and ``<name>/out/<i>/<j>`` of run ``i``; ``separate/<parameter>`` are the bytes of the
files of parameters of ``fluid``, each by itself.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import paddle
from paddle.base.layer_helper import LayerHelper

Feed = dict[str, np.ndarray]


def op(kind: str, inputs: dict[str, Any], outputs: str = "Out", of: str = "", **attributes: Any) -> Any:
    """Append an operator. ``outputs``: its slots, ``Out*2`` for two variables, ``Out=In`` for that of an input;
    those of the first are returned.
    """
    helper = LayerHelper(kind)
    first = next((v for v in inputs.values() if v is not None), None)
    first = first[0] if isinstance(first, (list, tuple)) else first
    of = of or (first.dtype if first is not None else "float32")
    made = {}
    for slot in outputs.split():
        slot, _, given = slot.partition("=")
        name, _, n = slot.partition("*")
        if given:
            made[name] = [inputs[given]]
            continue
        found = [helper.create_variable_for_type_inference(of) for _ in range(int(n or 1))]
        made[name] = found
    given = {k: v for k, v in inputs.items() if v is not None}
    helper.append_op(type=kind, inputs=given, outputs=made, attrs=attributes)
    got = next(iter(made.values()))
    return got if "*" in outputs.split()[0] else got[0]


def parameter(name: str, shape: list[int], dtype: str = "float32") -> Any:
    """A parameter, whose values depend on its name alone."""
    return paddle.static.create_parameter(shape, dtype, name=name)


def drawn(name: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.RandomState(zlib.crc32(name.encode())).uniform(-1.0, 1.0, shape).astype("float32")


def data(name: str, shape: list[int], dtype: str = "float32") -> Any:
    return paddle.static.data(name, shape, dtype)


def logical_not(x: Any) -> Any:
    return op("logical_not", {"X": x}, of="bool")


def images() -> list[Any]:
    """A convolutional network, with first versions of what resizes and pads."""
    x = data("x", [-1, 3, 8, 8])
    y = op(
        "conv2d",
        {"Input": x, "Filter": parameter("c.w", [4, 3, 3, 3])},
        "Output",
        strides=[1, 1],
        paddings=[1, 1],
        dilations=[1, 1],
        groups=1,
        data_format="NCHW",
        padding_algorithm="EXPLICIT",
    )
    y = op("elementwise_add", {"X": y, "Y": parameter("c.b", [4])}, axis=1)
    y = op(
        "batch_norm",
        {
            "X": y,
            "Scale": parameter("b.s", [4]),
            "Bias": parameter("b.b", [4]),
            "Mean": parameter("b.m", [4]),
            "Variance": parameter("b.v", [4]),
        },
        "Y MeanOut=Mean VarianceOut=Variance SavedMean SavedVariance ReserveSpace",
        epsilon=1e-5,
        momentum=0.9,
        is_test=True,
        use_global_stats=False,
        data_layout="NCHW",
    )
    y = op("hard_swish", {"X": y}, threshold=6.0, scale=6.0, offset=3.0)
    z = op(
        "depthwise_conv2d",
        {"Input": y, "Filter": parameter("d.w", [4, 1, 3, 3])},
        "Output",
        strides=[2, 2],
        paddings=[1, 1],
        dilations=[1, 1],
        groups=4,
        data_format="NCHW",
        padding_algorithm="EXPLICIT",
    )
    z = op("leaky_relu", {"X": z}, alpha=0.1)
    up = op(
        "nearest_interp_v2",
        {"X": z},
        out_d=-1,
        out_h=-1,
        out_w=-1,
        scale=[2.0, 2.0],
        interp_method="nearest",
        align_corners=False,
        align_mode=1,
        data_layout="NCHW",
    )
    y = op("concat", {"X": [y, up]}, axis=1)
    t = op(
        "conv2d_transpose",
        {"Input": y, "Filter": parameter("t.w", [8, 2, 2, 2])},
        "Output",
        strides=[2, 2],
        paddings=[0, 0],
        dilations=[1, 1],
        groups=1,
        output_padding=[],
        output_size=[],
        data_format="NCHW",
        padding_algorithm="EXPLICIT",
    )
    t = op(
        "pool2d",
        {"X": t},
        pooling_type="max",
        ksize=[2, 2],
        strides=[2, 2],
        paddings=[0, 0],
        ceil_mode=True,
        global_pooling=False,
        exclusive=True,
        adaptive=False,
        data_format="NCHW",
        padding_algorithm="EXPLICIT",
    )
    p = op(
        "pool2d",
        {"X": y},
        pooling_type="avg",
        ksize=[1, 1],
        strides=[1, 1],
        paddings=[0, 0],
        global_pooling=False,
        adaptive=True,
        exclusive=True,
        ceil_mode=False,
        data_format="NCHW",
        padding_algorithm="EXPLICIT",
    )
    p = op("flatten_contiguous_range", {"X": p}, "Out XShape", start_axis=1, stop_axis=3)
    p = op("matmul_v2", {"X": p, "Y": parameter("f.w", [8, 5])}, trans_x=False, trans_y=False)
    p = op("softmax", {"X": op("elementwise_add", {"X": p, "Y": parameter("f.b", [5])}, axis=-1)}, axis=-1)
    pad = op(
        "pad3d",
        {"X": op("unsqueeze2", {"X": t}, "Out XShape", axes=[2])},
        paddings=[1, 0, 0, 2, 0, 0],
        mode="reflect",
        value=0.0,
        data_format="NCDHW",
    )
    return [p, t, pad]


def fluid() -> list[Any]:
    """First versions: columns of size 1, matrices of flattened axes, axes at which the smaller operand begins."""
    ids, x = data("ids", [-1, 5, 1], "int64"), data("x", [-1, 2, 3, 4])
    e = op(
        "lookup_table_v2",
        {"Ids": op("squeeze2", {"X": ids}, "Out XShape", axes=[-1]), "W": parameter("e.w", [7, 6])},
        of="float32",
        padding_idx=2,
    )
    m = op("mul", {"X": x, "Y": parameter("m.w", [12, 6])}, x_num_col_dims=2, y_num_col_dims=1)
    a = op("elementwise_add", {"X": m, "Y": parameter("a.b", [2])}, axis=1)
    a = op("elementwise_mul", {"X": x, "Y": parameter("a.w", [2, 3])}, axis=1), a
    mm = op("matmul", {"X": a[1], "Y": e}, transpose_X=False, transpose_Y=True, alpha=0.5)
    mean = op("reduce_mean", {"X": x}, dim=[0], keep_dim=False, reduce_all=True)
    total = op("reduce_sum", {"X": x}, dim=[1, -1], keep_dim=True, reduce_all=False)
    drop = op(
        "dropout", {"X": x}, "Out Mask", dropout_prob=0.25, is_test=True, dropout_implementation="downgrade_in_infer"
    )
    kept = op(
        "dropout", {"X": x}, "Out Mask", dropout_prob=0.25, is_test=True, dropout_implementation="upscale_in_train"
    )
    s = op("sum", {"X": [drop, kept, x]})
    s = op("scale", {"X": s}, scale=2.0, bias=1.0, bias_after_scale=False)
    c = op("clip", {"X": s}, min=-1.0, max=0.5)
    k, _ = op("top_k_v2", {"X": mm}, "Out Indices", k=2, axis=-1, largest=True, sorted=True), None
    return [mm, a[0], mean, total, c, k]


def sizes() -> list[Any]:
    """Sizes and limits that are tensors, parts and constants."""
    x = data("x", [-1, 12])
    shape = op("shape", {"Input": x}, of="int32")
    n = op("slice", {"Input": shape}, axes=[0], starts=[0], ends=[1], decrease_axis=[0], infer_flags=[1])
    two = op("fill_constant", {}, of="int32", dtype=2, shape=[1], value=2.0, str_value="2")
    y = op(
        "reshape2",
        {"X": x, "ShapeTensor": [n, two, op("fill_constant", {}, of="int32", dtype=2, shape=[1], value=6.0)]},
        "Out XShape",
        shape=[-1, 2, 6],
    )
    y = op("transpose2", {"X": y}, "Out XShape", axis=[0, 2, 1])
    y = op(
        "slice",
        {"Input": y, "StartsTensorList": [two]},
        axes=[1],
        starts=[-1],
        ends=[5],
        decrease_axis=[],
        infer_flags=[-1],
    )
    parts = op("split", {"X": x}, "Out*3", axis=1, num=0, sections=[4, 3, 5])
    even = op("split", {"X": x}, "Out*2", axis=1, num=2, sections=[])
    table = op("assign_value", {}, shape=[2, 3], dtype=5, values=[1.0, 2.0, 3.0, -1.0, 0.5, 0.25])
    stacked = op("stack", {"X": [even[0], even[1]]}, "Y", axis=1)
    wide = op("expand_v2", {"X": op("unsqueeze2", {"X": parts[1]}, "Out XShape", axes=[1])}, shape=[-1, 2, 3])
    wide = op("elementwise_sub", {"X": wide, "Y": table}, axis=-1)
    index = op("arg_max", {"X": stacked}, of="int64", dtype=3, axis=1, keepdims=False, flatten=False)
    hot = op("one_hot_v2", {"X": index}, of="float32", dtype=5, depth=3, allow_out_of_range=False)
    filled = op(
        "set_value",
        {"Input": x},
        axes=[1],
        starts=[2],
        ends=[8],
        steps=[3],
        decrease_axes=[],
        none_axes=[],
        dtype=5,
        shape=[1],
        values=[1.5],
    )
    running = op("cumsum", {"X": filled}, axis=1, flatten=False, exclusive=True, reverse=False)
    less = op("less_than", {"X": running, "Y": x}, of="bool", axis=-1)
    chosen = op("where", {"Condition": less, "X": running, "Y": x})
    zeros = op(
        "fill_constant_batch_size_like",
        {"Input": x},
        shape=[-1, 2],
        value=0.5,
        dtype=5,
        input_dim_idx=0,
        output_dim_idx=0,
    )
    gathered = op(
        "gather", {"X": x, "Index": op("assign_value", {}, of="int32", dtype=2, shape=[2], values=[3, 1])}, axis=1
    )
    cast = op("cast", {"X": index}, of="float32", in_dtype=3, out_dtype=5)
    return [y, *parts, wide, hot, chosen, zeros, gathered, cast, op("tile", {"X": zeros}, repeat_times=[1, 2])]


def control() -> list[Any]:
    """Branches inside of a loop, and a value that one of two branches makes."""
    paddle.logical_not = logical_not  # the reference's own takes no variables of such programs
    x = data("x", [-1, 3])
    positive = paddle.mean(x) > 0.0
    y, z = paddle.static.nn.cond(positive, lambda: (x + 1.0, x * 2.0), lambda: (x - 1.0, x * 3.0))
    i = paddle.full([1], 0, "int64")

    def body(i: Any, v: Any) -> list[Any]:
        small = paddle.mean(v) < 4.0
        return [i + 1, paddle.static.nn.cond(small, lambda: v + z, lambda: v * 0.5)]

    i, v = paddle.static.nn.while_loop(lambda i, v: i < 4, body, [i, y])
    return [y, v, i]


def arrays() -> list[Any]:
    """Lists of tensors: of a known number, and filled by a loop as decoders do."""
    x = data("x", [-1, 3])
    zero, one = (paddle.full([1], n, "int64") for n in (0, 1))
    pair = paddle.tensor.array_write(x, zero)
    paddle.tensor.array_write(x * 2.0, one, pair)
    both = op("tensor_array_to_tensor", {"X": pair}, "Out OutIndex", of="float32", axis=1, use_stack=False)
    steps = paddle.tensor.array_write(x, zero)
    i = paddle.full([1], 0, "int64")
    going = i < 3
    loop = paddle.static.nn.control_flow.While(going)
    with loop.block():
        now = paddle.tensor.array_read(steps, i)
        after = i + 1
        paddle.tensor.array_write(now * 0.5 + 1.0, after, steps)
        paddle.assign(after, i)
        paddle.assign(after < 3, going)
    last = paddle.tensor.array_read(steps, i)
    return [both, last, paddle.tensor.array_length(steps)]


def decoder() -> list[Any]:
    """A loop that fills a list until data say that it is enough."""
    x = data("x", [-1, 3])
    steps = paddle.tensor.array_write(op("relu", {"X": x}), paddle.full([1], 0, "int64"))
    i = paddle.full([1], 0, "int64")
    going = paddle.mean(x) < 9.0
    loop = paddle.static.nn.control_flow.While(going)
    with loop.block():
        after = i + 1
        now = paddle.tensor.array_read(steps, i) * 1.5 + 1.0
        paddle.tensor.array_write(now, after, steps)
        paddle.assign(after, i)
        paddle.assign(paddle.mean(now) < 9.0, going)
    return [paddle.tensor.array_read(steps, i), i, x * 2.0]  # its length would be that of an earlier run


def generation() -> list[Any]:
    """A loop that makes a sequence longer, one by one, as language models do."""
    ids = data("ids", [-1, -1], "int64")
    table = parameter("table", [7, 4])
    i, most = paddle.full([1], 0, "int64"), paddle.full([1], 4, "int64")

    def body(i: Any, ids: Any) -> list[Any]:
        x = op("lookup_table_v2", {"Ids": ids, "W": table}, of="float32", padding_idx=-1)
        state = op("reduce_mean", {"X": op("tanh", {"X": x})}, dim=[1], keep_dim=False, reduce_all=False)
        scores = op("matmul_v2", {"X": state, "Y": table}, trans_x=False, trans_y=True)
        best = op("arg_max", {"X": scores}, of="int64", dtype=3, axis=-1, keepdims=True, flatten=False)
        return [i + 1, op("concat", {"X": [ids, best]}, axis=1)]

    i, ids = paddle.static.nn.while_loop(lambda i, ids: i < most, body, [i, ids])
    return [ids, op("lookup_table_v2", {"Ids": ids, "W": table}, of="float32", padding_idx=-1)]


def recurrent() -> list[Any]:
    """The operator of LSTM, GRU and plain networks: layers and directions with their weights in one list."""
    x = data("x", [5, -1, 4])
    found = []
    for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN_TANH", 1)):
        weights, biases = [], []
        for layer in range(2):
            for way in range(2):
                name = f"{kind}.{layer}.{way}"
                weights += [
                    parameter(f"{name}.i", [gates * 3, 4 if layer == 0 else 6]),
                    parameter(f"{name}.h", [gates * 3, 3]),
                ]
                biases += [parameter(f"{name}.bi", [gates * 3]), parameter(f"{name}.bh", [gates * 3])]
        states = [
            op(
                "fill_constant_batch_size_like",
                {"Input": x},
                shape=[4, -1, 3],
                value=0.1,
                dtype=5,
                input_dim_idx=1,
                output_dim_idx=1,
            )
            for _ in range(2 if kind == "LSTM" else 1)
        ]
        found.append(
            op(
                "rnn",
                {"Input": x, "WeightList": weights + biases, "PreState": states},
                f"Out State*{len(states)} DropoutState Reserve",
                mode=kind,
                hidden_size=3,
                input_size=4,
                num_layers=2,
                is_bidirec=True,
                is_test=True,
                dropout_prob=0.0,
                seed=0,
            )
        )
    return found


def attention() -> list[Any]:
    """A layer of a transformer, in the operators that its functions made."""
    x = data("x", [-1, 6, 8])

    def project(x: Any, name: str, n: int = 8) -> Any:
        y = op("matmul_v2", {"X": x, "Y": parameter(f"{name}.w", [x.shape[-1], n])}, trans_x=False, trans_y=False)
        return op("elementwise_add", {"X": y, "Y": parameter(f"{name}.b", [n])}, axis=-1)

    def heads(x: Any) -> Any:
        return op(
            "transpose2",
            {"X": op("reshape2", {"X": x}, "Out XShape", shape=[0, 0, 2, 4])},
            "Out XShape",
            axis=[0, 2, 1, 3],
        )

    q, k, v = (heads(project(x, n)) for n in "qkv")
    scores = op(
        "matmul_v2",
        {"X": op("scale", {"X": q}, scale=0.5, bias=0.0, bias_after_scale=True), "Y": k},
        trans_x=False,
        trans_y=True,
    )
    y = op("matmul_v2", {"X": op("softmax", {"X": scores}, axis=-1), "Y": v}, trans_x=False, trans_y=False)
    y = op(
        "reshape2", {"X": op("transpose2", {"X": y}, "Out XShape", axis=[0, 2, 1, 3])}, "Out XShape", shape=[0, 0, 8]
    )
    y = op("elementwise_add", {"X": x, "Y": project(y, "o")}, axis=-1)

    def norm(x: Any, name: str) -> Any:
        return op(
            "layer_norm",
            {"X": x, "Scale": parameter(f"{name}.s", [8]), "Bias": parameter(f"{name}.b", [8])},
            "Y Mean Variance",
            epsilon=1e-5,
            begin_norm_axis=2,
        )

    y = norm(y, "n1")
    z = project(op("gelu", {"X": project(y, "f1", 16)}, approximate=False), "f2")
    return [norm(op("elementwise_add", {"X": y, "Y": z}, axis=-1), "n2")]


def detection() -> list[Any]:
    """Boxes of cells and of priors, their suppression, and regions of images."""
    x, size = data("x", [1, 14, 3, 3]), data("size", [1, 2], "int32")
    helper = LayerHelper("yolo_box")
    boxes, scores = (helper.create_variable_for_type_inference("float32") for _ in range(2))
    helper.append_op(
        type="yolo_box",
        inputs={"X": x, "ImgSize": size},
        outputs={"Boxes": boxes, "Scores": scores},
        attrs={
            "anchors": [10, 13, 16, 30],
            "class_num": 2,
            "conf_thresh": 0.1,
            "downsample_ratio": 32,
            "clip_bbox": True,
            "scale_x_y": 1.0,
        },
    )
    best = op(
        "multiclass_nms3",
        {"BBoxes": boxes, "Scores": op("transpose2", {"X": scores}, "Out XShape", axis=[0, 2, 1])},
        "Out Index NmsRoisNum",
        background_label=-1,
        score_threshold=0.1,
        nms_top_k=10,
        nms_threshold=0.4,
        nms_eta=1.0,
        keep_top_k=5,
        normalized=False,
    )
    image = data("image", [1, 3, 32, 32])
    priors = op(
        "prior_box",
        {"Input": x, "Image": image},
        "Boxes Variances",
        min_sizes=[4.0],
        max_sizes=[9.0],
        aspect_ratios=[1.0, 2.0],
        variances=[0.1, 0.1, 0.2, 0.2],
        flip=True,
        clip=True,
        step_w=0.0,
        step_h=0.0,
        offset=0.5,
        min_max_aspect_ratios_order=False,
    )
    flat = op("reshape2", {"X": priors}, "Out XShape", shape=[-1, 4])
    coded = op(
        "box_coder",
        {"PriorBox": flat, "TargetBox": parameter("deltas", [2, 36, 4])},
        "OutputBox",
        code_type="decode_center_size",
        box_normalized=True,
        axis=0,
        variance=[0.1, 0.1, 0.2, 0.2],
    )
    rois, count = data("rois", [3, 4]), data("count", [1], "int32")
    aligned = op(
        "roi_align",
        {"X": image, "ROIs": rois, "RoisNum": count},
        pooled_height=2,
        pooled_width=3,
        spatial_scale=0.5,
        sampling_ratio=2,
        aligned=True,
    )
    return [boxes, scores, best, priors, coded, aligned]


def several(kind: str, inputs: dict[str, Any], outputs: str, **attributes: Any) -> list[Any]:
    """Append an operator; all of its results, ``Out:int32`` for one of another element type."""
    helper = LayerHelper(kind)
    made: dict[str, list[Any]] = {}
    for slot in outputs.split():
        name, _, dtype = slot.partition(":")
        name, _, n = name.partition("*")
        made[name] = [helper.create_variable_for_type_inference(dtype or "float32") for _ in range(int(n or 1))]
    helper.append_op(type=kind, inputs=inputs, outputs=made, attrs=attributes)
    return [v for found in made.values() for v in found]


def proposals() -> list[Any]:
    """A detector of two stages: anchors, proposals, levels, regions, suppression."""
    scores, deltas = data("scores", [1, 3, 4, 4]), data("deltas", [1, 12, 4, 4])
    image, size = data("image", [1, 8, 16, 16]), data("size", [1, 2])
    anchors, variances = several(
        "anchor_generator",
        {"Input": scores},
        "Anchors Variances",
        anchor_sizes=[16.0, 24.0, 32.0],
        aspect_ratios=[1.0],
        variances=[1.0, 1.0, 1.0, 1.0],
        stride=[16.0, 16.0],
        offset=0.5,
    )
    rois, _, count = several(
        "generate_proposals_v2",
        {"Scores": scores, "BboxDeltas": deltas, "ImShape": size, "Anchors": anchors, "Variances": variances},
        "RpnRois RpnRoiProbs RpnRoisNum:int32",
        pre_nms_topN=30,
        post_nms_topN=8,
        nms_thresh=0.6,
        min_size=2.0,
        eta=1.0,
        pixel_offset=False,
    )
    low, high, low_count, high_count, back = several(
        "distribute_fpn_proposals",
        {"FpnRois": rois, "RoisNum": count},
        "MultiFpnRois*2 MultiLevelRoIsNum*2:int32 RestoreIndex:int32",
        min_level=2,
        max_level=3,
        refer_level=3,
        refer_scale=30,
        pixel_offset=False,
    )
    regions = [
        op(
            "roi_align",
            {"X": image, "ROIs": r, "RoisNum": n},
            pooled_height=2,
            pooled_width=2,
            spatial_scale=scale,
            sampling_ratio=2,
            aligned=True,
        )
        for r, n, scale in ((low, low_count, 0.25), (high, high_count, 0.25))
    ]
    pooled = op("gather", {"X": op("concat", {"X": regions}, axis=0), "Index": back}, axis=0)
    flat = op("reshape2", {"X": pooled}, "Out XShape", shape=[-1, 32])
    classes = op("softmax", {"X": op("matmul_v2", {"X": flat, "Y": parameter("head", [32, 3])})}, axis=-1)
    boxes = op("unsqueeze2", {"X": op("clip", {"X": rois}, min=0.0, max=60.0)}, "Out XShape", axes=[0])
    best, _, number = several(
        "matrix_nms",
        {
            "BBoxes": boxes,
            "Scores": op(
                "unsqueeze2", {"X": op("transpose2", {"X": classes}, "Out XShape", axis=[1, 0])}, "Out XShape", axes=[0]
            ),
        },
        "Out Index:int32 RoisNum:int32",
        background_label=0,
        score_threshold=0.1,
        post_threshold=0.05,
        nms_top_k=20,
        keep_top_k=6,
        use_gaussian=False,
        gaussian_sigma=2.0,
        normalized=False,
    )
    return [rois, count, low, high, back, pooled, classes, best, number]


def quantised() -> list[Any]:
    """What a model that was trained for few bits carries: fake and real quantise and dequantise."""
    x = data("x", [-1, 4])
    q = op(
        "quantize_linear",
        {"X": x, "Scale": parameter("q.s", [1]), "ZeroPoint": parameter("q.z", [1])},
        "Y",
        quant_axis=-1,
        bit_length=8,
        round_type=0,
        qmin=-128,
        qmax=127,
        is_test=True,
        only_observer=False,
    )
    y = op(
        "dequantize_linear",
        {"X": q, "Scale": parameter("q.s2", [1]), "ZeroPoint": parameter("q.z2", [1])},
        "Y",
        quant_axis=-1,
        bit_length=8,
        round_type=0,
        qmin=-128,
        qmax=127,
        is_test=True,
        only_observer=False,
    )
    f = op("fake_quantize_dequantize_abs_max", {"X": x}, "Out OutScale", bit_length=8, round_type=1)
    c = op(
        "fake_channel_wise_quantize_dequantize_abs_max",
        {"X": parameter("w", [4, 3])},
        "Out OutScale",
        quant_axis=1,
        bit_length=8,
        round_type=1,
    )
    m = op("matmul_v2", {"X": y, "Y": c}, trans_x=False, trans_y=False)
    a = op(
        "fake_quantize_dequantize_moving_average_abs_max",
        {"X": m, "InScale": parameter("a.s", [1])},
        "Out OutScale",
        bit_length=8,
        moving_rate=0.9,
        is_test=True,
        round_type=1,
    )
    return [m, f, a]


def numbers(*sizes: int, name: str = "x", low: float = -1.0, high: float = 1.0) -> np.ndarray:
    drawn = np.random.RandomState(zlib.crc32(f"{name}{sizes}".encode())).uniform(low, high, sizes)
    return drawn.astype("float32")


PROGRAMS: dict[str, tuple[Callable[[], list[Any]], list[Feed]]] = {
    "images": (images, [{"x": numbers(n, 3, 8, 8)} for n in (1, 2)]),
    "fluid": (fluid, [{"ids": np.arange(5 * n).reshape(n, 5, 1) % 7, "x": numbers(n, 2, 3, 4)} for n in (1, 3)]),
    "sizes": (sizes, [{"x": numbers(n, 12)} for n in (2, 3)]),
    "control": (control, [{"x": numbers(2, 3)}, {"x": numbers(2, 3) - 1}, {"x": numbers(1, 3) + 3}]),
    "decoder": (decoder, [{"x": numbers(2, 3)}, {"x": numbers(2, 3) + 6}]),
    "arrays": (arrays, [{"x": numbers(2, 3)}]),
    "generation": (generation, [{"ids": np.arange(n * 2).reshape(n, 2) % 7} for n in (1, 3)]),
    "recurrent": (recurrent, [{"x": numbers(5, 2, 4)}]),
    "attention": (attention, [{"x": numbers(2, 6, 8)}]),
    "detection": (
        detection,
        [
            {
                "x": numbers(1, 14, 3, 3),
                "size": np.array([[96, 80]], "int32"),
                "image": numbers(1, 3, 32, 32),
                "rois": np.array([[1, 2, 20, 30], [0, 0, 9, 9], [5, 5, 31, 12]], "float32"),
                "count": np.array([3], "int32"),
            }
        ],
    ),
    "proposals": (
        proposals,
        [
            {
                "scores": numbers(1, 3, 4, 4),
                "deltas": numbers(1, 12, 4, 4),
                "image": numbers(1, 8, 16, 16),
                "size": np.array([[64, 64]], "float32"),
            }
        ],
    ),
    "quantised": (quantised, [{"x": numbers(3, 4)}]),
}


def plain(serialised: bytes) -> bytes:
    """A program without the lines of code that made it."""
    made = paddle.static.Program.parse_from_string(serialised)
    for block in made.blocks:
        for o in block.ops:
            for name in ("op_callstack", "op_namescope"):
                if o.desc.has_attr(name):
                    o.desc.remove_attr(name)
    return made.desc.serialize_to_string()


def main(path: str) -> None:
    paddle.enable_static()
    out: dict[str, Any] = {}
    for name, (function, feeds) in PROGRAMS.items():
        main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
        with (
            paddle.static.scope_guard(scope),
            paddle.static.program_guard(main, startup),
            paddle.utils.unique_name.guard(),
        ):
            results = function()
            exe = paddle.static.Executor(paddle.CPUPlace())
            exe.run(startup)
            for p in main.all_parameters():
                value = (
                    np.abs(drawn(p.name, tuple(p.shape))) + 0.5 if p.name == "b.v" else drawn(p.name, tuple(p.shape))
                )
                if name == "quantised" and p.name != "w":
                    value = np.zeros_like(value) if ".z" in p.name else np.abs(value) + 0.1
                scope.find_var(p.name).get_tensor().set(value, paddle.CPUPlace())
            inputs = [main.global_block().var(n) for n in feeds[0]]
            serialised = paddle.static.serialize_program(inputs, results, program=main)
            values = paddle.static.serialize_persistables(inputs, results, exe, program=main)
            out[f"{name}/program"] = np.frombuffer(plain(serialised), np.uint8)
            out[f"{name}/values"] = np.frombuffer(values or b"", np.uint8)
            if name == "fluid":
                with tempfile.TemporaryDirectory() as folder:
                    paddle.static.io.save_vars(
                        exe, folder, main, predicate=lambda v: v.persistable and v.name[0] not in "f"
                    )
                    for file in os.listdir(folder):
                        with open(os.path.join(folder, file), "rb") as f:
                            out[f"separate/{file}"] = np.frombuffer(f.read(), np.uint8)
            for i, feed in enumerate(feeds):
                for k, v in feed.items():
                    out[f"{name}/in/{i}/{k}"] = v
                for j, y in enumerate(exe.run(main, feed=feed, fetch_list=results, return_numpy=False)):
                    out[f"{name}/out/{i}/{j}"] = np.asarray(y)
    np.savez_compressed(path, **out)


if __name__ == "__main__":
    main(sys.argv[1])
