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


def test_objects_that_refer_to_each_other():
    a, b = argparse.Namespace(), argparse.Namespace()
    a.other, b.other, a.both = b, a, [a, b]
    found = saved(a)
    assert found.other.other is found and found.both[0] is found and found.both[1] is found.other


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


@pytest.mark.parametrize("trusted", [[3], ["Settings"], 5])
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
    ],
)
def test_what_known_names_may_not_do(x):
    with pytest.raises(ValueError, match="load"):
        paddle.load(io.BytesIO(pickle.dumps(x)))


@pytest.mark.parametrize("holding", [lambda x: x, lambda x: (1, x), lambda x: argparse.Namespace(x=x)])
def test_layers_are_not_data(holding):
    file = io.BytesIO()
    with pytest.raises(TypeError, match=r"\[save\] requires data, got Linear. Save layer.state_dict\(\)"):
        paddle.save(holding(paddle.nn.Linear(1, 1)), file)


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
    x = collections.defaultdict(list, w=[paddle.ones([2])])
    paddle.async_save(x, str(tmp_path / "x"))
    paddle.clear_async_save_task_queue()
    assert paddle.load(str(tmp_path / "x"))["w"][0].tolist() == [1, 1]
