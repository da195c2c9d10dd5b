"""Continue texts: ``python generate.py MODEL "Once upon a time" "The end"``. All of them run together."""

from __future__ import annotations

import argparse
import sys
import time

from config import BadModel
from continuations import Beams, Request, Sampled
from engine import Refused
from loading import add_options, load
from options import integer, number
from sampling import Sampling
from text import Stream


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add_options(p)
    p.add_argument("prompts", nargs="*", default=["The"])
    p.add_argument("--tokens", type=integer(1), default=64, help="tokens of each continuation at most")
    p.add_argument("--temperature", type=number(0, 100), default=0.0, help="0: the likeliest token each time")
    p.add_argument("--top-k", type=integer(0), default=0, help="draw from so many of the likeliest tokens; 0: from all")
    p.add_argument(
        "--top-p", type=number(0, 1, above=True), default=1.0, help="or from the fewest with this probability"
    )
    p.add_argument("--seed", type=integer(0), default=0)
    p.add_argument("--beams", type=integer(1), default=1, help="texts that beam search keeps")
    return p


def main(argv: list[str] | None = None) -> int:
    options = parser()
    args = options.parse_args(argv)
    sampling = Sampling(args.temperature, args.top_k, args.top_p, args.seed)
    if args.beams > 1 and sampling != Sampling(seed=args.seed):
        options.error("--beams without --temperature, --top-k and --top-p is required, got both")
    try:
        loaded = load(args)
        requests: list[Request] = []
        for prompt in args.prompts:
            ids, stops = loaded.tokenizer.encode(prompt).ids, loaded.config.eos
            if args.beams > 1:
                requests.append(Beams(ids, args.tokens, stops, beams=args.beams))
            else:
                requests.append(Sampled(ids, args.tokens, stops, sampling=sampling))
            loaded.engine.submit(requests[-1])
    except (BadModel, Refused) as error:
        print(error, file=sys.stderr)
        return 1
    began = time.perf_counter()
    loaded.engine.drain()
    seconds = time.perf_counter() - began
    for prompt, request in zip(args.prompts, requests):
        stream = Stream(loaded.tokenizer)
        print(prompt + stream.add(request.output) + stream.finish())
    written = sum(len(r.output) for r in requests)
    print(f"[{written} tokens, {written / seconds:.1f} per second; {loaded.memory()}]", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
