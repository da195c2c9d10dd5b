"""What test_model_processes starts as ranks: ``paddle.Model`` trains, evaluates and predicts; prints a line of JSON.

The one process alone takes batches as large as those of all ranks together, so that it must come to the same.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np

import paddle
from paddle import distributed, nn

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
from tests.support.model_facts import EventCollector, Samples, accuracy, fill


def main(folder: str) -> None:
    world = distributed.get_world_size()
    net = fill(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)))
    model = paddle.Model(net)
    optimizer = paddle.optimizer.Adam(0.1, parameters=net.parameters())
    model.prepare(optimizer, nn.CrossEntropyLoss(), accuracy())
    collector = EventCollector()
    per_rank = 4 // world
    model.fit(Samples(16), batch_size=per_rank, epochs=2, verbose=2, callbacks=collector, save_dir=folder)
    model.fit(Samples(16), batch_size=per_rank, accumulate_grad_batches=2, verbose=0)
    # Ten samples: the last batch of two ranks is filled up, which no result may show.
    evaluated = model.evaluate(Samples(10), batch_size=per_rank, verbose=2)
    predicted = model.predict(Samples(10), batch_size=per_rank, stack_outputs=True, verbose=0)[0]
    classes = predicted.argmax(-1)
    sizes = [e[1]["list"][1]["dict"] for e in collector.events if e[0] == "on_train_batch_end"]
    found = {
        "world": world,
        "weights": [p.numpy().tolist() for p in net.parameters()],
        "accuracy": float(evaluated["acc"]),
        "counted": float(np.mean(classes == np.arange(10) % 3)),
        "predicted": predicted.tolist(),
        "batch_size": dict(sizes[0])["batch_size"],
        "steps": len(sizes),
    }
    # In a file of its own: lines that ranks print at once may run into each other.
    rank = distributed.get_rank()
    Path(f"{sys.argv[1]}-{rank}.json").write_text(json.dumps({"rank": rank, **found}))


if __name__ == "__main__":
    main(sys.argv[1])
