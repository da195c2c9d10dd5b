"""Hostile and truncated files of older programs give one error, quickly; mutated ones are in ``tests/fuzz``."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.static.formats import record
from paddle.static.formats.graph import TensorType
from paddle.static.formats.legacy import program, protobuf
from paddle.static.formats.legacy.translate import read_pdmodel
from umiak.ir.serialise import FormatError

DATA = Path(__file__).parents[2] / "data/legacy_programs.npz"
RECORDED = np.load(DATA)
FILES = {k: RECORDED[k].tobytes() for k in RECORDED.files if k.endswith("/program")}


def read(data: bytes) -> bool:
    """Is it a program? Any other error than the one for damaged files fails the test."""
    try:
        module = read_pdmodel(data)
    except FormatError:
        return False
    record.missing_operators(module)
    return True


@pytest.mark.parametrize("name", sorted(FILES))
def test_truncated_files(name: str) -> None:
    data = FILES[name]
    for n in range(0, len(data), max(len(data) // 60, 1)):
        read(data[:n])


def test_programs_that_are_damaged_are_refused_by_name(programs: object, tmp_path: Path) -> None:
    (tmp_path / "m.pdmodel").write_bytes(FILES["images/program"][:-7])
    with pytest.raises(ValueError, match=r"m\.pdmodel"):
        paddle.static.load_inference_model(str(tmp_path / "m"), paddle.static.Executor())


# --- hostile files


def nested(depth: int, *, of: int | None = None) -> bytes:
    """Loops within loops; ``of``: the block that all of them name."""
    blocks = []
    for i in range(depth + 1):
        o = program.Operator("while", {"Condition": ["c"], "X": []}, {"Out": []})
        o.attributes["sub_block"], o.kinds["sub_block"] = (i + 1 if of is None else of), program.BLOCK
        blocks.append(program.LegacyBlock(i - 1, {}, [o] if i < depth else []))
    made = program.Operator("fill_constant", {}, {"Out": ["c"]}, {"dtype": 0, "shape": [1]}, {"dtype": 0, "shape": 3})
    blocks[0].variables["c"] = program.Variable("c", program.DENSE, TensorType("bool", (1,)))
    blocks[0].operators.insert(0, made)
    return program.write(program.LegacyProgram(blocks))


def test_loops_within_loops_without_end() -> None:
    assert read(nested(20))
    assert not read(nested(1500))


def test_a_block_in_itself_and_a_block_of_two_operators() -> None:
    with pytest.raises(FormatError, match="a block of its own inside block 1, got number 1"):
        read_pdmodel(nested(3, of=1))
    data = program.read(nested(1))
    data.blocks[0].operators.append(data.blocks[0].operators[1])
    with pytest.raises(FormatError, match="a block of its own"):
        read_pdmodel(program.write(data))


def test_branches_that_double() -> None:
    """Each branch would be translated twice, its inner ones four times, and so on."""
    depth = 40
    blocks = []
    for i in range(depth + 1):
        o = program.Operator("conditional_block", {"Cond": ["c"]}, {"Out": ["c", "y"], "Scope": []})
        o.attributes.update(sub_block=i + 1, is_scalar_condition=True)
        o.kinds.update(sub_block=program.BLOCK, is_scalar_condition=program.BOOLEAN)
        reads = program.Operator("assign", {"X": ["y"]}, {"Out": ["y"]})
        blocks.append(program.LegacyBlock(i - 1, {}, [o, reads] if i < depth else []))
    made = program.Operator("fill_constant", {}, {"Out": ["c"]}, {"dtype": 0, "shape": [1]}, {"dtype": 0, "shape": 3})
    blocks[-1].operators = [program.Operator("assign", {"X": ["c"]}, {"Out": [n]}) for n in ("c", "y")]
    for name in ("c", "y"):
        blocks[0].variables[name] = program.Variable(name, program.DENSE, TensorType("bool", (1,)))
    blocks[0].operators.insert(0, made)
    assert not read(program.write(program.LegacyProgram(blocks)))


def lists_in_loops(depth: int) -> bytes:
    """Loops within loops, of which each writes sequences to a list of its own: bodies tell the levels of elements."""
    tensor = TensorType("float32", (-1, 4))
    blocks = [program.LegacyBlock(-1)]
    for name, type in (("x", tensor), ("i", TensorType("int64", (1,))), ("c", TensorType("bool", (1,)))):
        blocks[0].variables[name] = program.Variable(name, program.DENSE, type, fed=True, levels=int(name == "x"))
    for i in range(depth):
        blocks[0].variables[f"a{i}"] = program.Variable(f"a{i}", program.ARRAY, tensor)
        loop = program.Operator("while", {"Condition": ["c"]}, {}, {"sub_block": i + 1}, {"sub_block": program.BLOCK})
        blocks[i].operators.append(loop)
        write = program.Operator("write_to_array", {"X": ["x"], "I": ["i"]}, {"Out": [f"a{i}"]})
        blocks.append(program.LegacyBlock(i, {}, [write]))
    for o in (
        program.Operator("read_from_array", {"X": ["a0"], "I": ["i"]}, {"Out": ["y"]}),
        program.Operator("sequence_reverse", {"X": ["y"]}, {"Y": ["z"]}),
    ):
        blocks[0].operators.append(o)
    return program.write(program.LegacyProgram(blocks))


def test_lists_of_sequences_in_loops_within_loops() -> None:
    assert read(lists_in_loops(8))
    assert not read(lists_in_loops(300))


def test_sizes_that_are_only_claimed() -> None:
    """A length or a count beyond the file costs nothing."""
    claims = [b"\x0a\xff\xff\xff\xff\x7f", b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", b"\x0b", b"\x00\x00"]
    tracemalloc.start()
    try:
        assert not any(read(data) for data in claims)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_memory_is_bounded_by_the_file() -> None:
    """Numbers of a list without keys are one byte each in a file."""
    table = {2: protobuf.Field("sizes", "int64", repeated=True)}
    data = b"\x12\x80\x40" + bytes(1 << 13)
    tracemalloc.start()
    try:
        assert protobuf.decode(data, table, "numbers")["sizes"] == [0] * (1 << 13)
        assert tracemalloc.get_traced_memory()[1] < 40 * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("kind", "attributes", "message"),
    [
        ("fill_constant", {"dtype": (2, "five")}, "int as its attribute 'dtype' is required, got 'five'"),
        ("fill_constant", {"shape": (5, ["a"])}, "integers as its attribute 'shape' are required"),
        ("fill_constant", {"dtype": (0, 77)}, "the number of an element type is required, got 77"),
        ("fill_constant", {"str_value": (2, "ten")}, "a number as its attribute 'str_value' is required"),
        ("cast", {"out_dtype": (5, ["a"])}, "the number of an element type is required"),
        ("reshape2", {"shape": (2, "a")}, "its input 'X' is required"),
        ("while", {}, "one sub-block is required, got 0"),
        ("select_input", {}, "one variable as its output 'Out' is required, got 0"),
    ],
)
def test_attributes_of_another_type(kind: str, attributes: dict[str, tuple[int, object]], message: str) -> None:
    o = program.Operator(
        kind, {}, {}, {k: v for k, (_, v) in attributes.items()}, {k: n for k, (n, _) in attributes.items()}
    )
    if kind == "cast":
        o.inputs["X"] = ["x"]
    x = program.Variable("x", program.DENSE, TensorType("float32", (2,)), persistable=True)
    with pytest.raises(FormatError, match=message):
        read_pdmodel(program.write(program.LegacyProgram([program.LegacyBlock(-1, {"x": x}, [o])])))


def test_open_sizes_of_several_axes() -> None:
    """The reference writes -1 × 8 for a size that it has computed of an open one."""
    x = program.Variable("x", program.DENSE, TensorType("float32", (-8, 3)))
    data = program.write(program.LegacyProgram([program.LegacyBlock(-1, {"x": x}, [])]))
    assert program.read(data).blocks[0].variables["x"].type == TensorType("float32", (-1, 3))
    x = program.Variable("x", program.DENSE, TensorType("float32", (1 << 48,)))
    with pytest.raises(FormatError, match="each below 2⁴⁸"):
        program.read(program.write(program.LegacyProgram([program.LegacyBlock(-1, {"x": x}, [])])))


def test_a_loop_without_end_over_a_list_is_not_unrolled(programs: object) -> None:
    data = program.read(RECORDED["arrays/program"].tobytes())
    for block in data.blocks[1:]:  # what ends the loop
        block.operators = [o for o in block.operators if o.type != "assign"]
    with pytest.raises(FormatError, match="operations of unrolled loops are required, got more"):
        record.program_of(read_pdmodel(program.write(data)), {})
