"""What the command line says and returns."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from checkpoints import cut, infos_of, load, save, save_items

from umiak.checkpoint import convert as convert_module
from umiak.checkpoint.box import Box
from umiak.checkpoint.commands import main
from umiak.checkpoint.commit import open_checkpoint
from umiak.checkpoint.convert import parse_size
from umiak.checkpoint.dtypes import numpy_dtype


@pytest.fixture
def arrays(rng):
    out = {f"l.{i}.{n}": rng.standard_normal((6, 4)).astype(np.float32) for i in range(2) for n in "qkv"}
    return out | {"norm": rng.standard_normal(4)}


@pytest.fixture
def folder(arrays, tmp_path):
    save(tmp_path / "a", arrays)
    return str(tmp_path / "a")


def said(capsys, *arguments, code=0):
    assert main([str(a) for a in arguments]) == code
    return capsys.readouterr().out


def test_inspect(folder, arrays, tmp_path, capsys):
    lines = said(capsys, "inspect", folder).splitlines()
    assert lines[0].split() == ["tensor", "shape", "dtype", "size", "blocks", "file"]
    assert lines[1].split() == ["l.0.k", "[6,", "4]", "float32", "96", "B", "1", "0_0.distcp"]
    assert lines[-1] == "checkpoint 0 of 1 ranks: 7 tensors, 148 elements, 608 B"
    found = json.loads(said(capsys, "inspect", folder, "--json"))
    assert found["uid"] == 0 and list(found["files"]) == ["0_0.distcp"]
    assert [t["key"] for t in found["tensors"]] == sorted(arrays)
    assert found["tensors"][-1]["blocks"][0]["offset"] == [0]
    alone = json.loads(said(capsys, "inspect", f"{folder}/0_0.distcp", "--json"))
    assert alone["tensors"] == found["tensors"]


def test_inspect_a_part(rng, tmp_path, capsys):
    w = rng.standard_normal((4, 6))
    halves = [cut("w", w, Box((0, i), (4, 1)), Box((0, i + 1), (4, 2))) for i in (0, 3)]
    save_items(tmp_path, halves, infos_of({"w": w}), format="safetensors")
    found = json.loads(said(capsys, "inspect", tmp_path / "1_0.safetensors", "--json"))["tensors"]
    assert [(t["key"], t["shape"], [b["offset"] for b in t["blocks"]]) for t in found] == [
        ("w", [4, 6], [[0, 3], [0, 4]])
    ]
    assert "2 more" not in said(capsys, "inspect", tmp_path)


def test_verify(folder, capsys):
    assert said(capsys, "verify", folder) == "7 ok\n"
    assert said(capsys, "verify", f"{folder}/0_0.distcp") == "7 ok\n"
    with open(f"{folder}/0_0.distcp", "r+b") as f:
        f.seek(4096)
        f.write(b"\1")
    text = said(capsys, "verify", folder, code=1)
    assert "corrupted  0_0.distcp  l.0.q" in text and "6 ok, 1 corrupted" in text
    found = json.loads(said(capsys, "verify", folder, "--json", code=1))
    assert found["counts"]["corrupted"] == 1 and found["bad"][0]["key"] == "l.0.q"


def test_diff(folder, arrays, tmp_path, capsys):
    assert said(capsys, "diff", folder, folder) == "no difference in 7 tensors\n"
    other = dict(arrays)
    del other["norm"]
    other["new"] = arrays["norm"]
    other["l.0.q"] = arrays["l.0.q"].astype(float)
    other["l.0.k"] = arrays["l.0.k"].T
    other["l.0.v"] = arrays["l.0.v"].copy()
    other["l.0.v"][2, 1] += 0.5
    other["l.1.q"] = np.where(arrays["l.1.q"] > 0, np.nan, arrays["l.1.q"])
    save(tmp_path / "b", other, format="safetensors")
    text = said(capsys, "diff", folder, tmp_path / "b", code=1)
    assert "l.0.v   values      1 of 24 elements, by at most 0.5" in text
    kinds = {d["key"]: d for d in json.loads(said(capsys, "diff", folder, tmp_path / "b", "--json", code=1))}
    assert {key: d["kind"] for key, d in kinds.items()} == {
        "l.0.k": "shape",
        "l.0.q": "dtype",
        "l.0.v": "values",
        "l.1.q": "values",
        "new": "extra",
        "norm": "missing",
    }
    assert kinds["l.1.q"]["count"] == (arrays["l.1.q"] > 0).sum() and np.isnan(kinds["l.1.q"]["most"])
    save(tmp_path / "c", {"l.1.q": other["l.1.q"]})
    assert said(capsys, "diff", tmp_path / "c", tmp_path / "c") == "no difference in 1 tensors\n"


AOA = """
# q, k and v as one matrix
l.$LAYER_ID.q^T, l.$LAYER_ID.k^T, l.$LAYER_ID.v^T -> l.$LAYER_ID.qkv, fused_qkv, num_heads=2, num_key_value_groups=2

norm -> n
"""


@pytest.mark.parametrize("format", ["hf", "safetensors", "native"])
@pytest.mark.parametrize("small", [False, True])
def test_convert_and_back(folder, arrays, tmp_path, capsys, format, small, monkeypatch):
    if small:  # tensors go a row or so at a time
        monkeypatch.setattr(convert_module, "_IN_ORDER", 24)
        monkeypatch.setattr(convert_module, "_TRANSPOSED", 100)
    (tmp_path / "aoa").write_text(AOA)
    new = tmp_path / "new"
    said(capsys, "convert", folder, new, "--aoa", tmp_path / "aoa", "--format", format, "--max-shard-size", "0.2KB")
    manifest = open_checkpoint(new)
    assert sorted(manifest.infos) == ["l.0.qkv", "l.1.qkv", "n"]
    assert len(manifest.files) == (3 if format == "hf" else 1)
    for i in range(2):
        parts = [np.split(arrays[f"l.{i}.{n}"].T, 2, axis=1) for n in "qkv"]
        fused = np.concatenate([part[g] for g in range(2) for part in parts], axis=1)
        np.testing.assert_array_equal(load(new, manifest, f"l.{i}.qkv"), fused)
    said(capsys, "convert", new, tmp_path / "back", "--aoa", tmp_path / "aoa", "--reverse", "--format", "native")
    assert said(capsys, "diff", folder, tmp_path / "back") == "no difference in 7 tensors\n"


def test_convert_casts_and_takes_json(folder, arrays, tmp_path, capsys):
    config = {"aoa_statements": ["l.0.q -> l.0.q, src_dtype='float32', dst_dtype='bfloat16'"]}
    (tmp_path / "aoa.json").write_text(json.dumps(config))
    said(capsys, "convert", folder, tmp_path / "new", "--aoa", tmp_path / "aoa.json", "--format", "native")
    found = open_checkpoint(tmp_path / "new")
    bfloat16 = numpy_dtype("bfloat16")
    np.testing.assert_array_equal(load(tmp_path / "new", found, "l.0.q"), arrays["l.0.q"].astype(bfloat16))
    (tmp_path / "aoa.json").write_text(json.dumps({"aoa_config_reverse": True, **config}))
    said(capsys, "convert", tmp_path / "new", tmp_path / "back", "--aoa", tmp_path / "aoa.json")
    found = open_checkpoint(tmp_path / "back")
    rounded = arrays["l.0.q"].astype(bfloat16).astype(np.float32)
    np.testing.assert_array_equal(load(tmp_path / "back", found, "l.0.q"), rounded)


def test_convert_of_parts_keeps_what_is_beside_tensors(rng, tmp_path, capsys):
    w = rng.standard_normal((4, 6))
    flat = [cut("w", w, Box((0, 0), (4, 3)), flat=r) for r in ((0, 5), (5, 12))] + [cut("w", w, Box((0, 3), (4, 3)))]
    save_items(tmp_path / "a", flat, infos_of({"w": w}))
    said(capsys, "convert", tmp_path / "a", tmp_path / "b")
    found = open_checkpoint(tmp_path / "b")
    np.testing.assert_array_equal(load(tmp_path / "b", found, "w"), w)


def test_what_fails(folder, tmp_path, capsys):
    said(capsys, "convert", folder, tmp_path / "hf")
    for arguments, message in (
        (("inspect", tmp_path / "none"), "requires a folder"),
        (("inspect", folder, "--uid", "7"), "7.metadata.json"),
        (("convert", folder, tmp_path / "hf"), "no safetensors files in"),
        (("convert", folder, tmp_path / "n", "--max-shard-size", "much"), "a size such as"),
        (("convert", folder, tmp_path / "n", "--aoa", tmp_path / "no"), "No such file"),
    ):
        assert main([str(a) for a in arguments]) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "aoa").write_text("nothing -> x\n")
    assert main(["convert", folder, str(tmp_path / "n"), "--aoa", str(tmp_path / "aoa")]) == 2
    assert "nothing" in capsys.readouterr().err
    assert not os.path.exists(tmp_path / "n")


def test_an_error_in_the_middle_leaves_no_model(folder, tmp_path, capsys):
    os.truncate(f"{folder}/0_0.distcp", 9000)
    assert main(["convert", f"{folder}", str(tmp_path / "n")]) == 2
    assert "0_0.distcp" in capsys.readouterr().err


def test_sizes():
    assert [parse_size(s) for s in ("5GB", "1.5 MiB", "100", "2kb")] == [5 * 10**9, 3 << 19, 100, 2000]
    for bad in ("", "GB", "-1GB", "0", "1XB"):
        with pytest.raises(ValueError, match="a size such as"):
            parse_size(bad)


@pytest.mark.slow
def test_as_a_module(folder):
    command = [sys.executable, "-m", "paddle.distributed.flex_checkpoint", "verify", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "7 ok\n"), done.stderr
