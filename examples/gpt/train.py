"""Train the language model. ``--help`` lists the options; Ctrl-C stops after the current step and saves."""

from __future__ import annotations

import argparse
import math
import os

# Small matrices gain nothing from threads, and lose much when other programs run. Read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
from data import Batches, Tokenizer, corpus, unigram_entropy
from model import GPT, Config
from tqdm import tqdm

import paddle
from paddle import distributed


def options(argv: list[str] | None = None) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--steps", type=int, default=400, help="how many steps in all, those before --resume included")
    p.add_argument("--data", help="a text file; by default the language reference inside Python's help()")
    p.add_argument("--out", default="out", help="folder for checkpoint and loss curve")
    p.add_argument("--resume", action="store_true", help="continue from the checkpoint in --out, if there is one")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--vocab", type=int, default=512, help="size of the byte-pair vocabulary; 256 means bytes")
    p.add_argument("--context", type=int, default=64)
    p.add_argument("--layers", type=int, default=4)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--width", type=int, default=128)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--warmup", type=int, default=20)
    p.add_argument("--save-every", type=int, default=100)
    p.add_argument("--compile", action="store_true", help="capture the whole step as one program")
    p.add_argument("--recompute", action="store_true", help="compute blocks again for their gradients: less memory")
    p.add_argument("--nproc", type=int, default=1, help="processes that share each batch")
    p.add_argument("--amp", choices=("bfloat16", "float16"), help="run matmuls in this type")
    return p.parse_args(argv)


class Training:
    """Everything that a checkpoint holds: model, optimizer, schedule, random state, place in the data, losses so
    far.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self.rank, self.world = distributed.get_rank(), distributed.get_world_size()
        if args.batch % self.world:
            raise SystemExit(f"a batch of {args.batch} cannot be shared evenly by {self.world} processes")
        self.generator = paddle.seed(args.seed)
        text = corpus(args.data)
        self.tokenizer = Tokenizer.train(text, args.vocab)
        tokens = np.array(self.tokenizer.encode(text), dtype=np.int64)
        self.entropy = unigram_entropy(tokens)
        self.batches = Batches(tokens, args.context, args.batch, args.seed)
        self.config = Config(self.tokenizer.vocab_size, args.context, args.layers, args.heads, args.width)
        self.model = GPT(self.config, args.recompute)
        if self.world > 1:
            self.parallel = paddle.DataParallel(self.model)  # gradients are means over all processes
        cosine = paddle.optimizer.lr.CosineAnnealingDecay(
            args.lr, T_max=max(1, args.steps - args.warmup), eta_min=args.lr / 10
        )
        self.schedule = paddle.optimizer.lr.LinearWarmup(
            cosine, args.warmup, start_lr=args.lr / args.warmup, end_lr=args.lr
        )
        matrices = {p.name for p in self.model.parameters() if p.ndim > 1}
        self.optimizer = paddle.optimizer.AdamW(
            self.schedule,
            beta1=0.9,
            beta2=0.95,
            parameters=self.model.parameters(),
            weight_decay=0.1,
            apply_decay_param_fun=matrices.__contains__,
            grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0),
        )
        self.amp = args.amp
        # Gradients in float16 are scaled, so that small ones do not vanish; the scaler looks at data between the parts
        # of a step, so only forward and backward are captured with it.
        self.scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0) if args.amp == "float16" else None
        self.update = self._update
        if args.compile and self.scaler is None:
            self.update = paddle.jit.to_static(self._update)
        elif args.compile:
            paddle.jit.to_static(self.model)
        self.losses: list[float] = []

    def state(self) -> dict:
        return {
            "config": asdict(self.config),
            "merges": self.tokenizer.merges,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "rng": self.generator.get_state(),
            "data": self.batches.state,
            "losses": self.losses,
            "scaler": self.scaler.state_dict() if self.scaler else None,
        }

    def restore(self, state: dict) -> None:
        if Config(**state["config"]) != self.config:
            raise SystemExit(
                f"the checkpoint is of another model: {state['config']}; this run asks for {asdict(self.config)}"
            )
        self.model.set_state_dict(state["model"])
        self.optimizer.set_state_dict(state["optimizer"])
        self.generator.set_state(state["rng"])
        self.batches.state = state["data"]
        self.losses = list(state["losses"])
        if self.scaler and state.get("scaler"):
            self.scaler.load_state_dict(state["scaler"])

    def _update(self, ids: paddle.Tensor, targets: paddle.Tensor) -> paddle.Tensor:
        with paddle.amp.auto_cast(enable=self.amp is not None, dtype=self.amp or "float16"):
            loss = self.model.loss(ids, targets)
        if self.scaler is None:
            loss.backward()
            self.optimizer.step()
        else:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.clear_grad(set_to_zero=False)
        return loss

    def step(self, ids: np.ndarray, targets: np.ndarray) -> float:
        part = len(ids) // self.world
        mine = slice(self.rank * part, (self.rank + 1) * part)
        loss = self.update(paddle.to_tensor(ids[mine]), paddle.to_tensor(targets[mine]))
        self.schedule.step()
        return self.over_all(float(loss), distributed.ReduceOp.AVG)

    def over_all(self, x: float, op: int) -> float:
        """A number of each process, combined."""
        if self.world == 1:
            return x
        combined = paddle.to_tensor(x, dtype="float64")
        distributed.all_reduce(combined, op)
        return float(combined)


class StopOnSignal:
    """Ctrl-C or SIGTERM sets ``requested``; a second Ctrl-C interrupts at once."""

    def __init__(self) -> None:
        self.requested = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._request)

    def _request(self, number: int, frame: object) -> None:
        self.requested = True
        signal.signal(signal.SIGINT, signal.default_int_handler)


def can_plot() -> bool:
    """Return whether a loss curve can be drawn; the training does without where not."""
    try:
        import matplotlib
    except ImportError as error:
        print(f"no loss curve will be drawn, as that needs matplotlib (pip install matplotlib): {error}")
        return False
    matplotlib.use("Agg")
    return True


def plot(losses: list[float], entropy: float, path: Path) -> None:
    from matplotlib import pyplot

    width = max(1, len(losses) // 50)
    smooth = np.convolve(losses, np.ones(width) / width, mode="valid")
    figure, axes = pyplot.subplots(figsize=(7, 4))
    axes.plot(losses, color="0.8", linewidth=0.8, label="each step")
    axes.plot(np.arange(len(smooth)) + width - 1, smooth, label=f"mean of {width} steps")
    axes.axhline(entropy, color="0.4", linestyle="--", label="unigram entropy")
    axes.set(xlabel="step", ylabel="loss (nats per token)", title="GPT on the Python language reference")
    axes.legend()
    figure.tight_layout()
    part = path.with_name("." + path.name)
    figure.savefig(part, format="png", dpi=120)
    pyplot.close(figure)
    os.replace(part, path)


def main(argv: list[str] | None = None) -> int:
    args = options(argv)
    distributed.init_parallel_env()
    if distributed.get_world_size() == 1 and args.nproc > 1:
        launch = [sys.executable, "-m", "paddle.distributed.launch", "--nproc_per_node", str(args.nproc)]
        launch += ["--log_dir", os.path.join(args.out, "log")]
        return subprocess.run([*launch, __file__, *(sys.argv[1:] if argv is None else argv)]).returncode
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / "checkpoint.pdckpt"
    stop = StopOnSignal()
    run = Training(args)
    first_process = run.rank == 0  # it alone writes and prints
    plots = first_process and can_plot()
    if first_process:
        for left_over in out.glob(".checkpoint.pdckpt.*"):  # of a run that was killed while it saved
            left_over.unlink()
    if args.resume and checkpoint.exists():
        run.restore(paddle.load(str(checkpoint)))
        if first_process:
            print(f"resumed after step {len(run.losses)} of {args.steps}")
    size = sum(math.prod(p.shape) for p in run.model.parameters())
    count, vocabulary = len(run.batches.tokens), run.tokenizer.vocab_size
    if first_process:
        print(f"{size:,} parameters; {count:,} tokens of {vocabulary}; unigram entropy {run.entropy:.3f}")

    tokens_per_step = args.batch * args.context
    began, first = time.perf_counter(), len(run.losses)
    bar_options = {"unit": "step", "dynamic_ncols": True, "file": sys.stdout, "disable": not first_process}
    with tqdm(total=args.steps, initial=first, **bar_options) as bar:
        for ids, targets in run.batches:
            step = len(run.losses)
            # Processes stop after the same step, whichever of them was asked to.
            if step >= args.steps or run.over_all(stop.requested, distributed.ReduceOp.MAX):
                break
            run.losses.append(run.step(ids, targets))
            rate = (step + 1 - first) * tokens_per_step / (time.perf_counter() - began)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            bar.set_postfix_str(
                f"loss {np.mean(run.losses[-20:]):.3f}, {rate:,.0f} tokens/s, {memory:,.0f} MB", refresh=False
            )
            bar.update()
            if first_process and (step + 1) % args.save_every == 0 and step + 1 < args.steps:
                paddle.save(run.state(), str(checkpoint))
    if not first_process:
        return 0
    paddle.save(run.state(), str(checkpoint))
    written = [checkpoint]
    if run.losses:
        if plots:
            written.append(out / "loss.png")
            plot(run.losses, run.entropy, written[-1])
        loss = np.mean(run.losses[-20:])
        print(f"step {len(run.losses)}: loss {loss:.3f}, unigram entropy {run.entropy:.3f}")
    print("wrote", " and ".join(map(str, written)))
    if stop.requested:
        print("stopped on request; continue with --resume")
    return 0


if __name__ == "__main__":
    sys.exit(main())
