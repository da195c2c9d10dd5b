"""Decoders: logits that ``transformers`` gives, directories written and read, damaged ones refused."""

from __future__ import annotations

import base64
import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

import paddle
from tests.examples.llm import transformers_logits as known

RECORDED = json.loads((Path(__file__).parents[2] / "data" / "llm_logits.json").read_text())["logits"]


def logits(llm, model, ids):
    with paddle.no_grad():
        x = model(paddle.to_tensor([ids]), paddle.arange(len(ids)), llm.model.causal)
        return model.logits(x).numpy()[0]


@pytest.mark.parametrize("kind", known.KINDS)
def test_logits_are_those_of_transformers(llm, kind):
    config = llm.config.Config(**{**known.SIZES, **known.KINDS[kind]})
    model = llm.model.Decoder(config, llm.sources.Random(known.SEED)).eval()
    expected = np.frombuffer(base64.b64decode(RECORDED[kind]), "<f4").reshape(-1, known.COLUMNS)
    np.testing.assert_allclose(logits(llm, model, known.IDS)[:, : known.COLUMNS], expected, rtol=2e-5, atol=2e-5)


def read(llm, folder, weights="float32"):
    config, files = llm.config.Config.read(folder), llm.sources.Files(folder)
    check = llm.sources.Check(files, weights)
    llm.model.Decoder(config, check)
    check.finish(config)
    return llm.model.Decoder(config, llm.sources.Reader(files, weights)).eval(), check


def test_directories_give_the_weights_that_were_written(llm, directory, model, rng):
    assert len(list(directory.glob("model-*.safetensors"))) > 2
    assert llm.config.Config.read(directory) == model.config
    ids = rng.integers(0, model.config.vocab_size, 20)
    again, check = read(llm, directory)
    np.testing.assert_array_equal(logits(llm, again, ids), logits(llm, model, ids))
    stored = [b for b in again.buffers() if b.shape != again.rotary.frequencies.shape]
    assert check.bytes == sum(4 * b.size for b in stored)


@pytest.mark.parametrize(("weights", "error"), [("bfloat16", 0.02), ("int8", 0.05), ("int4", 0.5)])
def test_narrow_weights_are_near(llm, directory, model, rng, weights, error):
    ids = rng.integers(0, model.config.vocab_size, 20)
    exact, near = logits(llm, model, ids), logits(llm, read(llm, directory, weights)[0], ids)
    assert 0 < np.sqrt(((near - exact) ** 2).mean()) < error * exact.std()


@pytest.mark.parametrize(
    "changes",
    [{"qkv_bias": True}, {"tie_word_embeddings": True, "rope_theta": 5e5}, {"sliding_window": 9}],
    ids=str,
)
def test_configs_are_read_as_they_were_written(llm, config, changes, tmp_path):
    written = llm.config.Config(**{**vars(config), **changes})
    written.write(tmp_path)
    assert llm.config.Config.read(tmp_path) == written


def test_names_of_newer_files(llm, directory, tmp_path):
    raw = json.loads((directory / "config.json").read_text())
    del raw["rope_theta"], raw["rope_scaling"]
    raw["rope_parameters"] = {"rope_type": "linear", "factor": 2.0, "rope_theta": 3e4}
    (tmp_path / "config.json").write_text(json.dumps(raw))
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [1, 2]}))
    config = llm.config.Config.read(tmp_path)
    assert (config.rope, config.rope_theta, config.eos) == ({"rope_type": "linear", "factor": 2.0}, 3e4, (1, 2))


def config_of(llm, directory, tmp_path, **fields):
    raw = json.loads((directory / "config.json").read_text()) | fields
    (tmp_path / "config.json").write_text(json.dumps(raw))
    return llm.config.Config.read(tmp_path)


@pytest.mark.parametrize(("fields", "most"), [({}, 256), ({"original_max_position_embeddings": 64}, 64)])
def test_angles_that_change_beyond_a_length_are_plain_up_to_it(llm, directory, tmp_path, fields, most):
    rope = {"rope_type": "dynamic", "factor": 4.0, **fields}
    config = config_of(llm, directory, tmp_path, rope_scaling=rope)
    assert config.max_position_embeddings == most
    (angles, scale), plain = llm.rotary.frequencies(config), llm.rotary.frequencies(llm.config.Config.read(directory))
    np.testing.assert_array_equal(angles, plain[0])
    assert scale == 1.0


@pytest.mark.parametrize(("window", "expected"), [(128, 128), (256, None), (None, None)])
def test_windows_that_hide_something_are_read(llm, directory, tmp_path, window, expected):
    config = config_of(llm, directory, tmp_path, model_type="mistral", sliding_window=window)
    assert config.sliding_window == expected


# --- damaged directories ----------------------------------------------------------------------------------------------


def changed(**fields):
    def damage(folder):
        raw = json.loads((folder / "config.json").read_text())
        raw.update(fields)
        (folder / "config.json").write_text(json.dumps(raw))

    return damage


def header(change):
    """Damage to the header of the first file; its length is made to fit."""

    def damage(folder):
        path = sorted(folder.glob("model-*.safetensors"))[0]
        data = path.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        table = json.loads(data[8 : 8 + size])
        table["__metadata__"] = {"format": "pt"}  # without checksums, as others write such files
        change(table, next(name for name in table if name != "__metadata__"))
        text = json.dumps(table).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])

    return damage


def shard(number, change):
    return lambda folder: change(sorted(folder.glob("model-*.safetensors"))[number])


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def with_long_header(path):
    path.write_bytes(struct.pack("<Q", 1 << 62) + path.read_bytes()[8:])


DAMAGES = {
    "no config": (lambda d: (d / "config.json").unlink(), "config.json"),
    "config is no JSON": (lambda d: (d / "config.json").write_text("{"), "requires JSON"),
    "config is a list": (lambda d: (d / "config.json").write_text("[]"), "a JSON object"),
    "another model": (changed(model_type="gpt2"), "model_type"),
    "another activation": (changed(hidden_act="gelu"), "hidden_act"),
    "a size as text": (changed(hidden_size="32"), "hidden_size as an integer"),
    "a huge size": (changed(hidden_size=10**18), "hidden_size as an integer"),
    "a size that lies": (changed(intermediate_size=1 << 23), "with the shape"),
    "a million layers": (changed(num_hidden_layers=1_000_000), "model.layers.2"),
    "fewer layers": (changed(num_hidden_layers=1), "'model.layers.1"),
    "heads that do not divide": (changed(num_key_value_heads=3), "groups of equal size"),
    "a window of some layers": (changed(model_type="qwen2", sliding_window=8, use_sliding_window=True), "one window"),
    "a window of nothing": (changed(model_type="mistral", sliding_window=0), "sliding_window as an integer"),
    "unknown angles": (changed(rope_scaling={"rope_type": "longrope", "factor": 2.0}), "a rope_type of"),
    "angles without a factor": (changed(rope_scaling={"type": "linear"}), "factor as a number"),
    "angles as a number": (changed(rope_scaling=3), "rope_scaling as an object"),
    "angles of unknown fields": (changed(rope_scaling={"factor": 2}), "fields of a rope_type 'default'"),
    "a base of 1": (changed(rope_theta=1.0), "rope_theta as a number above 1"),
    "a size in quotes": (changed(vocab_size="1024"), "vocab_size as an integer from 1 to 16777216, got '1024'"),
    "a number as text": (changed(rms_norm_eps="0.1"), "rms_norm_eps as a number above 0, got '0.1'"),
    "NaN": (lambda d: changed(rms_norm_eps=float("nan"))(d), "rms_norm_eps"),
    "an end outside": (changed(eos_token_id=288), "eos_token_id below"),
    "no tokenizer": (lambda d: (d / "tokenizer.json").unlink(), "tokenizer.json"),
    "a damaged tokenizer": (lambda d: (d / "tokenizer.json").write_text("{}"), "a tokenizer that can be read"),
    "no weights": (lambda d: [p.unlink() for p in d.glob("model*")], "a checkpoint in"),
    "a missing file": (shard(1, Path.unlink), "model-00002-of-"),
    "a file cut off": (shard(-1, cut), "bytes that the header tells of"),
    "a header that is too long": (shard(0, with_long_header), "a header within the file"),
    "an empty file": (shard(0, lambda p: p.write_bytes(b"")), "a header within the file"),
    "a dtype that lies": (header(lambda t, n: t[n].update(dtype="F64")), "the bytes of float64"),
    "another dtype": (header(lambda t, n: t[n].update(dtype="I32")), "of a dtype of"),
    "another shape": (header(lambda t, n: t[n].update(shape=t[n]["shape"][::-1])), "with the shape"),
    "a huge shape": (header(lambda t, n: t[n].update(shape=[1 << 40, 1 << 40])), "elements"),
    "another name": (header(lambda t, n: t.update({"other": t.pop(n)})), "model.safetensors.index.json has"),
    "an index of no characters": (
        lambda d: (d / "model.safetensors.index.json").write_text('{"weight_map": {"a": "\\ud800"}}'),
        "the plain name of a file",
    ),
    "an index that lies": (
        lambda d: (d / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../b.safetensors"}}'),
        "b.safetensors",
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_directories_are_refused_before_anything_is_read(llm, directory, tmp_path, damage, monkeypatch):
    change, message = DAMAGES[damage]
    folder = tmp_path / "model"
    shutil.copytree(directory, folder)
    change(folder)
    for name in ("zeros", "to_tensor"):  # nothing is allocated
        monkeypatch.setattr(paddle, name, lambda *a, **k: pytest.fail("something is allocated"))
    monkeypatch.setattr(llm.model, "Rotary", lambda config: paddle.nn.Layer())
    args = llm.generate.parser().parse_args([str(folder)])
    with pytest.raises(llm.config.BadModel) as error:
        llm.loading.load(args)
    assert message in str(error.value)


def test_changed_numbers_are_refused(llm, directory, tmp_path):
    """Files that the project has written carry checksums."""
    folder = tmp_path / "model"
    shutil.copytree(directory, folder)
    shard(0, lambda p: p.write_bytes(p.read_bytes()[:-1] + bytes([p.read_bytes()[-1] ^ 1])))(folder)
    with pytest.raises(llm.config.BadModel, match="with the checksum"):
        read(llm, folder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cache-megabytes", "100000000"], "MB available"),
        (["--cache-megabytes", "1", "--block-size", "8192"], "room for a block"),
        (["--block-size", "0"], "1 or more"),
    ],
)
def test_caches_that_do_not_fit(llm, directory, options, message):
    with pytest.raises(llm.config.BadModel, match=message):
        llm.loading.load(llm.generate.parser().parse_args([str(directory), *options]))
