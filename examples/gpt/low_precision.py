"""Compare ways to train in low precision: the same model, text, seeds and schedule, with matmuls in bfloat16 and in 8
bits. ``--help`` lists the options.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics

# Small matrices gain nothing from threads. Read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from pathlib import Path

import numpy as np
from data import Batches, Tokenizer, corpus
from model import GPT, Config

import paddle
from paddle.amp import fp8
from umiak.util.chart import chart

# By name: the recipe of the linear layers; None: bfloat16. All else is the same.
RECIPES = {
    "bfloat16": None,
    "block": fp8.Recipe(),
    "row": fp8.Recipe(scaling="row"),
    "tensor": fp8.Recipe(scaling="tensor"),
    "delayed": fp8.Recipe(scaling="tensor", history=16),
    "unscaled": fp8.Recipe(scaling="none"),
    "unscaled-e4m3": fp8.Recipe(scaling="none", backward=paddle.float8_e4m3fn),
}
HELD_OUT = 0.1  # part of the text


def options(argv: list[str] | None = None) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--recipes", nargs="+", choices=list(RECIPES), default=["bfloat16", "block", "delayed", "unscaled"])
    p.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    p.add_argument("--steps", type=int, default=2000)
    p.add_argument("--data", help="a text file; by default the language reference inside Python's help()")
    p.add_argument("--out", help="a file that gets a line of JSON per run; runs that it has are not repeated")
    p.add_argument("--picture", help="a file for the curves of the loss, as SVG")
    p.add_argument("--vocab", type=int, default=512)
    p.add_argument("--context", type=int, default=64)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--heads", type=int, default=2)
    p.add_argument("--width", type=int, default=128)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--lr", type=float, default=3e-3)
    return p.parse_args(argv)


def train(args: argparse.Namespace, recipe: str, seed: int, tokens: np.ndarray, vocab_size: int) -> dict:
    """Train from a seed; return the loss (nats per token) on the last steps and on the text that was held out."""
    paddle.seed(seed)
    model = GPT(Config(vocab_size, args.context, args.layers, args.heads, args.width))
    if RECIPES[recipe] is not None:
        fp8.convert(model, RECIPES[recipe])
    warmup = min(50, args.steps // 2)
    cosine = paddle.optimizer.lr.CosineAnnealingDecay(args.lr, T_max=args.steps - warmup, eta_min=args.lr / 10)
    schedule = paddle.optimizer.lr.LinearWarmup(cosine, warmup, start_lr=args.lr / warmup, end_lr=args.lr)
    optimizer = paddle.optimizer.AdamW(
        schedule, beta2=0.95, parameters=model.parameters(), grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)
    )

    @paddle.jit.to_static
    def update(ids: paddle.Tensor, targets: paddle.Tensor) -> paddle.Tensor:
        with paddle.amp.auto_cast(dtype="bfloat16"):
            loss = model.loss(ids, targets)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        fp8.advance(model)
        return loss

    cut = int(len(tokens) * (1 - HELD_OUT))
    batches = iter(Batches(tokens[:cut], args.context, args.batch, seed))
    losses = []
    begin = time.process_time()
    for _ in range(args.steps):
        ids, targets = next(batches)
        losses.append(update(paddle.to_tensor(ids), paddle.to_tensor(targets)))
        schedule.step()
    losses = [float(x) for x in losses]
    seconds = time.process_time() - begin
    return {
        "recipe": recipe, "seed": seed, "steps": args.steps, "train": statistics.fmean(losses[-100:]),
        "held_out": held_out_loss(model, tokens[cut:], args), "first": losses[0], "cpu_seconds": seconds,
        "curve": [round(statistics.fmean(losses[i : i + 50]), 4) for i in range(0, len(losses), 50)],
    }  # fmt: skip


def held_out_loss(model: GPT, tokens: np.ndarray, args: argparse.Namespace) -> float:
    """The mean loss over windows of a text, computed as in training."""
    n = (len(tokens) - 1) // args.context
    ids = tokens[: n * args.context].reshape(n, args.context)
    targets = tokens[1 : n * args.context + 1].reshape(n, args.context)
    total = 0.0
    with paddle.no_grad(), paddle.amp.auto_cast(dtype="bfloat16"):
        for i in range(0, n, 32):
            loss = model.loss(paddle.to_tensor(ids[i : i + 32]), paddle.to_tensor(targets[i : i + 32]))
            total += float(loss) * len(ids[i : i + 32])
    return total / n


def table(runs: list[dict]) -> str:
    """Mean and spread over seeds by recipe, and the difference to bfloat16 of the same seeds, in Markdown."""
    base = {r["seed"]: r["held_out"] for r in runs if r["recipe"] == "bfloat16"}
    rows = ["| recipe | seeds | last 100 steps | held out | held out − bfloat16 |", "|---|---|---|---|---|"]
    for name in RECIPES:
        mine = [r for r in runs if r["recipe"] == name]
        if not mine:
            continue
        pairs = [r["held_out"] - base[r["seed"]] for r in mine if r["seed"] in base]
        differs = mean_and_spread(pairs) if pairs and name != "bfloat16" else ""
        columns = (mean_and_spread([r[key] for r in mine]) for key in ("train", "held_out"))
        rows.append(f"| {name} | {len(mine)} | {' | '.join(columns)} | {differs} |")
    return "\n".join(rows)


def mean_and_spread(values: list[float]) -> str:
    """Mean ± standard deviation over seeds."""
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.4f} ± {spread:.4f}"


def picture(runs: list[dict]) -> str:
    """The loss of each run over the steps, as SVG."""
    series = {}
    for name in RECIPES:
        mine = [r for r in runs if r["recipe"] == name]
        if mine:
            series[name] = [[(50 * i + 50, loss) for i, loss in enumerate(r["curve"])] for r in mine]
    return chart(series, "steps", "loss on 50 steps, nats per token; a line for each seed")


def main(argv: list[str] | None = None) -> int:
    args = options(argv)
    text = corpus(args.data)
    tokenizer = Tokenizer.train(text, args.vocab)
    tokens = np.array(tokenizer.encode(text), dtype=np.int64)
    out = Path(args.out) if args.out else None
    runs = [json.loads(line) for line in out.read_text().splitlines()] if out and out.exists() else []
    done = {(r["recipe"], r["seed"], r["steps"]) for r in runs}
    for seed in args.seeds:
        for recipe in args.recipes:
            if (recipe, seed, args.steps) in done:
                continue
            run = train(args, recipe, seed, tokens, tokenizer.vocab_size)
            runs.append(run)
            if out:
                with out.open("a") as f:
                    f.write(json.dumps(run) + "\n")
            print(
                f"{recipe}, seed {seed}: last 100 steps {run['train']:.4f}, held out {run['held_out']:.4f}, "
                f"{run['cpu_seconds']:.0f} s of processor time",
                file=sys.stderr,
                flush=True,
            )
    print(table(runs))
    if args.picture:
        Path(args.picture).write_text(picture(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
