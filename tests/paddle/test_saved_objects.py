"""Objects beside tensors in files of ``paddle.save``, tensors as streams, and programs."""

import argparse
import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import io
import pathlib
import pickle
import types
import uuid

import numpy as np
import pytest

import paddle
from paddle.framework import io as io_module


def saved(x, **options):
    file = io.BytesIO()
    paddle.save(x, file)
    file.seek(0)
    return paddle.load(file, **options)


# --- of the standard library -----------------------------------------------------------------------------------------

PLAIN = [
    datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.timezone(datetime.timedelta(hours=2), "x")),
    datetime.date(2026, 1, 2), datetime.time(1, 2), datetime.timedelta(1, 2), datetime.timezone.utc,
    decimal.Decimal("1.50"), fractions.Fraction(1, 3), uuid.UUID(int=5), pathlib.Path("/a/b"),
    pathlib.PureWindowsPath("c:/a"), range(1, 9, 2), slice(1, None, 2), ..., int, list, set, dict, bool,
    collections.Counter("aab"), collections.deque([1, "a"], 5), collections.defaultdict(list, a=[1]),
    collections.defaultdict(None), argparse.Namespace(lr=0.1, sizes=[1, 2]), types.SimpleNamespace(a={"b": 1}),
    paddle.float32, paddle.bfloat16, paddle.CPUPlace(), np.dtype([("a", "i4"), ("b", "f8")]),
    {datetime.date(2026, 1, 2): 1, pathlib.Path("a"): 2, paddle.int64: 3, decimal.Decimal(1): 4},
    {uuid.UUID(int=1): 1, (2, uuid.UUID(int=3)): 2}, {uuid.UUID(int=1), frozenset([uuid.UUID(int=2)])},
    np.ndarray, np.float32, np.bool_, np.dtype("bfloat16").type, collections.defaultdict(collections.deque, a=1),
]  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("x", PLAIN, ids=lambda x: type(x).__name__)
def test_plain_objects(x, protocol):
    file = io.BytesIO()
    paddle.save({"x": x, "w": paddle.ones([1])}, file, protocol)
    file.seek(0)
    found = paddle.load(file)["x"]
    assert type(found) is type(x) and found == x
    if isinstance(x, collections.defaultdict):
        assert found.default_factory is x.default_factory
    if isinstance(x, collections.deque):
        assert found.maxlen == x.maxlen


@pytest.mark.parametrize(
    "holding",
    [
        lambda w: argparse.Namespace(w=w, more=[w]),
        lambda w: collections.defaultdict(list, w=w, more=[w]),
        lambda w: types.SimpleNamespace(w=w, more=collections.deque([w])),
    ],
)
def test_tensors_in_objects(holding):
    w = paddle.to_tensor([1.5, 2.5]).astype("bfloat16")
    w.name = "weight"
    found = saved([holding(w), w])[0]
    attribute = found["w"] if isinstance(found, dict) else found.w
    more = found["more"] if isinstance(found, dict) else found.more
    for x in (attribute, more[0]):
        assert x.name == "weight" and x.dtype == paddle.bfloat16 and x.tolist() == [1.5, 2.5]


def test_arrays_of_records_and_objects():
    records = np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")])
    objects = np.array([[1, None], ["a", [2]]], object)
    found = saved({"r": records, "o": objects, "f": np.asfortranarray(objects), "w": paddle.ones([1])})
    assert found["r"].dtype == records.dtype and found["r"].tolist() == records.tolist()
    assert found["o"].tolist() == found["f"].tolist() == objects.tolist()


@pytest.mark.parametrize("array", [np.array(["a", "b"]), np.array([1, 2], "uint32"), np.array([None, 1], object)])
def test_arrays_that_no_tensor_holds(array):
    found = saved({"x": array})["x"]
    assert found.dtype == array.dtype and found.tolist() == array.tolist()


def test_arrays_of_lists_of_one_length_and_of_themselves():
    x = np.empty(3, object)
    x[0], x[1], x[2] = [1, 2], [3, 4], x
    found = saved({"x": x})["x"]
    assert found.shape == (3,) and found[0] == [1, 2] and found[1] == [3, 4] and found[2] is found


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_what_is_empty(protocol):
    file = io.BytesIO()
    paddle.save([b"", paddle.zeros([0, 2]), [], bytearray(), list, bytes], file, protocol)
    file.seek(0)
    found = paddle.load(file)
    assert found[1].shape == [0, 2] and found[:1] + found[2:] == [b"", [], bytearray(), list, bytes]


class Items(list):
    pass


class Row(tuple):
    pass


@pytest.mark.parametrize(
    "holding", [lambda x: x, lambda x: {"x": x}, lambda x: argparse.Namespace(x=x), lambda x: collections.deque([x])]
)
def test_lists_and_tuples_of_other_classes_are_plain_ones(holding):
    x = [paddle.ones([2, 3]).shape, Items([1, paddle.ones([1])]), Row([2])]
    found = saved(holding(x))
    found = found.x if hasattr(found, "x") else found["x"] if isinstance(found, dict) else found
    found = found[0] if isinstance(found, collections.deque) else found
    assert [type(v) for v in found] == [list, list, tuple]
    assert found[0] == [2, 3] and found[1][1].tolist() == [1] and found[2] == (2,)


def test_what_is_shared_stays_one_object():
    w = paddle.ones([2])
    x = [w]
    for _ in range(60):
        x = [x, x]
    found = saved({"x": x, "space": argparse.Namespace(x=x, w=w)})
    assert found["x"][0] is found["x"][1] and found["space"].x is found["x"]
    for _ in range(60):
        x, found["x"] = x[0], found["x"][0]
    assert found["x"][0] is found["space"].w
    x.append(x)
    assert (again := saved(x))[1] is again


def test_objects_that_refer_to_each_other():
    a, b = argparse.Namespace(), argparse.Namespace()
    a.other, b.other, a.both = b, a, [a, b]
    found = saved(a)
    assert found.other.other is found and found.both[0] is found and found.both[1] is found.other


def holding(kind):
    """An object that a part of it holds, and how to reach it from there."""
    outer, inner = ({}, {}) if kind in ("itself", "inner dict") else ([], argparse.Namespace())
    if kind == "itself":
        outer["x"] = outer
        return outer, lambda x: x["x"]
    if kind == "inner dict":
        outer["x"] = inner
        inner["up"] = outer
        return outer, lambda x: x["x"]["up"]
    whole = (outer, 1) if kind == "tuple" else (inner, Point(outer, 2))
    outer.append(whole)
    inner.up = whole
    return whole, (lambda x: x[0][0]) if kind == "tuple" else (lambda x: x[0].up)


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("kind", ["itself", "inner dict", "tuple", "named tuple"])
def test_objects_that_hold_themselves(kind, protocol):
    whole, reach = holding(kind)
    file = io.BytesIO()
    paddle.save(whole, file, protocol)
    file.seek(0)
    found = paddle.load(file, trusted=[Point])
    assert reach(found) is found and type(found) is type(whole)


@pytest.mark.parametrize("each", [lambda x: x, lambda x: [x], lambda x: {(x["k"], 1)}], ids=["dict", "list", "set"])
def test_what_many_dicts_share_is_looked_at_once(each, monkeypatch):
    looked = []
    walk = io_module._walk
    monkeypatch.setattr(io_module, "_walk", lambda x: (looked.append(v) or v for v in walk(x)))
    shared = {i: float(i) for i in range(300)} | {"k": tuple(range(300))}
    paddle.save({i: each(shared) for i in range(300)}, io.BytesIO())
    assert len(looked) < 12 * 300


@pytest.mark.parametrize("around", [lambda x: {x}, lambda x: [{(1, x)}], lambda x: {"a": {frozenset([x])}}])
def test_tensors_in_sets_are_refused(around):
    with pytest.raises(TypeError, match="a set of tensors"):
        paddle.save(around(paddle.ones([1])), io.BytesIO())


# --- of the user's ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Settings:
    rate: float
    weights: list


class Kind(enum.Enum):
    A = 1


class Table(dict):
    pass


Point = collections.namedtuple("Point", "x y")


class Counting:
    def __init__(self, seen):
        self.seen = seen

    def __getstate__(self):
        return {"seen": self.seen}

    def __setstate__(self, state):
        self.seen = [*state["seen"], "restored"]


def test_classes_that_are_trusted():
    x = {
        "settings": Settings(0.5, [paddle.ones([2])]), "kind": Kind.A, "table": Table(a=paddle.zeros([1])),
        "point": Point(1, (2, 3)), "counting": Counting([[1], [2]]), "random": np.random.RandomState(3),
    }  # fmt: skip
    functions = [np.random._pickle.__randomstate_ctor, np.random._pickle.__bit_generator_ctor, np.random.MT19937]
    file = io.BytesIO()
    paddle.save(x, file)
    for trusted in ((), [Settings, Kind, Table, Point]):
        file.seek(0)
        with pytest.raises(ValueError, match=r"which names .*trusted=\[\.\.\.\]"):
            paddle.load(file, trusted=trusted)
    file.seek(0)
    found = paddle.load(file, trusted=[Settings, Kind, Table, Point, Counting, *functions])
    assert isinstance(found["settings"], Settings) and found["settings"].weights[0].tolist() == [1, 1]
    assert found["kind"] is Kind.A and found["point"] == x["point"]
    assert type(found["table"]) is Table and found["table"]["a"].tolist() == [0]
    assert found["counting"].seen == [[1], [2], "restored"]
    assert found["random"].rand() == x["random"].rand()


class Outer:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Slotted:
        x: int
        y: list

    class Flags(enum.Flag):
        A = 1
        B = 2

    class Whole(enum.IntEnum):
        A = 1

    def __init__(self, x=0):
        self.x = x

    @classmethod
    def of(cls, x):
        return cls(x)

    def __reduce__(self):
        return Outer.of, (self.x,)


class Keyworded:
    def __new__(cls, *, x):
        made = super().__new__(cls)
        made.kept = list(x)
        return made

    def __getnewargs_ex__(self):
        return (), {"x": self.kept}


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_trusted_names_in_classes(protocol):
    x = [Outer.Slotted(1, [2]), Outer.Flags.A | Outer.Flags.B, Outer.Whole.A, Outer([3])]
    file = io.BytesIO()
    paddle.save(x, file, protocol)
    for trusted in ([Outer], [Outer, Outer.Slotted, Outer.Flags, Outer.Whole]):
        file.seek(0)
        with pytest.raises(ValueError, match=r"which names \S+\.Outer\.(Slotted|of)\b"):
            paddle.load(file, trusted=trusted)
    file.seek(0)
    found = paddle.load(file, trusted=[Outer, Outer.of, Outer.Slotted, Outer.Flags, Outer.Whole])
    assert found[:3] == x[:3] and found[3].x == [3]


def test_instances_made_with_keywords():
    assert saved(Keyworded(x=[1, 2]), trusted=[Keyworded]).kept == [1, 2]


def test_trusted_keys():
    x = {Kind.A: 1, (Kind.A, 2): 3, "s": {Kind.A, frozenset([Kind.A])}, "d": collections.defaultdict(list, {Kind.A: 4})}
    assert saved(x, trusted=[Kind]) == x


class Reading:
    """Reads, as it is made, what it is made from."""

    def __init__(self, settings, values):
        self.rate, self.total = settings.rate, sum(values)
        self.parts = settings, values

    def __reduce__(self):
        return Reading, self.parts


@pytest.mark.parametrize("first", [True, False])
def test_parts_that_others_share_are_whole_when_an_object_is_made(first):
    parts = argparse.Namespace(rate=0.5, values=[1, 2])
    reading = Reading(parts, parts.values)
    found = saved(argparse.Namespace(**dict([("p", parts), ("r", reading)][:: 1 if first else -1])), trusted=[Reading])
    assert (found.r.rate, found.r.total) == (0.5, 3)
    assert found.r.parts[0] is found.p and found.r.parts[1] is found.p.values


@pytest.mark.parametrize("trusted", [[3], ["Settings"], 5, [str.upper]])
def test_what_cannot_be_trusted(trusted):
    file = io.BytesIO()
    paddle.save(1, file)
    file.seek(0)
    with pytest.raises(TypeError, match=r"\[load\] requires classes and functions as trusted"):
        paddle.load(file, trusted=trusted)


class Evil:
    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


@pytest.mark.parametrize(
    "x",
    [
        Evil(list, (range(1 << 40),)),
        Evil(bytes, (1 << 40,)),
        Evil(eval, ("data", {"data": 1})),
        Evil(fractions.Fraction, (1 << 20000, 3)),
        Evil(collections.deque, (range(1 << 40),)),
        Evil(collections.Counter, (range(1 << 40),)),
        Evil(collections.defaultdict, (range(3),)),
        Evil(argparse.Namespace, (), {1: 2}),
        Evil(datetime.datetime, (b"short",)),
        Evil(pathlib.Path, (3,)),
        Evil(pickle.loads, (b"",)),
        [Evil(collections.deque, (many,)) for many in [[0] * 1000] for _ in range(1000)],
        Evil(fractions.Fraction, ("1e100000000",)),
        [Evil(fractions.Fraction, both) for both in [(3**4000, 3**3999)] for _ in range(1000)],
        Evil(range, (0, 1 << 20000, 3)),
        Evil(datetime.timedelta, (1 << 20000, -86400 << 20000)),
        collections.defaultdict(None, {i * ((1 << 61) - 1): 0 for i in range(100)}),
        {uuid.UUID(int=i * ((1 << 61) - 1)) for i in range(100)},
        {(uuid.UUID(int=i * ((1 << 61) - 1)), 1): 0 for i in range(100)},
        Evil(uuid.UUID, (), {"int": "text"}),
        Evil(getattr, (Evil(uuid.UUID, (), {"int": 1}), "__class__")),
        Evil(getattr, (collections.Counter, "fromkeys")),
    ],
)
def test_what_known_names_may_not_do(x):
    with pytest.raises(ValueError, match="load"):
        paddle.load(io.BytesIO(pickle.dumps(x)))


@pytest.mark.parametrize(
    ("name", "element"),
    [("deque", b"K\x01"), ("Counter", b"K\x01"), ("Namespace", b"X\x01\0\0\0a")],
)
def test_what_is_copied_may_not_grow_after_it_was_counted(name, element):
    state, module = name == "Namespace", "argparse" if name == "Namespace" else "collections"
    begin = b"\x80\x02%b\x94c%b\n%b\n\x94](" % (b"]" if name == "deque" else b"}", module.encode(), name.encode())
    each = b"h\x01)Rh\x00b" if state else b"h\x01h\x00\x85R"
    elements = [element[:1] + bytes([i]) if len(element) == 2 else element[:-1] + bytes([33 + i]) for i in range(90)]
    items = b"".join(e if name == "deque" else e + b"N" for e in elements)
    with pytest.raises(ValueError, match="the same bytes many times"):
        paddle.load(
            io.BytesIO(begin + each * 2000 + b"eh\x00(" + items + (b"e" if name == "deque" else b"u") + b"\x86.")
        )


@pytest.mark.parametrize("holding", [lambda x: x, lambda x: (1, x), lambda x: argparse.Namespace(x=x)])
def test_layers_are_not_data(holding):
    file = io.BytesIO()
    with pytest.raises(TypeError, match=r"\[save\] requires data, got Linear. Save layer.state_dict\(\)"):
        paddle.save(holding(paddle.nn.Linear(1, 1)), file)


class Answering:
    """Has an attribute of any name, as configurations do."""

    def __init__(self):
        self.rate = 0.5

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return "any"


def test_objects_with_attributes_of_any_name_and_classes_of_layers_are_data():
    found = saved({"settings": Answering(), "kind": paddle.nn.Linear}, trusted=[Answering, paddle.nn.Linear])
    assert found["settings"].rate == 0.5 and found["kind"] is paddle.nn.Linear


# --- what the reference writes ---------------------------------------------------------------------------------------

# By PaddlePaddle 3.3.1: save({"d": float32, "s": bfloat16}); save({"m": program.state_dict(), "n": 1}) in static mode;
# save(to_tensor([[1.5, -2.0]]), use_binary_format=True).
DTYPES = "gASVLgAAAAAAAAB9lCiMAWSUjAZwYWRkbGWUjAVkdHlwZZSTlCmBlEsKYowBc5RoBCmBlEsQYnUu"
STATIC = (
    "gASVygAAAAAAAAB9lCiMAW2UfZSMAXeUjAhidWlsdGluc5SMBGV2YWyUk5SMBGRhdGGUfZRoB4wWbnVtcHkuX2NvcmUubXVsdGlhcnJheZSM"
    "DF9yZWNvbnN0cnVjdJSTlIwFbnVtcHmUjAduZGFycmF5lJOUSwCFlEMBYpSHlFKUKEsBSwKFlGgMjAVkdHlwZZSTlIwCZjSUiYiHlFKUKEsD"
    "jAE8lE5OTkr/////Sv////9LAHSUYolDCAAAwD8AAADAlHSUYnOGlFKUc4wBbpRLAXUu"
)
STREAM = "AAAAAAAAAAAAAAAAAAAAAAYAAAAIBRABEAIAAMA/AAAAwA=="


def test_dtypes_of_the_reference():
    assert paddle.load(io.BytesIO(base64.b64decode(DTYPES))) == {"d": paddle.float32, "s": paddle.bfloat16}


def test_states_of_its_static_programs():
    found = paddle.load(io.BytesIO(base64.b64decode(STATIC)))
    assert found["n"] == 1 and found["m"]["w"].tolist() == [1.5, -2.0]


@pytest.mark.parametrize("as_file", [True, False])
def test_streams(as_file, tmp_path):
    data = base64.b64decode(STREAM)
    file = io.BytesIO()
    paddle.save(paddle.to_tensor([[1.5, -2.0]]), file, use_binary_format=True)
    assert file.getvalue() == data
    (tmp_path / "x").write_bytes(data)
    assert paddle.load(tmp_path / "x" if as_file else io.BytesIO(data)).tolist() == [[1.5, -2.0]]
    assert isinstance(paddle.load(io.BytesIO(data), return_numpy=True), np.ndarray)
    for damaged in (data[:-1], data + b"\0", data[:20]):
        with pytest.raises(ValueError, match="load"):
            paddle.load(io.BytesIO(damaged))


def test_arrays_of_bfloat16_are_bits_in_streams_and_pickles():
    x = paddle.to_tensor([1.5]).astype("bfloat16")
    stream = io.BytesIO()
    paddle.save(x, stream, use_binary_format=True)
    for a in (paddle.load(io.BytesIO(stream.getvalue()), return_numpy=True), saved([x], return_numpy=True)[0]):
        assert a.dtype == np.uint16 and a.tolist() == [0x3FC0]


@pytest.mark.parametrize("data", [base64.b64decode(STREAM), b"{}", pickle.dumps(1)])
def test_unknown_options_are_refused_for_every_kind_of_file(data):
    with pytest.raises(TypeError, match=r"\[load\] requires known options, got foo"):
        paddle.load(io.BytesIO(data), foo=1)


def test_what_no_stream_holds():
    with pytest.raises(NotImplementedError, match="use_binary_format=True, got dict"):
        paddle.save({}, io.BytesIO(), use_binary_format=True)
    with pytest.raises(TypeError, match="a bool as use_binary_format, got 'False'"):
        paddle.save(paddle.ones([1]), io.BytesIO(), use_binary_format="False")


def test_tensors_while_a_program_is_recorded(tmp_path):
    x = paddle.ones([2])
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            paddle.save([x, x.get_tensor(), {"x": x}], tmp_path / "x")
    finally:
        paddle.disable_static()
    assert [v.tolist() for v in paddle.load(tmp_path / "x")[:2]] == [[1, 1], [1, 1]]


def test_streams_while_a_program_is_recorded(tmp_path):
    x = paddle.ones([2])
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            paddle.save(x, tmp_path / "x", use_binary_format=True)
    finally:
        paddle.disable_static()
    assert paddle.load(tmp_path / "x").tolist() == [1, 1]
    with pytest.raises(TypeError, match="known options of a stream or program, got frmat"):
        paddle.save(x, tmp_path / "x", use_binary_format=True, frmat=1)


def test_values_of_variables(tmp_path):
    paddle.enable_static()
    try:
        value = paddle.static.Scope().var("w").get_tensor()
        value.set(np.float32([1, 2]), paddle.CPUPlace())
        with paddle.static.program_guard(paddle.static.Program()):
            assert isinstance(value, paddle.base.core.DenseTensor) and "data: [1. 2.]" in str(value)
            assert np.asarray(value._copy("cpu")).tolist() == np.asarray(value[:]).tolist() == [1, 2]
            paddle.save({"w": value, "more": [value]}, tmp_path / "x")
    finally:
        paddle.disable_static()
    found = paddle.load(tmp_path / "x")
    assert found["w"].tolist() == found["more"][0].tolist() == [1, 2] and found["w"].name == "w"


def test_programs(tmp_path):
    main = paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(main):
            paddle.static.data("x", [None, 2]) * 2.0 + 1.0  # nothing has a name
        paddle.save(main, tmp_path / "m.pdmodel")
        again = paddle.load(tmp_path / "m.pdmodel")
    finally:
        paddle.disable_static()
    assert [o.name() for o in again.global_block().ops if o.name() != "full"] == ["mul", "add"]
    (tmp_path / "m.pdmodel").write_bytes(b"{}")
    with pytest.raises(ValueError, match=r"\[load\] requires .*m\.pdmodel"):
        paddle.load(tmp_path / "m.pdmodel")


def test_background_saves_of_dicts_of_other_classes(tmp_path):
    x = collections.defaultdict(list, w=[paddle.ones([2])], n=collections.Counter("aab"))
    paddle.async_save(x, str(tmp_path / "x"))
    paddle.clear_async_save_task_queue()
    found = paddle.load(str(tmp_path / "x"))
    assert found["w"][0].tolist() == [1, 1] and found["n"] == x["n"]


def test_background_saves_have_what_there_was(tmp_path):
    w = paddle.to_tensor([1.0], stop_gradient=False) * 2
    numbers, array = [1], np.ones(2)
    of_parts = {"w": w, "more": [w, numbers, {"a": array}], "shape": w.shape}
    for name, x in (
        ("parts", of_parts),
        ("objects", {"n": argparse.Namespace(**of_parts), "d": collections.deque([w])}),
    ):
        paddle.async_save(x, tmp_path / name)
    with paddle.no_grad():
        w.zero_()
    numbers.append(2)
    array[:] = 5
    paddle.clear_async_save_task_queue()
    parts, objects = (paddle.load(tmp_path / name) for name in ("parts", "objects"))
    for found in (parts, vars(objects["n"])):
        assert found["w"].tolist() == [2] and found["more"][0] is found["w"] and found["shape"] == [1]
        assert found["more"][1] == [1] and found["more"][2]["a"].tolist() == [1, 1]
    assert objects["d"][0] is objects["n"].w


def test_background_saves_tell_later_what_cannot_be_saved(tmp_path):
    paddle.async_save({"x": {paddle.ones([1])}}, tmp_path / "x")
    with pytest.raises(TypeError, match="a set of tensors"):
        paddle.clear_async_save_task_queue()
