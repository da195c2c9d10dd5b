"""Lists of tensors, whose elements may have sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.static.formats.graph import Attribute, TensorType, ValueType
from paddle.static.formats.legacy.program import ARRAY, Operator
from paddle.static.formats.legacy.table import rows, rule

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

rows("tensor_array_to_tensor: array_to_tensor(X; axis~0 use_stack~False) -> Out OutIndex")


@rule("lod_array_length")
def _length(t: Translator, o: Operator) -> None:
    """One element, where today's operator gives none."""
    t.finish(o, "Out", t.call("reshape", t.call("array_length", t.input(o, "X")), t.integers([1])))


@rule("write_to_array")
def _write(t: Translator, o: Operator) -> None:
    name = o.into("Out")
    x, i = t.input(o, "X"), t.input(o, "I")
    array = t.value(name) if name in t.values else empty_list(t, name, t.type(x))
    (made,) = t.emit("pd_op.array_write_", [array, x, i], {}, [t.variable_type(name)])
    t.define(o, "Out", made)
    t.packed.written(array, x, i, made)


@rule("read_from_array")
def _read(t: Translator, o: Operator) -> None:
    array, i = t.input(o, "X"), t.input(o, "I")
    (made,) = t.emit("pd_op.array_read", [array, i], {}, [t.result_type(o, "Out")])
    t.define(o, "Out", made)
    t.packed.read(array, i, made)


def empty_list(t: Translator, name: str, elements: ValueType) -> int:
    """The value of a variable of a list of tensors before anything is written to it."""
    dtype = Attribute("dtype", elements.dtype if isinstance(elements, TensorType) else "float32")
    (made,) = t.emit("pd_op.create_array", [], {"dtype": dtype}, [t.variable_type(name)])
    t.packed.begin(made)
    return made


def begin_lists(t: Translator, names: list[str]) -> None:
    """Lists that a block writes first: no operator makes them, but the variable is there."""
    for name in names:
        variable = t.variable(name)
        if name not in t.values and variable is not None and variable.kind == ARRAY:
            t.values[name] = empty_list(t, name, variable.type)
