"""Models that are compiled ahead of their use, through their interface in C."""

import re
import subprocess
import sys
import threading
from ctypes import byref, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np
import pytest

from paddle.inference.compile import compile_model, main
from tests.support import native_libraries as native
from tests.support.native_libraries import Native, NativeError, expected

ALLOWED = {
    "linux-vdso.so.1",
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}


def close(got, wanted):
    assert len(got) == len(wanted)
    for y, z in zip(got, wanted, strict=True):
        assert y.dtype == z.dtype
        np.testing.assert_allclose(y, z, rtol=2e-5, atol=2e-6)


def test_outputs_are_those_of_the_predictor(model, compiled, data):
    p = Native(compiled).create()
    close(p.run(*data), expected(model, *data))
    close(p.run(*(x[:1] for x in data)), expected(model, *(x[:1] for x in data)))
    p.close()


def test_inputs_and_outputs_are_described(compiled, data):
    p = Native(compiled).create()
    assert [p.info("input", i) for i in range(p.count("input"))] == [
        ("x", "float32", [-1, 3, 9, 9]),
        ("places", "int64", [-1, 4]),
    ]
    assert [p.info("output", i)[1:] for i in range(2)] == [("float32", [-1, 5]), ("float32", [-1, 28])]
    p.run(*data)
    assert p.info("output", 0)[2] == [2, 5]
    p.close()


@pytest.mark.slow
def test_ranges_of_sizes(model, tmp_path, rng):
    library = compile_model(str(model), str(tmp_path / "libranges.so"), sizes=["x=1..3x3x9x9,places=1..3x4"])
    p = Native(library).create()
    for n in (3, 1, 2):
        xs = rng.standard_normal((n, 3, 9, 9)).astype("float32"), rng.integers(0, 10, (n, 4))
        close(p.run(*xs), expected(model, *xs))
    with pytest.raises(NativeError, match=r"\[1, 3, 9, 9\] and others, got \[4, 3, 9, 9\]"):
        p.run(np.zeros((4, 3, 9, 9), "float32"))
    p.close()


def test_inputs_that_no_result_needs_are_inputs_nevertheless(tmp_path, rng):
    """So a program in C that fits the model fits its library."""

    def build(x, y):
        return x.reshape([-1]), y * 2.0

    model = native.save(tmp_path / "model", build, [("x", [0, 3], "float32"), ("y", [2, 3], "float32")])
    p = Native(compile_model(str(model), str(tmp_path / "libmodel.so"))).create()
    assert [p.info("input", i)[0] for i in range(p.count("input"))] == ["x", "y"]
    xs = [rng.standard_normal((n, 3)).astype("float32") for n in (0, 2)]
    close(p.run(*xs), expected(model, *xs))
    p.close()


def test_library_needs_the_c_library_alone(compiled):
    listed = subprocess.run(["ldd", compiled], capture_output=True, text=True, check=True).stdout
    assert {line.split()[0].rpartition("/")[2] for line in listed.splitlines()} <= ALLOWED


def test_program_without_python(compiled, tmp_path, model):
    program = tmp_path / "predict"
    command = [native.CC, "-O1", f"-I{native.ROOT}/paddle/inference/native/include", str(native.PREDICT), "-o", program]
    subprocess.run([*command, compiled, f"-Wl,-rpath,{compiled.parent}"], check=True)
    run = subprocess.run([program, "x=1x3x9x9", "places=1x4"], env={}, capture_output=True, text=True, check=True)
    x = (np.arange(243) * 37 % 101 / 101).astype("float32").reshape(1, 3, 9, 9)
    wanted = expected(model, x, np.arange(4)[None])
    for line, y in zip(run.stdout.splitlines(), wanted, strict=True):
        numbers = [float(n) for n in line.rpartition("] ")[2].split()]
        np.testing.assert_allclose(numbers, y.reshape(-1)[: len(numbers)], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_program_in_a_root_of_its_own(compiled, tmp_path):
    """Nothing is there but the program, the library and the C library."""
    program = tmp_path / "predict"
    include = native.ROOT / "paddle/inference/native/include"
    subprocess.run(
        [native.CC, f"-I{include}", str(native.PREDICT), "-o", program, compiled, "-Wl,-rpath,/"], check=True
    )
    listed = subprocess.run(["ldd", compiled], capture_output=True, text=True, check=True).stdout
    for path in [w for w in listed.split() if w.startswith("/")]:
        target = tmp_path / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(path).read_bytes())
        target.chmod(0o755)
    (tmp_path / compiled.name).write_bytes(compiled.read_bytes())
    command = ["unshare", "-r", "chroot", tmp_path, "/predict", "x=1x3x9x9", "places=1x4"]
    paths = {"PATH": "/usr/sbin:/usr/bin:/bin"}
    run = subprocess.run(command, env=paths, capture_output=True, text=True, check=False)
    if "unshare" in run.stderr or "chroot" in run.stderr:
        pytest.skip(f"may not change the root: {run.stderr.strip()}")
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 2


def test_clones_run_side_by_side(model, compiled, rng):
    first = Native(compiled).create(threads=2)
    clones = [first.clone() for _ in range(3)]
    first.close()  # the weights stay
    inputs = [(rng.standard_normal((2, 3, 9, 9)).astype("float32"), rng.integers(0, 10, (2, 4))) for _ in clones]
    results = [None] * len(clones)

    def work(i):
        for _ in range(50):
            results[i] = clones[i].run(*inputs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(clones))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for got, xs in zip(results, inputs, strict=True):
        close(got, expected(model, *xs))
    for p in clones:
        p.close()


@pytest.mark.parametrize(
    ("call", "status", "words"),
    [
        (lambda p, x, i: p.set(2, x), native.INVALID_ARGUMENT, "has 2 inputs, got index 2"),
        (lambda p, x, i: p.set(0, x.astype("float64")), native.INVALID_INPUT, "x requires float32, got float64"),
        (lambda p, x, i: p.set(0, x[0]), native.INVALID_INPUT, "x requires 4 dims, got 3"),
        (lambda p, x, i: p.set(0, x[:, :2]), native.INVALID_INPUT, r"\[2, 3, 9, 9\] and others, got \[2, 2, 9, 9\]"),
        (lambda p, x, i: p.run(), native.INVALID_INPUT, "input x was not set"),
        (lambda p, x, i: p.run(x[:1], i), native.INVALID_INPUT, r"shapes \[1, 3, 9, 9\] \[2, 4\] together"),
        (lambda p, x, i: p.copy(0, 0), native.INVALID_ARGUMENT, "has no data before a run"),
        (lambda p, x, i: p.run(x, i + 10), native.RUN_FAILED, "a check of the data failed"),
    ],
)
def test_refusals(compiled, data, call, status, words):
    p = Native(compiled).create()
    with pytest.raises(NativeError, match=words) as error:
        call(p, *data)
    assert error.value.status == status
    p.run(*data)  # nothing is broken
    p.close()


def test_null_pointers_are_refused(compiled):
    c = Native(compiled).c
    for name, n in (
        ("predictor_create", 4),
        ("predictor_clone", 2),
        ("input_count", 2),
        ("output_info", 3),
        ("run", 1),
    ):
        assert getattr(c, f"umiak_{name}")(*[None] * n) == native.INVALID_ARGUMENT
        assert b"must not be NULL" in c.umiak_last_error()
    assert c.umiak_predictor_destroy(None) == native.OK


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c, p: c.umiak_set_input(p, 0, b"", 10, 0, None), b"there is no dtype 10"),
        (lambda c, p: c.umiak_set_input(p, 0, b"", 0, 17, None), b"rank must be from 0 to 16, got 17"),
        (lambda c, p: c.umiak_set_input(p, 0, b"", 0, 2, None), b"shape must not be NULL"),
        (lambda c, p: c.umiak_set_input(p, 0, b"", 0, 2, (c_int64 * 2)(-1, 3)), b"out of range"),
        (lambda c, p: c.umiak_set_input(p, 0, b"", 0, 2, (c_int64 * 2)(1 << 40, 1 << 40)), b"out of range"),
        (lambda c, p: c.umiak_set_input(p, 0, None, 0, 4, (c_int64 * 4)(2, 3, 9, 9)), b"data must not be NULL"),
        (lambda c, p: c.umiak_set_input(p, 0, None, 0, 2, (c_int64 * 2)(0, 1 << 62)), b"requires 4 dims, got 2"),
        (lambda c, p: c.umiak_output_info(p, 2, byref(native.Info())), b"has 2 outputs, got index 2"),
        (lambda c, p: c.umiak_input_index(p, b"none", byref(c_size_t())), b"has no input called none"),
        (lambda c, p: c.umiak_input_index(p, None, byref(c_size_t())), b"name must not be NULL"),
        (lambda c, p: c.umiak_output_index(p, b"x", None), b"index must not be NULL"),
    ],
)
def test_arguments_are_checked(compiled, call, words):
    p = Native(compiled).create()
    assert call(p.c, p.p)
    assert words in p.c.umiak_last_error()
    p.close()


@pytest.mark.parametrize("place", [0, 3])
def test_options_of_a_later_version_are_refused(compiled, place):
    c, options, made = Native(compiled).c, native.Options(), c_void_p(1)
    options.reserved[place] = -3
    assert c.umiak_predictor_create(None, None, byref(options), byref(made)) == native.INVALID_ARGUMENT
    assert made.value is None
    words = c.umiak_last_error().decode()
    assert words.startswith(f"options.reserved[{place}] must be 0, got -3: version {c.umiak_version().decode()} has no")


@pytest.mark.parametrize(
    ("count", "settings", "words"),
    [
        (-3, None, "setting_count must be from 0 to 4096, got -3"),
        (1, None, "options.settings must be an array, since setting_count is 1"),
        (0, (native.Setting * 1)(), "options.settings must be NULL, since setting_count is 0"),
        (1, (native.Setting * 1)(), r"options.settings\[0\].name must not be NULL"),
    ],
)
def test_settings_that_are_none(compiled, count, settings, words):
    library, made = Native(compiled), c_void_p(1)
    options = native.Options(setting_count=count, settings=settings)
    with pytest.raises(NativeError, match=words) as error:
        library.check(library.c.umiak_predictor_create(None, None, byref(options), byref(made)))
    assert error.value.status == native.INVALID_ARGUMENT


def test_what_needs_the_interpreter_is_refused(compiled, data):
    library = Native(compiled)
    p = library.create()
    p.run(*data)
    for call in (
        lambda: library.create(settings=[("enable_onednn_bfloat16", None)]),
        lambda: library.create(settings=[("enable_profile", None), ("switch_ir_optim", "0")]),
        lambda: library.names("pass", None),
        lambda: library.convert("m", "n", 5),
        lambda: p.set_lod(0, [[0, 2]]),
        lambda: p.add_hook(1, lambda *_: 0),
    ):
        with pytest.raises(NativeError, match=r"was compiled ahead of time.*libumiak_inference\.so") as error:
            call()
        assert error.value.status == native.UNSUPPORTED
    p.set_lod(0, [])
    assert p.lod(0) == []
    p.close()


def test_what_is_kept_between_runs_is_let_go(model, compiled, data):
    p = Native(compiled).create(threads=2)
    wanted = p.run(*data)
    p.shrink()
    close(p.outputs(), wanted)  # lie there still
    p.clear()
    with pytest.raises(NativeError, match="has no data before a run"):
        p.copy(0, 8)
    assert p.shrink() == 0  # nothing is left
    close(p.run(), wanted)  # of the inputs that were set
    p.close()


PROFILED = """
import sys
import numpy as np
from pathlib import Path
from tests.support.native_libraries import Native
library = Native(Path(sys.argv[1]))
assert library.names("setting") == ["enable_profile"]
p = library.create(settings=[("enable_profile", None)])
clone = p.clone()
for x in (p, clone, p):
    x.run(np.zeros((2, 3, 9, 9), "float32"), np.zeros((2, 4), "int64"))
p.close()
clone.close()
"""


def test_a_profile_of_steps(compiled):
    run = subprocess.run(
        [sys.executable, "-c", PROFILED, compiled], cwd=native.ROOT, capture_output=True, text=True, check=True
    )
    first, head, *rows = run.stdout.splitlines()
    assert re.fullmatch(r"small: 3 runs, \d+\.\d{3} ms", first)
    assert head.split() == ["ms", "share", "step"]
    times = [float(row.split()[0]) for row in rows]
    names = [row.split()[2] for row in rows]
    assert times == sorted(times, reverse=True)
    assert len(set(names)) == len(names) > 2
    assert "conv" in names
    shares = [float(row.split()[1].rstrip("%")) for row in rows]
    assert abs(sum(shares) - 100) < 0.1 * len(rows)


@pytest.mark.parametrize("threads", [-1, 1025])
def test_numbers_of_threads_are_checked(compiled, threads):
    with pytest.raises(NativeError, match=f"threads must be from 0 to 1024, got {threads}"):
        Native(compiled).create(threads=threads)


def test_weights_in_a_file(model, compiled_beside, data):
    library = Native(compiled_beside)
    weights = compiled_beside.parent / "beside.weights"
    for p in (library.create(weights), library.create_from_memory(weights.read_bytes())):
        close(p.run(*data), expected(model, *data))
        p.close()
    with pytest.raises(NativeError, match="requires the name of its file of weights"):
        library.create()
    with pytest.raises(NativeError, match="cannot be read: No such file") as error:
        library.create(weights.with_name("none"))
    assert error.value.status == native.INVALID_MODEL


def test_damaged_weights_are_refused(compiled_beside, tmp_path, rng):
    library = Native(compiled_beside)
    good = (compiled_beside.parent / "beside.weights").read_bytes()
    damaged = [good[:n] for n in (0, 1, 31, 32, 33, len(good) // 2, len(good) - 1)] + [good + b"\0"]
    for at in rng.integers(0, len(good), 60).tolist():
        damaged.append(good[:at] + bytes([good[at] ^ 1 << int(rng.integers(8))]) + good[at + 1 :])
    for data in damaged:
        (tmp_path / "weights").write_bytes(data)
        for create, given in ((library.create, tmp_path / "weights"), (library.create_from_memory, data)):
            with pytest.raises(NativeError) as error:
                create(given)
            assert error.value.status == native.INVALID_MODEL, error.value


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sizes", "x=1x3x9x9"], "requires sizes of 'places', which the model has as"),
        (["--sizes", "y=1"], "requires sizes of the inputs"),
        (["--sizes", "x=3by9"], "requires sizes as name=1x3x48x320"),
        (["--sizes", "x=1x3x9,places=1x4"], "requires 4 sizes of 'x'"),
        (["--sizes", "x=1x4x9x9,places=1x4"], "requires an input of shape"),
        (["--sizes", "x=1x3x9x9,places=2x4"], "requires sizes that the program takes"),
        (["--sizes", "x=1..65x3x9x9,places=1..65x4"], "requires at most 64 sets of sizes, got 65"),
        (["--sizes", "x=1..99x1..99x1..99x9,places=1x4"], "requires at most 16384 combinations"),
        (["--sizes", "x=1x3x9x9,places=1x4", "--cc", "/no/such/cc"], "requires a C compiler that can be started"),
    ],
)
def test_command_refuses(model, tmp_path, capsys, arguments, words):
    assert main([str(model), "--out", str(tmp_path / "m.so"), *arguments]) == 1
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_command_refuses_what_is_no_model(tmp_path, capsys):
    assert main([str(tmp_path / "none"), "--out", str(tmp_path / "m.so")]) == 1
    assert "requires a model" in capsys.readouterr().err
    (tmp_path / "x.json").write_text("{")
    assert main([str(tmp_path / "x"), "--out", str(tmp_path / "m.so")]) == 1
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize(
    ("build", "feed", "words"),
    [
        (lambda p, x: p.nn.functional.dropout(x) + p.rand([4]), ("x", [4], "float32"), "draws no random numbers"),
        (
            lambda p, x: p.static.nn.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1), ("x", [4], "float32"),
            "without branches and loops on data",
        ),
        (lambda p, x: p.linalg.svd(x)[1], ("x", [4, 4], "float32"), "operations that can be compiled, got svd"),
    ],
)  # fmt: skip
def test_models_that_cannot_be_compiled(tmp_path, build, feed, words):
    import paddle

    native.save(tmp_path / "m", lambda x: build(paddle, x), [feed])
    with pytest.raises(ValueError, match=words):
        compile_model(str(tmp_path / "m"), str(tmp_path / "libm.so"))


def test_operators_of_users_are_not_compiled(tmp_path):
    """It is their function, of which nothing is known, and not that they might draw numbers."""
    import paddle

    @paddle.library.custom_op("aot_interface::doubled", mutates_args=())
    def doubled(x: paddle.Tensor) -> paddle.Tensor:
        return x * 2

    doubled.register_fake(lambda x: paddle.empty_like(x))
    native.save(tmp_path / "m", lambda x: doubled(x), [("x", [4], "float32")])
    with pytest.raises(
        ValueError, match="operations that can be compiled, got aot_interface::doubled, a custom operator"
    ):
        compile_model(str(tmp_path / "m"), str(tmp_path / "libm.so"))
