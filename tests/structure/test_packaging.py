"""The names under which the project is installed: version, wheel contents, stand-in, refusal."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import build_files
import check_wheel
import cross_wheel
import make_shim
import try_wheels

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installation(monkeypatch, tmp_path):
    """The module by itself, in an environment that holds nothing yet."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "absent")])
    spec = importlib.util.spec_from_file_location("_installation", ROOT / "paddle/_installation.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_version_is_the_same_everywhere():
    (built,) = re.findall(r"version: '(.*)',\n  license", (ROOT / "meson.build").read_text())
    (imported,) = re.findall(r'__version__ = "(.*)"', (ROOT / "umiak/__init__.py").read_text())
    assert built == imported


@pytest.mark.parametrize("name", ["paddlepaddle-3.3.1.dist-info", "paddlepaddle_gpu-3.3.1.dist-info"])
def test_reference_framework_in_the_same_environment_is_refused(installation, tmp_path, name):
    installation.check()
    (tmp_path / name).mkdir()
    required = name.split("-")[0].replace("_", "-")
    with pytest.raises(ImportError, match=rf"umiak, and {required} 3\.3\.1 in {re.escape(str(tmp_path))}"):
        installation.check()


def test_refusal_comes_at_import(tmp_path):
    (tmp_path / "paddlepaddle-3.3.1.dist-info").mkdir()
    code = f"import sys; sys.path.append({str(tmp_path)!r}); exec(open('paddle/_installation.py').read())"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 1
    assert "ImportError: import paddle requires one distribution" in run.stderr


def test_stand_in_is_accepted(installation, tmp_path):
    assert make_shim.MARKER == installation.MARKER
    wheel = make_shim.build(tmp_path / "dist")
    ZipFile(wheel).extractall(tmp_path)
    assert (tmp_path / "paddlepaddle-3.3.1.dist-info").is_dir()
    installation.check()


def test_stand_in_is_the_same_every_time(tmp_path):
    build = make_shim.build
    assert build(tmp_path / "a").read_bytes() == build(tmp_path / "b").read_bytes()


def test_stand_in_has_metadata_only(tmp_path):
    wheel = ZipFile(make_shim.build(tmp_path))
    assert {name.split("/")[0] for name in wheel.namelist()} == {"paddlepaddle-3.3.1.dist-info"}
    metadata = wheel.read("paddlepaddle-3.3.1.dist-info/METADATA").decode()
    assert "Name: paddlepaddle\nVersion: 3.3.1\n" in metadata
    assert "Requires-Dist: umiak\n" in metadata


def test_wheel_leaves_out_what_is_not_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package = Path("umiak")
    for name in (
        "a.py",
        "a.pyi",
        "a.pxd",
        "a.h",
        "py.typed",
        "b/c.pyx",
        "b/c.c",
        "b/c.so",
        "b/own.c",
        "b/__pycache__/c.pyc",
    ):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).touch()
    assert sorted(map(str, build_files.leftovers("umiak"))) == [
        "b/__pycache__",
        "b/__pycache__/c.pyc",
        "b/c.c",
        "b/c.pyx",
        "b/c.so",
    ]
    assert list(map(str, build_files.extensions())) == ["umiak/b/c.pyx"]


def test_wheel_check_finds_what_is_wrong():
    sources = ["umiak/a.py", "umiak/b.pyx", "umiak/b.pxd", "umiak/d/e.c"]
    good = [
        "umiak/a.py",
        "umiak/b.pxd",
        "umiak/d/e.c",
        "umiak/b.cpython-311-x86_64-linux-gnu.so",
        "umiak-0.1.dist-info/RECORD",
    ]
    assert check_wheel.problems(good, sources) == []
    bad = [*good[:1], "umiak/b.c", "extra/x.py", "umiak/__pycache__/a.pyc"]
    assert check_wheel.problems(bad, sources) == [
        "missing: umiak/b.pxd",
        "missing: umiak/d/e.c",
        "should not be there: umiak/b.c",
        "should not be there: umiak/__pycache__/a.pyc",
        "requires one compiled umiak/b.pyx, got []",
        "stray top-level entry: extra",
    ]


def test_wheel_check_finds_promises_that_modules_do_not_keep():
    problems = check_wheel.platform_problems
    old, new = b"\0GLIBC_2.2.5\0memcpy\0GLIBC_2.14\0", b"\0GLIBC_2.4\0GLIBC_2.34\0dlopen\0"
    name = "umiak-0.1.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    assert problems(name, {"a.so": old}) == []
    assert problems(name, {"a.so": old, "b.so": new}) == ["promises to run on glibc 2.17, but b.so needs 2.34"]
    (problem,) = problems("umiak-0.1.0-cp311-cp311-linux_x86_64.whl", {"a.so": old})
    assert problem.startswith("requires a manylinux tag, got umiak-0.1.0")


def test_cross_build_names_what_this_machine_lacks(monkeypatch):
    monkeypatch.setattr(
        cross_wheel.shutil, "which", lambda tool: None if tool.startswith("qemu") else f"/usr/bin/{tool}"
    )
    with pytest.raises(SystemExit, match=r"requires .*, qemu-aarch64, .*; install them: apt-get install qemu-user$"):
        cross_wheel.unpack()


def test_wheels_are_tried_by_what_their_names_say():
    name = try_wheels.NAME
    assert name.fullmatch("umiak-0.1.0-cp311-cp311-manylinux_2_34_aarch64.whl").groups() == ("3", "11", "aarch64")
    native = "umiak-0.1.0-cp310-cp310-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    assert name.fullmatch(native).groups() == ("3", "10", "x86_64")
    assert name.fullmatch("umiak-0.1.0-py3-none-any.whl") is None


def test_wheels_are_tried_with_tests_that_need_no_pytorch():
    assert all((ROOT / test).is_file() for test in try_wheels.SAMPLE)
    assert [t for t in try_wheels.SAMPLE if "torch" in (ROOT / t).read_text()] == []


def test_a_wheel_that_fails_is_told(monkeypatch, capsys):
    monkeypatch.setattr(try_wheels, "passes", lambda wheel: "cp311" in wheel.name)
    assert try_wheels.main(["umiak-0.1.0-cp311-a.whl", "umiak-0.1.0-cp312-a.whl"]) == 1
    assert capsys.readouterr().out == "passed  umiak-0.1.0-cp311-a.whl\nFAILED  umiak-0.1.0-cp312-a.whl\n"
    assert try_wheels.main(["umiak-0.1.0-cp311-a.whl"]) == 0
