"""Extensions that are wrong: a clear error, and the process lives."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap

import pytest

import paddle
from paddle.utils.cpp_extension import CppExtension, CUDAExtension, load, setup
from paddle.utils.cpp_extension.loading import functions_of
from tests.support.extensions import SOURCES, library_of

TABLE = """
#include "umiak/extension_abi.h"
static umiak_extension_table table = {sizeof(table), MAJOR, MINOR, "none", 0, 0, 0};
const umiak_extension_table* umiak_extension(const umiak_host* host) { CHANGE; return host ? &table : 0; }
"""


def table(major="UMIAK_ABI_MAJOR", minor="UMIAK_ABI_MINOR", change=""):
    return TABLE.replace("MAJOR,", f"{major},").replace("MINOR,", f"{minor},").replace("CHANGE", change or ";")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (table("9", "0"), r"an extension that was built for version 1\.\d+ .* was built for 9\.0\. Build it again"),
        (table(minor="99"), r"was built for 1\.99"),
        (table(change="table.size = 4"), r"requires a table of operators, got none"),
        (table(change="table.size = 24"), r"requires a table of \d+ bytes, got 24"),
        (table(change="return 0"), r"requires a table of operators, got none"),
        (table(change='table.error = "no kernel is set"'), r"requires declarations that are right .* no kernel is set"),
        (
            table(change="static umiak_operator op = {8}; static const umiak_operator* all[] = {&op}; "
                  "table.n_operators = 1; table.operators = all"),
            r"requires tables of operators of \d+ bytes",
        ),
        ("int nothing;", r"which has no function umiak_extension\. Include paddle/extension\.h"),
        ("void missing_function(void); void f(void) { missing_function(); }", r"undefined symbol: missing_function"),
    ],
)  # fmt: skip
def test_libraries_that_do_not_fit(tmp_path, text, message):
    path = library_of(text, tmp_path / "bad.so", "-Wl,-z,lazy")
    with pytest.raises(ImportError, match=message):
        functions_of(str(path))


def test_tables_of_earlier_versions(tmp_path):
    assert functions_of(str(library_of(table(minor="0"), tmp_path / "earlier.so"))) == {}


def test_a_later_table_has_more_fields(tmp_path):
    text = table().replace("sizeof(table)", "sizeof(table) + 64")
    assert functions_of(str(library_of(text, tmp_path / "later.so"))) == {}


def test_files_that_are_no_libraries(tmp_path):
    path = tmp_path / "text.so"
    path.write_text("no library")
    with pytest.raises(ImportError, match=r"requires a library that loads, got .*text\.so"):
        functions_of(str(path))
    with pytest.raises(FileNotFoundError, match=r"nowhere"):
        functions_of(str(tmp_path / "nowhere.so"))


DECLARED = """
#include "umiak/extension_abi.h"
static int run(void* self, umiak_call* call) { call->complain(call->context, KIND, "text"); return STATUS; }
static const char* const x[] = {INPUT};
static const char* const y[] = {"Out"};
static const char* const a[] = {ATTRIBUTE};
static umiak_operator op = {
    sizeof(op), 0, "declared_op", "", "here.cc", 7, 0, {1, x}, {1, y}, {sizeof(a) / sizeof(*a), a}, {0, 0}, 0, RUN};
static const umiak_operator* const all[] = {&op};
static const umiak_extension_table table = {sizeof(table), UMIAK_ABI_MAJOR, UMIAK_ABI_MINOR, "none", 1, all, 0};
const umiak_extension_table* umiak_extension(const umiak_host* host) { return host ? &table : 0; }
"""


def declared(tmp_path, name, **parts):
    text = DECLARED
    values = {"KIND": '"ValueError"', "STATUS": "1", "INPUT": '"X"', "ATTRIBUTE": '"k: int"', "RUN": "run", **parts}
    for word, value in values.items():
        text = text.replace(word, value)
    return functions_of(str(library_of(text, tmp_path / f"{name}.so")))["declared_op"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"INPUT": '"X@WHAT"'}, r"\[declared_op\] names like 'X', .* got 'X@WHAT' \(here\.cc:7\)"),
        ({"ATTRIBUTE": '"k: matrix"'}, r"attributes like 'axis: int' .* got 'k: matrix'"),
        ({"ATTRIBUTE": '"is: int"'}, r"attributes like 'axis: int' .* got 'is: int'"),
        ({"ATTRIBUTE": '"x: int"'}, r"arguments of different names are required, got \['x', 'x'\]"),
        ({"RUN": "0"}, r"Outputs and a kernel \(SetKernelFn\) are required"),
    ],
)
def test_declarations_that_are_wrong(tmp_path, parts, message):
    with pytest.raises(ImportError, match=message):
        declared(tmp_path, "wrong", **parts)
    assert not paddle.library.PYTHON_OP_REGISTRY.has_operator("cpp::declared_op")


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ({}, ValueError),
        ({"KIND": '"NoSuchError"'}, RuntimeError),
        ({"KIND": '"SystemExit"'}, RuntimeError),
        ({"KIND": '"print"'}, RuntimeError),
        ({"STATUS": "2"}, ValueError),
        ({"STATUS": "77"}, ValueError),
    ],
)
def test_complaints_of_any_kind(tmp_path, parts, kind):
    operator = declared(tmp_path, "complaining", **parts)
    with pytest.raises(kind, match=r"\[declared_op\] text \(of the operator at here\.cc:7\)"):
        operator(paddle.ones([1]), 1)


def test_names_that_are_taken(tmp_path):
    declared(tmp_path, "first")
    with pytest.raises(ValueError, match=r"requires a name that is free, got 'cpp::declared_op'"):
        declared(tmp_path, "second")


def test_sources_that_do_not_compile(tmp_path):
    source = tmp_path / "bad.cc"
    source.write_text("int main( {")
    with pytest.raises(RuntimeError, match=r"\[load\] requires sources that compile[\s\S]*error:") as caught:
        load("bad", [str(source)], build_directory=str(tmp_path))
    assert "bad.cc" in str(caught.value)
    assert sorted(p.name for p in tmp_path.glob("bad/*")) == ["bad.lock"]
    with pytest.raises(FileNotFoundError, match=r"\[load\] requires sources that exist"):
        load("bad", [str(tmp_path / "none.cc")], build_directory=str(tmp_path))
    for name, sources in (("no name", ["a.cc"]), ("empty", [])):
        with pytest.raises(ValueError, match=r"\[load\] requires"):
            load(name, sources)
    with pytest.raises(TypeError, match=r"a list of str for sources"):
        load("text", "a.cc")


def test_compilers_that_are_missing(tmp_path, monkeypatch):
    (tmp_path / "a.cc").write_text("")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match=r"a compiler of C\+\+17 for .*a\.cc, got none called 'no-such-compiler'"):
        load("none", [str(tmp_path / "a.cc")], build_directory=str(tmp_path))


def test_packages_need_names_and_extensions():
    with pytest.raises(ValueError, match=r"a str as name"):
        setup(ext_modules=CppExtension(["a.cc"]))
    with pytest.raises(ValueError, match=r"extensions as ext_modules"):
        setup(name="nothing")
    for make in (CppExtension, CUDAExtension):
        with pytest.raises(ValueError, match=r"a list of sources"):
            make([])
    assert CppExtension(["dir/a.cc", "b.cc"]).name == "a_b"
    assert CppExtension(["a.cc"], name="own").name == "own"


def test_steps_of_builds_that_fail(tmp_path):
    steps = importlib.import_module("paddle.utils.cpp_extension.extension_utils")
    setup_py = tmp_path / "setup.py"
    with pytest.raises(FileNotFoundError, match=r"\[_jit_compile\] requires a setup.py that exists, got .*setup.py"):
        steps._jit_compile(str(setup_py))
    with pytest.raises(FileNotFoundError, match=r"\[_import_module_from_library\] .*, got .*nothing.so"):
        steps._import_module_from_library("nothing", str(tmp_path))
    setup_py.write_text("raise SystemExit('sources are missing')")
    with pytest.raises(
        RuntimeError, match=r"(?s)\[_jit_compile\] .* got status 1 of setup.py build .*sources are missing"
    ):
        steps._jit_compile(str(setup_py))
    assert steps.run_cmd("true") == 0
    with pytest.raises(RuntimeError, match=r"\[run_cmd\] .* got status 3 of 'exit 3'"):
        steps.run_cmd("exit 3")


@pytest.mark.slow
def test_a_package_builds_its_operators_when_it_is_used(tmp_path):
    steps = importlib.import_module("paddle.utils.cpp_extension.extension_utils")
    (tmp_path / "late.cc").write_text(
        """
        #include "paddle/extension.h"
        std::vector<paddle::Tensor> Twice(const paddle::Tensor& x) { return {x + x}; }
        PD_BUILD_OP(late_twice).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(Twice));
        """
    )
    (tmp_path / "late_setup.py").write_text(
        textwrap.dedent(f"""
        from setuptools import setup
        from paddle.utils.cpp_extension.cpp_extension import BuildExtension, CppExtension

        setup(name="late", ext_modules=[CppExtension(
            name="late", sources=["late.cc"], extra_compile_args=["-O0"])],
            cmdclass={{"build_ext": BuildExtension.with_options(output_dir={str(tmp_path)!r})}})
        """)
    )
    steps._jit_compile(str(tmp_path / "late_setup.py"))
    module = steps._import_module_from_library("late", str(tmp_path))
    assert (tmp_path / "late.so").is_file()
    assert module.late_twice(paddle.ones([1])).tolist() == [2.0]
    assert steps.parse_op_info("late_twice") == (["X"], [], ["Out"])


@pytest.mark.slow
def test_a_package_is_built_and_imported(tmp_path):
    (tmp_path / "setup.py").write_text(
        textwrap.dedent(f"""
        from paddle.utils.cpp_extension import CppExtension, setup

        setup(name="own-ops", ext_modules=CppExtension(
            [{str(SOURCES / "library.cc")!r}], extra_compile_args={{"cxx": ["-O0"]}}, define_macros=[("UNUSED", None)]))
        """)
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    build = [sys.executable, "setup.py", "-q", "build", "--build-lib", str(tmp_path / "out")]
    subprocess.run(build, cwd=tmp_path, check=True, env=environment)
    program = "import own_ops, paddle; print(own_ops.twice(paddle.ones([2])).tolist(), 'twice' in own_ops.__all__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path / "out",
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.stdout.strip() == "[2.0, 2.0] True"
