"""The JSON documents in which PaddlePaddle 3 writes programs, as modules and back.

``{"base_code": {"magic": "pir", "version", "trainable"}, "program": {"regions": [{"blocks": [{"args", "ops"}]}]}}``.
An operation is ``{"#": "1.matmul", "I": operands, "A": attributes, "O": results, "OA": traits, "regions"}``: the number
is that of a dialect. Reading checks the form alone; what operators mean is looked up by ``record``.
"""

from __future__ import annotations

import math
import reprlib
from typing import Any

from paddle.static.formats.graph import PARAMETER, Attribute, Block, Module, Operation, Result, TensorType, ValueType
from umiak.ir.serialise import FormatError

MAGIC, VERSION = "pir", 4
DIALECTS = "builtin", "pd_op", "cf", "custom_op"
_NUMBERS = {name: i for i, name in enumerate(DIALECTS)}

# Names of element types here, by those in files.
ELEMENTS = {
    "t_bool": "bool", "t_f16": "float16", "t_bf16": "bfloat16", "t_f32": "float32", "t_f64": "float64",
    "t_f8e4m3fn": "float8_e4m3fn", "t_f8e5m2": "float8_e5m2", "t_i8": "int8", "t_ui8": "uint8", "t_i16": "int16",
    "t_i32": "int32", "t_i64": "int64", "t_c64": "complex64", "t_c128": "complex128",
}  # fmt: skip
_ELEMENT_NAMES = {v: k for k, v in ELEMENTS.items()}
_INTEGERS = "i8", "i16", "i32", "i64", "index"
_FLOATS = "f32", "f64"
_OF_OPERATORS = "intarray", "dtype", "place", "scalar"  # kinds of the dialect of operators
MOST_AXES, MOST_DEPTH = 32, 64


def is_pir(document: Any) -> bool:
    """Is a JSON document such a program?"""
    code = document.get("base_code") if isinstance(document, dict) else None
    return isinstance(code, dict) and code.get("magic") == MAGIC


def _required(what: str, got: Any) -> FormatError:
    return FormatError(f"{what} is required, got {reprlib.repr(got)}")


def _field(node: Any, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
    """A field of an object, of a type."""
    if not isinstance(node, dict):
        raise _required("an object", node)
    value = node.get(key, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise _required(f"{key!r} in an object", value)
    return value


# --- reading ---------------------------------------------------------------------------------------------------------


def read(document: dict[str, Any]) -> Module:
    """The module of a document.

    Raises:
        FormatError: a document of another form, or a newer version.
    """
    code = _field(document, "base_code", dict)
    version = _field(code, "version", int)
    if not 0 <= version <= VERSION:
        raise _required(f"a version up to {VERSION}", version)
    regions = _field(_field(document, "program", dict), "regions", list)
    if len(regions) != 1:
        raise _required("one region of a program", regions)
    return Module(_region(regions[0], 0), version, bool(code.get("trainable", True)))


def _region(node: Any, depth: int) -> Block:
    blocks = _field(node, "blocks", list)
    if len(blocks) != 1 or depth > MOST_DEPTH:
        raise _required(f"a region of one block, at most {MOST_DEPTH} deep,", blocks)
    arguments = [Result(_field(x, "#", int), _type(x.get("TT"))) for x in _field(blocks[0], "args", list, [])]
    return Block(arguments, [_operation(o, depth) for o in _field(blocks[0], "ops", list)])


def _operation(node: Any, depth: int) -> Operation:
    name = _field(node, "#", str)
    if name == "p":
        return _parameter(node)
    operands = []
    for x in _field(node, "I", list, []):
        number = _field(x, "%", int)
        operands.append(None if number == 0 else number)  # 0 stands for an operand that is absent
    results = [_result(x) for x in _field(node, "O", list, [])]
    traits = {k: v.plain for k, v in _attributes(node.get("OA", [])).items()}
    if any(not isinstance(v, list) for v in traits.values()):
        raise _required("a list of traits", node["OA"])
    regions = [_region(r, depth + 1) for r in _field(node, "regions", list, [])]
    return Operation(_qualified(name), operands, _attributes(node.get("A", [])), results, regions, traits)


def _parameter(node: Any) -> Operation:
    """A parameter, which is written shorter."""
    facts = _field(node, "A", list)
    traits = _field(node, "OA", list)
    if len(facts) != 4 or not isinstance(facts[3], str) or len(traits) != 3:
        raise _required("four facts and three traits of a parameter", node)
    distributed, parameter, clipped = (Attribute("bool", bool(x)) for x in facts[:3])
    attributes = {
        "is_distributed": distributed, "is_parameter": parameter, "need_clip": clipped,
        "parameter_name": Attribute("str", facts[3]),
    }  # fmt: skip
    names = "persistable", "stop_gradient", "trainable"
    said = {k: [bool(x)] for k, x in zip(names, traits, strict=True)}
    return Operation(PARAMETER, [], attributes, [_result(_field(node, "O", dict))], [], said)


def _result(node: Any) -> Result:
    return Result(_field(node, "%", int), _type(node.get("TT")))


def _qualified(name: str) -> str:
    """``1.matmul`` → ``pd_op.matmul``."""
    dialect, _, rest = name.partition(".")
    if not dialect.isdecimal() or int(dialect) >= len(DIALECTS) or not rest:
        raise _required("an operator as <number of a dialect>.<name>", name)
    return f"{DIALECTS[int(dialect)]}.{rest}"


def _kind(node: Any, prefix: str) -> str:
    """``0.a_bool`` → ``bool``."""
    _, _, name = _field(node, "#", str).partition(".")
    if not name.startswith(prefix):
        raise _required(f"a name with {prefix!r}", name)
    return name.removeprefix(prefix)


def _type(node: Any, depth: int = 0) -> ValueType:
    if node is None or (isinstance(node, dict) and node.get("#") in ("NULL", "0.t_null")):
        return None
    kind = _kind(node, "t_")
    data = node.get("D")
    if kind == "vec" and isinstance(data, list) and depth == 0:
        return tuple(t for x in data if isinstance(t := _type(x, 1), TensorType))
    if kind not in ("dtensor", "dense_tensor_array") or not isinstance(data, list) or len(data) < 2:
        raise _required("the type of a tensor", node)
    element = "t_" + _kind(data[0], "t_")
    dims = data[1]
    if element not in ELEMENTS:
        raise _required(f"an element type of {sorted(ELEMENTS)}", element)
    if (
        not isinstance(dims, list)
        or len(dims) > MOST_AXES
        or any(type(n) is not int or abs(n) >= 1 << 48 for n in dims)
    ):
        raise _required("a list of sizes", dims)
    # The reference multiplies sizes without asking whether they are known: -1 times 3 channels is written as -3.
    return TensorType(ELEMENTS[element], tuple(max(n, -1) for n in dims))


def _attributes(nodes: Any) -> dict[str, Attribute]:
    if not isinstance(nodes, list):
        raise _required("a list of attributes", nodes)
    return {_field(x, "N", str): _attribute(x.get("AT")) for x in nodes}


def _attribute(node: Any, depth: int = 0) -> Attribute:
    kind = _kind(node, "a_")
    data = node.get("D", node.get("VD"))  # what is not finite is text
    if kind == "array":
        if not isinstance(data, list) or depth > MOST_DEPTH:
            raise _required("a list of attributes", data)
        return Attribute(kind, tuple(_attribute(x, depth + 1) for x in data))
    if kind in _INTEGERS and type(data) is not int:
        raise _required("an integer", data)
    if kind in _FLOATS:
        return Attribute(kind, _float(data))
    if kind in ("str", "dtype") and not isinstance(data, str):
        raise _required("text", data)
    if kind == "intarray":
        if not isinstance(data, list) or any(type(n) is not int for n in data):
            raise _required("a list of integers", data)
        return Attribute(kind, tuple(data))
    return Attribute(kind, bool(data) if kind == "bool" else data)


def _float(data: Any) -> float:
    """A number; JSON has none for those that are not finite, which stand as text."""
    if isinstance(data, str):
        data = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.get(data.lower().replace("infinity", "inf"), data)
    if isinstance(data, bool) or not isinstance(data, (int, float)):
        raise _required("a number", data)
    return float(data)


# --- writing ---------------------------------------------------------------------------------------------------------


def write(module: Module) -> dict[str, Any]:
    """The document of a module."""
    return {
        "base_code": {"magic": MAGIC, "trainable": module.trainable, "version": VERSION},
        "program": {"regions": [_write_region(module.block, 0)]},
    }


def _write_region(block: Block, i: int) -> dict[str, Any]:
    arguments = [{"#": x.number, "TT": _write_type(x.type)} for x in block.arguments]
    made = {"#": "block_0", "args": arguments, "ops": [_write_operation(o) for o in block.operations]}
    return {"#": f"region_{i}", "blocks": [made]}


def _write_operation(o: Operation) -> dict[str, Any]:
    if o.name == PARAMETER:
        facts = [int(o.plain(k, k == "need_clip")) for k in ("is_distributed", "is_parameter", "need_clip")]
        traits = [int(o.traits[k][0]) for k in ("persistable", "stop_gradient", "trainable")]
        made = _write_result(o.results[0])
        return {"#": "p", "A": [*facts, o.plain("parameter_name")], "DA": [], "O": made, "OA": traits, "QA": []}
    dialect, _, name = o.name.partition(".")
    out = {
        "#": f"{_NUMBERS[dialect]}.{name}",
        "A": [{"AT": _write_attribute(v), "N": k} for k, v in o.attributes.items()],
        "I": [{"%": 0 if x is None else x} for x in o.operands],
        "O": [_write_result(x) for x in o.results],
        "OA": [{"AT": _write_attribute(_trait(v)), "N": k} for k, v in o.traits.items()],
    }
    if o.regions:
        out["regions"] = [_write_region(r, i) for i, r in enumerate(o.regions)]
    return out


def _trait(values: list[Any]) -> Attribute:
    return Attribute("array", tuple(Attribute("bool", bool(v)) for v in values))


def _write_result(x: Result) -> dict[str, Any]:
    return {"%": x.number, "TT": _write_type(x.type)}


def _write_type(type: ValueType) -> dict[str, Any]:
    if type is None:
        return {"#": "NULL"}
    if isinstance(type, TensorType):
        return {"#": "0.t_dtensor", "D": [{"#": f"0.{_ELEMENT_NAMES[type.dtype]}"}, list(type.shape), "NCHW", [], 0]}
    return {"#": "0.t_vec", "D": [_write_type(x) for x in type]}


def _write_attribute(x: Attribute) -> dict[str, Any]:
    dialect = int(x.kind in _OF_OPERATORS)
    data = x.data
    if x.kind == "array":
        data = [_write_attribute(a) for a in data]
    elif x.kind in ("intarray", "place"):
        data = list(data)
    elif x.kind in _FLOATS and not math.isfinite(data):
        said = "NAN" if math.isnan(data) else "INF" if data > 0 else "-INF"
        return {"#": f"{dialect}.a_{x.kind}", "VD": said}  # PaddlePaddle writes NaN, and reads NAN alone
    return {"#": f"{dialect}.a_{x.kind}", "D": data}
