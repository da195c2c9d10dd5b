"""Fine-tune a model directory by LoRA: ``python finetune.py MODEL OUT --data text.txt``.

Documents are packed into rows and kept apart by FlashMask. The adapters are merged into the weights, and OUT is a
Hugging Face directory again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
from config import BadModel, Config
from model import Decoder
from options import integer, number
from packing import IGNORED, arrays, batches, documents, pack
from sources import Adapted, Check, Files, Reader, write
from text import read_tokenizer
from tiny import reference

import paddle
import paddle.nn.functional as F

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Training:
    """A decoder whose adapters are trained; ``step`` is captured as one program."""

    def __init__(self, model: Decoder, steps: int, lr: float) -> None:
        self.model = model
        warmup = max(1, steps // 10)
        cosine = paddle.optimizer.lr.CosineAnnealingDecay(lr, T_max=max(1, steps - warmup))
        self.schedule = paddle.optimizer.lr.LinearWarmup(cosine, warmup, start_lr=lr / (warmup + 1), end_lr=lr)
        clip = paddle.nn.ClipGradByGlobalNorm(1.0)
        self.optimizer = paddle.optimizer.AdamW(
            self.schedule, parameters=model.parameters(), weight_decay=0.0, grad_clip=clip
        )
        self._captured = paddle.jit.to_static(self._step)

    def loss(
        self, ids: paddle.Tensor, positions: paddle.Tensor, labels: paddle.Tensor, hidden: paddle.Tensor
    ) -> paddle.Tensor:
        """Mean negative log-likelihood of the labels, in nats."""

        window = self.model.config.sliding_window
        if window is not None:
            beyond = paddle.arange(window, hidden.shape[2] + window, dtype=hidden.dtype)
            hidden = paddle.minimum(hidden, beyond.unsqueeze([0, 1, 3]))

        def attend(layer: int, q: paddle.Tensor, k: paddle.Tensor, v: paddle.Tensor) -> paddle.Tensor:
            return F.flashmask_attention(q, k, v, hidden, causal=True)

        logits = self.model.logits(self.model(ids, positions, attend))
        flat = logits.reshape([-1, logits.shape[-1]]), labels.reshape([-1])
        # A mean would be over all labels: those of a negative number count as well.
        total = F.cross_entropy(*flat, ignore_index=IGNORED, reduction="sum")
        return total / (labels != IGNORED).astype("float32").sum()

    def _step(self, *batch: paddle.Tensor) -> paddle.Tensor:
        loss = self.loss(*batch)
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        return loss

    def step(self, batch: tuple[np.ndarray, ...]) -> float:
        """Take one step; the loss before it."""
        loss = self._captured(*map(paddle.to_tensor, batch))
        self.schedule.step()
        return float(loss)


def prepare(out: Path, model: Path) -> None:
    """Make the directory of the result, where nothing else may stand: before hours of training rather than after.

    Raises:
        BadModel: it is the model's own, holds weights under names that would stay, or cannot be written to.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        if out.samefile(model):
            raise BadModel(out, "another directory than that of the model", "the same")
        for path in sorted(out.glob("*.safetensors*")):
            if path.name != "model.safetensors":
                raise BadModel(out, "a directory without weights in several files, which would stay", path.name)
        if not os.access(out, os.W_OK):
            raise BadModel(out, "a directory that can be written to", "one that only can be read")
    except OSError as error:
        raise BadModel(out, "a directory that can be written to", error.strerror or str(error)) from None


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("model", type=Path)
    p.add_argument("out", type=Path)
    p.add_argument("--data", type=Path, help="text or .jsonl; by default the language reference inside Python's help()")
    p.add_argument("--steps", type=integer(1), default=100)
    p.add_argument("--batch", type=integer(1), default=4)
    p.add_argument("--length", type=integer(2), default=256, help="tokens of a row")
    p.add_argument("--lr", type=number(0, above=True), default=2e-3)
    p.add_argument("--rank", type=integer(1), default=8)
    p.add_argument("--alpha", type=number(0, above=True), default=16.0)
    p.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS), help="matrices with an adapter")
    p.add_argument("--weights", choices=("float32", "bfloat16"), default="float32")
    p.add_argument("--seed", type=integer(0), default=0)
    args = p.parse_args(argv)
    paddle.seed(args.seed)
    try:
        config = Config.read(args.model)
        files = Files(args.model)
        check = Check(files, args.weights)
        Decoder(config, check)
        check.finish(config)
        tokenizer = read_tokenizer(args.model, config.vocab_size)
        if not 2 <= args.length <= config.max_position_embeddings:
            raise BadModel("--length", f"2 to {config.max_position_embeddings} tokens", args.length)
        texts = documents(args.data) if args.data else reference().split("\n\n")
        ends = list(config.eos[:1])
        tokens = [[*e.ids, *ends] for e in tokenizer.encode_batch(texts)]
        rows = [arrays(row, args.length) for row in pack([t for t in tokens if len(t) > 1], args.length)]
        if len(rows) < args.batch:
            required = f"text for {args.batch} rows, or a smaller --batch or --length"
            raise BadModel(args.data or "--data", required, f"{len(rows)} rows")
        prepare(args.out, args.model)
    except BadModel as error:
        print(error, file=sys.stderr)
        return 1
    source = Adapted(Reader(files, args.weights), args.rank, args.alpha, tuple(args.targets))
    training = Training(Decoder(config, source), args.steps, args.lr)
    trained = sum(x.size for x in training.model.parameters())
    filled = np.mean([(row.labels != IGNORED).mean() for row in rows])
    print(f"{trained:,} numbers are trained; {len(texts)} documents in {len(rows)} rows, {filled:.0%} of them labels")
    losses: list[float] = []
    began = time.perf_counter()
    for batch in batches(rows, args.batch, np.random.default_rng(args.seed)):
        losses.append(training.step(batch))
        if len(losses) % 10 == 0 or len(losses) == args.steps:
            rate = len(losses) * args.batch * args.length / (time.perf_counter() - began)
            print(f"step {len(losses)}: loss {np.mean(losses[-10:]):.3f}, {rate:,.0f} tokens/s", flush=True)
        if len(losses) >= args.steps:
            break
    write(args.out, config, source.source.given)
    for name in (
        "tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json",
        "special_tokens_map.json",
    ):  # fmt: skip
        if (args.model / name).exists():
            shutil.copyfile(args.model / name, args.out / name)
    print(f"wrote {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
