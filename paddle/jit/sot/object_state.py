"""Attributes of an object of the library while one of its methods is called in a capture."""

from __future__ import annotations

from typing import Any


class ObjectState:
    """Attributes of ``owner`` as they are now, and what the lists, sets and dicts among them hold."""

    def __init__(self, owner: Any) -> None:
        self.attributes: dict[str, Any] = dict(owner.__dict__)
        self._owner = owner
        self._contents = [(x, x.copy()) for x in self.attributes.values() if type(x) in (list, set, dict)]

    def taken_back(self) -> bool:
        """Put back what was there; return whether something else was."""
        changed = not _same_entries(self.attributes, self._owner.__dict__)
        if changed:
            self._owner.__dict__.clear()
            self._owner.__dict__.update(self.attributes)
        for x, before in self._contents:
            if type(x) is dict:
                same = _same_entries(before, x)
            elif type(x) is list:
                same = len(x) == len(before) and all(a is b for a, b in zip(x, before, strict=True))
            else:
                same = x == before
            if not same:
                changed = True
                x.clear()
                (x.extend if type(x) is list else x.update)(before)
        return changed


def _same_entries(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    return len(a) == len(b) and all(k in b and b[k] is v for k, v in a.items())
