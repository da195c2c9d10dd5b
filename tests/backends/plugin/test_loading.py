"""What is found below ``CUSTOM_DEVICE_ROOT``, and what is refused, each with the name of the file."""

import re
import shutil
import subprocess
import sys
import warnings

import plugin
import pytest

import paddle
from umiak import backends
from umiak.core.place import Place

pytestmark = plugin.needs_compiler

# What is wrong with a plug-in, and what is said of it.
FAULTY = {
    "OTHER_SIZES": r"requires version 0\.1\.1 of the interface, got no version: .* sizes than 96 and 1128 bytes",
    "OTHER_VERSION": r"requires version 0\.1\.1 of the interface, got 0\.7\.1",
    "RESERVED": r"leaves alone .*, got values in reserved_ccl_api\. Its table has another layout",
    "LARGER": r"leaves alone .*, got values in bytes behind the table\.",
    "MISSING": r"requires all functions that no device works without, got none for device_memory_allocate",
    "GARBAGE": r"requires a function for query_event, got an address where no code is, 0x",
    "NO_TYPE": r"requires that InitPlugin sets device_type, got none",
    "KERNELS": r"undefined symbol: PD_RegisterPhiKernel\. Kernels by paddle/phi/capi are not taken: the host",
}


def looked_at(folder):
    """The warnings of a search."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with plugin.root(folder):
            backends.discover(again=True)
    return [str(w.message) for w in caught]


@pytest.fixture(autouse=True)
def same_backends(monkeypatch):
    """What is found here is forgotten."""
    monkeypatch.setattr(backends.base, "_by_name", dict(backends.base._by_name))
    monkeypatch.setattr(backends.base, "_broken", dict(backends.base._broken))


@pytest.mark.parametrize("fault", FAULTY)
def test_a_faulty_plug_in_is_refused_and_the_others_run(fault, tmp_path, loop):
    made = plugin.compiled(tmp_path, "faulty", [f'TYPE="faulty_{fault.lower()}"', fault])
    shutil.copy(loop.backend.library.path, tmp_path / "a.so")
    backends.unregister("loop")  # another file of the same type is to be taken
    (text,) = looked_at(tmp_path)
    assert text.startswith(f"backend {str(made)!r} is skipped: PluginError: [CUSTOM_DEVICE_ROOT] {made} ")
    assert re.search(FAULTY[fault], text), text
    assert backends.get("loop").library.path.name == "a.so"
    with pytest.raises(ValueError, match=rf"no backend runs 'npu'.*Skipped: .*{made.name}"):
        backends.backends_of("npu")


def test_files_that_are_no_plug_ins(tmp_path):
    (tmp_path / "readme.txt").write_text("no library")
    (tmp_path / "text.so").write_text("no library")
    empty = tmp_path / "empty.c"
    empty.write_text("int nothing;")
    subprocess.run([plugin.CC, "-shared", str(empty), "-o", str(tmp_path / "nothing.so")], check=True)
    nothing, text = looked_at(tmp_path)
    assert f"{tmp_path}/nothing.so requires a function InitPlugin, got none" in nothing
    assert f"{tmp_path}/text.so requires a shared library that loads, got " in text


def test_folders_that_are_not_there(tmp_path):
    (text,) = looked_at(f"{tmp_path}/gone")
    assert f"requires folders, got '{tmp_path}/gone', which is none" in text
    assert looked_at("") == looked_at(tmp_path) == []


def test_two_plug_ins_of_one_type(tmp_path, loop):
    shutil.copy(loop.backend.library.path, tmp_path / "second.so")
    (text,) = looked_at(tmp_path)
    assert f"'{tmp_path}/second.so' is skipped: ValueError: there is a backend 'loop' already" in text
    assert backends.get("loop") is loop.backend


def test_a_file_is_loaded_once(loop):
    assert looked_at(loop.backend.library.path.parent) == []
    assert backends.get("loop") is loop.backend


def test_devices_have_their_public_names(loop):
    assert "loop" in paddle.device.get_all_custom_device_type()
    assert {"loop:0", "loop:1"} <= set(paddle.device.get_available_custom_device())
    assert paddle.CustomPlace("loop", 1) == Place("loop", 1)
    assert paddle.device.get_device_properties("loop:1") == ("loop v1", 7, 5, 1 << 28, 3)
    with pytest.raises(ValueError, match="one of 2 devices of type 'loop'"):
        paddle.set_device("loop:2")


def test_it_is_loaded_where_the_variable_is_set_and_ends_with_the_process(loop):
    """All that it gave is back, nothing twice, and nothing is called after its end."""
    code = f"""
import atexit, ctypes, os, sys, paddle
from umiak import backends
paddle.ones([2]) + 1
assert not [m for m in sys.modules if m.startswith("umiak.backends.plugin")]
os.environ["CUSTOM_DEVICE_ROOT"] = {str(loop.backend.library.path.parent)!r}
backends.discover(again=True)
def report():
    counts = (ctypes.c_long * 6)()
    backends.get("loop").library._library.loop_counts(counts)
    print(list(counts)[1:])
atexit.register(report)  # runs after what is registered later
paddle.set_device("loop:0")
x = paddle.ones([1000]) * 2
y = x.to("loop:1")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[-2:-1] == [str([0] * 5)], done.stdout + done.stderr
