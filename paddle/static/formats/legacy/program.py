"""The older programs of PaddlePaddle (``ProgramDesc``): blocks of variables, which have names, and operators.

The tables say which fields the messages have; their numbers and types are those of the reference's ``framework.proto``
of versions 1.x to 3.x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paddle.static.formats.graph import TensorType
from paddle.static.formats.legacy.protobuf import Field, decode, encode
from paddle.static.formats.parameters import ELEMENTS, MOST_AXES
from umiak.ir.serialise import FormatError

# --- fields of messages ----------------------------------------------------------------------------------------------

_COMPLEX = {1: Field("r", "double", required=True), 2: Field("i", "double", required=True)}
_SCALAR = {
    1: Field("type", "int32", required=True), 2: Field("b", "bool"), 3: Field("i", "int64"), 4: Field("r", "double"),
    5: Field("c", _COMPLEX),
}  # fmt: skip
# Fields of the values of attributes, by the number of their type.
_VALUES: dict[int, tuple[int, str, Any, bool]] = {
    0: (3, "i", "int32", False), 1: (4, "f", "float", False), 2: (5, "s", "string", False),
    3: (6, "ints", "int32", True), 4: (7, "floats", "float", True), 5: (8, "strings", "string", True),
    6: (10, "b", "bool", False), 7: (11, "bools", "bool", True), 8: (12, "block_idx", "int32", False),
    9: (13, "l", "int64", False), 10: (14, "blocks_idx", "int32", True), 11: (15, "longs", "int64", True),
    12: (16, "float64s", "double", True), 13: (17, "var_name", "string", False),
    14: (18, "vars_name", "string", True), 15: (19, "float64", "double", False), 16: (20, "scalar", _SCALAR, False),
    17: (21, "scalars", _SCALAR, True),
}  # fmt: skip
BOOLEAN, BLOCK, BLOCKS, SCALAR, SCALARS = 6, 8, 10, 16, 17
_ATTRIBUTE = {
    1: Field("name", "string", required=True), 2: Field("type", "int32", required=True),
    **{n: Field(name, kind, repeated) for n, name, kind, repeated in _VALUES.values()},
}  # fmt: skip
_SLOT = {1: Field("parameter", "string", required=True), 2: Field("arguments", "string", True)}
_OPERATOR = {
    1: Field("inputs", _SLOT, True), 2: Field("outputs", _SLOT, True), 3: Field("type", "string", required=True),
    4: Field("attrs", _ATTRIBUTE, True), 5: Field("is_target", "bool"),
}  # fmt: skip
_TENSOR = {1: Field("data_type", "int32", required=True), 2: Field("dims", "int64", True)}
_LEVELLED = {1: Field("tensor", _TENSOR, required=True), 2: Field("lod_level", "int32")}
_TYPE = {
    1: Field("type", "int32", required=True), 2: Field("selected_rows", _TENSOR), 3: Field("lod_tensor", _LEVELLED),
    4: Field("tensor_array", _LEVELLED),
}  # fmt: skip
_VARIABLE = {
    1: Field("name", "string", required=True), 2: Field("type", _TYPE, required=True), 3: Field("persistable", "bool"),
    4: Field("need_check_feed", "bool"), 5: Field("is_parameter", "bool"), 6: Field("stop_gradient", "bool"),
}  # fmt: skip
_BLOCK = {
    1: Field("idx", "int32", required=True), 2: Field("parent_idx", "int32", required=True),
    3: Field("vars", _VARIABLE, True), 4: Field("ops", _OPERATOR, True), 5: Field("forward_block_idx", "int32"),
}  # fmt: skip
_VERSION = {1: Field("version", "int64")}
_OP_VERSION = {1: Field("version", "int32", required=True)}
_PAIR = {1: Field("op_name", "string", required=True), 2: Field("op_version", _OP_VERSION, required=True)}
PROGRAM = {
    1: Field("blocks", _BLOCK, True),
    4: Field("version", _VERSION),
    5: Field("versions", {1: Field("pair", _PAIR, True)}),
}

# Kinds of variables.
DENSE, SELECTED_ROWS, ARRAY = 7, 8, 13

# --- programs --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Variable:
    """A variable. ``kind``: ``DENSE`` and others; ``type`` for tensors, and for elements of arrays; ``levels``: of the
    packed sequences that it has.
    """

    name: str
    kind: int
    type: TensorType | None = None
    persistable: bool = False
    parameter: bool = False
    stop_gradient: bool = False
    fed: bool = False
    levels: int = 0


@dataclass(slots=True)
class Operator:
    """A call: names of variables by the operator's slots, and attributes as plain values.

    ``kinds`` has the numbers of attributes' types; a sub-block stands in ``blocks``, too.
    """

    type: str
    inputs: dict[str, list[str]] = field(default_factory=dict)
    outputs: dict[str, list[str]] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)

    def get(self, name: str, default: Any) -> Any:
        """An attribute of the default's type; of lists, with elements of one type."""
        found = self.attributes.get(name, default)
        if default is not None and type(found) is not type(default):
            raise FormatError(f"{type(default).__name__} as its attribute {name!r} is required, got {found!r:.60}")
        return found

    def integers(self, name: str, default: Sequence[int] = ()) -> list[int]:
        """An attribute that is a list of integers."""
        found = self.get(name, list(default))
        if any(type(n) is not int for n in found):
            raise FormatError(f"integers as its attribute {name!r} are required, got {found!r:.60}")
        return found

    def into(self, slot: str) -> str:
        """The name of the one variable that a slot of results has."""
        return _only(self.outputs, slot, "output")

    def reads(self, slot: str) -> str:
        """The name of the one variable that a slot of inputs has."""
        return _only(self.inputs, slot, "input")

    @property
    def block(self) -> int:
        """The number of its one sub-block."""
        found = self.blocks
        if len(found) != 1:
            raise FormatError(f"one sub-block is required, got {len(found)}")
        return found[0]

    @property
    def blocks(self) -> list[int]:
        """The numbers of its sub-blocks."""
        found: list[int] = []
        for name, kind in self.kinds.items():
            found += [self.attributes[name]] if kind == BLOCK else self.attributes[name] if kind == BLOCKS else []
        return found


def _only(slots: Mapping[str, list[str]], slot: str, what: str) -> str:
    names = slots.get(slot, [])
    if len(names) != 1:
        raise FormatError(f"one variable as its {what} {slot!r} is required, got {len(names)}")
    return names[0]


@dataclass(slots=True)
class LegacyBlock:
    """Variables by name, and operators in order; -1 is the parent of the first one."""

    parent: int
    variables: dict[str, Variable] = field(default_factory=dict)
    operators: list[Operator] = field(default_factory=list)


@dataclass(slots=True)
class LegacyProgram:
    """A program: its version (2004001 is 2.4.1, 0 one that was not released), and those of operators."""

    blocks: list[LegacyBlock]
    version: int = 0
    versions: dict[str, int] = field(default_factory=dict)

    def walk(self) -> Iterator[Operator]:
        """All operators of all blocks."""
        for block in self.blocks:
            yield from block.operators


def read(data: bytes | memoryview) -> LegacyProgram:
    """The program of a message.

    Raises:
        FormatError: bytes that are no such message, or blocks that are not nested.
    """
    message = decode(data, PROGRAM, "a program")
    blocks = [_block(b, i) for i, b in enumerate(message["blocks"])]
    if not blocks:
        raise FormatError("a program with a block is required, got none")
    _check_nesting(blocks)
    pairs = (message["versions"] or {"pair": []})["pair"]
    versions = {p["op_name"]: p["op_version"]["version"] for p in pairs}
    return LegacyProgram(blocks, (message["version"] or {}).get("version") or 0, versions)


def _check_nesting(blocks: list[LegacyBlock]) -> None:
    """Each block belongs to one operator of its parent, so no block is in itself and none is run from two places."""
    seen: set[int] = set()
    for i, block in enumerate(blocks):
        for o in block.operators:
            for j in o.blocks:
                if not 0 < j < len(blocks) or blocks[j].parent != i or j in seen:
                    raise FormatError(f"{o.type!r} requires a block of its own inside block {i}, got number {j}")
                seen.add(j)


def _block(message: Mapping[str, Any], i: int) -> LegacyBlock:
    parent = message["parent_idx"]
    if message["idx"] != i or not (-1 <= parent < i or i == parent == 0):
        raise FormatError(f"block {i} with a parent before it is required, got {message['idx']} with parent {parent}")
    variables = {v["name"]: _variable(v) for v in message["vars"]}
    return LegacyBlock(parent, variables, [_operator(o) for o in message["ops"]])


def _variable(message: Mapping[str, Any]) -> Variable:
    of = message["type"]
    levelled = of["tensor_array"] if of["type"] == ARRAY else of["lod_tensor"]
    tensor = of["selected_rows"] if of["type"] == SELECTED_ROWS else (levelled or {}).get("tensor")
    flags = [bool(message[k]) for k in ("persistable", "is_parameter", "stop_gradient", "need_check_feed")]
    levels = max((levelled or {}).get("lod_level") or 0, 0)
    made = Variable(message["name"], of["type"], _tensor_type(message["name"], tensor), *flags)
    made.levels = levels
    return made


def _tensor_type(name: str, message: Mapping[str, Any] | None) -> TensorType | None:
    if message is None or message["data_type"] not in ELEMENTS:  # text, sets of words
        return None
    dims = message["dims"]
    if len(dims) > MOST_AXES or any(n >= 1 << 48 for n in dims):
        raise FormatError(f"the variable {name!r} requires at most {MOST_AXES} sizes, each below 2⁴⁸, got {dims[:33]}")
    # An open size is -1, or what the reference has computed of that: of a norm over samples and channels -1 × 8.
    return TensorType(ELEMENTS[message["data_type"]], tuple(max(n, -1) for n in dims))


def _operator(message: Mapping[str, Any]) -> Operator:
    made = Operator(message["type"])
    for slots, into in ((message["inputs"], made.inputs), (message["outputs"], made.outputs)):
        for slot in slots:
            into[slot["parameter"]] = slot["arguments"]
    for a in message["attrs"]:
        name, kind = a["name"], a["type"]
        if kind not in _VALUES:
            continue  # a type that a newer writer knows; the operator's row says whether it is needed
        value = a[_VALUES[kind][1]]
        if value is None:
            raise FormatError(f"{made.type!r} requires a value for its attribute {name!r}, got none")
        if kind == SCALAR:
            value = _scalar(value)
        elif kind == SCALARS:
            value = [_scalar(x) for x in value]
        made.attributes[name], made.kinds[name] = value, kind
    return made


def _scalar(message: Mapping[str, Any]) -> Any:
    value = message[{1: "b", 2: "i", 3: "r", 4: "c"}.get(message["type"], "type")]
    if value is None:
        raise FormatError("a scalar with a value is required, got none")
    return complex(value["r"], value["i"]) if isinstance(value, dict) else value


# --- writing ---------------------------------------------------------------------------------------------------------

_ELEMENT_NUMBERS = {v: k for k, v in ELEMENTS.items()}


def write(program: LegacyProgram) -> bytes:
    """The message of a program. Attributes of type SCALAR are not written."""
    message = {
        "blocks": [
            {
                "idx": i, "parent_idx": b.parent, "vars": [_write_variable(v) for v in b.variables.values()],
                "ops": [_write_operator(o) for o in b.operators],
            }
            for i, b in enumerate(program.blocks)
        ],
        "version": {"version": program.version},
        "versions": {"pair": [{"op_name": k, "op_version": {"version": v}} for k, v in program.versions.items()]},
    }  # fmt: skip
    return encode(message, PROGRAM)


def _write_variable(v: Variable) -> dict[str, Any]:
    made: dict[str, Any] = {"type": v.kind}
    if v.type is not None:
        tensor = {"data_type": _ELEMENT_NUMBERS[v.type.dtype], "dims": v.type.shape}
        if v.kind == SELECTED_ROWS:
            made["selected_rows"] = tensor
        else:
            levelled = {"tensor": tensor, "lod_level": v.levels}
            made["tensor_array" if v.kind == ARRAY else "lod_tensor"] = levelled
    flags = {
        "persistable": v.persistable,
        "is_parameter": v.parameter,
        "stop_gradient": v.stop_gradient,
        "need_check_feed": v.fed,
    }
    return {"name": v.name, "type": made, **flags}


def _write_operator(o: Operator) -> dict[str, Any]:
    slots = {
        key: [{"parameter": k, "arguments": names} for k, names in getattr(o, key).items()]
        for key in ("inputs", "outputs")
    }
    attributes = [{"name": k, "type": o.kinds[k], _VALUES[o.kinds[k]][1]: v} for k, v in o.attributes.items()]
    return {"type": o.type, **slots, "attrs": attributes}
