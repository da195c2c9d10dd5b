"""Fine-tuning: packed documents are those of each alone, losses fall, what is saved is what was trained."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import paddle
from tests.examples.llm.conftest import FOLDER, TEXT


def test_rows_hold_all_documents(llm, rng):
    texts = [rng.integers(1, 99, n).tolist() for n in rng.integers(2, 40, 30)]
    rows = llm.packing.pack(texts, 32)
    assert all(sum(map(len, row)) <= 32 for row in rows)
    pieces = sorted(piece for row in rows for piece in row)
    assert pieces == sorted(t[at : at + 32] for t in texts for at in range(0, len(t), 32))
    assert len(rows) <= 1.2 * sum(map(len, texts)) / 32 + 1


def test_packed_documents_have_the_losses_of_each_alone(llm, model, rng):
    texts = [rng.integers(1, 288, n).tolist() for n in (5, 9, 7)]
    row = llm.packing.arrays(texts, 24)
    training = llm.finetune.Training.__new__(llm.finetune.Training)
    training.model = model

    def loss(row):
        with paddle.no_grad():
            return float(training.loss(*(paddle.to_tensor(x[None]) for x in row)))

    alone = [loss(llm.packing.arrays([t], len(t))) * (len(t) - 1) for t in texts]
    assert loss(row) == pytest.approx(sum(alone) / sum(len(t) - 1 for t in texts), rel=1e-5)


def test_adapters_begin_without_effect_and_merge_exactly(llm, config, model, rng):
    source = llm.sources.Adapted(llm.sources.Random(5), 4, 8.0, ("q_proj", "down_proj"))
    adapted = llm.model.Decoder(config, source)
    ids = paddle.to_tensor(rng.integers(0, 288, (1, 12)))

    def logits(decoder):
        with paddle.no_grad():
            return decoder.logits(decoder(ids, paddle.arange(12), llm.model.causal)).numpy()

    assert len(adapted.parameters()) == 2 * 2 * config.num_hidden_layers
    np.testing.assert_array_equal(logits(adapted), logits(model))
    for p in adapted.parameters():
        p.set_value(paddle.to_tensor(rng.normal(0, 0.1, p.shape).astype("float32")))
    changed = logits(adapted)
    assert np.abs(changed - logits(model)).max() > 0.1
    merged = llm.sources.published(source.source.given)
    assert merged.keys() == llm.sources.published(llm.sources.Random(5).given | source.source.given).keys()
    for name, layer in source.source.given.items():
        if isinstance(layer, llm.linear.Lora):
            x = paddle.to_tensor(rng.normal(0, 1, (3, merged[f"{name}.weight"].shape[1])).astype("float32"))
            np.testing.assert_allclose(layer.merged()(x).numpy(), layer(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def run(program, *arguments):
    done = subprocess.run(
        [sys.executable, str(FOLDER / program), *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_step_lowers_the_loss_of_its_batch(llm, config, rng):
    source = llm.sources.Adapted(llm.sources.Random(5), 4, 8.0, ("v_proj", "down_proj"))
    training = llm.finetune.Training(llm.model.Decoder(config, source), 10, 0.02)
    rows = [llm.packing.arrays([rng.integers(1, 288, n).tolist() for n in (9, 5)], 16) for _ in range(2)]
    batch = next(llm.packing.batches(rows, 2, rng))
    losses = [training.step(batch) for _ in range(6)]
    assert losses[-1] < losses[0] - 0.1


@pytest.mark.slow
def test_losses_fall_and_the_result_is_a_model(llm, directory, tmp_path):
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps({"text": t}) + "\n" for t in TEXT.split("\n\n") * 40 if t))
    options = ["--data", data, "--length", 64, "--batch", 2, "--rank", 4, "--lr", 0.02, "--steps", 40]
    printed, _ = run("finetune.py", directory, tmp_path / "tuned", *options)
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in printed.splitlines() if line.startswith("step")]
    assert losses[-1] < losses[0] - 1.5
    before = llm.sources.Files(directory).stored
    assert {n: s.block.global_shape for n, s in llm.sources.Files(tmp_path / "tuned").stored.items()} == {
        n: s.block.global_shape for n, s in before.items()
    }
    text, numbers = run(
        "generate.py", tmp_path / "tuned", "every dog", "--tokens", 4, "--cache-megabytes", 1, "--eager"
    )
    assert text.startswith("every dog") and "tokens" in numbers and "cache 1 MB" in numbers


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rank", "0"], "an integer of 1 or more is required, got '0'"),
        (["--steps", "-1"], "an integer of 1 or more is required, got '-1'"),
        (["--batch", "x"], "an integer of 1 or more is required, got 'x'"),
        (["--lr", "0"], "a number above 0 is required, got '0'"),
        (["--alpha", "nan"], "a number above 0 is required, got 'nan'"),
        (["--length", "300"], "2 to 256 tokens, got 300"),
        (["--batch", "9"], "text for 9 rows, or a smaller --batch or --length, got 1 rows"),
        (["--data", "nowhere.txt"], "[nowhere.txt] requires a text file in UTF-8"),
        (["--data", "BAD"], 'an object with a "text" in line 2, got {"words": 1}'),
    ],
)
def test_refusals(llm, directory, tmp_path, capsys, options, message):
    good, bad = tmp_path / "good.txt", tmp_path / "bad.jsonl"
    good.write_text("the cat sat on a mat.")
    bad.write_text('{"text": "the cat"}\n{"words": 1}\n')
    data = [] if "--data" in options else ["--data", str(good)]
    options = [str(bad) if o == "BAD" else o for o in options]
    try:
        status = llm.finetune.main([str(directory), str(tmp_path / "out"), *data, *options])
    except SystemExit as stop:
        status = stop.code
    assert status in (1, 2) and message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tokens", "0"], "an integer of 1 or more is required, got '0'"),
        (["--top-p", "0"], "a number above 0 to 1 is required, got '0'"),
        (["--temperature", "-1"], "a number from 0 to 100 is required, got '-1'"),
        (["--top-k", "-3"], "an integer of 0 or more is required, got '-3'"),
        (["--beams", "0"], "an integer of 1 or more is required, got '0'"),
        (["--beams", "2", "--top-k", "5"], "--beams without --temperature, --top-k and --top-p is required"),
    ],
)
def test_refusals_of_generate(llm, directory, capsys, options, message):
    with pytest.raises(SystemExit, match="2"):
        llm.generate.main([str(directory), "the cat", *options])
    assert message in capsys.readouterr().err


def test_no_training_for_a_result_that_has_no_place(llm, directory, tmp_path, capsys):
    """Weights of another model in several files would stay beside those of the result, and be read in their place."""
    other, file = tmp_path / "other", tmp_path / "file"
    shutil.copytree(directory, other)
    file.touch()
    (tmp_path / "text").write_text(TEXT * 8)
    given = ["--data", str(tmp_path / "text"), "--length", "32", "--batch", "1"]
    for out, message in (
        (directory, "another directory than that of the model, got the same"),
        (other, "weights in several files, which would stay, got model-00001"),
        (file, "a directory that can be written to, got File exists"),
        (file / "below", "a directory that can be written to, got Not a directory"),
    ):
        before = {p: p.read_bytes() for p in out.glob("*")}
        assert llm.finetune.main([str(directory), str(out), *given]) == 1
        assert message in capsys.readouterr().err
        assert {p: p.read_bytes() for p in out.glob("*")} == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vocab", "256"], "an integer of 257 or more"),
        (["--width", "0"], "an integer of 1 or more"),
        (["--heads", "3"], "an even number for each of 3 heads"),
        (["--kv-heads", "3"], "--heads that --kv-heads divides"),
    ],
)
def test_refusals_of_tiny(llm, tmp_path, capsys, options, message):
    with pytest.raises(SystemExit) as error:
        llm.tiny.main([str(tmp_path / "tiny"), *options])
    assert error.value.code == 2 and message in capsys.readouterr().err and not any(tmp_path.iterdir())
