"""Bodies of requests and answers: what is read is what was written, and what is malformed is refused."""

from __future__ import annotations

import io
import json
import random
import zipfile

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from paddle.inference.serve.bodies import FORMS, Declared, Malformed, checked, chosen
from umiak.core.dtype import convert

MOST = 1 << 20
JSON, NPZ, SAFETENSORS, OCTETS = FORMS
X = {"x": Declared([-1, 2], convert("float32"))}


def declared(arrays):
    return {name: Declared([-1] * x.ndim, convert(x.dtype)) for name, x in arrays.items()}


def read(kind, body, wanted=X, headers=None, most=MOST):
    arrays = FORMS[kind].read(body, wanted, headers or {}, most)
    return dict(zip(wanted, checked(arrays, wanted), strict=True))


ARRAYS = [
    np.arange(6, dtype="float32").reshape(3, 2),
    np.arange(6, dtype="int64").reshape(3, 2)[::-1],
    np.array([True, False]),
    np.zeros([0, 4], "float64"),
    np.arange(5, dtype="uint8"),
    np.asfortranarray(np.arange(6, dtype="float16").reshape(2, 3)),
    np.array([1.5, -2.0], ml_dtypes.bfloat16),
    np.array([np.nan, np.inf, -np.inf, 1.0], "float32"),
    np.array(3, "int32"),
]


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.dtype}{x.shape}")
def test_what_is_written_is_read(kind, x):
    body, headers = FORMS[kind].write({"x": x})
    given = {k.lower(): v for k, v in headers.items()}
    if kind == JSON:
        body = json.dumps({"inputs": json.loads(body)["outputs"]}).encode()
        if x.size == 0:
            pytest.skip("nested lists do not say the sizes of what is empty")
    y = read(kind, body, declared({"x": x}), given)["x"]
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("kind", [JSON, NPZ, SAFETENSORS])
def test_several_arrays(kind):
    arrays = {"a": np.ones([2], "float32"), "b/c": np.zeros([1, 1], "int64")}
    body, _ = FORMS[kind].write(arrays)
    if kind == JSON:
        body = json.dumps({"inputs": json.loads(body)["outputs"]}).encode()
    found = read(kind, body, declared(arrays))
    assert list(found) == list(arrays)


def test_others_write_what_is_read():
    x = np.arange(4, dtype="float32").reshape(2, 2)
    file = io.BytesIO()
    np.savez_compressed(file, x=x)
    np.testing.assert_array_equal(read(NPZ, file.getvalue())["x"], x)
    np.testing.assert_array_equal(read(SAFETENSORS, safetensors.numpy.save({"x": x}))["x"], x)
    body, _ = FORMS[SAFETENSORS].write({"x": x})
    np.testing.assert_array_equal(safetensors.numpy.load(body)["x"], x)
    body, _ = FORMS[NPZ].write({"x": x})
    np.testing.assert_array_equal(np.load(io.BytesIO(body))["x"], x)


def npz(entry, name="x.npy", **options):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        # Of one date: bodies name tests, which two processes collect, and a name alone is of this second.
        archive.writestr(zipfile.ZipInfo(name), entry, options.get("compression"))
    return file.getvalue()


def npy(x, **header):
    file = io.BytesIO()
    if not header:
        np.save(file, x)
        return file.getvalue()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, **header})
    return file.getvalue() + x.tobytes()


def headed(text):
    """An array with a header that is no dict."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def tensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(**changes):
    return {"x": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8], **changes}}


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (JSON, b"", "JSON is required"),
        (JSON, b"[" * 100_000, "JSON is required"),
        (JSON, b"\xff", "JSON is required"),
        (JSON, b"[]", "an object"),
        (JSON, b'{"inputs": [1]}', "an object"),
        (JSON, b'{"inputs": {}}', r"the inputs \['x'\] are required, got \[\]"),
        (JSON, b'{"inputs": {"x": [[1, 2]], "y": 1}}', r"got \['x', 'y'\]"),
        (JSON, b'{"inputs": {"x": [[1, 2], [3]]}}', "nested lists of numbers"),
        (JSON, b'{"inputs": {"x": [[1, {}]]}}', "nested lists of numbers"),
        (JSON, b'{"inputs": {"x": [[1, "a"]]}}', "nested lists of numbers"),
        (JSON, b'{"inputs": {"x": [[1, null]]}}', "nested lists"),
        (JSON, b'{"inputs": {"x": 1}}', r"with shape \[-1, 2\], got \[\]"),
        (JSON, b'{"inputs": {"x": [[1, 2, 3]]}}', r"got \[1, 3\]"),
        (NPZ, b"", "an archive of NumPy"),
        (NPZ, b"PK\x03\x04", "an archive of NumPy"),
        (NPZ, npz(b"no"), "an archive of NumPy"),
        (NPZ, npz(npy(np.ones([1, 2]))), "'x' is required as float32, got float64"),
        (NPZ, npz(npy(np.ones([1, 2], "float32")), "y.npy"), r"got \['y'\]"),
        (NPZ, npz(npy(np.ones(2, "float32"), shape=(1 << 60, 2))), "as many bytes"),
        (NPZ, npz(npy(np.ones(2, "float32"), shape=(-1, -2))), "as many bytes"),
        (NPZ, npz(b"\0" * (MOST + 1), compression=zipfile.ZIP_DEFLATED), f"arrays of {MOST} bytes at most"),
        (NPZ, npz(npy(np.ones([1, 2], "float32")), compression=zipfile.ZIP_BZIP2), "stored or deflated"),
        (NPZ, npz(npy(np.ones([1, 2], "float32")), compression=zipfile.ZIP_LZMA), "stored or deflated"),
        (NPZ, npz(headed("(2," * 50)), "an archive of NumPy is required"),
        (NPZ, npz(headed("-" * 9000 + "1")), "an archive of NumPy is required"),
        (SAFETENSORS, b"abc", "without a header"),
        (SAFETENSORS, (1 << 60).to_bytes(8, "little"), "without a header"),
        (SAFETENSORS, tensors(b"{"), "a header in JSON"),
        (SAFETENSORS, tensors([]), "an object"),
        (SAFETENSORS, tensors({"x": 1}), "dtype, shape and data_offsets"),
        (SAFETENSORS, tensors(entry(dtype="F99"), b"0" * 8), "dtype, shape and data_offsets"),
        (SAFETENSORS, tensors(entry(shape=[-1, 2]), b"0" * 8), "dtype, shape and data_offsets"),
        (SAFETENSORS, tensors(entry(data_offsets=[0, 8, 9]), b"0" * 8), "dtype, shape and data_offsets"),
        (SAFETENSORS, tensors(entry(data_offsets=[8, 0]), b"0" * 8), "as many bytes"),
        (SAFETENSORS, tensors(entry(shape=[1 << 60, 2]), b"0" * 8), "as many bytes"),
        (SAFETENSORS, tensors(entry(), b"0" * 7), "as many bytes"),
        (OCTETS, b"0" * 8, "X-Shape is required"),
    ],
)  # fmt: skip
def test_malformed_bodies(kind, body, message):
    with pytest.raises(Malformed, match=message):
        read(kind, body)


@pytest.mark.parametrize("shape", ["1,3", "a", "-1,2", "1,2,3", "4611686018427387904,2"])
def test_shapes_of_plain_bytes(shape):
    with pytest.raises(Malformed):
        read(OCTETS, b"0" * 8, headers={"x-shape": shape})
    assert read(OCTETS, b"0" * 8, headers={"x-shape": "1,2"})["x"].shape == (1, 2)


def test_plain_bytes_are_one_array():
    two = {**X, "y": X["x"]}
    with pytest.raises(Malformed, match="a model with one input"):
        read(OCTETS, b"", two)
    with pytest.raises(Malformed, match=r"one output is required for plain bytes, got \['a', 'b'\]"):
        FORMS[OCTETS].write({"a": np.ones(1), "b": np.ones(1)})


@pytest.mark.parametrize(
    ("dtype", "text", "message"),
    [
        ("int64", "[1.5]", "integers are required"), ("int64", '["1"]', "numbers are required"),
        ("int8", "[300]", "numbers that int8 holds"), ("uint8", "[-1]", "numbers that uint8 holds"),
        ("int64", "[1e400]", "integers are required"), ("int64", f"[{10**30}]", "nested lists of numbers"),
    ],
)  # fmt: skip
def test_integers_in_json(dtype, text, message):
    wanted = {"x": Declared([-1], convert(dtype))}
    with pytest.raises(Malformed, match=message):
        read(JSON, f'{{"inputs": {{"x": {text}}}}}'.encode(), wanted)
    assert read(JSON, b'{"inputs": {"x": [1, 2]}}', wanted)["x"].tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_texts_in_json_are_numbers_of_each_floating_dtype(dtype):
    wanted = {"x": Declared([-1], convert(dtype))}
    found = read(JSON, b'{"inputs": {"x": ["NaN", "-Infinity", 1.5]}}', wanted)["x"]
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(found.astype("float64"), [np.nan, -np.inf, 1.5])


def test_pickles_are_not_read():
    body = npz(npy(np.zeros(1, "float32"), descr="|O", shape=(1,)))
    with pytest.raises(Malformed, match="arrays of numbers"):
        read(NPZ, body)


@pytest.mark.parametrize("kind", [JSON, NPZ, SAFETENSORS])
def test_mutated_bodies(kind):
    x = np.arange(6, dtype="float32").reshape(3, 2)
    body, _ = FORMS[kind].write({"x": x})
    if kind == JSON:
        body = body.replace(b"outputs", b"inputs")
    rng, read_all = random.Random(2), 0
    for _ in range(400):
        data = bytearray(body)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            read(kind, bytes(data[: rng.randint(0, len(data))] if rng.random() < 0.3 else data))
            read_all += 1
        except Malformed:
            pass
    assert read_all < 400


def test_plain_bytes_of_dense_arrays_are_not_copied():
    x = np.arange(12, dtype="float32").reshape(6, 2)
    for y in (x, x[2:4], x.astype(ml_dtypes.bfloat16)):
        body, _ = FORMS[OCTETS].write({"y": y})
        assert np.shares_memory(np.frombuffer(body, "uint8"), y)
    for y in (x.T, x[::2], x[:0], x[0, 0]):
        body, _ = FORMS[OCTETS].write({"y": y})
        assert bytes(body) == y.tobytes()


@pytest.mark.parametrize(
    ("accept", "answer"),
    [
        ("", NPZ), ("*/*", NPZ), ("application/json", JSON), ("text/html, application/json;q=0.9", JSON),
        ("application/*", NPZ), ("text/html", None), (NPZ.upper(), NPZ),
    ],
)  # fmt: skip
def test_the_type_of_the_answer(accept, answer):
    assert chosen(accept, NPZ) == answer
