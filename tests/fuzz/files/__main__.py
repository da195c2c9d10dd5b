"""``python -m tests.fuzz.files FIRST LAST [--only FORMAT]``: the files of these seeds; prints what fails."""

from __future__ import annotations

import argparse

from tests.fuzz.files.check import check

NAMES = (
    "pdparams", "pickle", "safetensors", "safetensors of others", "manifest", "manifest that lies", "native shard",
    "native shard that lies", "safetensors shard", "index", "statements", "cache entry",
    "pdmodel", "pdmodel of sequences", "pir", "pdiparams", "own program", "compiled weights",
    "compiled weights that lie",
)  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m tests.fuzz.files", description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--only", choices=NAMES, action="append")
    a = parser.parse_args()
    for name in a.only or NAMES:
        found = check(name, a.first, a.last)
        counts = ", ".join(f"{n} {state}" for state, n in sorted(found.counts.items()))
        print(f"{name}: {counts}; at most {found.peak >> 20} MiB, {found.seconds:.2f} s", flush=True)
        for seed, why in list(found.failures.items())[:20]:
            print(f"  seed {seed}: {why}", flush=True)
