"""The headers that we give to plug-ins, and the structures that we read what they fill by: one table."""

import ctypes
import os
import subprocess
from pathlib import Path

import plugin
import pytest

import paddle
from umiak.backends.plugin import abi, header, structures

INCLUDE = Path(paddle.sysconfig.get_include())
CXX = os.environ.get("CXX", "g++")
ORACLE = os.environ.get("ORACLE_PYTHON")
PRINT = """
import os, paddle
print(os.path.join(os.path.dirname(paddle.__file__), "include"))
"""


@pytest.mark.parametrize("name", header.HEADERS)
def test_headers_are_those_of_the_table(name):
    assert (INCLUDE / name).read_text() == header.HEADERS[name](), (
        "run `python -m umiak.backends.plugin.header paddle/include`"
    )


def members():
    """(structure in C++, its members by name) of all structures that are shared."""
    interface = [f.name for group in abi.GROUPS for f in (*group.functions, group.reserved)]
    yield "C_DeviceInterface", structures.DeviceInterface, ["size", *interface]
    for name, fields in abi.STRUCTURES.items():
        yield name, structures.SCALARS[name], [f.name for f in fields]
    for name, fields in abi.EVENTS.items():
        yield f"phi::{name}", structures.SCALARS[name], [f.name for f in fields]


def questions():
    """Expressions in C++ and what they are by our structures."""
    for name, structure, names in members():
        yield f"sizeof({name})", ctypes.sizeof(structure)
        for member in names:
            in_cxx = "kernel_info" if member == "info" else member
            yield f"__builtin_offsetof({name}, {in_cxx})", getattr(structure, member).offset
            if member != "info":
                yield f"sizeof((({name}*)0)->{in_cxx})", getattr(structure, member).size
    for detail in abi.DETAILS.values():
        yield f"sizeof(phi::{detail.type})", ctypes.sizeof(structures.SCALARS[detail.type])
    for enum, text in abi.ENUMS.items():
        yield f"sizeof({enum})", 4
        yield from ((member, value) for value, member in enumerate(text.split()))
        yield from ((other, text.split().index(member)) for other, member in abi.ALIASES.get(enum, {}).items())
    for value, kind in enumerate(abi.EVENT_TYPES.split()):
        yield f"int(phi::TracerEventType::{kind})", value
    for part, value in zip(("MAJOR", "MINOR", "PATCH"), abi.VERSION):
        yield f"PADDLE_CUSTOM_RUNTIME_{part}_VERSION", value
    yield "MAX_HOOKS", abi.MAX_HOOKS


def types():
    """Checks at compile time that each function has the type that the table says."""
    for group in abi.GROUPS:
        for function in group.functions:
            parameters = ", ".join(f"{p.type} {p.name}" for p in function.parameters)
            parameters = parameters.replace("C_GridSize", "GridSize")
            yield f"static C_Status (*C_DeviceInterface::*const {function.name}_)({parameters}) = "
            yield f"    &C_DeviceInterface::{function.name};"


def answers(include: Path, folder: Path) -> None:
    """Compile and run a program that asks a header."""
    asked = list(questions())
    text = [f'#include "{name}"' for name in header.HEADERS]
    text += ["#include <cstdio>", "typedef std::array<unsigned int, 3> GridSize;", *types(), "int main() {"]
    text += [f'  std::printf("%ld\\n", (long)({expression}));' for expression, _ in asked]
    source, program = folder / "ask.cc", folder / "ask"
    source.write_text("\n".join([*text, "}"]))
    command = [CXX, "-w", "-Winvalid-offsetof", f"-I{include}", str(source), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    wrong = [(e, int(got), value) for (e, value), got in zip(asked, printed, strict=True) if int(got) != value]
    assert not wrong


@pytest.mark.slow
def test_our_header_in_cxx_has_the_layout_of_our_structures(tmp_path):
    answers(INCLUDE, tmp_path)


@pytest.fixture(scope="module")
def reference():
    """The folder of the reference's own headers."""
    if ORACLE is None:
        pytest.skip("ORACLE_PYTHON names no Python with the reference framework")
    done = subprocess.run([ORACLE, "-c", PRINT], capture_output=True, text=True, cwd="/", check=True)
    return Path(done.stdout.split()[-1])


@pytest.mark.slow
def test_the_references_header_has_the_same_layout_and_types(tmp_path, reference):
    answers(reference, tmp_path)


@pytest.mark.slow
def test_a_plug_in_compiled_with_the_references_header_runs_here(tmp_path, reference):
    made = tmp_path / "libpaddle-refloop.so"
    command = [CXX, "-x", "c++", "-w", "-shared", "-fPIC", '-DTYPE="refloop"', f"-I{reference}"]
    subprocess.run([*command, str(plugin.SOURCE), "-o", str(made)], check=True)
    program = """
import numpy as np, paddle
from paddle.profiler import Profiler
paddle.set_device("refloop:1")
with Profiler(custom_device_types=["refloop"]) as profiler:
    x = paddle.to_tensor(np.arange(6, dtype="float32").reshape(2, 3))
    y = paddle.nn.functional.softmax(x.T[1:])
print(y.numpy().sum(), {e.name for e in profiler.profiler_result.of("Memcpy")})
"""
    environment = {**os.environ, "CUSTOM_DEVICE_ROOT": str(tmp_path)}
    run = [os.sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-2] == "2.0 {'copy of the device'}"
