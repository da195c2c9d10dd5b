"""The library that embeds the interpreter, its C++ face, and the example programs over both."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from tests.support import native_libraries as native
from tests.support.native_libraries import expected, program, started

CXX = native.CXX
JAVA_OF_FOREIGN_FUNCTIONS = 22
EXAMPLES = native.ROOT / "examples/inference"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(native.CC is None, reason="needs a C compiler"),
    pytest.mark.skipif(not sysconfig.get_config_var("Py_ENABLE_SHARED"), reason="needs a Python with a shared library"),
]

DRIVER = r"""
#include "umiak_inference.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(umiak_status got, umiak_status wanted, const char* words) {
    if (got == wanted && (!words || strstr(umiak_last_error(), words))) return;
    printf("got %d: %s; wanted %d: %s\n", got, umiak_last_error(), wanted, words ? words : "");
    exit(1);
}

static float x[2 * 3 * 9 * 9];
static int64_t places[8], shape_x[] = {2, 3, 9, 9}, shape_places[] = {2, 4};

static void run(umiak_predictor* p) {
    const void* data;
    size_t bytes;
    expect(umiak_set_input(p, 0, x, UMIAK_FLOAT32, 4, shape_x), UMIAK_OK, NULL);
    expect(umiak_set_input(p, 1, places, UMIAK_INT64, 2, shape_places), UMIAK_OK, NULL);
    for (int i = 0; i < 20; i++) expect(umiak_run(p), UMIAK_OK, NULL);
    expect(umiak_output_data(p, 0, &data, &bytes), UMIAK_OK, NULL);
    if (bytes != 2 * 5 * 4 || ((const float*)data)[0] == 0) exit(2);
}

static void* work(void* p) { run(p); return NULL; }

static char* contents(const char* path, size_t* size) {
    FILE* file = fopen(path, "rb");
    char* data = malloc(1 << 20);
    *size = fread(data, 1, 1 << 20, file);
    fclose(file);
    return data;
}

int main(int count, char** arguments) {
    umiak_predictor *p, *q, *clones[3];
    umiak_tensor_info info;
    umiak_options options = {0};
    pthread_t threads[3];
    size_t sizes[2], index;
    char room[8];
    expect(umiak_predictor_create("/no/such/model", NULL, NULL, &p), UMIAK_INVALID_MODEL, "requires a model");
    expect(umiak_predictor_create(NULL, NULL, NULL, &p), UMIAK_INVALID_ARGUMENT, "must not be NULL");
    expect(umiak_predictor_create_from_memory("{", 1, NULL, 0, NULL, &p), UMIAK_INVALID_MODEL, NULL);
    options.reserved[3] = 5;
    expect(umiak_predictor_create(arguments[1], NULL, &options, &p), UMIAK_INVALID_ARGUMENT, "[3] must be 0, got 5");
    expect(umiak_predictor_create_from_memory("{", 1, NULL, 0, &options, &p), UMIAK_INVALID_ARGUMENT, "reserved[3]");
    expect(umiak_predictor_create(arguments[1], NULL, NULL, &p), UMIAK_OK, NULL);
    expect(umiak_input_info(p, 0, &info), UMIAK_OK, NULL);
    if (strcmp(info.name, "x") || info.rank != 4 || info.shape[0] != -1 || info.shape[3] != 9) return 3;
    expect(umiak_input_info(p, 2, &info), UMIAK_INVALID_ARGUMENT, "has 2 inputs, got index 2");
    expect(umiak_input_index(p, "y", &index), UMIAK_INVALID_ARGUMENT, "no input called y");
    expect(umiak_run(p), UMIAK_INVALID_INPUT, "requires a value for the input 'x'");
    expect(umiak_set_input(p, 0, x, UMIAK_FLOAT64, 4, shape_x), UMIAK_INVALID_INPUT, "requires 'x' as float32");
    expect(umiak_set_input(p, 0, x, UMIAK_FLOAT32, 2, shape_x), UMIAK_INVALID_INPUT, "of shape");
    expect(umiak_set_input(p, 0, x, 77, 4, shape_x), UMIAK_INVALID_ARGUMENT, "no dtype 77");
    run(p);
    expect(umiak_output_info(p, 0, &info), UMIAK_OK, NULL);
    if (info.rank != 2 || info.shape[0] != 2 || info.shape[1] != 5) return 4;
    expect(umiak_copy_output(p, 0, room, sizeof room), UMIAK_INVALID_ARGUMENT, "requires room for 40 bytes, got 8");
    for (int i = 0; i < 8; i++) places[i] = 1000;
    expect(umiak_set_input(p, 1, places, UMIAK_INT64, 2, shape_places), UMIAK_OK, NULL);
    expect(umiak_run(p), UMIAK_RUN_FAILED, NULL);
    memset(places, 0, sizeof places);
    char* program = contents(arguments[2], &sizes[0]);
    char* parameters = contents(arguments[3], &sizes[1]);
    expect(umiak_predictor_create_from_memory(program, sizes[0], parameters, sizes[1], NULL, &q), UMIAK_OK, NULL);
    for (size_t cut = 1; cut < sizes[0]; cut += sizes[0] / 7) {
        umiak_predictor* none;
        const size_t less = cut % sizes[1];
        expect(umiak_predictor_create_from_memory(program, cut, parameters, sizes[1], NULL, &none), 2, NULL);
        expect(umiak_predictor_create_from_memory(program, sizes[0], parameters, less, NULL, &none), 2, NULL);
    }
    for (int i = 0; i < 3; i++) expect(umiak_predictor_clone(q, &clones[i]), UMIAK_OK, NULL);
    expect(umiak_predictor_destroy(p), UMIAK_OK, NULL);
    expect(umiak_predictor_destroy(q), UMIAK_OK, NULL);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, clones[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++) expect(umiak_predictor_destroy(clones[i]), UMIAK_OK, NULL);
    puts("done");
    return count == 4 ? 0 : 5;
}
"""


def test_interface(embedded, model, tmp_path):
    (tmp_path / "driver.c").write_text(DRIVER)
    binary = program(tmp_path, native.CC, tmp_path / "driver.c", embedded, "driver")
    assert started(binary, model, f"{model}.json", f"{model}.pdiparams") == "done\n"


def test_program_in_c(embedded, model, tmp_path):
    binary = program(tmp_path, native.CC, native.PREDICT, embedded, "predict")
    lines = started(binary, model, "x=1x3x9x9", "places=1x4").splitlines()
    x = (np.arange(243) * 37 % 101 / 101).astype("float32").reshape(1, 3, 9, 9)
    for line, y in zip(lines, expected(model, x, np.arange(4)[None]), strict=True):
        numbers = [float(n) for n in line.rpartition("] ")[2].split()]
        np.testing.assert_allclose(numbers, y.reshape(-1)[: len(numbers)], rtol=1e-4, atol=1e-5)


def wanted_sums(prefix):
    xs = [np.full((2, 3, 8, 8), 0.25 * (i + 1), "float32") for i in range(4)]
    return [float(expected(prefix, x)[0].sum(dtype="float64")) for x in xs]


@pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("compiled_ahead", [False, True])
def test_program_in_cpp(embedded, plain_model, tmp_path, compiled_ahead):
    from paddle.inference.compile import compile_model

    library, files = embedded, (f"{plain_model}.json", f"{plain_model}.pdiparams")
    if compiled_ahead:
        library = compile_model(str(plain_model), str(tmp_path / "libplain.so"), sizes=["x=2x3x8x8"])
        files = ("-", "-")
    binary = program(tmp_path, CXX, EXAMPLES / "cpp/pool.cc", library, "pool")
    sums = [float(line) for line in started(binary, *files, "x", 2, 3, 8, 8).splitlines()]
    np.testing.assert_allclose(sums, wanted_sums(plain_model), rtol=1e-4)


def assert_first_numbers(line, prefix, shape):
    """What an example prints, for numbers that follow from their places."""
    x = (np.arange(np.prod(shape)) * 37 % 101 / 101).astype("float32").reshape(shape)
    numbers = [float(n) for n in line.rpartition("] ")[2].split()]
    np.testing.assert_allclose(numbers, expected(prefix, x)[0].reshape(-1)[:8], rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("compiled_ahead", [False, True])
def test_program_in_cpp_of_one_predictor(embedded, plain_model, tmp_path, compiled_ahead):
    from paddle.inference.compile import compile_model

    library, files = embedded, (f"{plain_model}.json", f"{plain_model}.pdiparams")
    if compiled_ahead:
        library = compile_model(str(plain_model), str(tmp_path / "libplain.so"), sizes=["x=2x3x8x8"])
        files = ("-", "-")
    binary = program(tmp_path, CXX, EXAMPLES / "cpp/predict.cc", library, "predict")
    (line,) = started(binary, *files, "x", 2, 3, 8, 8).splitlines()
    assert_first_numbers(line, plain_model, (2, 3, 8, 8))


def test_program_in_python(plain_model):
    run = subprocess.run(
        [sys.executable, EXAMPLES / "python/predict.py", plain_model, "x=2x3x8x8"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert_first_numbers(run.stdout.strip(), plain_model, (2, 3, 8, 8))
    assert re.fullmatch(r"[\d.]+ ms", run.stderr.splitlines()[-1])


def java():
    """A Java that has foreign functions and compiles a source, and what was found of others."""
    places = [*map(str, Path("/usr/lib/jvm").glob("*/bin/java"))]
    if "JAVA_HOME" in os.environ:
        places.append(os.path.join(os.environ["JAVA_HOME"], "bin/java"))
    found = [shutil.which("java"), *places]
    others = []
    for binary in sorted({os.path.realpath(path) for path in found if path and os.access(path, os.X_OK)}):
        told = subprocess.run([binary, "-version"], capture_output=True, text=True, check=False).stderr
        modules = subprocess.run([binary, "--list-modules"], capture_output=True, text=True, check=False).stdout
        version = re.search(r'version "(\d+)', told)
        number = int(version[1]) if version is not None else 0
        if number >= JAVA_OF_FOREIGN_FUNCTIONS and "jdk.compiler" in modules:
            return binary, others
        others.append(f"{binary} is {number}{'' if 'jdk.compiler' in modules else ' without a compiler'}")
    return None, others


@pytest.mark.parametrize("compiled_ahead", [False, True])
def test_program_in_java(embedded, plain_model, tmp_path, compiled_ahead):
    from paddle.inference.compile import compile_model

    binary, others = java()
    if binary is None:
        places = "PATH, JAVA_HOME or /usr/lib/jvm"
        pytest.skip(f"needs a JDK of Java {JAVA_OF_FOREIGN_FUNCTIONS} or later in {places}; there: {others or 'none'}")
    library, model = embedded, plain_model
    if compiled_ahead:
        library = compile_model(str(plain_model), str(tmp_path / "libplain.so"), sizes=["x=2x3x8x8"])
        model = "-"
    source = EXAMPLES / "java/Predict.java"
    (line,) = started(
        binary, "--enable-native-access=ALL-UNNAMED", source, library, model, "x", 2, 3, 8, 8
    ).splitlines()  # fmt: skip
    assert_first_numbers(line, plain_model, (2, 3, 8, 8))


CPP = r"""
#include "paddle_inference_api.h"
#include <cassert>
#include <cstdio>

using namespace paddle_infer;

template <typename F>
void Refused(F f, const char* words) {
  try {
    f();
  } catch (const std::runtime_error& error) {
    if (std::string(error.what()).find(words) != std::string::npos) return;
    std::printf("%s\n", error.what());
  }
  std::printf("not refused: %s\n", words);
  std::exit(1);
}

int main(int, char** arguments) {
  Config config(arguments[1], arguments[2]);
  config.EnableMemoryOptim();
  config.SwitchIrOptim(true);
  config.DisableONEDNN();
  assert(!config.mkldnn_enabled());
  config.EnableMKLDNN();
  assert(config.onednn_enabled());
  config.DisableGlogInfo();
  Refused([&] { config.EnableUseGpu(100, 0); }, "EnableUseGpu asks for what this library does not have");
  auto predictor = CreatePredictor(config);
  assert(predictor->GetInputNames() == std::vector<std::string>{"x"});
  assert((predictor->GetInputTensorShape()["x"] == std::vector<int64_t>{-1, 3, 8, 8}));
  assert(predictor->GetInputTypes()["x"] == DataType::FLOAT32);
  const auto name = predictor->GetOutputNames()[0];
  assert(predictor->GetOutputTypes().at(name) == DataType::FLOAT32);
  assert(predictor->GetOutputTensorShape().at(name)[0] == -1);
  auto input = predictor->GetInputHandle("x");
  std::vector<float> data(3 * 8 * 8, 0.5f), got, again;
  Refused([&] { input->CopyFromCpu(data.data()); }, "Reshape x first");
  input->Reshape({1, 3, 8, 8});
  Refused([&] { std::vector<int64_t> wrong(192); input->CopyFromCpu(wrong.data()); }, "elements of another type");
  input->CopyFromCpu(data.data());
  assert((input->shape() == std::vector<int>{1, 3, 8, 8}));
  assert(predictor->Run());
  auto output = predictor->GetOutputHandle(predictor->GetOutputNames()[0]);
  assert((output->shape() == std::vector<int>{1, 288}) && output->type() == DataType::FLOAT32);
  got.resize(288);
  output->CopyToCpu(got.data());
  input->Reshape({2, 3, 8, 8});
  Refused([&] { predictor->Run(); }, "x was reshaped: it needs data of these sizes before the next run");
  input->Reshape({1, 3, 8, 8});
  assert(predictor->Run());  // the data are there
  auto clone = predictor->Clone();
  auto other = clone->GetInputHandle("x");
  other->Reshape({1, 3, 8, 8});
  float* into = other->mutable_data<float>(PlaceType::kCPU);
  for (int i = 0; i < 192; i++) into[i] = 0.5f;
  clone->Run();
  int size = 0;
  PlaceType place;
  auto result = clone->GetOutputHandle(predictor->GetOutputNames()[0]);
  const float* from = result->data<float>(&place, &size);
  assert(size == 288 && place == PlaceType::kCPU);
  again.assign(from, from + size);
  assert(got == again);
  other->mutable_data<float>(PlaceType::kCPU);
  other->Reshape({64, 3, 8, 8});
  Refused([&] { clone->Run(); }, "x was reshaped");  // the memory ends before
  predictor->GetInputHandle("x")->Reshape({1, 3, 8, 8});
  assert(predictor->Run());
  Refused([&] { predictor->GetInputHandle("none"); }, "no input called none");
  services::PredictorPool pool(config, 2);
  assert(pool.Retrieve(1) != pool.Retrieve(0));
  Refused([&] { pool.Retrieve(2); }, "fewer predictors");
  assert(GetNumBytesOfDataType(DataType::FLOAT64) == 8);
  std::puts("done");
}
"""


@pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")
def test_face_in_cpp(embedded, plain_model, tmp_path):
    (tmp_path / "face.cc").write_text(CPP)
    binary = program(tmp_path, CXX, tmp_path / "face.cc", embedded, "face")
    assert started(binary, f"{plain_model}.json", f"{plain_model}.pdiparams") == "done\n"
