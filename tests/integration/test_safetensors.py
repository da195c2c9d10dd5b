"""``safetensors.paddle``: every entry point, against the engine's own reader and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import safetensors
from safetensors import numpy as in_numpy
from safetensors import paddle as in_paddle

import paddle


@pytest.fixture
def tensors():
    paddle.seed(0)
    return {
        "f32": paddle.randn([3, 4]),
        "f16": paddle.randn([5]).astype("float16"),
        "bf16": paddle.randn([2, 2]).astype("bfloat16"),
        "i64": paddle.arange(6).reshape([2, 3]),
        "u8": paddle.to_tensor([1, 255], "uint8"),
        "bool": paddle.to_tensor([True, False]),
        "scalar": paddle.to_tensor(2.5, "float64"),
    }


def same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, x in wanted.items():
        assert found[name].dtype is x.dtype and found[name].shape == x.shape, name
        assert found[name].astype("float64").tolist() == x.astype("float64").tolist(), name


def test_files(tensors, tmp_path):
    path = str(tmp_path / "x.safetensors")
    in_paddle.save_file(tensors, path, metadata={"format": "pd"})
    same(in_paddle.load_file(path), tensors)
    same(paddle.load(path), tensors)


def test_files_of_others(tensors, tmp_path):
    path = str(tmp_path / "x.safetensors")
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones([1], np.int64)}
    in_numpy.save_file(arrays, path)
    found = in_paddle.load_file(path)
    assert {k: v.tolist() for k, v in found.items()} == {k: v.tolist() for k, v in arrays.items()}
    in_paddle.save_file({k: paddle.to_tensor(v) for k, v in arrays.items()}, path)
    back = in_numpy.load_file(path)
    assert all(np.array_equal(back[k], v) and back[k].dtype == v.dtype for k, v in arrays.items())


def test_bytes(tensors):
    data = in_paddle.save(tensors)
    assert set(safetensors.deserialize(data)[0][1]) >= {"shape", "dtype", "data"}
    same(in_paddle.load(data), tensors)


def test_one_tensor_at_a_time(tensors, tmp_path):
    path = str(tmp_path / "x.safetensors")
    in_paddle.save_file(tensors, path, metadata={"format": "pd", "step": "3"})
    with safetensors.safe_open(path, framework="paddle") as file:
        assert file.metadata() == {"format": "pd", "step": "3"}
        same({name: file.get_tensor(name) for name in file.keys()}, tensors)  # noqa: SIM118
        part = file.get_slice("f32")
        assert part.get_shape() == [3, 4]
        assert part[1:, :2].tolist() == tensors["f32"][1:, :2].tolist()


def test_what_is_no_dict_of_tensors():
    with pytest.raises(ValueError, match="Expected a dict"):
        in_paddle.save([paddle.ones([1])])
    with pytest.raises(ValueError, match=r"expected paddle\.Tensor"):
        in_paddle.save({"a": 1})


@pytest.mark.parametrize("backend", ["mmap", "pread"])
def test_tensors_at_odd_places(tmp_path, backend):
    path = str(tmp_path / "x.safetensors")
    header = (
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F64","shape":[2],"data_offsets":[1,17]}}'
    )
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + b"\x07" + np.array([1.5, 2.5]).tobytes())
    found = in_paddle.load_file(path, backend=backend)
    assert found["a"].tolist() == [7] and found["b"].tolist() == [1.5, 2.5]


def test_empty_tensors(tmp_path):
    path = str(tmp_path / "x.safetensors")
    tensors = {"empty": paddle.empty([0, 3]), "one": paddle.ones([1])}
    in_paddle.save_file(tensors, path)
    same(in_paddle.load_file(path), tensors)
    same(in_paddle.load(in_paddle.save(tensors)), tensors)
