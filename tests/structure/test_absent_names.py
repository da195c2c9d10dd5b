"""Names of the reference that are not here say so when they are asked for, and are absent in every other way."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import absent_names
import pytest

import paddle
from paddle._absent_names import NAMES

ALL = [(module, name) for module, names in NAMES.items() for name in names.split()]
OWNERS = {module: importlib.import_module(module) for module in NAMES}


def test_the_table_is_what_is_absent():
    """A name that is there is not in the table; run ``tools/absent_names.py`` after adding one."""
    assert {module: sorted(names.split()) for module, names in NAMES.items()} == absent_names.absent()
    assert len(ALL) > 100


@pytest.mark.parametrize(("module", "name"), ALL)
def test_a_name_says_that_it_is_not_here(module, name):
    owner = OWNERS[module]
    assert not hasattr(owner, name) and getattr(owner, name, 3) == 3
    with pytest.raises(AttributeError, match=rf"^{module}\.{name} is not in Umiak yet$") as caught:
        getattr(owner, name)
    assert caught.value.name == name


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.splitlines()[-1]


def test_nothing_similar_is_suggested():
    assert run("import paddle; paddle.quantization") == "AttributeError: paddle.quantization is not in Umiak yet"
    assert "Did you mean: 'reshape'" in run("import paddle; paddle.reshap")


def test_imports_say_so():
    with pytest.raises(ImportError, match=r"^paddle\.quantization is not in Umiak yet$"):
        from paddle import quantization
    with pytest.raises(ImportError, match=r"^paddle\.quantization is not in Umiak yet$"):
        from paddle import quantization  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"^paddle\.quantization is not in Umiak yet$"):
        import paddle.quantization
    with pytest.raises(ModuleNotFoundError, match=r"^paddle\.quantization is not in Umiak yet$"):
        import paddle.quantization.observers
    assert importlib.util.find_spec("paddle.quantization") is None
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'paddle\.nowhere'"):
        import paddle.nowhere  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from paddle import nothing  # noqa: F401


def test_programs_may_add_names():
    try:
        paddle.quantization = 5
        assert paddle.quantization == 5
    finally:
        del paddle.quantization


def test_dir_of_a_module_does_not_list_them():
    assert "quantization" not in dir(paddle)
