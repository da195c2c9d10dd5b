"""The deployment example, from training to answers over HTTP."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "deploy"
WAIT = 300


def run(program, *arguments):
    """What a program of the example prints."""
    command = [sys.executable, str(FOLDER / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def accuracies(text):
    return [float(x) for x in re.findall(r"([\d.]+)%", text)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder with the trained model."""
    made = tmp_path_factory.mktemp("deploy")
    (reached,) = accuracies(run("train.py", str(made)))
    assert reached > 95
    assert sorted(x.name for x in made.iterdir()) == ["digits.json", "digits.pdiparams"]
    return made


@pytest.mark.slow
def test_a_predictor_is_as_good_as_the_model(folder):
    (reached,) = accuracies(run("predict.py", str(folder)))
    assert reached > 95


@pytest.mark.slow
def test_a_loaded_model_is_trained_on(folder):
    before, after = accuracies(run("finetune.py", str(folder)))
    assert before < 60 and after > 90
    (reached,) = accuracies(run("predict.py", str(folder), "--name", "inverted"))
    assert reached == after


@pytest.mark.slow
def test_onnx_runtime_gives_the_same(folder):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    difference = float(re.search(r"difference ([\d.e+-]+)", run("to_onnx.py", str(folder)))[1])
    assert difference < 1e-4
    assert (folder / "digits.onnx").exists()


@pytest.mark.slow
def test_a_server_answers(folder):
    pytest.importorskip("uvicorn", reason="umiak[serve] is not installed")
    command = [
        sys.executable,
        "-m",
        "paddle.inference.serve",
        str(folder / "digits"),
        "--port",
        "0",
        "--max-batch",
        "16",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = re.search(r"http://\S+", server.stdout.readline())[0]
        text = run("ask.py", url, "--requests", "64")
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=WAIT)
    assert text.startswith("64 answers") and accuracies(text)[0] > 90
    assert server.returncode == 0
