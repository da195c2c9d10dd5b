"""Ask a server of ``python -m paddle.inference.serve``: the standard library and NumPy are all that it takes.

Each image is a request of its own. They are sent by several threads; the server runs together what comes at one time.
"""

from __future__ import annotations

import argparse
import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from digits import Digits, accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?", default="http://127.0.0.1:8080")
    parser.add_argument("--requests", type=int, default=64)
    options = parser.parse_args()
    test = Digits(test=True)

    def scores(image: np.ndarray) -> list[float]:
        body = json.dumps({"inputs": {"image": image[None].tolist()}}).encode()
        request = urllib.request.Request(
            f"{options.url}/v1/predict", body, headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            (output,) = json.load(answer)["outputs"].values()
        return output[0]

    with ThreadPoolExecutor(8) as pool:
        found = np.array(list(pool.map(scores, test.images[: options.requests])))
    print(f"{len(found)} answers, accuracy {accuracy(found, test.labels[: len(found)]):.1f}%")


if __name__ == "__main__":
    main()
