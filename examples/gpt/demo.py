"""Train, kill the training with SIGKILL on the way, resume it, check that no step was lost, and write some text."""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def losses(out: Path) -> list[float]:
    import paddle

    path = out / "checkpoint.pdckpt"
    return paddle.load(str(path))["losses"] if path.exists() else []


def train(out: Path, *options: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, str(HERE / "train.py"), "--out", str(out), *options])


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--out", default=str(HERE / "out"))
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--save-every", type=int, default=50)
    p.add_argument("rest", nargs="*", help="further options of train.py, after --")
    args = p.parse_args(argv)
    out = Path(args.out)
    shutil.rmtree(out, ignore_errors=True)
    options = [f"--steps={args.steps}", f"--save-every={args.save_every}", *args.rest]

    process = train(out, *options)
    checkpoint = out / "checkpoint.pdckpt"
    while not checkpoint.exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)  # some steps further, which the kill undoes
    killed = process.poll() is None
    if killed:
        process.send_signal(signal.SIGKILL)
    process.wait()
    before = losses(out)
    print(
        f"\n--- killed with SIGKILL; the checkpoint holds {len(before)} steps ---" if killed else "\n--- not killed ---"
    )

    code = train(out, *options, "--resume").wait()
    if code:
        return code
    after = losses(out)
    if after[: len(before)] != before or len(after) != args.steps:
        print(f"resumed wrongly: {len(before)} steps before, {len(after)} after", file=sys.stderr)
        return 1
    around = [round(x, 3) for x in after[max(0, len(before) - 3) : len(before) + 3]]
    print(f"--- resumed without a visible step: losses around the kill {around} ---\n")
    return subprocess.call([sys.executable, str(HERE / "sample.py"), "--out", str(out), "--tokens", "120"])


if __name__ == "__main__":
    sys.exit(main())
