"""Public names are called as those of the reference framework. None is lost: those that are absent are recorded."""

import pytest

import api_surface
from api_surface import Name

SURFACE = api_surface.read()


@pytest.mark.parametrize("module", SURFACE)
def test_parameters(module):
    different = api_surface.mismatches(api_surface.find(module), SURFACE[module], module)
    assert not different, "\n".join(different)


def test_no_name_is_lost():
    recorded, absent = api_surface.recorded(), api_surface.absent()
    lost = sorted(set(absent) - set(recorded))
    assert not lost, f"{len(lost)} names are not there any more: {', '.join(lost)}"
    found = sorted(set(recorded) - set(absent))
    assert not found, f"now there, so run `python tools/api_surface.py --record`: {', '.join(found)}"


def test_coverage(monkeypatch):
    """Counted by module: what is there, of what is listed."""
    here = Example.__class__("Space", (), {"free": free, "Example": Example})
    listed = {"m": [Name("free", None), Name("gone", []), Name("Example", None, [Name("absent", [])])], "n": []}
    monkeypatch.setattr(api_surface, "read", lambda: listed)
    monkeypatch.setattr(api_surface, "find", lambda module: here)
    lines = []
    assert api_surface.coverage(lines.append) == (2, 3)
    assert [" ".join(line.split()) for line in lines] == ["2 of 3 m", "0 of 0 n", "2 of 3 in all"]
    assert api_surface.absent() == ["m.Example.absent", "m.gone"]


class Example:
    value = 3

    def __init__(self, a, b=1): ...

    def method(self, x, y): ...

    @staticmethod
    def static(x): ...

    @classmethod
    def build(cls, x): ...


def free(x, axis=None, name=None, *, extra=None): ...


@pytest.mark.parametrize(
    ("name", "params", "value", "agrees"),
    [
        ("free", ["x", "axis", "name"], free, True),
        ("free", ["axis", "x"], free, False),
        ("free", ["x", "axes"], free, False),
        ("free", ["x", "*args", "**kwargs"], free, True),
        ("free", None, free, True),
        ("kwargs", ["x", "y"], lambda x, **kwargs: None, True),
        ("kwargs", ["y", "x"], lambda x, y, **kwargs: None, False),
        ("Example", ["a", "b"], Example, True),
        ("Example", ["b"], Example, True),
        ("Example", ["c"], Example, False),
        ("method", ["x", "y"], Example.__dict__["method"], True),
        ("static", ["x"], Example.__dict__["static"], True),
        ("build", ["x"], Example.__dict__["build"], True),
        ("bound", ["x", "y"], Example(1).method, True),
        ("value", ["x"], 3, True),
    ],
)
def test_the_check_sees_differences(name, params, value, agrees):
    assert (api_surface.mismatch(Name(name, params), value) is None) is agrees


def test_members_are_checked():
    members = [Name("method", ["x", "z"]), Name("absent", []), Name("value", None)]
    found = api_surface.mismatches(
        Example.__class__("Space", (), {"Example": Example}), [Name("Example", None, members)], "m"
    )
    assert found == ["m.Example.method: requires (x, z), got (x, y)"]
