import pytest

from umiak.util import flags


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(flags, "REGISTRY", {})


def test_default_and_set(registry):
    flag = flags.define("speed", 3, "how fast")
    assert flag.value == 3
    flags.set_flags({"FLAGS_speed": 5})
    assert flags.get_flags("FLAGS_speed") == {"FLAGS_speed": 5}
    assert flags.get_flags(["FLAGS_speed"]) == {"FLAGS_speed": 5}


def test_unknown_name_is_refused_with_the_nearest(registry):
    flags.define("check_nan_inf", False, "")
    with pytest.raises(ValueError, match=r"Did you mean FLAGS_check_nan_inf\?"):
        flags.set_flags({"FLAGS_check_nan": True})
    for name in ("FLAGS_zzz", "check_nan_inf"):
        with pytest.raises(ValueError, match="declared flag"):
            flags.get_flags(name)


@pytest.mark.parametrize(
    ("default", "text", "value"),
    [(False, "1", True), (True, "off", False), (1, "7", 7), (0.5, "0.25", 0.25), ("a", "b", "b")],
)
def test_environment_overrides_the_default(registry, monkeypatch, default, text, value):
    monkeypatch.setenv("FLAGS_thing", text)
    assert flags.define("thing", default, "").value == value


def test_unfit_value_changes_nothing(registry):
    a, b = flags.define("a", 1, ""), flags.define("b", 2, "")
    with pytest.raises(ValueError, match=r"FLAGS_b.*type int.*'x'"):
        flags.set_flags({"FLAGS_a": 10, "FLAGS_b": "x"})
    assert (a.value, b.value) == (1, 2)


def test_on_change_may_refuse(registry):
    def positive(value: int) -> None:
        if value <= 0:
            raise ValueError(value)

    flag = flags.define("n", 1, "", on_change=positive)
    with pytest.raises(ValueError, match="0"):
        flag.set(0)
    assert flag.value == 1


def test_compile_key_holds_only_marked_flags(registry):
    flags.define("quiet", True, "")
    flag = flags.define("width", 16, "", compile_key=True)
    before = flags.compile_key()
    assert before == (("FLAGS_width", 16),)
    flag.set(8)
    assert flags.compile_key() != before


def test_one_declaration_per_name(registry):
    flags.define("n", 1, "")
    with pytest.raises(ValueError, match="not taken"):
        flags.define("n", 2, "")
