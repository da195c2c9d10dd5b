"""Names that are loaded when they are used are there in every other way."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import lazy_names
import pytest

from paddle._lazy_names import NAMES
from umiak.core.direct import Module

ROOT = Path(__file__).parents[2]
ALL = [(m, home, name) for m, homes in NAMES.items() for home, names in homes.items() for name in names.split()]

# What `import paddle` does not wait for. A prefix stands for all below it.
HEAVY = (
    "paddle.amp paddle.autograd paddle.distributed paddle.distribution paddle.fft paddle.framework.io paddle.hapi "
    "paddle.incubate paddle.io paddle.jit paddle.metric paddle.optimizer paddle.profiler paddle.static paddle.utils "
    "paddle.vision umiak.autodiff umiak.checkpoint umiak.comm umiak.compiler.plan umiak.observe umiak.runtime.capture "
    "umiak.spmd asyncio concurrent difflib email http json llvmlite logging mpi4py multiprocessing pdb "
    "scipy socket sqlite3 ssl subprocess torch unittest urllib xml"
).split()


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_table_is_what_is_imported_for_type_checkers():
    """Run ``tools/lazy_names.py`` after a change."""
    assert {m: {h: sorted(n.split()) for h, n in homes.items()} for m, homes in NAMES.items()} == {
        m: {h: sorted(n) for h, n in homes.items()} for m, homes in lazy_names.lazy().items()
    }
    assert len(ALL) > 10


def test_nothing_heavy_is_loaded():
    # Finding the package may compile it (an editable install), which is not its import.
    code = "import sys, importlib.util as u; u.find_spec('umiak'); before = {*sys.modules}; import paddle"
    loaded = run(f"{code}; print(*sys.modules.keys() - before)").split()
    heavy = [m for m in loaded if any(m == h or m.startswith(h + ".") for h in HEAVY)]
    assert "paddle.nn" in loaded and not heavy, heavy


def test_nothing_heavy_is_asked_for():
    """What another finder, an editable install's, has loaded before would be loaded for the package elsewhere."""
    code = """
        import builtins, sys
        asked, real = set(), builtins.__import__
        def note(name, globals=None, *rest, **named):
            if globals and globals.get("__name__", "").split(".")[0] in ("paddle", "umiak"):
                asked.add(name)
            return real(name, globals, *rest, **named)
        builtins.__import__ = note
        import paddle
        print(*asked)
    """
    asked = run(textwrap.dedent(code)).split()
    assert "numpy" in asked and "paddle.tensor" in asked
    slow = [
        *HEAVY,
        "importlib.abc",
        "importlib.metadata",
        "importlib.resources",
        "pathlib",
        "random",
        "shutil",
        "tempfile",
    ]
    assert not [m for m in asked if any(m == h or m.startswith(h + ".") for h in slow)]


@pytest.mark.parametrize(("module", "home", "name"), ALL)
def test_a_name_is_there(module, home, name):
    owner = importlib.import_module(module)
    assert name in dir(owner)
    value = getattr(owner, name)
    assert value is (
        importlib.import_module(f"{module}.{name}") if home == module else getattr(importlib.import_module(home), name)
    )
    assert vars(owner)[name] is value  # found at once from now on


@pytest.mark.parametrize("module", sorted({module for module, _, _ in ALL}))
def test_its_module_is_one_in_every_way(module):
    found = importlib.import_module(module)
    assert isinstance(found, Module) and isinstance(found, ModuleType) and found.__dict__ is vars(found)
    assert found.__name__ == module and found.__spec__.name == module
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nothing_like_this'"):
        _ = found.nothing_like_this
    found.nothing_like_this = 1
    assert found.nothing_like_this == 1 == vars(found)["nothing_like_this"]
    del found.nothing_like_this
    assert not hasattr(found, "nothing_like_this")


def test_every_way_to_it():
    code = """
        import json, pickle, sys, paddle
        before = "paddle.distributed" in sys.modules
        from paddle import DataParallel, distributed
        import paddle.io as io
        from paddle.hapi import summary
        says = [before, distributed is paddle.distributed is sys.modules["paddle.distributed"], io is paddle.io]
        says += [summary is paddle.summary, pickle.loads(pickle.dumps(DataParallel)) is DataParallel]
        says += [hasattr(paddle, "fft"), "fft" in vars(paddle), "jit" in dir(paddle), "jit" in vars(paddle)]
        print(json.dumps(says))
    """
    assert json.loads(run("\n".join(line.strip() for line in code.splitlines()))) == [
        False, True, True, True, True, True, True, True, False,
    ]  # fmt: skip


def test_all_of_them_with_a_star():
    assert run("from paddle import *; print(distributed.__name__, DataParallel.__name__)").split() == [
        "paddle.distributed", "DataParallel",
    ]  # fmt: skip


def test_switches_are_known_before_their_modules_are_loaded():
    sources = [p for package in ("umiak", "paddle") for p in (ROOT / package).rglob("*") if p.suffix in (".py", ".pyx")]
    names = {f"FLAGS_{n}" for p in sources for n in re.findall(r"flags\.define\(\s*\"(\w+)\"", p.read_text())}
    assert len(names) > 20
    found = json.loads(run(f"import json, paddle; print(json.dumps(paddle.get_flags({sorted(names)})))"))
    assert set(found) == names


def test_the_environment_switches_checks_on():
    code = "import sys, paddle; print('paddle.amp.debugging' in sys.modules, paddle.get_flags('FLAGS_check_nan_inf'))"
    environment = {**os.environ, "FLAGS_check_nan_inf": "1"}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert said.stdout.split() == ["True", "{'FLAGS_check_nan_inf':", "True}"]
