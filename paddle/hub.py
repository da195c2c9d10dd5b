"""Models from repositories that describe themselves by a file ``hubconf.py``, whose functions make them.

The file is a program, and loading it runs it: use repositories that you trust.
"""

from __future__ import annotations

import builtins
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

import paddle
from paddle import _lazy
from paddle._public import public
from paddle.utils.download import _decompress, get_path_from_url, is_url
from umiak.util.errors import op_error

HUB_DIR = os.path.expanduser("~/.cache/paddle/hub")
_CONF = "hubconf.py"
_SOURCES = {
    "github": ("https://github.com/{owner}/{name}/archive/{branch}.zip", "main"),
    "gitee": ("https://gitee.com/{owner}/{name}/repository/archive/{branch}.zip", "master"),
}
_REPOSITORY = re.compile(r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)(?::(?P<branch>[\w./-]+))?")
_HASH = re.compile(r"-([a-f0-9]{8,})\.")


def _folder(op: str, repo_dir: str, source: str, force_reload: bool) -> str:
    """Return the folder of a repository, which is downloaded if need be."""
    if source == "local":
        return repo_dir
    if source not in _SOURCES:
        raise op_error(ValueError, op, "a source of 'github', 'gitee' or 'local'", repr(source))
    match = _REPOSITORY.fullmatch(repo_dir)
    if match is None:
        raise op_error(ValueError, op, "a repository owner/name or owner/name:branch", repr(repo_dir))
    address, usual = _SOURCES[source]
    parts = {**match.groupdict(), "branch": match["branch"] or usual}
    folder = os.path.join(HUB_DIR, "_".join((parts["owner"], parts["name"], parts["branch"].replace("/", "_"))))
    if force_reload:
        shutil.rmtree(folder, ignore_errors=True)
    if not os.path.exists(folder):
        kept = get_path_from_url(address.format(**parts), folder + ".part", check_exist=False, decompress=False)
        os.replace(_decompress(kept), folder)
        shutil.rmtree(folder + ".part", ignore_errors=True)
    return folder


def _load_conf(op: str, folder: str) -> ModuleType:
    """Run the file that describes a repository, which may import modules beside it."""
    path = os.path.join(folder, _CONF)
    if not os.path.isfile(path):
        raise op_error(RuntimeError, op, f"a file {_CONF} in the repository", f"none in {folder!r}")
    spec = spec_from_file_location("hubconf", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        raise op_error(RuntimeError, op, f"a {_CONF} whose imports are there", f"{path!r}: {error}") from error
    finally:
        sys.path.remove(folder)
    needed = getattr(module, "dependencies", None) or []
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        hint = f"pip install {' '.join(missing)}"
        raise op_error(RuntimeError, op, f"the packages {', '.join(needed)}", f"no {', '.join(missing)}", hint)
    return module


def _entry(op: str, module: ModuleType, model: str) -> Callable[..., Any]:
    if not isinstance(model, str):
        raise op_error(ValueError, op, "the name of a model", repr(model))
    made = getattr(module, model, None)
    if not callable(made):
        raise op_error(RuntimeError, op, f"one of {', '.join(_names(module))}", repr(model))
    return made


def _names(module: ModuleType) -> builtins.list[str]:
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


@public("paddle.hub")
def list(repo_dir: str, source: str = "github", force_reload: bool = False) -> builtins.list[str]:
    """List the models of a repository: the callables of its ``hubconf.py`` whose names do not begin with ``_``.

    The file is run: use repositories that you trust.

    Args:
        repo_dir: a folder for ``source="local"``; otherwise ``"owner/name"`` or ``"owner/name:branch"``, which is
            downloaded into ``~/.cache/paddle/hub``.
        source: ``"github"``, ``"gitee"`` or ``"local"``.
        force_reload: whether to download again what is there.

    Returns:
        Names.

    Raises:
        ValueError: another source, or a name that is no repository.
        RuntimeError: no ``hubconf.py``, packages that it needs are missing, or the download failed.

    Example:
        >>> import paddle, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(folder + "/hubconf.py", "w") as f:
        ...     _ = f.write("def double(n):\\n    return 2 * n")
        >>> paddle.hub.list(folder, source="local")
        ['double']
    """
    return _names(_load_conf("list", _folder("list", repo_dir, source, force_reload)))


@public("paddle.hub")
def help(repo_dir: str, model: str, source: str = "github", force_reload: bool = False) -> str | None:
    """Return the docstring of a model of a repository.

    Args:
        repo_dir: a folder or a repository, as for :func:`list`.
        model: name of the model.
        source: ``"github"``, ``"gitee"`` or ``"local"``.
        force_reload: whether to download again what is there.

    Returns:
        The docstring, None without one.

    Raises:
        ValueError: another source, or a name that is no repository.
        RuntimeError: no such model, and what :func:`list` refuses.

    Example:
        >>> import paddle, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(folder + "/hubconf.py", "w") as f:
        ...     _ = f.write("def double(n):\\n    'Twice n.'\\n    return 2 * n")
        >>> paddle.hub.help(folder, "double", source="local")
        'Twice n.'
    """
    return _entry("help", _load_conf("help", _folder("help", repo_dir, source, force_reload)), model).__doc__


@public("paddle.hub")
def load(repo_dir: str, model: str, source: str = "github", force_reload: bool = False, **kwargs: Any) -> Any:
    """Make a model of a repository.

    Args:
        repo_dir: a folder or a repository, as for :func:`list`.
        model: name of the model.
        source: ``"github"``, ``"gitee"`` or ``"local"``.
        force_reload: whether to download again what is there.
        kwargs: arguments of the model.

    Returns:
        What the function of the repository returns.

    Raises:
        ValueError: another source, or a name that is no repository.
        RuntimeError: no such model, and what :func:`list` refuses.

    Example:
        >>> import paddle, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(folder + "/hubconf.py", "w") as f:
        ...     _ = f.write("import paddle\\ndef line(size):\\n    return paddle.nn.Linear(size, 1)")
        >>> paddle.hub.load(folder, "line", source="local", size=3).weight.shape
        paddle.Size([3, 1])
    """
    return _entry("load", _load_conf("load", _folder("load", repo_dir, source, force_reload)), model)(**kwargs)


@public("paddle.hub")
def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    check_hash: bool = False,
    file_name: str | None = None,
    map_location: str | None = None,
) -> Any:
    """Load the weights of a model from the web; they are kept.

    Args:
        url: address of a file of :func:`paddle.save`, or of a zip or tar archive with one.
        model_dir: the folder where it is kept; None: ``~/.cache/paddle/hub/checkpoints``.
        check_hash: whether the name of the file ends with ``-`` and the first eight or more digits of its SHA-256,
            which are compared.
        file_name: name of the file; None: that of the address.
        map_location: ``"numpy"`` or ``"np"`` for arrays; ``"cpu"`` and None for tensors.

    Returns:
        What :func:`paddle.load` gives.

    Raises:
        ValueError: no such address or location, or a name without digits.
        RuntimeError: the file could not be downloaded, has other digits, or is an archive of several files.

    Example:
        >>> import paddle, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> paddle.save({"scale": paddle.ones([2])}, folder + "/weights.pdparams")
        >>> state = paddle.hub.load_state_dict_from_url("https://example.com/weights.pdparams", folder)
        >>> state["scale"].tolist()
        [1.0, 1.0]
    """
    op = "load_state_dict_from_url"
    if not is_url(url):
        raise op_error(ValueError, op, "an address of http:// or https://", repr(url))
    if map_location not in (None, "cpu", "numpy", "np"):
        raise op_error(ValueError, op, "a map_location of 'cpu', 'numpy', 'np' or None", repr(map_location))
    folder = os.path.join(HUB_DIR, "checkpoints") if model_dir is None else model_dir
    name = file_name or url.rstrip("/").rsplit("/", 1)[-1].partition("?")[0]
    if os.path.basename(name) != name:
        raise op_error(ValueError, op, "a file_name without folders", repr(name))
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        got = get_path_from_url(url, folder, decompress=False)
        os.replace(got, path)
    if check_hash:
        _check_digits(op, path)
    if path.endswith((".zip", ".tar", ".tar.gz", ".tgz")):
        path = _one_file(op, path)
    return paddle.load(path, return_numpy=map_location in ("numpy", "np"))


def _check_digits(op: str, path: str) -> None:
    digits = _HASH.search(os.path.basename(path))
    if digits is None:
        raise op_error(ValueError, op, "a file name with digits of its SHA-256, as weights-1a2b3c4d.pdparams", path)
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while piece := f.read(1 << 20):
            digest.update(piece)
    found = digest.hexdigest()
    if not found.startswith(digits[1]):
        raise op_error(RuntimeError, op, f"a file whose SHA-256 begins with {digits[1]}", found)


def _one_file(op: str, path: str) -> str:
    """Unpack an archive of one file, and return the path of that."""
    made = _decompress(path)
    if os.path.isdir(made):
        inside = [os.path.join(made, name) for name in sorted(os.listdir(made))]
        if len(inside) != 1 or not os.path.isfile(inside[0]):
            raise op_error(RuntimeError, op, "an archive of one file", f"{len(inside)} in {path!r}")
        made = inside[0]
    return made


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
