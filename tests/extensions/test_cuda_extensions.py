"""Extensions with kernels for CUDA devices: which toolkit, which commands, and what is said where something is missing.
The toolkit of a slow test is NVIDIA's own, up to the launch that needs a driver."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import paddle
from paddle.utils.cpp_extension import CUDAExtension, load
from paddle.utils.cpp_extension.compiling import compiler, flags_for, linking_for, run_time_libraries
from paddle.utils.cpp_extension.cuda_toolkit import architecture_flags, home, toolkit
from tests.support import extras
from tests.support.extensions import SOURCES

PARTS = ("bin/nvcc", "nvvm/bin/cicc", "include/crt/host_config.h", "include/cuda_runtime.h")


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """An environment that names no toolkit."""
    for name in ("CUDA_HOME", "CUDA_PATH", "CXX", "PADDLE_CUDA_ARCH_LIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setattr("paddle.utils.cpp_extension.cuda_toolkit._USUAL", str(tmp_path / "usual"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return tmp_path


def toolkit_in(root: Path, without: str = "") -> Path:
    """A folder with the files by which a toolkit is known; its compiler tells where it is."""
    for part in PARTS:
        if part != without:
            (root / part).parent.mkdir(parents=True, exist_ok=True)
            (root / part).write_text(f"#!/bin/sh\necho '#$ _HERE_={root}/bin'\n")
            (root / part).chmod(0o755)
    (root / "lib").mkdir(exist_ok=True)
    return root


def test_the_environment_names_the_toolkit(alone, monkeypatch):
    root = toolkit_in(alone / "here")
    toolkit_in(alone / "usual")
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, str(root))
        kit = toolkit("a.cu", "load")
        assert kit == (f"{root}/bin/nvcc", [f"{root}/include"], [f"{root}/lib"])
        monkeypatch.delenv(name)
    assert toolkit("a.cu", "load").nvcc == f"{alone}/usual/bin/nvcc"
    assert home() == f"{alone}/usual"


def test_a_script_on_the_path_tells_where_its_toolkit_is(alone):
    root = toolkit_in(alone / "elsewhere")
    script = alone / "bin" / "nvcc"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {root}/bin/nvcc "$@"\n')
    script.chmod(0o755)
    assert toolkit("a.cu", "load").nvcc == f"{root}/bin/nvcc"


@pytest.mark.parametrize("part", PARTS[1:])
def test_a_toolkit_that_lacks_a_part_is_no_toolkit(alone, monkeypatch, part):
    monkeypatch.setenv("CUDA_HOME", str(toolkit_in(alone / "partial", without=part)))
    with pytest.raises(
        RuntimeError,
        match=rf"requires nvcc for a\.cu, got .*partial, which lacks {part} \(in the wheel nvidia-",
    ):
        toolkit("a.cu", "load")


def test_where_there_is_none_it_is_said_what_to_install(alone):
    (alone / "a.cu").write_text("")
    wanted = (
        r"\[load\] requires nvcc for .*a\.cu, got none on PATH, in CUDA_HOME or in .*usual\. Install NVIDIA's toolkit"
    )
    with pytest.raises(RuntimeError, match=wanted):
        load("none", [str(alone / "a.cu")], build_directory=str(alone))
    assert home() is None


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("8.0", ["arch=compute_80,code=sm_80"]),
        ("80;9.0 , 10.0", ["arch=compute_100,code=sm_100", "arch=compute_80,code=sm_80", "arch=compute_90,code=sm_90"]),
        ("9.0a+PTX", ["arch=compute_90a,code=compute_90a", "arch=compute_90a,code=sm_90a"]),
        ("", ["arch=compute_80,code=compute_80", "arch=compute_80,code=sm_80"]),
    ],
)  # fmt: skip
def test_architectures(alone, monkeypatch, text, flags):
    monkeypatch.setenv("PADDLE_CUDA_ARCH_LIST", text)
    assert architecture_flags([], "load") == [f"-gencode={flag}" for flag in flags]
    for own in ("-gencode=arch=compute_75,code=sm_75", "-arch=sm_90", "--gpu-architecture=sm_90"):
        assert architecture_flags([own], "load") == []


def test_what_is_no_architecture_is_refused(monkeypatch):
    monkeypatch.setenv("PADDLE_CUDA_ARCH_LIST", "8.0;Volta")
    with pytest.raises(ValueError, match=r"'8\.0', '90a' or '9\.0\+PTX' in PADDLE_CUDA_ARCH_LIST, got 'Volta'"):
        architecture_flags([], "load")


def test_commands(alone, monkeypatch):
    """Headers of the toolkit and a macro for sources in C++, too; the run-time library is linked in."""
    root = toolkit_in(alone / "here")
    monkeypatch.setenv("CUDA_HOME", str(root))
    kit = toolkit("a.cu", "load")
    host = flags_for("b.cc", ["-Wall"], ["-lineinfo"], ["own"], kit, "load")
    device = flags_for("a.cu", ["-Wall"], ["-lineinfo"], ["own"], kit, "load")
    assert host[-1] == "-Wall" and device[-1] == "-lineinfo"
    assert all("-DPADDLE_WITH_CUDA" in flags and "-Iown" in flags for flags in (host, device))
    assert host[host.index("-isystem") + 1] == f"{root}/include"
    assert device[device.index("-Xcompiler") + 1] == "-fPIC" and "-gencode=arch=compute_80,code=sm_80" in device
    assert "-DPADDLE_WITH_CUDA" not in flags_for("b.cc", [], [], [], None, "load")
    assert compiler("a.cu", "load") == [f"{root}/bin/nvcc"]
    assert not linking_for(["a.cu", "b.cc"], [], kit, "load")[0].endswith("nvcc")
    assert linking_for(["b.cc", "a.cu"], ["-rdc=true"], kit, "load") == [f"{root}/bin/nvcc", "-shared"]
    assert run_time_libraries(kit)[:2] == [f"-L{root}/lib", "-lcudart_static"]
    monkeypatch.setenv("CXX", "g++ -m64")
    assert compiler("a.cu", "load") == [f"{root}/bin/nvcc", "-ccbin", "g++"]
    assert CUDAExtension(["b.cc"]).with_cuda


# --- with NVIDIA's toolkit


@pytest.fixture
def wheels(monkeypatch, tmp_path):
    """The toolkit of wheels."""
    extras.module("nvidia.cu13", "nvidia-cuda-nvcc")
    monkeypatch.setenv("CUDA_HOME", str(Path(importlib.util.find_spec("nvidia.cu13").submodule_search_locations[0])))
    monkeypatch.setenv("PADDLE_CUDA_ARCH_LIST", "8.0")
    return tmp_path


@pytest.mark.slow
def test_errors_have_what_the_compiler_says(wheels):
    (wheels / "wrong.cu").write_text("__global__ void f() { undefined_thing; }\n")
    with pytest.raises(RuntimeError, match=r'status \d+ of\n.*nvcc (.|\n)*identifier "undefined_thing" is undefined'):
        load("wrong", [str(wheels / "wrong.cu")], build_directory=str(wheels))


@pytest.mark.slow
def test_kernels_are_compiled_and_loaded(wheels):
    """In a package of a ``setup.py``, kernels and C++ together. Without a driver a launch says so."""
    (wheels / "setup.py").write_text(
        textwrap.dedent(f"""
        from paddle.utils.cpp_extension import CUDAExtension, setup

        setup(name="cuda-ops", ext_modules=CUDAExtension(
            [{str(SOURCES / "relu.cu")!r}, {str(SOURCES / "torch_relu.cu")!r}, {str(SOURCES / "versions.cc")!r}],
            extra_compile_args={{"cxx": ["-O0"], "nvcc": ["-O1"]}}))
        """)
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    build = [sys.executable, "setup.py", "-q", "build", "--build-lib", str(wheels / "out")]
    subprocess.run(build, cwd=wheels, check=True, env=environment)
    sys.path.insert(0, str(wheels / "out"))
    try:
        import cuda_ops
    finally:
        sys.path.pop(0)
    assert cuda_ops.__all__ == ["cuda_relu", "cuda_version", "torch_relu"]
    assert float(cuda_ops.cuda_version(paddle.ones([1]))) >= 13000
    with pytest.raises(RuntimeError, match=r"\[cuda_relu\] x must be on a gpu \(.*relu\.cu:11\)"):
        cuda_ops.cuda_relu(paddle.ones([1]))
    with pytest.raises(RuntimeError, match=r"x must be on a gpu"):
        paddle.ops.cuda_tests.torch_relu(paddle.ones([1]))
