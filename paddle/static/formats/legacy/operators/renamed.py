"""First versions of operators on shapes (``reshape`` beside ``reshape2``), and those whose inputs decide what they
are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle.static.formats.graph import Attribute, TensorType
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import rows, rule
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

# The second versions have one more result, for gradients.
rows("""
crop: crop(X, Y|@shape~[], Offsets|@offsets~[]) -> Out
expand: tile(X, expand_times_tensor*|ExpandTimes|@expand_times~[]) -> Out
reshape: reshape(X, ShapeTensor*|Shape|@shape~[]) -> Out
squeeze: squeeze(X, @axes~[]) -> Out
top_k: topk(X, K|@k~1; axis~-1 largest~True sorted~True) -> Out Indices
transpose: transpose(X; perm=axis) -> Out
unsqueeze: unsqueeze(X, AxesTensorList*|AxesTensor|@axes~[]) -> Out
""")


@rule("flatten", "flatten2")
def _flatten(t: Translator, o: Operator) -> None:
    """A matrix: the axes before ``axis`` are its rows, the others its columns."""
    x, axis = t.input(o, "X"), o.get("axis", 1)
    rank = t.rank(x)
    if not 0 <= axis <= rank:
        raise FormatError(f"an axis from 0 to {rank} is required, got {axis}")
    if axis in (0, rank):
        t.finish(o, "Out", t.call("reshape", x, t.integers([1, -1] if axis == 0 else [-1, 1])))
        return
    if rank - axis > 1:
        x = t.call("flatten", x, start_axis=axis, stop_axis=-1)
    t.finish(o, "Out", t.call("flatten", x, start_axis=0, stop_axis=axis - 1))


@rule("expand_as")
def _expand_as(t: Translator, o: Operator) -> None:
    """Each size is a multiple, not only of 1 (as in the second version)."""
    x = t.input(o, "X")
    target = next((names for slot, names in o.inputs.items() if slot in ("target_tensor", "Y")), [])
    if not target:
        raise FormatError("its input 'target_tensor' is required, got none")
    y = t.value(target[0])
    old, new = t.type(x), t.type(y)
    if not isinstance(old, TensorType) or not isinstance(new, TensorType) or len(old.shape) != len(new.shape):
        raise FormatError(f"two tensors of one number of axes are required, got {old} and {new}")
    if all(n == 1 or n == m for n, m in zip(old.shape, new.shape)):
        t.finish(o, "Out", t.call("expand_as", x, y, target_shape=list(new.shape)))
        return
    if -1 in old.shape or -1 in new.shape or any(n < 1 or m % n for n, m in zip(old.shape, new.shape)):
        raise FormatError(f"sizes that are known, and multiples, are required, got {old} and {new}")
    t.finish(o, "Out", t.call("tile", x, t.integers([m // n for n, m in zip(old.shape, new.shape)])))


@rule("split")
def _split(t: Translator, o: Operator) -> None:
    """Sizes of the parts, or their number."""
    x = t.input(o, "X")
    axis = t.optional(o, "AxisTensor")
    axis = t.constant(o, "axis", 0) if axis is None else axis
    sections = t.inputs(o, "SectionsTensorList")
    names = o.outputs.get("Out", [])
    types = tuple(v for n in names if isinstance(v := t.variable_type(n), TensorType))
    if (sections or o.integers("sections")) and not o.get("num", 0):
        sizes = t.combine(sections) if sections else t.constant(o, "sections")
        (parts,) = t.emit("pd_op.split", [x, sizes, axis], {}, [types])
    else:
        number = Attribute("i32", o.get("num", 0) or len(names))
        (parts,) = t.emit("pd_op.split_with_num", [x, axis], {"num": number}, [types])
    t.spread(o, "Out", parts)


@rule("one_hot")
def _one_hot(t: Translator, o: Operator) -> None:
    """The first version: classes stand in a last axis of size 1, in whose place those of the result come."""
    x = without_last_axis(t, t.input(o, "X"))
    depth = t.optional(o, "depth_tensor")
    t.finish(o, "Out", t.call("one_hot", x, t.constant(o, "depth") if depth is None else depth))


def without_last_axis(t: Translator, x: int) -> int:
    """A value without its last axis, which has size 1."""
    type = t.type(x)
    if not isinstance(type, TensorType) or not type.shape or type.shape[-1] not in (1, -1):
        raise FormatError(f"a last axis of size 1 is required, got {type}")
    made = t.call("squeeze", x, t.integers([-1]))
    t.retype(made, TensorType(type.dtype, type.shape[:-1]))
    return made


@rule("tril_triu")
def _triangle(t: Translator, o: Operator) -> None:
    name = "tril" if o.get("lower", True) else "triu"
    t.finish(o, "Out", t.call(name, t.input(o, "X"), diagonal=o.get("diagonal", 0)))


@rule("repeat_interleave")
def _repeat_interleave(t: Translator, o: Operator) -> None:
    """Numbers of repeats are a tensor, or one for all."""
    axis, size = o.get("dim", 0), o.get("output_size", -1)
    x, repeats = t.input(o, "X"), t.optional(o, "RepeatsTensor")
    if repeats is None:
        made = t.call("repeat_interleave", x, repeats=o.get("Repeats", 0), axis=axis, output_size=size)
    else:
        made = t.call("repeat_interleave_with_tensor_index", x, repeats, axis=axis, output_size=size)
    t.finish(o, "Out", made)


@rule("matrix_rank")
def _matrix_rank(t: Translator, o: Operator) -> None:
    """The tolerance is a tensor, or a number."""
    x, tolerance = t.input(o, "X"), t.optional(o, "TolTensor")
    attributes = {"use_default_tol": o.get("use_default_tol", True), "hermitian": o.get("hermitian", False)}
    if tolerance is None:
        t.finish(o, "Out", t.call("matrix_rank", x, tol=o.get("tol", 0.0), **attributes))
    else:
        t.finish(o, "Out", t.call("matrix_rank_tol", x, tolerance, **attributes))


@rule("set_value")
def _set_value(t: Translator, o: Operator) -> None:
    """Some elements are replaced: by those of a tensor, or by constants."""
    lists = []
    for name in ("starts", "ends", "steps"):
        given = t.inputs(o, f"{name.capitalize()}TensorList")
        default = [1] * len(o.integers("axes")) if name == "steps" else []
        lists.append(t.combine(given) if given else t.constant(o, name, default))
    axes = ("axes", "decrease_axes", "none_axes")
    attributes: dict[str, Any] = {
        k: Attribute("array", tuple(Attribute("i64", n) for n in o.integers(k))) for k in axes
    }
    x, value = t.input(o, "Input"), t.optional(o, "ValueTensor")
    if value is not None:
        t.finish(o, "Out", t.call("set_value_with_tensor", x, value, *lists, like=x, **attributes))
        return
    values = constants(o)
    attributes["values"] = Attribute("array", tuple(Attribute("scalar", v) for v in values))
    attributes["shape"] = Attribute("array", tuple(Attribute("i64", n) for n in o.integers("shape", [1])))
    t.finish(o, "Out", t.call("set_value", x, *lists, like=x, **attributes))


def constants(o: Operator) -> list[Any]:
    """Values in attributes: scalars, or, in older files, a list for each element type, one of which is filled."""
    if found := o.get("values", []):
        return list(found)
    for name in ("fp32_values", "int32_values", "int64_values", "fp64_values", "fp16_values", "bool_values"):
        if found := o.get(name, []):
            return [bool(x) for x in found] if name == "bool_values" else list(found)
    raise FormatError(f"values in its attributes are required, got {sorted(o.attributes)}")
