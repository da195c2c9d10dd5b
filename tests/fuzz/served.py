"""Random models that are saved, loaded and trained on, and predicted in threads, against the model that stayed where it
was: ``python -m tests.fuzz.served 0 300`` runs that of 300 seeds.

A seed gives the model, a data set with a loader, how the training goes on, and threads with clones of a predictor.
What a loader gives is compared with NumPy, what a loaded model gives with the layer that it was saved from. A failure
is printed with its case.
"""

from __future__ import annotations

import os
import random
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import paddle
from paddle import inference, nn
from paddle.inference.loading import files_of
from paddle.io import BatchSampler, DataLoader, Dataset
from tests.fuzz.programs.run import numbers
from tests.fuzz.seeds import run_seeds
from tests.fuzz.training import CLIPS, OPTIMIZERS, PARTS, WIDTH
from umiak.compiler.jit import object_cache  # noqa: F401  declares the switch

# What a file holds as it is: not what differs from call to call, nor what only exists in training. Files do not say
# where gradients stop, and have no operator that writes through windows.
LEFT_OUT = (
    "kept", "drawn", "dropout", "batch norm", "again", "embedding", "shared", "written: masked", "without history",
    "written: strided",
)  # fmt: skip
LAYERS = [name for name in PARTS if not any(word in name for word in LEFT_OUT)]
HOW = ("loaded", "loaded, captured", "state")  # what is trained on
TOLERANCE = 2e-4


@dataclass(frozen=True)
class Case:
    """A model of one seed. ``rows``: of the data set; ``epochs``: before it is saved, and afterwards."""

    seed: int
    parts: tuple[str, ...]
    how: str
    optimizer: str
    clip: str
    rows: int
    batch: int
    drops_last: bool
    shuffles: bool
    by_sampler: bool
    workers: int
    epochs: tuple[int, int]
    threads: int


def draw(seed: int) -> Case:
    """The model of a seed."""
    r = random.Random(f"served {seed}")
    return Case(
        seed,
        tuple(r.choices(LAYERS, k=r.choice((1, 2)))),
        r.choice(HOW),
        r.choice(("SGD", "Momentum", "Adam", "AdamW", "schedule", "Lamb")),
        r.choice(("none", *CLIPS)),
        r.choice((3, 5, 7, 8)),
        r.choice((2, 3, 4)),
        r.random() < 0.3,
        r.random() < 0.6,
        r.random() < 0.3,
        r.choice((0, 0, 0, 1)),
        (r.randint(0, 2), r.randint(1, 2)),
        r.choice((2, 3, 4)),
    )


class Rows(Dataset):
    """Sequences with a target and their place."""

    def __init__(self, case: Case) -> None:
        rng = np.random.default_rng(case.seed)
        self.x = rng.normal(size=(case.rows, 3, WIDTH)).astype("float32")
        self.y = rng.normal(size=(case.rows, 3, 2)).astype("float32")

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> tuple[np.ndarray, np.ndarray, int]:
        return self.x[i], self.y[i], i


class Model(nn.Layer):
    """Parts in a row."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.parts = nn.LayerList([PARTS[name]() for name in case.parts])
        self.last = nn.Linear(WIDTH, 2)

    def forward(self, x: Any) -> Any:
        for part in self.parts:
            x = paddle.tanh(part(x))
        return self.last(x)


def loader_of(case: Case, rows: Rows) -> DataLoader:
    if case.by_sampler:
        sampler = BatchSampler(rows, shuffle=case.shuffles, batch_size=case.batch, drop_last=case.drops_last)
        return DataLoader(rows, batch_sampler=sampler, num_workers=case.workers)
    return DataLoader(
        rows, batch_size=case.batch, shuffle=case.shuffles, drop_last=case.drops_last, num_workers=case.workers
    )


class Trainer:
    """A model in training, whose steps may be captured."""

    def __init__(self, case: Case, net: nn.Layer, captured: bool) -> None:
        self.net, self.rows = net, Rows(case)
        self.loader = loader_of(case, self.rows)
        self.case = case
        self.optimizer = OPTIMIZERS[case.optimizer](net.parameters(), CLIPS[case.clip]())
        self.step = paddle.jit.to_static(self._step) if captured else self._step

    def _step(self, x: Any, y: Any) -> Any:
        loss = (self.net(x) - y).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        return loss

    def epoch(self, number: int) -> tuple[list[float], list[list[int]]]:
        """Losses, and the places of rows, by batches."""
        paddle.seed(self.case.seed + number)
        np.random.seed(self.case.seed + number)
        self.net.train()
        losses, order = [], []
        for x, y, at in self.loader:
            order.append(at.tolist())
            np.testing.assert_array_equal(x.numpy(), self.rows.x[order[-1]])
            losses.append(float(self.step(x, y)))
        if self.case.optimizer == "schedule":
            self.optimizer._learning_rate.step()
        return losses, order


def misplaced(case: Case, order: list[list[int]]) -> str | None:
    """What is wrong with the batches of an epoch, by the arithmetic of a data set's length."""
    sizes = [case.batch] * (case.rows // case.batch)
    if case.rows % case.batch and not case.drops_last:
        sizes.append(case.rows % case.batch)
    if [len(b) for b in order] != sizes:
        return f"batches of {[len(b) for b in order]} rows and not of {sizes}"
    places = [i for batch in order for i in batch]
    if len(set(places)) != len(places) or not set(places) <= set(range(case.rows)):
        return f"rows {places}"
    if not case.shuffles and places != list(range(len(places))):
        return f"rows {places} out of order"
    return None


def inputs(case: Case) -> list[Any]:
    rng = np.random.default_rng((case.seed, 1))
    return [paddle.to_tensor(rng.normal(size=(n, 3, WIDTH)).astype("float32")) for n in (3, 1, 5, 2, 3)]


def outputs_of(call: Any, given: Sequence[Any]) -> list[np.ndarray]:
    with paddle.no_grad():
        return [numbers(call(x)) for x in given]


def in_threads(case: Case, prefix: str, given: Sequence[Any], wanted: Sequence[np.ndarray]) -> str | None:
    """Clones of one predictor, each in a thread, over inputs in orders of their own."""
    first = inference.create_predictor(inference.Config(*files_of(prefix)))
    wrong: list[str] = []
    start = threading.Barrier(case.threads)

    def serve(number: int, predictor: Any) -> None:
        try:
            start.wait(60)
            for turn in range(8):
                at = (turn * (number + 1) + number) % len(given)
                (y,) = predictor.run([given[at]])
                if not np.allclose(numbers(y), wanted[at], TOLERANCE, TOLERANCE):
                    wrong.append(f"a clone in thread {number} gives another result for input {at} in turn {turn}")
        except Exception as error:
            wrong.append(f"a clone in thread {number}: {type(error).__name__}: {error}")

    clones = [first, *(first.clone() for _ in range(case.threads - 1))]
    threads = [threading.Thread(target=serve, args=pair) for pair in enumerate(clones)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return wrong[0] if wrong else None


def check(case: Case) -> str | None:
    """What is wrong; None if nothing is."""
    at = "before it is saved"
    try:
        paddle.seed(case.seed)
        net = Model(case)
        kept = Trainer(case, net, captured=False)
        for number in range(case.epochs[0]):
            kept.epoch(number)
        net.eval()
        given = inputs(case)
        wanted = outputs_of(net, given)
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "model")
            at = "saved"
            paddle.jit.save(net, prefix, [paddle.static.InputSpec([None, 3, WIDTH], "float32", "x")])
            at = "predicted"
            if text := in_threads(case, prefix, given, wanted):
                return f"{case}\n{text}"
            at = "loaded"
            if case.how == "state":
                other: Any = Model(case)
                paddle.save(net.state_dict(), prefix + ".pdparams")
                other.set_state_dict(paddle.load(prefix + ".pdparams"))
            else:
                other = paddle.jit.load(prefix)
        other.eval()
        for i, (x, y) in enumerate(zip(outputs_of(other, given), wanted, strict=True)):
            if not np.allclose(x, y, TOLERANCE, TOLERANCE):
                return f"{case}\nloaded: result {i} is {x}, of the layer {y}"
        at = "trained on"
        pair = [Trainer(case, net, False), Trainer(case, other, case.how != "loaded")]
        for number in range(10, 10 + case.epochs[1]):
            (losses, order), (theirs, their_order) = (t.epoch(number) for t in pair)
            if text := misplaced(case, order):
                return f"{case}\nepoch {number}: {text}"
            if order != their_order or not np.allclose(theirs, losses, 10 * TOLERANCE, 10 * TOLERANCE):
                got, of_layer = (theirs, their_order), (losses, order)
                return f"{case}\nepoch {number}: losses and rows are {got}, of the layer {of_layer}"
        for t in pair:
            t.net.eval()
        for i, (x, y) in enumerate(zip(outputs_of(other, given), outputs_of(net, given), strict=True)):
            if not np.allclose(x, y, 10 * TOLERANCE, 10 * TOLERANCE):
                return f"{case}\ntrained on: result {i} is {x}, of the layer {y}"
    except Exception as error:
        return f"{case}\n{at}: {type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    run_seeds(__doc__, (), lambda seed, tally, only: check(draw(seed)))
