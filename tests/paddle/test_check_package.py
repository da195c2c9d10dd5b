"""The check of a package sees what it uses of paddle, and what is not here."""

from __future__ import annotations

import json

import pytest

from paddle.utils import check_package

SOURCE = """
import os
import paddle
import paddle.nn as nn, paddle.nn.functional as F
from paddle.base import core as c
from paddle.nowhere import thing
from paddle.nn import Linear, Missing

P = paddle.optimizer
try:
    from paddle.base import nobody
except ImportError:
    nobody = None

def f(paddle, x=nn.AlsoMissing):
    return paddle.nothing + F.relu(x)

def g():
    paddle = os
    return paddle.nothing

if hasattr(paddle, "maybe"):
    paddle.maybe()

class A(nn.Layer):
    weight = c.VarDesc.VarType.FP32
    other = c.VarDesc.Unknown
    lr = P.Nowhere

    def forward(self, x):
        return paddle.ones([1]).nothing_of_an_object(lambda F: F.nothing, paddle.Tensor.gone)
"""


def used(text, tmp_path):
    file = tmp_path / "module.py"
    file.write_text(text)
    return check_package.report(str(file))


def test_what_is_missing_is_named_with_its_places(tmp_path):
    found = used(SOURCE, tmp_path)
    lines = {name: [int(place.rpartition(":")[2]) for place in places] for name, places in found["missing"].items()}
    assert lines == {
        "paddle.Tensor.gone": [31],
        "paddle.base.core.VarDesc.Unknown": [27],
        "paddle.nn.AlsoMissing": [15],
        "paddle.nn.Missing": [7],
        "paddle.nowhere": [6],
        "paddle.optimizer.Nowhere": [28],
    }
    assert list(found["optional"]) == ["paddle.base.nobody", "paddle.maybe"]


def test_modules_that_objects_keep(tmp_path):
    text = (
        "class A:\n def f(self):\n  return self.paddle.nothing\n"
        " def __init__(self):\n  import paddle\n  self.paddle = paddle\n  self.x = paddle.ones\n"
    )
    assert list(used(text, tmp_path)["missing"]) == ["paddle.nothing"]


def test_a_name_is_asked_of_modules_and_classes_alone(tmp_path):
    assert used("import paddle\npaddle.ones.anything\npaddle.__version__.anything\n", tmp_path)["missing"] == {}


@pytest.mark.parametrize(
    "text",
    [
        "from .paddle import anything\n",
        "def f():\n    import paddle\n    return paddle.zeros\n",
        "import paddle.nn\nfrom paddle.nn import *\n",
        "import numpy as paddle\npaddle.anything\n",
        "for paddle in range(3):\n    paddle.anything\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from paddle import Anything\n",
    ],
)
def test_what_is_not_of_paddle_or_is_there(text, tmp_path):
    assert used(text, tmp_path)["missing"] == {}


def test_the_command(tmp_path, capsys):
    package = tmp_path / "package"
    package.mkdir()
    (package / "good.py").write_text("import paddle\npaddle.ones\n")
    (package / "old.py").write_text("print 'paddle'\n")
    assert check_package.main([str(package)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{package}: 2 names of paddle, 0 missing, 0 optional ones missing",
        f"not Python {package / 'old.py'}",
    ]
    (package / "bad.py").write_text("import paddle\npaddle.nowhere\npaddle.nowhere.x\n")
    assert check_package.main([str(package)]) == 1
    assert capsys.readouterr().out.splitlines()[1] == f"missing paddle.nowhere  {package / 'bad.py'}:2 and 1 more"
    assert check_package.main([str(package), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["missing"] == {
        "paddle.nowhere": [f"{package / 'bad.py'}:2", f"{package / 'bad.py'}:3"]
    }


def test_an_installed_package_is_found_by_name(capsys):
    assert check_package.main(["no_such_package"]) == 2
    assert "requires a file, a folder or an installed package" in capsys.readouterr().err
    assert check_package.files_of("json")[0].name == "__init__.py"
