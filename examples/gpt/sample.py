"""Write text with a trained model: ``python sample.py --prompt "The with statement"``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from data import Tokenizer
from model import GPT, Config

import paddle


def load(out: str) -> tuple[GPT, Tokenizer]:
    """The model and tokenizer of the checkpoint in folder ``out``."""
    path = Path(out) / "checkpoint.pdckpt"
    if not path.exists():
        raise SystemExit(f"there is no {path}: run train.py first")
    state = paddle.load(str(path))
    model = GPT(Config(**state["config"]))
    model.set_state_dict(state["model"])
    return model.eval(), Tokenizer(state["merges"])


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--out", default="out", help="folder with the checkpoint")
    p.add_argument("--prompt", default="The ")
    p.add_argument("--tokens", type=int, default=200)
    p.add_argument("--temperature", type=float, default=0.8)
    p.add_argument("--top-k", type=int, default=40)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args(argv)
    model, tokenizer = load(args.out)
    paddle.seed(args.seed)
    prompt = tokenizer.encode(args.prompt.encode())
    if not prompt:
        raise SystemExit("the prompt is empty")
    began = time.perf_counter()
    tokens = list(prompt)
    shown = tokenizer.decode(tokens)
    print(shown, end="", flush=True)
    try:
        for token in model.generate(prompt, args.tokens, args.temperature, args.top_k):
            tokens.append(token)
            text = tokenizer.decode(tokens)
            if not text.endswith("\ufffd"):  # a character may span tokens
                print(text[len(shown) :], end="", flush=True)
                shown = text
    except KeyboardInterrupt:
        pass
    count = len(tokens) - len(prompt)
    print(f"\n[{count} tokens, {count / (time.perf_counter() - began):.0f} per second]", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
