"""The GPT example on tiny models: training, exact resumption, kills and interrupts, sampling."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import paddle
from tests.support.processes import needs_mpi

GPT = Path(__file__).parents[2] / "examples" / "gpt"
TINY = "--layers 1 --width 16 --heads 2 --batch 2 --context 16 --vocab 260 --lr 1e-2 --warmup 2".split()


@pytest.fixture
def example(monkeypatch):
    """The example's modules, imported as its scripts see them."""
    monkeypatch.syspath_prepend(str(GPT))
    names = ("data", "model", "train", "sample", "demo", "low_precision")
    before = {n: sys.modules.pop(n) for n in names if n in sys.modules}
    yield lambda name: __import__(name)
    for n in names:
        sys.modules.pop(n, None)
    sys.modules.update(before)


@pytest.fixture
def text(tmp_path):
    """A text of few sentences: small models learn it at once."""
    rng = np.random.default_rng(0)
    sentences = ["the cat sat on a mat. ", "every dog chews bones quickly! ", "fish (42 of them) swim by; "]
    path = tmp_path / "text.txt"
    path.write_text("".join(rng.choice(sentences, 500)))
    return str(path)


def start(out: Path, *options: str, code: str = "", **kwargs) -> subprocess.Popen:
    """The training script as a process of its own; ``code`` runs in it first."""
    script = f"""
        import sys
        sys.path.insert(0, {str(GPT)!r})
        sys.argv = ["train.py"]
        {code or "pass"}
        import train
        sys.exit(train.main({["--out", str(out), *TINY, *options]!r}))
    """
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], env=env, **kwargs)


def run(out: Path, *options: str, code: str = "") -> tuple[int, str]:
    process = start(out, *options, code=code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    printed, _ = process.communicate(timeout=120)
    return process.returncode, printed


def state(out: Path) -> dict:
    return paddle.load(str(out / "checkpoint.pdckpt"))


# --- the parts -----------------------------------------------------------------------------------------------------


def test_tokenizer(example):
    data = example("data")
    text = data.corpus()[:20000] + "\x00é—\n\n  end ".encode()
    t = data.Tokenizer.train(text, 300)
    ids = t.encode(text)
    assert t.decode(ids).encode() == text and t.vocab_size == 300 and len(ids) < len(text) * 0.8
    assert data.Tokenizer(t.merges).encode(text) == ids
    assert data.Tokenizer.train(text, 256).encode(b"abc") == [97, 98, 99]
    assert data.unigram_entropy(np.array([0, 1, 0, 1])) == pytest.approx(np.log(2))


def test_batches_go_on_where_they_stopped(example):
    data = example("data")
    tokens = np.arange(1000)
    whole = data.Batches(tokens, 8, 4, seed=1)
    seen = [x for _, (x, y) in zip(range(70), whole)]
    assert all((x[:, 1:] == x[:, :-1] + 1).all() for x in seen)
    first = np.concatenate([x[:, 0] for x in seen[:31]])
    assert len(set(first)) == len(first)
    again = data.Batches(tokens, 8, 4, seed=1)
    for _ in zip(range(40), again):
        pass
    third = data.Batches(tokens, 8, 4, seed=1)
    third.state = again.state
    for expected, (x, y) in zip(seen[40:], third):
        np.testing.assert_array_equal(x, expected)
        np.testing.assert_array_equal(y, expected + 1)
    with pytest.raises(ValueError, match="too few"):
        data.Batches(tokens[:20], 8, 4, seed=1)


def test_the_cache_changes_nothing(example):
    model = example("model")
    paddle.seed(0)
    net = model.GPT(model.Config(vocab_size=30, context=12, layers=2, heads=2, width=16)).eval()
    ids = paddle.to_tensor([np.arange(10) % 30])
    whole = net(ids).numpy()
    caches = [model.Cache() for _ in net.blocks]
    first = net(ids[:, :4], caches).numpy()
    parts = [first, *(net(ids[:, i : i + 1], caches).numpy() for i in range(4, 10))]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, rtol=1e-4, atol=1e-5)
    # A token depends on those before it alone.
    changed = ids.numpy().copy()
    changed[0, 6:] += 1
    np.testing.assert_allclose(net(paddle.to_tensor(changed)).numpy()[:, :6], whole[:, :6], rtol=1e-5, atol=1e-6)
    assert len(list(net.generate([1, 2], 30))) == 30  # beyond the context


# --- training ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_training_and_sampling(tmp_path, text):
    code, printed = run(tmp_path / "out", "--steps", "150", "--batch", "8", "--data", text)
    assert code == 0, printed
    saved = state(tmp_path / "out")
    entropy = float(printed.split("unigram entropy ")[1].split()[0])
    assert len(saved["losses"]) == 150 and np.mean(saved["losses"][-5:]) < 0.8 * entropy
    assert (tmp_path / "out" / "loss.png").read_bytes().startswith(b"\x89PNG")
    sample = [
        sys.executable,
        str(GPT / "sample.py"),
        "--out",
        str(tmp_path / "out"),
        "--tokens",
        "20",
        "--prompt",
        "the ",
    ]
    done = subprocess.run(sample, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the ") and "20 tokens" in done.stderr
    missing = subprocess.run([*sample[:3], str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert missing.returncode == 1 and "train.py first" in missing.stderr


def test_what_a_plot_needs_is_said_before_training(tmp_path, text):
    missing = "sys.modules['matplotlib'] = None"  # as if it were not installed
    code, printed = run(tmp_path / "out", "--steps", "2", "--data", text, code=missing)
    assert code == 0, printed
    assert printed.index("no loss curve will be drawn, as that needs matplotlib") < printed.index("parameters;")
    assert os.listdir(tmp_path / "out") == ["checkpoint.pdckpt"]
    assert printed.endswith(f"wrote {tmp_path / 'out' / 'checkpoint.pdckpt'}\n")


@pytest.mark.slow
def test_kill_and_resume_is_exact(tmp_path, text):
    """A run killed at an arbitrary step, then resumed, ends with the very losses and weights of one that was not."""
    options = ["--steps", "9", "--save-every", "3", "--data", text]
    assert run(tmp_path / "whole", *options)[0] == 0
    kill = "import os, signal, paddle; s = paddle.optimizer.AdamW.step; n = [0]\n"
    kill += textwrap.indent(
        textwrap.dedent("""
        def step(self):
            n[0] += 1
            if n[0] == 8:
                os.kill(os.getpid(), signal.SIGKILL)
            s(self)
        paddle.optimizer.AdamW.step = step"""),
        " " * 8,
    )
    assert run(tmp_path / "cut", *options, code=kill)[0] == -signal.SIGKILL
    assert len(state(tmp_path / "cut")["losses"]) == 6
    code, printed = run(tmp_path / "cut", *options, "--resume")
    assert code == 0 and "resumed after step 6 of 9" in printed
    whole, cut = state(tmp_path / "whole"), state(tmp_path / "cut")
    assert cut["losses"] == whole["losses"]
    for part in ("model", "optimizer"):
        for name, value in whole[part].items():
            if hasattr(value, "numpy"):
                np.testing.assert_array_equal(cut[part][name].numpy(), value.numpy())
    assert cut["data"] == whole["data"] and cut["rng"] == whole["rng"]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["os.fsync", "os.replace"])
def test_killed_while_saving(where, tmp_path, text):
    """A checkpoint is the old one or the new one: killed while it is written, the old one is still whole."""
    module, name = where.split(".")
    code = f"import os, signal; real = {where}; n = [0]\n" + textwrap.indent(
        textwrap.dedent(f"""
        def dying(*args):
            n[0] += 1
            if n[0] > {4 if name == "fsync" else 1}:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args)
        {module}.{name} = dying"""),
        " " * 8,
    )
    out, options = tmp_path / "out", ["--steps", "6", "--save-every", "2", "--data", text]
    assert run(out, *options, code=code)[0] == -signal.SIGKILL
    assert len(state(out)["losses"]) in (2, 4)
    code, printed = run(out, *options, "--resume")
    assert code == 0, printed
    assert len(state(out)["losses"]) == 6
    assert sorted(os.listdir(out)) == ["checkpoint.pdckpt", "loss.png"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_saves_and_leaves_nothing_running(number, tmp_path, text):
    out = tmp_path / "out"
    process = start(
        out, "--steps", "100000", "--save-every", "2", "--data", text,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 300
    while not (out / "checkpoint.pdckpt").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, number)  # what a terminal does with Ctrl-C
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0 and "continue with --resume" in printed, printed
    assert len(state(out)["losses"]) >= 2
    with pytest.raises(ProcessLookupError):  # the whole group is gone
        os.killpg(process.pid, 0)


def test_another_model_is_refused(tmp_path, text, example, monkeypatch):
    train = example("train")
    monkeypatch.setattr(signal, "signal", lambda *a: None)
    common = ["--out", str(tmp_path), "--data", text, "--steps", "1", *TINY]
    assert train.main(common) == 0
    with pytest.raises(SystemExit, match="another model"):
        train.main([*common, "--resume", "--layers", "2"])


# --- several processes ------------------------------------------------------------------------------------------------


@needs_mpi
@pytest.mark.parametrize(
    "options", [(), pytest.param(("--compile",), marks=pytest.mark.slow)], ids=["eager", "captured"]
)
def test_two_processes_give_the_losses_of_one(tmp_path, text, options):
    together = "--data", text, "--steps", "6", "--save-every", "3", *options
    status, printed = run(tmp_path / "two", *together, "--nproc", "2")
    assert status == 0, printed
    assert printed.count("unigram entropy") == 2 and printed.count("wrote") == 1  # one of them speaks
    status, alone = run(tmp_path / "one", *together)
    assert status == 0, alone
    wanted = state(tmp_path / "one")["losses"]
    np.testing.assert_allclose(state(tmp_path / "two")["losses"], wanted, 2e-6)
    # Goes on with another number of processes.
    status, printed = run(tmp_path / "two", "--data", text, "--steps", "8", "--resume")
    assert status == 0 and "resumed after step 6" in printed, printed


@needs_mpi
@pytest.mark.slow
def test_a_batch_is_shared_evenly(tmp_path, text):
    status, printed = run(tmp_path, "--data", text, "--steps", "1", "--batch", "3", "--nproc", "2")
    assert status != 0 and "cannot be shared evenly by 2 processes" in printed


def test_low_precision(example, text, tmp_path, capsys):
    """A run per seed and recipe, each of them once, and a table of the differences."""
    out = tmp_path / "runs.jsonl"
    sizes = "--layers 1 --width 16 --heads 2 --batch 2 --context 16 --vocab 260 --steps 4".split()
    arguments = [*sizes, "--seeds", "0", "--data", text, "--out", str(out), "--recipes"]
    study = example("low_precision")
    assert study.main([*arguments, "bfloat16"]) == 0
    once = out.read_text()
    picture = tmp_path / "curves.svg"
    assert study.main([*arguments, "bfloat16", "block", "--picture", str(picture)]) == 0
    assert out.read_text().startswith(once)
    assert all(f">{name}<" in picture.read_text() for name in ("bfloat16", "block"))
    plain, low = (json.loads(line) for line in out.read_text().splitlines())
    assert (plain["recipe"], low["recipe"]) == ("bfloat16", "block")
    assert 0 < abs(low["held_out"] - plain["held_out"]) < 0.1
    assert f"| block | 1 | {low['train']:.4f} ± 0.0000 |" in capsys.readouterr().out


def test_the_guide_has_the_table_and_the_picture_of_its_runs(example):
    """``--out docs/guide/pictures/low-precision.jsonl --picture docs/guide/pictures/low-precision.svg`` makes both."""
    study, guide = example("low_precision"), Path(__file__).parents[2] / "docs" / "guide"
    runs = [json.loads(line) for line in (guide / "pictures" / "low-precision.jsonl").read_text().splitlines()]
    assert study.table(runs) in (guide / "low-precision.md").read_text()
    assert study.picture(runs) == (guide / "pictures" / "low-precision.svg").read_text()
