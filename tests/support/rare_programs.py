"""Programs in operators that few models have, with what they give in PaddlePaddle 2.6.

    cd / && PYTHON_OF_2.6 .../rare_programs.py .../tests/data/rare_programs.npz

Arrays of the file are named as those of ``sequence_programs``, whose declarations are used.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import sequence_programs as base
from sequence_programs import numbers, op, program, weight

import paddle

base.PROGRAMS.clear()
base.FED.clear()

LOD = [[0, 3, 4, 8]]


@program(x=(numbers(8, 4), LOD))
def trained_rows_around_sequences(x: Any) -> list[Any]:
    found = []
    for i, (start, length) in enumerate([(-1, 3), (0, 2), (-3, 3), (1, 1), (-4, 9), (0, 1), (2, 3)]):
        around = max(0, -start) + max(0, start + length - 1)
        inputs = {"X": x, "Filter": weight(f"w{i}", 4 * length, 5)}
        inputs |= {"PaddingData": weight(f"p{i}", around, 4)} if around else {}
        size = {"contextLength": length, "contextStart": start, "contextStride": 1}
        found.append(op("sequence_conv", inputs, **size, paddingTrainable=around > 0))
    return found


@program(ids=(np.array([[1], [4], [2], [0], [3], [3], [5], [1]], "int64"), LOD))
def words_into_recurrence(ids: Any) -> list[Any]:
    slots = "Hidden Cell XX BatchedInput BatchedHidden BatchedCell ReorderedH0 ReorderedC0"
    found = []
    for i, (peepholes, reverse) in enumerate([(False, False), (True, True)]):
        inputs = {"Ids": ids, "Embeddings": weight(f"e{i}", 6, 12), "WeightH": weight(f"h{i}", 3, 12)}
        inputs["Bias"] = weight(f"b{i}", 1, 21 if peepholes else 12)
        made = op("fused_embedding_fc_lstm", inputs, slots, use_peepholes=peepholes, is_reverse=reverse, use_seq=True)
        found += made[:2]
    return found


@program(
    x=(numbers(8, 4, low=0.0), LOD),
    y=(numbers(5, 4, low=0.0), [[0, 1, 3, 5]]),
    counts=np.array([[1.0, 0.5], [2.0, 1.0], [3.0, 0.0]], "float32"),
)
def clicks_of_pooled_sequences(x: Any, y: Any, counts: Any) -> list[Any]:
    inputs = {"X": [x, y], "CVM": counts}
    return [
        op("fusion_seqpool_cvm_concat", inputs, pooltype=k, use_cvm=True, axis=1) for k in ("SUM", "AVERAGE", "SQRT")
    ]


TREE = np.array(
    [
        [0, 0, 0, 1, 0],
        [0, 1, 0, 2, 3],
        [0, 1, 0, 4, 5],
        [0, 1, 0, 6, 0],
        [7, 2, 1, 0, 0],
        [8, 2, 2, 0, 0],
        [9, 2, 2, 0, 0],
    ],
    "int32",
)


@program(x=np.array([[1, 2], [3, 4], [0, 6]], "int64"), tree=TREE)
def children_in_a_tree(x: Any, tree: Any) -> list[Any]:
    inputs = {"X": x, "TreeInfo": tree}
    return [
        *op("tdm_child", inputs, "Child:int64 LeafMask:int64", child_nums=2, dtype=3),
        *op("tdm_child", inputs, "Child:int32 LeafMask:int32", child_nums=2, dtype=2),
    ]


@program(x=numbers(2, 7, 3))
def of_other_kinds(x: Any) -> list[Any]:
    return [
        op("transfer_dtype", {"X": x}, "Out:float64", in_dtype=5, out_dtype=6),
    ]


@program(x=np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], "float32"))
def drawn_by_rows(x: Any) -> list[Any]:
    """Of which only one can come."""
    return [op("sampling_id", {"X": x}, "Out:int64", min=0.0, max=1.0, seed=0)]


@program(
    x=(np.array([[1, 9], [4, 0], [123456789012, -5], [7, 7]], "int64"), [[0, 1, 4]]),
    wide=(np.arange(27).reshape(3, 9).astype("int64") ** 5, [[0, 3]]),
    narrow=(np.arange(-4, 2).reshape(2, 3).astype("int32"), [[0, 2]]),
)
def hashed(x: Any, wide: Any, narrow: Any) -> list[Any]:
    found = [op("hash", {"X": x}, "Out:int64", num_hash=n, mod_by=m) for n, m in ((1, 100), (4, 1 << 30))]
    return [*found, *(op("hash", {"X": y}, "Out:int64", num_hash=3, mod_by=1 << 40) for y in (wide, narrow))]


@program(x=numbers(2, 3, 4, 2))
def rows_and_columns_of_maxima(x: Any) -> list[Any]:
    return [op("similarity_focus", {"X": x}, axis=a, indexes=i) for a, i in ((1, [0]), (1, [0, 2]), (2, [3]), (3, [1]))]


@program(x=(numbers(5, 4, seed="left"), [[0, 3, 5]]), y=(numbers(6, 4, seed="right"), [[0, 2, 6]]))
def matches(x: Any, y: Any) -> list[Any]:
    """Similarities of the words of two texts, and a convolution over them."""
    found = op("match_matrix_tensor", {"X": x, "Y": y, "W": weight("w", 4, 3, 4)}, "Out Tmp", dim_t=3)[0]
    results = [found]
    for i, (h, w, s) in enumerate([(3, 3, 1), (2, 5, 2)]):
        size = {"InputChannel": 3, "OutputChannel": 2, "KernelH": h, "KernelW": w, "StrideH": s, "StrideW": 1}
        inputs = {"X": found, "ROW": x, "COLUMN": y, "W": weight(f"c{i}", 2, 3 * h * w)}
        results.append(op("var_conv_2d", inputs, "Out Col", **size)[0])
    return results


if __name__ == "__main__":
    paddle.enable_static()
    base.main(*sys.argv[1:])
