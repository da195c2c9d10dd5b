"""Programs over packed sequences (LoD) and in operators of before 3.0, with what they give: saved by PaddlePaddle 2.6.

    cd / && PYTHON_OF_2.6 .../sequence_programs.py .../tests/data/sequence_programs.npz

For each name the file has the bytes of ``<name>/program`` and ``<name>/values``, arrays ``<name>/in/<input>`` with
offsets ``<name>/lod/<input>/<level>``, and ``<name>/out/<j>`` with ``<name>/outlod/<j>/<level>``.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import paddle
from paddle.base.layer_helper import LayerHelper

Fed = tuple[np.ndarray, list[list[int]]]  # an array, and offsets of its sequences, outermost first
PROGRAMS: dict[str, Callable[[], list[Any]]] = {}
FED: dict[str, dict[str, Fed]] = {}


def numbers(*sizes: int, seed: str = "x", low: float = -1.0, high: float = 1.0) -> np.ndarray:
    drawn = np.random.RandomState(zlib.crc32(f"{seed}{sizes}".encode())).uniform(low, high, sizes)
    return drawn.astype("float32")


def program(**fed: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a program; its inputs: an array, or a pair of one and its offsets."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        assert name not in PROGRAMS, name
        PROGRAMS[name] = function
        FED[name] = {k: v if isinstance(v, tuple) else (v, []) for k, v in fed.items()}
        return function

    return declare


def op(kind: str, inputs: dict[str, Any], outputs: str = "Out", **attributes: Any) -> Any:
    """Append an operator. ``outputs``: its slots, ``Out:int64`` for an element type; the results, or the only one."""
    helper = LayerHelper(kind)
    made = {}
    for slot in outputs.split():
        slot, _, dtype = slot.partition(":")
        made[slot] = [helper.create_variable_for_type_inference(dtype or "float32")]
    helper.append_op(type=kind, inputs=inputs, outputs=made, attrs=attributes)
    results = [v[0] for v in made.values()]
    return results[0] if len(results) == 1 else results


def weight(name: str, *shape: int) -> Any:
    return paddle.static.create_parameter(list(shape), "float32", name=name)


LOD = [[0, 3, 4, 8]]
ROWS = numbers(8, 4), LOD
DEEP = numbers(8, 4), [[0, 2, 3], [0, 3, 4, 8]]
IDS = np.array([[1], [4], [2], [0], [3], [3], [5], [1]], "int64"), LOD


# --- sequences


@program(x=ROWS)
def pooled(x: Any) -> list[Any]:
    kinds = "SUM", "AVERAGE", "SQRT", "MAX", "LAST", "FIRST"
    return [
        op("sequence_pool", {"X": x}, "Out MaxIndex:int32", pooltype=k, pad_value=0.0, is_test=True)[0] for k in kinds
    ]


@program(x=(numbers(4, 2), [[0, 2, 2, 4]]))
def pooled_with_an_empty_one(x: Any) -> list[Any]:
    kinds = "SUM", "AVERAGE", "SQRT", "MAX", "LAST", "FIRST"
    return [
        op("sequence_pool", {"X": x}, "Out MaxIndex:int32", pooltype=k, pad_value=0.5, is_test=True)[0] for k in kinds
    ]


@program(x=DEEP)
def pooled_twice(x: Any) -> list[Any]:
    y = op("sequence_pool", {"X": x}, "Out MaxIndex:int32", pooltype="SUM", pad_value=0.0, is_test=True)[0]
    return [y, op("sequence_pool", {"X": y}, "Out MaxIndex:int32", pooltype="MAX", pad_value=0.0, is_test=True)[0]]


@program(x=(numbers(8, 1), LOD))
def softmax_of_sequences(x: Any) -> list[Any]:
    return [op("sequence_softmax", {"X": x})]


@program(x=ROWS)
def convolved(x: Any) -> list[Any]:
    found = []
    for i, (start, length) in enumerate([(-1, 3), (0, 2), (-3, 3), (1, 1)]):
        w = weight(f"w{i}", 4 * length, 5)
        found.append(
            op(
                "sequence_conv",
                {"X": x, "Filter": w},
                contextLength=length,
                contextStart=start,
                contextStride=1,
                paddingTrainable=False,
            )
        )
    return found


@program(x=(numbers(3, 4), []), y=ROWS)
def expanded(x: Any, y: Any) -> list[Any]:
    return [op("sequence_expand", {"X": x, "Y": y}, ref_level=0), op("sequence_expand_as", {"X": x, "Y": y})]


@program(x=(numbers(4, 2), [[0, 2, 4]]), y=(numbers(8, 3), [[0, 2, 4], [0, 3, 6, 7, 8]]))
def expanded_sequences(x: Any, y: Any) -> list[Any]:
    return [op("sequence_expand", {"X": x, "Y": y}, ref_level=0)]


@program(x=ROWS)
def reversed_and_padded(x: Any) -> list[Any]:
    zero = paddle.zeros([1], "float32")
    padded, lengths = op("sequence_pad", {"X": x, "PadValue": zero}, "Out Length:int64", padded_length=-1)
    wide, _ = op("sequence_pad", {"X": x, "PadValue": zero + 1.0}, "Out Length:int64", padded_length=6)
    back = op("sequence_unpad", {"X": wide * 2.0, "Length": lengths})
    pooled = op("sequence_pool", {"X": back}, "Out MaxIndex:int32", pooltype="SUM", pad_value=0.0, is_test=True)[0]
    return [op("sequence_reverse", {"X": x}, "Y"), padded, wide, lengths, back, pooled]


@program(x=ROWS, y=(numbers(5, 4), [[0, 1, 3, 5]]))
def concatenated(x: Any, y: Any) -> list[Any]:
    z = op("sequence_concat", {"X": [x, y]})
    return [z, op("sequence_pool", {"X": z}, "Out MaxIndex:int32", pooltype="SUM", pad_value=0.0, is_test=True)[0]]


@program(x=ROWS)
def reshaped(x: Any) -> list[Any]:
    return [op("sequence_reshape", {"X": x}, new_dim=2)]


@program(x=ROWS, offset=np.array([[1], [0], [2]], "int64"), length=np.array([[2], [1], [1]], "int64"))
def sliced(x: Any, offset: Any, length: Any) -> list[Any]:
    return [op("sequence_slice", {"X": x, "Offset": offset, "Length": length})]


@program(ids=IDS)
def words(ids: Any) -> list[Any]:
    return [
        op("sequence_enumerate", {"X": ids}, "Out:int64", win_size=2, pad_value=9),
        op("sequence_erase", {"X": ids}, "Out:int64", tokens=[1, 3]),
    ]


@program(x=numbers(3, 6), ids=IDS, updates=(numbers(8, 1), LOD))
def scattered(x: Any, ids: Any, updates: Any) -> list[Any]:
    return [op("sequence_scatter", {"X": x, "Ids": ids, "Updates": updates})]


@program(x=numbers(8, 4), y=ROWS, z=np.array([0, 5, 8], "int32"))
def packed_anew(x: Any, y: Any, z: Any) -> list[Any]:
    made = [
        op("lod_reset", {"X": x, "Y": y}),
        op("lod_reset", {"X": x, "Y": z}),
        op("lod_reset", {"X": x}, target_lod=[0, 2, 8]),
    ]
    return [
        op("sequence_pool", {"X": m}, "Out MaxIndex:int32", pooltype="SUM", pad_value=0.0, is_test=True)[0]
        for m in made
    ]


# --- networks over sequences


def recurrent(x: Any, kind: str, name: str, size: int, **attributes: Any) -> Any:
    if kind == "gru":
        inputs = {"Input": x, "Weight": weight(f"{name}.w", size, 3 * size), "Bias": weight(f"{name}.b", 1, 3 * size)}
        return op("gru", inputs, "Hidden BatchGate BatchResetHiddenPrev BatchHidden", **attributes)[0]
    bias = 7 if attributes["use_peepholes"] else 4
    inputs = {"Input": x, "Weight": weight(f"{name}.w", size, 4 * size), "Bias": weight(f"{name}.b", 1, bias * size)}
    return op("lstm", inputs, "Hidden Cell BatchGate BatchCellPreAct", is_test=True, **attributes)[:2]


@program(x=(numbers(8, 9), LOD), h=numbers(3, 3))
def gru(x: Any, h: Any) -> list[Any]:
    found = []
    for i, (origin, backward) in enumerate([(False, False), (True, True)]):
        found.append(
            recurrent(
                x,
                "gru",
                f"g{i}",
                3,
                activation="tanh",
                gate_activation="sigmoid",
                is_reverse=backward,
                origin_mode=origin,
            )
        )
    inputs = {"Input": x, "H0": h, "Weight": weight("g.w", 3, 9)}
    return [
        *found,
        op(
            "gru",
            inputs,
            "Hidden BatchGate BatchResetHiddenPrev BatchHidden",
            activation="relu",
            gate_activation="sigmoid",
            is_reverse=False,
            origin_mode=False,
        )[0],
    ]


@program(x=(numbers(8, 12), LOD), h=numbers(3, 3), c=numbers(3, 3, seed="c"))
def lstm(x: Any, h: Any, c: Any) -> list[Any]:
    kinds = {"gate_activation": "sigmoid", "cell_activation": "tanh", "candidate_activation": "tanh"}
    found = []
    for i, (peep, backward) in enumerate([(False, False), (True, False), (True, True)]):
        found += recurrent(x, "lstm", f"l{i}", 3, use_peepholes=peep, is_reverse=backward, **kinds)
    inputs = {"Input": x, "H0": h, "C0": c, "Weight": weight("l.w", 3, 12), "Bias": weight("l.b", 1, 12)}
    return (
        found
        + op(
            "lstm",
            inputs,
            "Hidden Cell BatchGate BatchCellPreAct",
            is_test=True,
            use_peepholes=False,
            is_reverse=False,
            **kinds,
        )[:2]
    )


@program(ids=IDS)
def tagger(ids: Any) -> list[Any]:
    """Words, recurrence in both directions, a chain of labels: a tagger of its time."""
    x = op("lookup_table", {"W": weight("words", 6, 5), "Ids": ids}, is_sparse=False, padding_idx=-1)
    ways = []
    for i in range(2):
        y = op("mul", {"X": x, "Y": weight(f"m{i}", 5, 9)}, x_num_col_dims=1, y_num_col_dims=1)
        y = op("elementwise_add", {"X": y, "Y": weight(f"a{i}", 9)}, axis=1)
        ways.append(
            recurrent(
                y,
                "gru",
                f"r{i}",
                3,
                activation="tanh",
                gate_activation="sigmoid",
                is_reverse=bool(i),
                origin_mode=False,
            )
        )
    y = op("concat", {"X": ways}, axis=1)
    y = op("mul", {"X": y, "Y": weight("e", 6, 4)}, x_num_col_dims=1, y_num_col_dims=1)
    return [op("crf_decoding", {"Emission": y, "Transition": weight("t", 6, 4)}, "ViterbiPath:int64")]


@program(ids=IDS, other=(np.array([[0], [2], [2], [1]], "int64"), [[0, 1, 3, 4]]))
def matcher(ids: Any, other: Any) -> list[Any]:
    """Two texts, by what their words' convolutions come to."""
    sides = []
    for words_of in (ids, other):
        x = op("lookup_table", {"W": weight("words", 6, 5), "Ids": words_of}, is_sparse=False, padding_idx=0)
        y = op(
            "sequence_conv",
            {"X": x, "Filter": weight("f", 15, 4)},
            contextLength=3,
            contextStart=-1,
            contextStride=1,
            paddingTrainable=False,
        )
        y = op("tanh", {"X": op("elementwise_add", {"X": y, "Y": weight("b", 4)}, axis=1)})
        sides.append(
            op("sequence_pool", {"X": y}, "Out MaxIndex:int32", pooltype="MAX", pad_value=0.0, is_test=True)[0]
        )
    return [op("elementwise_mul", {"X": sides[0], "Y": sides[1]}, axis=-1)]


@program(image=numbers(2, 2, 4, 6))
def lines_of_text(image: Any) -> list[Any]:
    """Columns of images as steps, their recurrence, and the labels that stay."""
    x = op("im2sequence", {"X": image}, kernels=[4, 1], strides=[1, 1], paddings=[0, 0, 0, 0], out_stride=[1, 1])
    y = op("mul", {"X": x, "Y": weight("m", 8, 9)}, x_num_col_dims=1, y_num_col_dims=1)
    y = recurrent(y, "gru", "r", 3, activation="relu", gate_activation="sigmoid", is_reverse=False, origin_mode=False)
    _, best = op("top_k", {"X": y}, "Out Indices:int64", k=1)
    return [y, op("ctc_align", {"Input": best}, "Output:int64", blank=2, merge_repeated=True, padding_value=0)]


@program(x=ROWS)
def row_convolution(x: Any) -> list[Any]:
    return [op("row_conv", {"X": x, "Filter": weight("f", 3, 4)})]


@program(ids=IDS, other=(np.array([[1], [4], [0], [3], [5]], "int64"), [[0, 2, 3, 5]]))
def distances(ids: Any, other: Any) -> list[Any]:
    return op("edit_distance", {"Hyps": other, "Refs": ids}, "Out SequenceNum:int64", normalized=True)


@program(x=(numbers(8, 4), LOD), ids=IDS)
def fused_over_sequences(x: Any, ids: Any) -> list[Any]:
    """What passes fuse of words, convolutions and recurrence."""
    found = [
        op(
            "fused_embedding_seq_pool",
            {"W": weight("words", 6, 5), "Ids": ids},
            combiner="sum",
            padding_idx=-1,
            is_sparse=False,
            grad_inplace=False,
        )
    ]
    found.append(
        op(
            "fusion_gru",
            {"X": x, "WeightX": weight("gx", 4, 9), "WeightH": weight("gh", 3, 9), "Bias": weight("gb", 1, 9)},
            "Hidden XX BatchedInput BatchedOut ReorderedH0",
            activation="tanh",
            gate_activation="sigmoid",
            is_reverse=True,
            use_seq=True,
            origin_mode=False,
        )[0]
    )
    found.append(
        op(
            "fusion_lstm",
            {"X": x, "WeightX": weight("lx", 4, 12), "WeightH": weight("lh", 3, 12), "Bias": weight("lb", 1, 12)},
            "Hidden Cell XX BatchedInput BatchedHidden BatchedCell ReorderedH0 ReorderedC0 CheckedCell",
            use_peepholes=False,
            is_reverse=False,
            use_seq=True,
            gate_activation="sigmoid",
            cell_activation="tanh",
            candidate_activation="tanh",
        )[0]
    )
    found.append(
        op(
            "fusion_seqconv_eltadd_relu",
            {"X": x, "Filter": weight("cf", 12, 5), "Bias": weight("cb", 1, 5)},
            "Out ColMat",
            contextLength=3,
            contextStart=-1,
            contextStride=1,
        )[0]
    )
    found.append(op("fusion_seqpool_concat", {"X": [x, x]}, pooltype="SUM", axis=1))
    return found


# --- detection


@program(x=numbers(1, 2, 2, 3), image=numbers(1, 3, 16, 24))
def dense_priors(x: Any, image: Any) -> list[Any]:
    return op(
        "density_prior_box",
        {"Input": x, "Image": image},
        "Boxes Variances",
        variances=[0.1, 0.1, 0.2, 0.2],
        clip=True,
        flatten_to_2d=True,
        step_w=0.0,
        step_h=0.0,
        offset=0.5,
        fixed_sizes=[4.0, 9.0],
        fixed_ratios=[1.0, 2.0],
        densities=[2, 1],
    )


BOXES = np.array([[1, 2, 9, 8], [0, 0, 5, 5], [4, 4, 12, 9], [2, 2, 10, 9]], "float32")


@program(x=BOXES, y=BOXES[:2] + 1)
def overlaps(x: Any, y: Any) -> list[Any]:
    return [op("iou_similarity", {"X": x, "Y": y}, box_normalized=n) for n in (True, False)]


@program(x=numbers(1, 4, 2, 3))
def polygons(x: Any) -> list[Any]:
    return [op("polygon_box_transform", {"Input": x}, "Output")]


@program(
    prior=BOXES, variance=np.array([0.1, 0.1, 0.2, 0.2], "float32"), target=numbers(4, 12), score=numbers(4, 3, low=0.0)
)
def decoded(prior: Any, variance: Any, target: Any, score: Any) -> list[Any]:
    inputs = {"PriorBox": prior, "PriorBoxVar": variance, "TargetBox": target, "BoxScore": score}
    return op("box_decoder_and_assign", inputs, "DecodeBox OutputAssignBox", box_clip=2.302585)


@program(boxes=np.stack([BOXES, BOXES[::-1]]), scores=numbers(2, 2, 4, low=0.0))
def suppressed(boxes: Any, scores: Any) -> list[Any]:
    return [
        op(
            "multiclass_nms",
            {"BBoxes": boxes, "Scores": scores},
            background_label=-1,
            score_threshold=0.1,
            nms_top_k=10,
            nms_threshold=0.4,
            nms_eta=1.0,
            keep_top_k=5,
            normalized=False,
        )
    ]


@program(
    boxes=np.stack([BOXES, BOXES]), scores=numbers(2, 2, 4, low=0.0), ids=(np.full((4, 1), 2, "int64"), [[0, 3, 4]])
)
def nothing_left(boxes: Any, scores: Any, ids: Any) -> list[Any]:
    """Where nothing is left, one element says so."""
    limits = {"score_threshold": 2.0, "nms_top_k": 10, "nms_threshold": 0.4, "nms_eta": 1.0, "keep_top_k": 5}
    return [
        op("multiclass_nms", {"BBoxes": boxes, "Scores": scores}, background_label=-1, normalized=False, **limits),
        op("ctc_align", {"Input": ids}, "Output:int64", blank=2, merge_repeated=True, padding_value=0),
    ]


QUADS = np.array(
    [
        [0, 0, 8, 0, 8, 4, 0, 4],
        [0.5, 0, 8.5, 0.5, 8, 4.5, 0, 4],
        [20, 2, 29, 2, 29, 8, 20, 8],
        [1, 0, 9, 0, 9, 4, 1, 4],
    ],
    "float32",
)


@program(boxes=BOXES[None], quads=QUADS[None], scores=numbers(1, 1, 4, low=0.2))
def merged(boxes: Any, quads: Any, scores: Any) -> list[Any]:
    return [
        op(
            "locality_aware_nms",
            {"BBoxes": b, "Scores": scores},
            background_label=-1,
            score_threshold=0.1,
            nms_top_k=10,
            nms_threshold=0.3,
            nms_eta=1.0,
            keep_top_k=5,
            normalized=False,
        )
        for b in (boxes, quads)
    ]


@program(
    scores=numbers(2, 3, 4, 4),
    deltas=numbers(2, 12, 4, 4),
    size=np.array([[64, 60, 1.0], [50, 64, 2.0]], "float32"),
    image=numbers(2, 3, 16, 16),
)
def two_stages(scores: Any, deltas: Any, size: Any, image: Any) -> list[Any]:
    """A detector of two stages, whose regions say by offsets which image they are of."""
    anchors, variances = op(
        "anchor_generator",
        {"Input": scores},
        "Anchors Variances",
        anchor_sizes=[16.0, 24.0, 32.0],
        aspect_ratios=[1.0],
        variances=[1.0, 1.0, 1.0, 1.0],
        stride=[16.0, 16.0],
        offset=0.5,
    )
    inputs = {"Scores": scores, "BboxDeltas": deltas, "ImInfo": size, "Anchors": anchors, "Variances": variances}
    rois, probs = op(
        "generate_proposals",
        inputs,
        "RpnRois RpnRoiProbs",
        pre_nms_topN=30,
        post_nms_topN=8,
        nms_thresh=0.6,
        min_size=2.0,
        eta=1.0,
    )
    aligned = op(
        "roi_align", {"X": image, "ROIs": rois}, pooled_height=2, pooled_width=2, spatial_scale=0.25, sampling_ratio=2
    )
    pooled = op(
        "roi_pool", {"X": image, "ROIs": rois}, "Out Argmax:int64", pooled_height=2, pooled_width=2, spatial_scale=0.25
    )[0]
    return [rois, probs, aligned, pooled, op("box_clip", {"Input": rois, "ImInfo": size}, "Output")]


@program(rois=(np.array([[1, 2, 60, 60], [0, 0, 9, 9], [5, 5, 31, 12], [0, 0, 50, 58]], "float32"), [[0, 1, 4]]))
def levels(rois: Any) -> list[Any]:
    """Regions by the size of what they show, and together again."""
    helper = LayerHelper("distribute_fpn_proposals")
    low, high, back = (helper.create_variable_for_type_inference(d) for d in ("float32", "float32", "int32"))
    helper.append_op(
        type="distribute_fpn_proposals",
        inputs={"FpnRois": rois},
        outputs={"MultiFpnRois": [low, high], "RestoreIndex": back},
        attrs={"min_level": 2, "max_level": 3, "refer_level": 3, "refer_scale": 30},
    )
    w = weight("w", 4, 1)
    scores = [op("mul", {"X": r, "Y": w}, x_num_col_dims=1, y_num_col_dims=1) for r in (low, high)]
    inputs = {"MultiLevelRois": [low, high], "MultiLevelScores": scores}
    return [low, high, back, op("collect_fpn_proposals", inputs, "FpnRois", post_nms_topN=3)]


@program(
    b0=numbers(1, 4, 4),
    b1=numbers(1, 2, 4, seed="b"),
    s0=numbers(1, 4, 2, low=0.0),
    s1=numbers(1, 2, 2, low=0.0, seed="b"),
    a0=BOXES,
    a1=BOXES[:2] + 1,
    size=np.array([[20, 18, 1.0]], "float32"),
)
def retina(b0: Any, b1: Any, s0: Any, s1: Any, a0: Any, a1: Any, size: Any) -> list[Any]:
    inputs = {"BBoxes": [b0, b1], "Scores": [s0, s1], "Anchors": [a0, a1], "ImInfo": size}
    return [
        op(
            "retinanet_detection_output",
            inputs,
            score_threshold=0.3,
            nms_top_k=4,
            nms_threshold=0.4,
            nms_eta=1.0,
            keep_top_k=most,
        )
        for most in (5, 20)
    ]


# --- others


@program(
    x=numbers(2, 6),
    y=numbers(2, 6, seed="y"),
    image=numbers(2, 3, 5, 6),
    other=numbers(2, 2, 5, 6),
    label=np.array([[1], [4]], "int64"),
    flag=np.array([[1.0], [0.0]], "float32"),
)
def of_all_kinds(x: Any, y: Any, image: Any, other: Any, label: Any, flag: Any) -> list[Any]:
    p = op("softmax", {"X": x}, axis=-1)
    column = op("slice", {"Input": x}, axes=[1], starts=[0], ends=[1], decrease_axis=[], infer_flags=[1])
    return [
        op("minus", {"X": x, "Y": y}),
        op("fsp", {"X": image, "Y": other}),
        op("spp", {"X": image}, pyramid_height=2, pooling_type="max"),
        op("spp", {"X": image}, pyramid_height=2, pooling_type="avg"),
        op("soft_relu", {"X": x * 3.0}, threshold=2.0),
        op("partial_concat", {"X": [x, y]}, start_index=1, length=2),
        op("partial_sum", {"X": [x, y]}, start_index=1, length=-1),
        op("cross_entropy", {"X": p, "Label": label}, "Y", soft_label=False, ignore_index=-100),
        op("cross_entropy", {"X": p, "Label": p}, "Y", soft_label=True, ignore_index=-100),
        op("cross_entropy2", {"X": p, "Label": label}, "Y XShape MatchX", ignore_index=4)[0],
        op("bpr_loss", {"X": p, "Label": label}, "Y"),
        op("rank_loss", {"Label": flag, "Left": column, "Right": column * 2.0}),
        op("modified_huber_loss", {"X": column, "Y": flag}, "Out IntermediateVal")[0],
        op(
            "teacher_student_sigmoid_loss",
            {"X": column, "Label": flag},
            "Y",
            soft_max_up_bound=15.0,
            soft_max_lower_bound=-15.0,
        ),
    ]


@program(x=numbers(3, 4))
def normalised_by_data(x: Any) -> list[Any]:
    inputs = {"X": x, "BatchSize": weight("n", 4), "BatchSum": weight("s", 4), "BatchSquareSum": weight("q", 4)}
    return [
        op(
            "data_norm",
            inputs,
            "Y Means Scales",
            epsilon=1e-4,
            slot_dim=-1,
            summary_decay_rate=0.9999999,
            enable_scale_and_shift=False,
            data_layout="NCHW",
            sync_stats=False,
        )[0]
    ]


@program(ids=np.array([[1, 4], [2, 9]], "int64"))
def of_one_rank(ids: Any) -> list[Any]:
    """What is left of a model that was trained in parts, saved by the only rank."""
    y = op("c_embedding", {"W": weight("words", 6, 4), "Ids": ids}, start_index=0, vocab_size=-1)
    return [y]


@program(x=np.array([3, 1, 3, 7, 1], "int64"))
def counted(x: Any) -> list[Any]:
    first = op("unique", {"X": x}, "Out:int64 Index:int32", dtype=2)
    return [*op("unique_with_counts", {"X": x}, "Out:int64 Index:int32 Count:int32", dtype=2), *first]


@program(x=numbers(3, 4))
def quantised(x: Any) -> list[Any]:
    """What models for few bits of before 2.3 carry."""
    w = weight("w", 4, 3)
    q, scale = op("fake_quantize_abs_max", {"X": x}, "Out OutScale", bit_length=8)
    column, scales = op("fake_channel_wise_quantize_abs_max", {"X": w}, "Out OutScale", bit_length=8, quant_axis=1)
    y = op("mul", {"X": q, "Y": column}, x_num_col_dims=1, y_num_col_dims=1)
    back = op(
        "fake_channel_wise_dequantize_max_abs",
        {"X": y, "Scales": [scales, scale]},
        quant_bits=[8, 8],
        quant_axis=1,
        x_num_col_dims=1,
    )
    moved = op(
        "fake_quantize_moving_average_abs_max",
        {"X": x, "InScale": weight("s", 1) * 0.0 + 0.7},
        "Out OutScale",
        bit_length=8,
        moving_rate=0.9,
        is_test=True,
    )[0]
    ranged = op(
        "fake_quantize_range_abs_max",
        {"X": x, "InScale": weight("s", 1) * 0.0 + 0.7},
        "Out OutScale",
        bit_length=4,
        window_size=100,
        is_test=True,
    )[0]
    wide = op("fake_dequantize_max_abs", {"X": q, "Scale": scale}, max_range=127.0)
    seen = op(
        "moving_average_abs_max_scale",
        {"X": x, "InAccum": weight("a", 1), "InState": weight("t", 1)},
        "Out OutScale",
        moving_rate=0.9,
        is_test=True,
    )[0]
    return [q, column, back, moved, ranged, wide, seen]


@program(x=numbers(3, 4, low=-3.0, high=3.0), n=np.array([[1, 2], [0, 1], [2, 0]], "int64"))
def attributes_left_out(x: Any, n: Any) -> list[Any]:
    """Operators without attributes of later versions."""
    image = op("unsqueeze2", {"X": op("unsqueeze2", {"X": x}, "Out XShape", axes=[0])[0]}, "Out XShape", axes=[0])[0]
    grid = op("affine_grid", {"Theta": weight("theta", 1, 2, 3)}, "Output", output_shape=[1, 1, 2, 2])
    return [
        op("leaky_relu", {"X": x}, alpha=0.1),
        op("softplus", {"X": x}),
        op("mish", {"X": x}),
        op("hard_shrink", {"X": x}),
        op("p_norm", {"X": x}),
        op("arg_max", {"X": x}, "Out:int64", axis=-1, dtype=3),
        op("arg_min", {"X": x}, "Out:int64", axis=0, dtype=3),
        op("cumsum", {"X": x}),
        op("clip", {"X": x}, min=-1.0, max=1.0),
        op("flip", {"X": x}, axis=[1]),
        op("roll", {"X": x}, shifts=[1], axis=[1]),
        op("grid_sampler", {"X": image, "Grid": grid}, "Output"),
        op("trace", {"Input": x}),
        op("pool2d", {"X": image}, pooling_type="avg", ksize=[2, 2]),
        op("swish", {"X": x}),
        op("hard_sigmoid", {"X": x}),
        op("hard_swish", {"X": x}),
        op("brelu", {"X": x}),
        op("stanh", {"X": x}),
        op("elu", {"X": x}),
        op("thresholded_relu", {"X": x}),
        op("softshrink", {"X": x}),
        op("relu6", {"X": x}),
        op("gelu", {"X": x}),
        op("log_softmax", {"X": x}),
        op("selu", {"X": x}),
        op("celu", {"X": x}),
        op("logsumexp", {"X": x}),
        op("label_smooth", {"X": x}),
        op("norm", {"X": x}, "Out Norm", axis=1)[0],
        op("reduce_sum", {"X": x}),
        op("reduce_mean", {"X": x}, reduce_all=True),
        op("frobenius_norm", {"X": x}, dim=[0]),
        op("scale", {"X": x}),
        op("pow", {"X": x * x}),
        op("matmul", {"X": x, "Y": x}, transpose_Y=True),
        op("layer_norm", {"X": x}, "Y Mean Variance")[0],
        op("lrn", {"X": image}, "Out MidOut")[0],
        op(
            "shard_index",
            {"X": op("slice", {"Input": n}, "Out:int64", axes=[1], starts=[0], ends=[1])},
            "Out:int64",
            index_num=4,
            nshards=2,
            shard_id=0,
        ),
        op(
            "linspace",
            {
                "Start": op("fill_constant", {}, shape=[1], value=0.0, dtype=5),
                "Stop": op("fill_constant", {}, shape=[1], value=1.0, dtype=5),
                "Num": op("fill_constant", {}, "Out:int32", shape=[1], value=3.0, dtype=2),
            },
            dtype=5,
        ),
    ]


def plain(serialised: bytes) -> bytes:
    """A program without the lines of code that made it."""
    made = paddle.static.Program.parse_from_string(serialised)
    for block in made.blocks:
        for o in block.ops:
            for name in ("op_callstack", "op_namescope"):
                if o.desc.has_attr(name):
                    o.desc.remove_attr(name)
    return made.desc.serialize_to_string()


def record(name: str, out: dict[str, Any]) -> None:
    fed = FED[name]
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with (
        paddle.static.scope_guard(scope),
        paddle.static.program_guard(main, startup),
        paddle.utils.unique_name.guard(),
    ):
        inputs = {}
        for k, (x, lod) in fed.items():
            shape = [-1, *x.shape[1:]] if lod else list(x.shape)
            inputs[k] = paddle.static.data(k, shape, x.dtype.name, lod_level=len(lod))
        results = list(PROGRAMS[name](**inputs))
        exe = paddle.static.Executor(paddle.CPUPlace())
        exe.run(startup)
        for p in main.all_parameters():
            value = numbers(*p.shape, seed=p.name)
            if name == "normalised_by_data":
                value = np.abs(value) + (1.0 if p.name == "q" else 2.0)
            scope.find_var(p.name).get_tensor().set(value, paddle.CPUPlace())
        serialised = paddle.static.serialize_program(list(inputs.values()), results, program=main)
        values = paddle.static.serialize_persistables(list(inputs.values()), results, exe, program=main)
        feed = {}
        for k, (x, lod) in fed.items():
            feed[k] = made = paddle.base.core.LoDTensor()
            made.set(x, paddle.CPUPlace())
            made.set_lod(lod)
        given = exe.run(main, feed=feed, fetch_list=results, return_numpy=False)
    out[f"{name}/program"] = np.frombuffer(plain(serialised), np.uint8)
    out[f"{name}/values"] = np.frombuffer(values or b"", np.uint8)
    for k, (x, lod) in fed.items():
        out[f"{name}/in/{k}"] = x
        for i, level in enumerate(lod):
            out[f"{name}/lod/{k}/{i}"] = np.array(level, "int64")
    for j, y in enumerate(given):
        out[f"{name}/out/{j}"] = np.asarray(y)
        for i, level in enumerate(y.lod()):
            out[f"{name}/outlod/{j}/{i}"] = np.array(level, "int64")


def main(path: str, *names: str) -> None:
    paddle.enable_static()
    out: dict[str, Any] = {}
    for name in names or PROGRAMS:
        record(name, out)
        print(name, [(k, v.shape) for k, v in out.items() if k.startswith(f"{name}/out")])
    np.savez_compressed(path, **out)


if __name__ == "__main__":
    main(*sys.argv[1:])
