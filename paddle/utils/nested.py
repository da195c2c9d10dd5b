"""Lists, tuples and dicts in each other as one structure of leaves; dicts are walked by their sorted keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from paddle._public import public
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.utils")
def is_sequence(seq: Any) -> bool:
    """Say whether a value is a dict or a sequence other than a str.

    Args:
        seq: any value.

    Returns:
        A bool.

    Raises:
        TypeError: seq is missing.

    Example:
        >>> import paddle
        >>> paddle.utils.is_sequence([1]), paddle.utils.is_sequence("a")
        (True, False)
    """
    return isinstance(seq, dict) or (isinstance(seq, Sequence) and not isinstance(seq, str))


@public("paddle.utils")
def to_sequence(nest: Any) -> Any:
    """Return a structure as it is, and any other value in a list.

    Args:
        nest: any value.

    Returns:
        A sequence or a dict.

    Raises:
        TypeError: nest is missing.

    Example:
        >>> import paddle
        >>> paddle.utils.to_sequence(1), paddle.utils.to_sequence((1, 2))
        ([1], (1, 2))
    """
    return nest if is_sequence(nest) else [nest]


def _keys(nest: Mapping) -> list:
    try:
        return sorted(nest)
    except TypeError:
        raise op_error(TypeError, "flatten", "dicts whose keys can be sorted", list(nest)) from None


def _children(nest: Any) -> Iterator[Any]:
    yield from (nest[k] for k in _keys(nest)) if isinstance(nest, dict) else nest


def _leaves(nest: Any) -> Iterator[Any]:
    for child in _children(nest):
        if is_sequence(child):
            yield from _leaves(child)
        else:
            yield child


@public("paddle.utils")
def flatten(nest: Any) -> list:
    """List the leaves of a structure.

    Args:
        nest: lists, tuples and dicts in each other; any other value is its own leaf.

    Returns:
        A list of the leaves, those of dicts by sorted keys.

    Raises:
        TypeError: a dict has keys that cannot be sorted.

    Example:
        >>> import paddle
        >>> paddle.utils.flatten([1, (2, {"b": 3, "a": 4})])
        [1, 2, 4, 3]
    """
    return list(_leaves(nest)) if is_sequence(nest) else [nest]


def _like(nest: Any, children: list) -> Any:
    """A container of the type of ``nest``."""
    if isinstance(nest, dict):
        values = dict(zip(_keys(nest), children))
        return type(nest)((key, values[key]) for key in nest)
    return type(nest)(*children) if hasattr(nest, "_fields") else type(nest)(children)


def _filled(nest: Any, leaves: Iterator[Any]) -> Any:
    return _like(nest, [_filled(c, leaves) if is_sequence(c) else next(leaves) for c in _children(nest)])


@public("paddle.utils")
def pack_sequence_as(structure: Any, flat_sequence: Sequence) -> Any:
    """Put leaves into a structure: the reverse of :func:`flatten`.

    Args:
        structure: gives the form; its own leaves are not read.
        flat_sequence: the new leaves, in the order of ``flatten``; of a dict, its values in the order of its keys.

    Returns:
        A structure of the same containers.

    Raises:
        TypeError: flat_sequence is no sequence.
        ValueError: there are more or fewer leaves than the structure has.

    Example:
        >>> import paddle
        >>> paddle.utils.pack_sequence_as([0, {"b": 0, "a": (0,)}], [1, 2, 3])
        [1, {'b': 3, 'a': (2,)}]
    """
    if not is_sequence(flat_sequence):
        raise op_error(TypeError, "pack_sequence_as", "a sequence of leaves", type(flat_sequence).__name__)
    if isinstance(flat_sequence, Mapping):
        flat_sequence = flatten(flat_sequence)
    expected = len(flatten(structure))
    if expected != len(flat_sequence):
        raise op_error(ValueError, "pack_sequence_as", f"{expected} leaves for {structure}", len(flat_sequence))
    return _filled(structure, iter(flat_sequence)) if is_sequence(structure) else flat_sequence[0]


@public("paddle.utils")
def map_structure(func: Callable, *structure: Any) -> Any:
    """Call a function with the leaves of structures, and put the results into the form of the first one.

    Args:
        func: takes as many leaves as there are structures.
        *structure: structures with as many leaves each.

    Returns:
        A structure of the results.

    Raises:
        ValueError: no structure, or numbers of leaves that differ.

    Example:
        >>> import paddle
        >>> paddle.utils.map_structure(lambda x, y: x + y, [1, {"a": 2}], [10, {"a": 20}])
        [11, {'a': 22}]
    """
    if not structure:
        raise op_error(ValueError, "map_structure", "at least one structure", "none")
    leaves = [flatten(s) for s in structure]
    if len({len(x) for x in leaves}) > 1:
        raise op_error(ValueError, "map_structure", "structures with as many leaves each", [len(x) for x in leaves])
    return pack_sequence_as(structure[0], [func(*x) for x in zip(*leaves)])


@public("paddle.utils")
def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, skip_if: Callable[[Any], bool] | None = None
) -> None:
    """Refuse structures of different form.

    Args:
        nest1: a structure.
        nest2: the structure that is compared with it.
        check_types: whether containers must be of the same types, and dicts have the same keys.
        skip_if: says of a part of nest1 that it may be anything; None: no part may.

    Raises:
        ValueError: the numbers of leaves, the nesting, or the keys differ.
        TypeError: the types of containers differ.

    Example:
        >>> import paddle
        >>> paddle.utils.assert_same_structure([1, (2, 3)], [4, (5, 6)])
    """
    if skip_if is not None and skip_if(nest1):
        return
    if is_sequence(nest1) != is_sequence(nest2):
        raise op_error(ValueError, "assert_same_structure", f"the nesting of {nest1}", nest2)
    if not is_sequence(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise op_error(
            TypeError, "assert_same_structure", f"containers of type {type(nest1).__name__}", type(nest2).__name__
        )
    if check_types and isinstance(nest1, dict) and set(nest1) != set(nest2):
        raise op_error(ValueError, "assert_same_structure", f"the keys {list(nest1)}", list(nest2))
    if len(nest1) != len(nest2):
        raise op_error(ValueError, "assert_same_structure", f"{len(nest1)} elements of {nest1}", len(nest2))
    for a, b in zip(_children(nest1), _children(nest2)):
        assert_same_structure(a, b, check_types, skip_if)


@public("paddle.utils")
def is_same_shape(shape1: Sequence[int], shape2: Sequence[int]) -> bool:
    """Say whether two shapes have the same sizes.

    Args:
        shape1: a list or tuple of sizes.
        shape2: another one.

    Returns:
        A bool.

    Raises:
        TypeError: a shape that cannot be iterated.

    Example:
        >>> import paddle
        >>> paddle.utils.is_same_shape([2, 3], (2, 3))
        True
    """
    return list(shape1) == list(shape2)


@public("paddle.utils")
def convert_shape_to_list(shape: Any) -> list:
    """List of the sizes of a shape, with numbers in place of tensors.

    Args:
        shape: a list or tuple of ints and tensors of one element, or a tensor of ints.

    Returns:
        A list.

    Raises:
        TypeError: a shape of another type.

    Example:
        >>> import paddle
        >>> paddle.utils.convert_shape_to_list([2, paddle.to_tensor(3)])
        [2, 3]
    """
    if isinstance(shape, Tensor):
        return shape.astype("int32").tolist()
    if not isinstance(shape, (list, tuple)):
        raise op_error(TypeError, "convert_shape_to_list", "a list, a tuple or a tensor", type(shape).__name__)
    return [int(n.item()) if isinstance(n, Tensor) else n for n in shape]
