"""Programs of PaddlePaddle 1.x that decode sentences or recur over sequences, with what they give in 2.6.

    cd / && PYTHON_OF_2.6 .../decoding_programs.py .../tests/data/decoding_programs.npz

The layers that made them (``DynamicRNN``, ``StaticRNN``, ``IfElse``, ``beam_search``) are gone in 2.6, but not their
operators. Arrays of the file are named as those of ``sequence_programs``, whose declarations are used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import sequence_programs as base
from sequence_programs import numbers, op, program, weight

import paddle
from paddle.base import core
from paddle.base.layer_helper import LayerHelper
from paddle.static.nn.control_flow import ConditionalBlock, Switch, While

base.PROGRAMS.clear()
base.FED.clear()
KINDS = core.VarDesc.VarType


def into(kind: str, inputs: dict[str, Any], outputs: dict[str, Any], **attributes: Any) -> None:
    """Append an operator with results that are there."""
    LayerHelper(kind).append_op(type=kind, inputs=inputs, outputs=outputs, attrs=attributes)


def constant(value: float, dtype: int = 3) -> Any:
    names = {0: "bool", 3: "int64", 5: "float32"}
    return op("fill_constant", {}, f"Out:{names[dtype]}", shape=[1], value=float(value), dtype=dtype)


def array(dtype: str) -> Any:
    return paddle.tensor.create_array(dtype)


def write(x: Any, i: Any, to: Any) -> None:
    into("write_to_array", {"X": x, "I": i}, {"Out": to})


def read(of: Any, i: Any) -> Any:
    return op("read_from_array", {"X": of, "I": i}, f"Out:{_name(of)}")


def _name(x: Any) -> str:
    return {KINDS.FP32: "float32", KINDS.INT64: "int64"}[x.dtype]


def dense(xs: list[Any], w: str, size: int, activation: str | None = None) -> Any:
    """A layer ``fc`` as 1.x makes it: a product for each input, a sum, a bias."""
    made = [
        op("mul", {"X": x, "Y": weight(f"{w}{i}", x.shape[-1], size)}, x_num_col_dims=1, y_num_col_dims=1)
        for i, x in enumerate(xs)
    ]
    y = op("sum", {"X": made}) if len(made) > 1 else made[0]
    y = op("elementwise_add", {"X": y, "Y": weight(f"{w}b", size)}, axis=1)
    return op(activation, {"X": y}) if activation else y


def embedded(ids: Any, name: str, words: int, size: int) -> Any:
    table = weight(f"{name}_words", words, size)
    return op("lookup_table", {"Ids": ids, "W": table}, padding_idx=-1, is_sparse=False, is_distributed=False)


# --- beam search

SOURCE = np.array([[1], [4], [2], [0], [3], [3], [5]], "int64"), [[0, 3, 7]]
STARTS = [[0, 1, 2], [0, 1, 2]]
BEGIN = {"ids": (np.zeros((2, 1), "int64"), STARTS), "scores": (np.zeros((2, 1), "float32"), STARTS)}


def encoded(source: Any) -> Any:
    """The state behind each source sentence."""
    x = dense([embedded(source, "source", 6, 4)], "in", 16, "tanh")
    slots = "Hidden Cell BatchGate BatchCellPreAct"
    inputs = {"Input": x, "Weight": weight("recurrent", 4, 16), "Bias": weight("gates", 1, 16)}
    hidden = op("lstm", inputs, slots, use_peepholes=False, is_reverse=False)[0]
    return op("sequence_pool", {"X": hidden}, "Out MaxIndex:int32", pooltype="LAST", pad_value=0.0, is_test=True)[0]


@contextmanager
def decoding(ids: Any, scores: Any, steps: int) -> Iterator[tuple[Any, Any, Any, Any]]:
    """A loop until no sentence goes on: counter, words and scores so far, and what ends it."""
    counter, most = constant(0), constant(steps)
    all_ids, all_scores = array("int64"), array("float32")
    write(ids, counter, all_ids)
    write(scores, counter, all_scores)
    going = op("less_than", {"X": counter, "Y": most}, "Out:bool")
    loop = While(going)
    with loop.block():

        def proceed(selected: Any, its_scores: Any) -> None:
            write(selected, counter, all_ids)
            write(its_scores, counter, all_scores)
            left = op("logical_not", {"X": op("is_empty", {"X": selected}, "Out:bool")}, "Out:bool")
            into(
                "logical_and", {"X": op("less_than", {"X": counter, "Y": most}, "Out:bool"), "Y": left}, {"Out": going}
            )

        yield counter, all_ids, all_scores, proceed


def beams(pre_ids: Any, pre_scores: Any, ids: Any, scores: Any, **attributes: Any) -> list[Any]:
    inputs = {"pre_ids": pre_ids, "pre_scores": pre_scores, "scores": scores} | ({} if ids is None else {"ids": ids})
    slots = "selected_ids:int64 selected_scores parent_idx:int32"
    return op("beam_search", inputs, slots, **{"level": 0, "end_id": 1, "is_accumulated": True} | attributes)


def sentences(ids: Any, scores: Any, beam_size: int) -> list[Any]:
    inputs = {"Ids": ids, "Scores": scores}
    return op("beam_search_decode", inputs, "SentenceIds:int64 SentenceScores", beam_size=beam_size, end_id=1)


@program(source=SOURCE, **BEGIN)
def translation(source: Any, ids: Any, scores: Any) -> list[Any]:
    """Words of a translation by their scores, with the decoder's states in a list, as the book of 1.x has it."""
    states = array("float32")
    write(encoded(source), constant(0), states)
    with decoding(ids, scores, 5) as (counter, all_ids, all_scores, proceed):
        pre_ids, pre_scores, state = read(all_ids, counter), read(all_scores, counter), read(states, counter)
        state = op("sequence_expand", {"X": state, "Y": pre_scores}, ref_level=-1)
        state.desc.set_shape([-1, 4])
        pre_ids.desc.set_shape([-1, 1])
        now = dense([state, embedded(pre_ids, "target", 6, 4)], "cell", 4, "tanh")
        packed = op("lod_reset", {"X": now, "Y": pre_scores})
        found = op("softmax", {"X": dense([packed], "out", 6)}, axis=-1)
        best, words = op("top_k", {"X": found}, "Out Indices:int64", k=4)
        before = op("reshape", {"X": pre_scores}, shape=[-1])
        so_far = op("elementwise_add", {"X": op("log", {"X": best}), "Y": before}, axis=0)
        selected, its_scores, _ = beams(pre_ids, pre_scores, words, so_far, beam_size=3)
        into("increment", {"X": counter}, {"Out": counter}, step=1.0)
        write(now, counter, states)
        proceed(selected, its_scores)
    return sentences(all_ids, all_scores, 3)


@program(source=SOURCE, **BEGIN)
def translation_by_parents(source: Any, ids: Any, scores: Any) -> list[Any]:
    """States go along with the words that they led to, scores are of all words and not yet summed."""
    state = op("assign", {"X": encoded(source)})
    with decoding(ids, scores, 6) as (counter, all_ids, all_scores, proceed):
        pre_ids, pre_scores = read(all_ids, counter), read(all_scores, counter)
        pre_ids.desc.set_shape([-1, 1])
        now = dense([state, embedded(pre_ids, "target", 6, 4)], "cell", 4, "tanh")
        packed = op("lod_reset", {"X": op("softmax", {"X": dense([now], "out", 6)}, axis=-1), "Y": pre_scores})
        selected, its_scores, parents = beams(pre_ids, pre_scores, None, packed, beam_size=2, is_accumulated=False)
        into("gather", {"X": now, "Index": parents}, {"Out": state})
        into("increment", {"X": counter}, {"Out": counter}, step=1.0)
        proceed(selected, its_scores)
    return [*sentences(all_ids, all_scores, 2), op("lod_array_length", {"X": all_ids}, "Out:int64")]


def drawn_beams(words: int, equal: bool) -> dict[str, Any]:
    x = numbers(6, words, seed=f"beams{equal}")
    lod = [[0, 2, 3, 6], [0, 1, 2, 3, 4, 5, 6]]
    ids = np.array([[1], [2], [1], [3], [1], [1]], "int64")
    return {
        "pre_ids": (ids, lod),
        "pre_scores": (numbers(6, 1), lod),
        "ids": (np.arange(6 * words).reshape(6, words).astype("int64") % 5, lod),
        "scores": (np.round(x) if equal else x, lod),
    }


@program(**drawn_beams(4, equal=False))
def selected(pre_ids: Any, pre_scores: Any, ids: Any, scores: Any) -> list[Any]:
    """Candidates of sentences of which some have ended."""
    return [y for n in (1, 2, 3, 20) for y in beams(pre_ids, pre_scores, ids, scores, beam_size=n)]


@program(**drawn_beams(5, equal=True))
def selected_of_equals(pre_ids: Any, pre_scores: Any, ids: Any, scores: Any) -> list[Any]:
    return [y for n in (1, 2, 3, 4, 7) for y in beams(pre_ids, pre_scores, ids, scores, beam_size=n)]


@program(**{k: (x, [lod[0]] if k != "ids" else lod) for k, (x, lod) in drawn_beams(3, equal=False).items()} | {
    "pre_ids": (np.ones((6, 1), "int64"), [[0, 2, 3, 6]])})  # fmt: skip
def ended(pre_ids: Any, pre_scores: Any, ids: Any, scores: Any) -> list[Any]:
    """Sentences that have all ended are dropped."""
    return beams(pre_ids, pre_scores, ids, scores, beam_size=2)


# --- recurrence over the ranks of sequences (DynamicRNN)


def ranked(x: Any, level: int = 0) -> Any:
    block = paddle.static.default_main_program().current_block()
    table = block.create_var(name=paddle.utils.unique_name.generate("ranks"), type=KINDS.LOD_RANK_TABLE)
    into("lod_rank_table", {"X": x}, {"Out": table}, level=level)
    return table


def steps_of(x: Any, table: Any) -> Any:
    steps = array("float32" if x.dtype == KINDS.FP32 else "int64")
    into("lod_tensor_to_array", {"X": x, "RankTable": table}, {"Out": steps})
    return steps


def back(steps: Any, table: Any) -> Any:
    return op("array_to_lod_tensor", {"X": steps, "RankTable": table})


def shrunk(x: Any, i: Any, table: Any) -> Any:
    return op("shrink_rnn_memory", {"X": x, "I": i, "RankTable": table})


@contextmanager
def stepping(table: Any) -> Iterator[tuple[Any, Any]]:
    """A loop over the steps of the longest sequence: the step, and what ends it; memories are written behind that."""
    i = constant(0)
    longest = op("max_sequence_len", {"RankTable": table}, "Out:int64")
    going = op("less_than", {"X": i, "Y": longest}, "Out:bool")
    loop = While(going)
    with loop.block():

        def advance() -> None:
            into("increment", {"X": i}, {"Out": i}, step=1.0)

        yield i, advance
        into("less_than", {"X": i, "Y": longest}, {"Out": going})


ROWS = numbers(9, 4), [[0, 2, 2, 6, 8, 9]]
FIVE = numbers(5, 3, seed="memory")


@program(x=ROWS, first=FIVE)
def recurrence_over_ranks(x: Any, first: Any) -> list[Any]:
    """Two memories, of which one begins as the caller says, and one with a number."""
    table = ranked(x)
    steps, found, memory, counts = steps_of(x, table), array("float32"), array("float32"), array("float32")
    zero = constant(0)
    write(op("reorder_lod_tensor_by_rank", {"X": first, "RankTable": table}), zero, memory)
    some = read(steps, zero)
    sizes = {"shape": [-1, 2], "value": 0.5, "dtype": 5, "input_dim_idx": 0, "output_dim_idx": 0}
    write(op("fill_constant_batch_size_like", {"Input": some}, **sizes), zero, counts)
    with stepping(table) as (i, advance):
        row = read(steps, i)
        h, n = shrunk(read(memory, i), i, table), shrunk(read(counts, i), i, table)
        for y, width in ((row, 4), (h, 3), (n, 2)):
            y.desc.set_shape([-1, width])
        new = dense([row, h, n], "cell", 3, "tanh")
        write(new, i, found)
        advance()
        write(new, i, memory)
        write(op("scale", {"X": n}, scale=1.0, bias=1.0, bias_after_scale=True), i, counts)
    return [back(found, table), op("lod_array_length", {"X": found}, "Out:int64")]


ENCODED = numbers(8, 4, seed="encoded"), [[0, 3, 4, 8]]
WORDS = np.array([[1], [4], [2], [0], [3], [5]], "int64"), [[0, 1, 3, 6]]


@program(words=WORDS, encoded=ENCODED)
def attention_over_ranks(words: Any, encoded: Any) -> list[Any]:
    """Each step looks at all rows of its source sentence, as decoders with attention do in training."""
    x = embedded(words, "target", 6, 4)
    table = ranked(x)
    steps, found, memory = steps_of(x, table), array("float32"), array("float32")
    pooled = op("sequence_pool", {"X": encoded}, "Out MaxIndex:int32", pooltype="LAST", pad_value=0.0, is_test=True)[0]
    write(op("reorder_lod_tensor_by_rank", {"X": pooled, "RankTable": table}), constant(0), memory)
    source = op("reorder_lod_tensor_by_rank", {"X": encoded, "RankTable": table})
    with stepping(table) as (i, advance):
        row, h, seen = read(steps, i), shrunk(read(memory, i), i, table), shrunk(source, i, table)
        for y in (row, h, seen):
            y.desc.set_shape([-1, 4])
        beside = op("sequence_expand", {"X": h, "Y": seen}, ref_level=-1)
        beside.desc.set_shape([-1, 4])
        weights = op("sequence_softmax", {"X": dense([seen, beside], "scores", 1, "tanh")})
        weights = op("reshape", {"X": weights}, shape=[-1])
        weighed = op("elementwise_mul", {"X": seen, "Y": weights}, axis=0)
        context = op("sequence_pool", {"X": weighed}, "Out MaxIndex:int32", pooltype="SUM", pad_value=0.0, is_test=True)
        context[0].desc.set_shape([-1, 4])
        new = dense([row, h, context[0]], "cell", 4, "tanh")
        write(new, i, found)
        advance()
        write(new, i, memory)
    return [back(found, table)]


DEEP = numbers(11, 3, seed="deep"), [[0, 2, 3, 6], [0, 1, 4, 5, 5, 9, 11]]


@program(x=(DEEP[0], [[0, 2, 3, 6], [0, 1, 4, 5, 7, 9, 11]]))
def steps_that_are_sequences(x: Any) -> list[Any]:
    """Sentences of paragraphs, each step one of each paragraph that has so many."""
    table = ranked(x)
    steps, found, same = steps_of(x, table), array("float32"), array("float32")
    with stepping(table) as (i, advance):
        row = read(steps, i)
        row.desc.set_shape([-1, 3])
        pooled = op("sequence_pool", {"X": row}, "Out MaxIndex:int32", pooltype="SUM", pad_value=0.0, is_test=True)[0]
        write(pooled, i, found)
        write(op("relu", {"X": row}), i, same)
        advance()
    first = read(steps, constant(0))
    return [
        back(found, table),
        back(same, table),
        first,
        op("reorder_lod_tensor_by_rank", {"X": x, "RankTable": table}),
    ]


@program(x=DEEP)
def ranks_of_the_inner_level(x: Any) -> list[Any]:
    table = ranked(x, 1)
    return [back(steps_of(x, table), table), op("max_sequence_len", {"RankTable": table}, "Out:int64")]


# --- steps of one length (StaticRNN)


@contextmanager
def recurrent(
    inputs: list[Any], begin: list[Any], sizes: list[list[int]], reverse: bool = False
) -> Iterator[tuple[list[Any], list[Any], Any, list[Any]]]:
    """A block that is run for each step: inputs and memories in it, and what ends it with memories and results.

    Variables of steps have the names of what they are parts of, and so have results.
    """
    main = paddle.static.default_main_program()
    outer, block = main.current_block(), main._create_block()
    rows = [block.create_var(name=x.name, shape=list(x.shape[1:]), dtype=x.dtype) for x in inputs]
    before = [
        block.create_var(name=paddle.utils.unique_name.generate("before"), shape=list(s.shape), dtype=s.dtype)
        for s in begin
    ]
    given: list[Any] = []
    results: list[Any] = []

    def finish(after: list[Any], found: list[Any]) -> None:
        given.extend(after)
        main._rollback()
        length = inputs[0].shape[0]
        for y, size in zip(found, sizes, strict=True):
            results.append(outer.create_var(name=y.name, shape=[length, *size], dtype=y.dtype))
        scopes = outer.create_var(name=paddle.utils.unique_name.generate("scopes"), type=KINDS.STEP_SCOPES)
        parameters = [p for p in main.all_parameters() if any(p.name in o.input_arg_names for o in block.ops)]
        outer.append_op(
            type="recurrent",
            inputs={"inputs": inputs, "initial_states": begin, "parameters": parameters},
            outputs={"outputs": results, "step_scopes": [scopes]},
            attrs={
                "has_states": bool(begin), "ex_states": [x.name for x in before], "states": [x.name for x in given],
                "sub_block": block, "reverse": reverse, "is_train": False,
            },
        )  # fmt: skip

    yield rows, before, finish, results


@program(x=numbers(5, 2, 4), first=numbers(2, 3))
def steps_of_one_length(x: Any, first: Any) -> list[Any]:
    with recurrent([x], [first], [[2, 3]]) as ((row,), (h,), finish, results):
        new = dense([row, h], "cell", 3, "tanh")
        finish([new], [new])
    return results


@program(x=numbers(4, 2, 4), other=numbers(4, 2, 1), first=numbers(2, 3), second=numbers(2, 1))
def steps_backwards(x: Any, other: Any, first: Any, second: Any) -> list[Any]:
    """From the end, with two memories and three results."""
    with recurrent([x, other], [first, second], [[2, 3], [2, 1], [2, 4]], reverse=True) as (
        rows,
        memories,
        finish,
        found,
    ):
        (row, more), (h, s) = rows, memories
        new = dense([row, h, more], "cell", 3, "tanh")
        summed = op("elementwise_add", {"X": s, "Y": more}, axis=-1)
        finish([new, summed], [new, summed, op("scale", {"X": row}, scale=2.0, bias=0.0)])
    return found


@program(x=numbers(3, 2, 4))
def steps_without_memories(x: Any) -> list[Any]:
    with recurrent([x], [], [[2, 4]]) as ((row,), _, finish, results):
        finish([], [op("relu", {"X": row})])
    return results


# --- rows that go one way or the other (IfElse)


@contextmanager
def way(x: Any) -> Iterator[None]:
    """A block for some of the rows."""
    with ConditionalBlock([x], is_scalar_condition=False).block():
        yield


def parted(x: Any, mask: Any) -> list[Any]:
    yes, no = op("split_lod_tensor", {"X": x, "Mask": mask}, "OutTrue OutFalse", level=0)
    block = paddle.static.default_main_program().current_block()
    found = []
    for part, factor in ((yes, 2.0), (no, -1.0)):
        part.desc.set_shape([-1, *x.shape[1:]])
        y = block.create_var(name=paddle.utils.unique_name.generate("part"), dtype="float32", shape=[-1, *x.shape[1:]])
        with way(part):
            made = op("scale", {"X": part}, scale=factor, bias=0.0)
            into("assign", {"X": made}, {"Out": y})
        found.append(y)
    inputs = {"X": x, "Mask": mask, "InTrue": found[0], "InFalse": found[1]}
    return [op("merge_lod_tensor", inputs, level=0), yes, no]


@program(x=numbers(5, 3), mask=np.array([[True], [False], [False], [True], [False]]))
def rows_of_two_ways(x: Any, mask: Any) -> list[Any]:
    return parted(x, mask)


@program(x=(numbers(9, 4), [[0, 2, 3, 6, 8, 9]]), mask=np.array([[True], [False], [False], [True], [True]]))
def sequences_of_two_ways(x: Any, mask: Any) -> list[Any]:
    return parted(x, mask)


# --- branches whose results are sequences


@program(x=ROWS, flag=np.array([True]))
def branches_over_sequences(x: Any, flag: Any) -> list[Any]:
    """Sequences that a branch makes anew, and those that a loop does."""
    block = paddle.static.default_main_program().current_block()
    y = block.create_var(name="chosen", dtype="float32", shape=[-1, 4], lod_level=1)
    into("assign", {"X": x}, {"Out": y})
    with Switch() as switch, switch.case(flag):
        into("sequence_reshape", {"X": x}, {"Out": y}, new_dim=2)
    i, most = constant(0), constant(2)
    going = op("less_than", {"X": i, "Y": most}, "Out:bool")
    loop = While(going)
    with loop.block():
        into("assign", {"X": op("sequence_concat", {"X": [y, y]})}, {"Out": y})
        into("increment", {"X": i}, {"Out": i}, step=1.0)
        into("less_than", {"X": i, "Y": most}, {"Out": going})
    pooled = op("sequence_pool", {"X": y}, "Out MaxIndex:int32", pooltype="SUM", pad_value=0.0, is_test=True)[0]
    return [y, pooled]


if __name__ == "__main__":
    base.main(*sys.argv[1:])
