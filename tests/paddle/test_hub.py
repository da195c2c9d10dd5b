"""Models from folders that describe themselves, and weights that lie in a cache."""

from __future__ import annotations

import hashlib
import sys
import zipfile

import pytest
from numpy.testing import assert_allclose

import paddle

CONF = '''
dependencies = {dependencies}
import paddle
from beside import SIZE

def line(width, bias=True):
    """A layer of one number."""
    return paddle.nn.Linear(width, SIZE, bias_attr=bias)

def _hidden():
    pass
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    (tmp_path / "beside.py").write_text("SIZE = 1\n")
    (tmp_path / "hubconf.py").write_text(CONF.format(dependencies=["numpy"]))
    yield str(tmp_path)
    sys.modules.pop("beside", None)


def test_a_local_folder(folder):
    assert paddle.hub.list(folder, source="local") == ["line"]
    assert paddle.hub.help(folder, "line", source="local") == "A layer of one number."
    layer = paddle.hub.load(folder, "line", source="local", width=3, bias=False)
    assert (layer.weight.shape, layer.bias) == ([3, 1], None)


def test_what_is_missing_is_named(folder, tmp_path):
    with pytest.raises(RuntimeError, match="one of line"):
        paddle.hub.load(folder, "other", source="local")
    (tmp_path / "hubconf.py").write_text(CONF.format(dependencies=["no_such_package"]))
    with pytest.raises(RuntimeError, match="pip install no_such_package"):
        paddle.hub.list(folder, source="local")
    (tmp_path / "beside.py").unlink()
    sys.modules.pop("beside", None)
    with pytest.raises(RuntimeError, match="beside"):
        paddle.hub.list(folder, source="local")
    with pytest.raises(RuntimeError, match=r"hubconf\.py"):
        paddle.hub.list(str(tmp_path / "none"), source="local")


def test_repositories_fail_without_a_network(tmp_path, monkeypatch):
    monkeypatch.setattr(paddle.hub, "HUB_DIR", str(tmp_path))
    monkeypatch.setattr(paddle.hub, "_SOURCES", {"github": ("http://127.0.0.1:9/{owner}/{name}/{branch}.zip", "main")})
    with pytest.raises(RuntimeError, match=r"127\.0\.0\.1:9/owner/name/main\.zip.*place the file at"):
        paddle.hub.list("owner/name")
    with pytest.raises(ValueError, match="owner/name"):
        paddle.hub.list("name")
    with pytest.raises(ValueError, match="'github', 'gitee' or 'local'"):
        paddle.hub.list("owner/name", source="other")


URL = "http://127.0.0.1:9/"


def test_weights_of_a_cache(tmp_path):
    paddle.save({"w": paddle.ones([2])}, str(tmp_path / "a.pdparams"))
    state = paddle.hub.load_state_dict_from_url(URL + "a.pdparams?v=1", str(tmp_path))
    assert_allclose(state["w"].numpy(), [1, 1])
    arrays = paddle.hub.load_state_dict_from_url(URL, str(tmp_path), file_name="a.pdparams", map_location="numpy")
    assert type(arrays["w"]).__name__ == "ndarray"
    digits = hashlib.sha256((tmp_path / "a.pdparams").read_bytes()).hexdigest()[:8]
    (tmp_path / f"a-{digits}.pdparams").write_bytes((tmp_path / "a.pdparams").read_bytes())
    paddle.hub.load_state_dict_from_url(URL + f"a-{digits}.pdparams", str(tmp_path), check_hash=True)
    (tmp_path / "a-00000000.pdparams").write_bytes((tmp_path / "a.pdparams").read_bytes())
    with pytest.raises(RuntimeError, match="00000000"):
        paddle.hub.load_state_dict_from_url(URL + "a-00000000.pdparams", str(tmp_path), check_hash=True)


def test_weights_in_an_archive(tmp_path):
    paddle.save({"w": paddle.ones([2])}, str(tmp_path / "a.pdparams"))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "a.pdparams", "b.pdparams")
    assert_allclose(paddle.hub.load_state_dict_from_url(URL + "a.zip", str(tmp_path))["w"].numpy(), [1, 1])


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (ValueError, ("a.pdparams",)),
        (ValueError, (URL + "a", None, False, "../a")),
        (RuntimeError, (URL + "a.pdparams",)),
        (ValueError, (URL + "a", None, False, None, "gpu")),
    ],
)
def test_weights_that_cannot_be_had(tmp_path, monkeypatch, kind, call):
    monkeypatch.setattr(paddle.hub, "HUB_DIR", str(tmp_path))
    with pytest.raises(kind, match="requires"):
        paddle.hub.load_state_dict_from_url(*call)
