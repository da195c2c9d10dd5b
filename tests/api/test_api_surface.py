"""Public names are called as those of the reference. None is lost: those that are absent are recorded by their part."""

import pytest

import api_surface
from api_surface import Name

SURFACE = api_surface.read()
LATER = {name for part, names in api_surface.recorded().items() if part != api_surface.HERE for name in names}

# Defaults that are written differently and mean the same.
SAME_MEANING = {f"paddle.nn.Conv{n}" for n in ("1D", "2D", "3D", "1d", "2d", "3d")}  # data_format=None is the usual one


@pytest.mark.parametrize("module", SURFACE)
def test_signatures(module):
    """Parameters by name and order, and their defaults."""
    different = api_surface.mismatches(api_surface.find(module), SURFACE[module], module)
    known = [d for d in different if d.split(":")[0] in SAME_MEANING]
    assert known == different, "\n".join(d for d in different if d not in known)
    assert bool(known) == (module == "paddle.nn"), "no exception is needed any more"


def test_no_name_is_lost():
    """Each name that is absent belongs to one part of the work; a part loses the names that are there."""
    names = [name for part in api_surface.recorded().values() for name in part]
    assert len(names) == len(set(names)), "a name belongs to one part"
    lost = sorted(set(api_surface.absent()) - set(names))
    assert not lost, f"{len(lost)} names are not there any more: {', '.join(lost)}"
    there = sorted(set(names) - set(api_surface.absent()))
    assert not there, f"now there, so run `python tools/api_surface.py --record`: {', '.join(there)}"


def example_table(monkeypatch, tmp_path, text):
    """A table of a module ``m`` with one function and one class, and a record of what is absent."""
    here = Example.__class__("Space", (), {"free": free, "Example": Example})
    listed = {"m": [Name("free", None), Name("gone", []), Name("Example", None, [Name("absent", [])])], "n": []}
    monkeypatch.setattr(api_surface, "read", lambda: listed)
    monkeypatch.setattr(api_surface, "reachable", lambda: {"m": [Name("beside", None)]})
    monkeypatch.setattr(api_surface, "find", lambda module: here)
    monkeypatch.setattr(api_surface, "ABSENT", tmp_path / "absent.txt")
    api_surface.ABSENT.write_text(text)
    return listed


def test_coverage(monkeypatch, tmp_path):
    """Counted by module: what is there, of what is listed, with and without what belongs to later parts."""
    listed = example_table(monkeypatch, tmp_path, "[later]\nm.gone\n")
    assert api_surface.coverage(listed) == {"m": (2, 3), "n": (0, 0)}
    assert api_surface.in_all(api_surface.coverage(listed, LATER | {"m.gone"})) == (2, 2)
    assert "2 of    3  documented;     2 of    2 (100.0%) without the later parts" in "\n".join(api_surface.report())
    assert api_surface.absent() == ["m.Example.absent", "m.beside", "m.gone"]


def test_the_record_loses_what_is_there(monkeypatch, tmp_path):
    example_table(monkeypatch, tmp_path, "# head\n[one]\nm.free\n[two]\nm.Example\nm.gone\n[three]\nm.free\n")
    api_surface.record()
    assert api_surface.ABSENT.read_text() == "# head\n[two]\nm.gone\n"


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
        ("free", ["args", "kwargs"], free, True),
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


@pytest.mark.parametrize(
    ("theirs", "ours", "agrees"),
    [
        ({"a": 1}, lambda a=1: 0, True),
        ({"a": 1}, lambda a=2: 0, False),
        ({"a": 1}, lambda a: 0, False),
        ({}, lambda a=2: 0, True),
        ({"a": [1, 2]}, lambda a=(1, 2): 0, True),
        ({"a": 1}, lambda a=True: 0, False),
        ({"a": ...}, lambda a=object: 0, True),
        ({"a": ...}, lambda a: 0, False),
    ],
)
def test_the_check_sees_defaults(theirs, ours, agrees):
    assert (api_surface.mismatch(Name("f", ["a"], [], theirs), ours) is None) is agrees


def test_members_are_checked():
    members = [Name("method", ["x", "z"]), Name("absent", []), Name("value", None)]
    found = api_surface.mismatches(
        Example.__class__("Space", (), {"Example": Example}), [Name("Example", None, members)], "m"
    )
    assert found == ["m.Example.method: requires (x, z), got (x, y)"]
