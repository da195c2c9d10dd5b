"""Lists that may be one or two: of ``c = b; if p: b = b + [x]`` the names hold two lists on one way, one on the other.

Both are arrays behind the statement. A change of one of them is one of the other where they are the same, which no
array can be: what reads the other behind it is refused.
"""

from __future__ import annotations

from paddle.jit.source.errors import ConversionError
from paddle.tensor._tensor_array import TensorArray, arrays_of


def link(new: TensorArray | None, old: TensorArray | None, *ways: TensorArray | None) -> None:
    """Note that ``new``, which a name holds behind a statement, is ``old`` on some way, or what ``old`` may be.

    ``ways``: what the name holds on each.
    """
    if new is None or old is None or new is old:
        return
    for x in ways:
        if x is None:
            continue
        if x is old:
            _note(new, old, False)
        for other in x.may_be:
            _note(new, other, _differ(x, other))


def check(x: TensorArray) -> None:
    """Refuse to read an array that may be another one which has changed since."""
    changed = any(_root_changed(x, other) for other in x.may_be)
    if changed or any(x in other.may_be and _own_changed(other, x) for other in arrays_of()):
        raise ConversionError(
            "[to_static] requires a list that two names hold on one way of a branch or loop on tensors, and one on the "
            "other, to be read before it is changed by one of them, got a read by the other one behind the change. "
            "Give the names lists of their own: c = list(b)"
        )


def _note(new: TensorArray, root: TensorArray, changed: bool) -> None:
    changed = changed or (root in new.may_be and new.may_be[root] is None)
    new.may_be[root] = None if changed else (root.data, new.data)


def _root_changed(x: TensorArray, root: TensorArray) -> bool:
    noted = x.may_be[root]
    return noted is None or noted[0] is not root.data


def _own_changed(x: TensorArray, root: TensorArray) -> bool:
    noted = x.may_be[root]
    return noted is None or noted[1] is not x.data


def _differ(x: TensorArray, root: TensorArray) -> bool:
    return _root_changed(x, root) or _own_changed(x, root)
