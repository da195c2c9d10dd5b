"""A corpus in WMT14's files is read by ``paddle.text``, batched by length, and translated by a recurrent network."""

from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import fill

import paddle
import paddle.nn.functional as F
from paddle import nn

TOLERANCE = 1e-3
NUMBERS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre", "five": "cinq", "six": "six"}
THINGS = {"cats": "chats", "dogs": "chiens", "birds": "oiseaux", "fish": "poissons"}
MARKS = ("<s>", "<e>", "<unk>")


def sentences(seed: int, count: int) -> list[tuple[str, str]]:
    rng = np.random.RandomState(seed)
    numbers, things = list(NUMBERS), list(THINGS)
    pairs = []
    for _ in range(count):
        picked = [(numbers[rng.randint(6)], things[rng.randint(4)]) for _ in range(rng.randint(1, 4))]
        english = " and ".join(f"{n} {t}" for n, t in picked)
        french = " et ".join(f"{NUMBERS[n]} {THINGS[t]}" for n, t in picked)
        pairs.append((english, french))
    return pairs


def write_corpus(path: Path) -> int:
    """Write an archive as WMT14's: two dictionaries, and pairs of sentences; the size of the dictionaries."""
    words = [[*MARKS, *NUMBERS, *THINGS, "and"], [*MARKS, *NUMBERS.values(), *THINGS.values(), "et"]]
    files = {
        "wmt14/src.dict": "".join(f"{word}\n" for word in words[0]),
        "wmt14/trg.dict": "".join(f"{word}\n" for word in words[1]),
        "wmt14/train/train": "".join(f"{a}\t{b}\n" for a, b in sentences(0, 48)),
        "wmt14/test/test": "".join(f"{a}\t{b}\n" for a, b in sentences(1, 12)),
        "wmt14/gen/gen": "".join(f"{a}\t{b}\n" for a, b in sentences(2, 4)),
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return len(words[0])


class ByLength(paddle.io.Sampler):
    """Long sentences first, so that little of a batch is padding."""

    def __iter__(self) -> Any:
        lengths = [len(self.data_source[i][0]) for i in range(len(self.data_source))]
        return iter(np.argsort(lengths, kind="stable")[::-1].tolist())


def padded(batch: list[Any]) -> tuple[Any, ...]:
    """Sentences of a batch, filled up by ``<e>``, their lengths, and the words to tell."""
    columns = [[np.asarray(item, "int64") for item in column] for column in zip(*batch, strict=True)]
    source, target, following = (
        np.stack([np.pad(row, (0, max(map(len, column)) - len(row)), constant_values=1) for row in column])
        for column in columns
    )
    lengths = [np.array([len(row) for row in column], "int64") for column in columns[:2]]
    return source, lengths[0], target, following, lengths[1]


class Translator(nn.Layer):
    def __init__(self, words: int, width: int = 24) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder = nn.LSTM(width, width // 2, direction="bidirect")
        self.decoder = nn.GRU(width, width)
        self.query, self.out = nn.Linear(width, width), nn.Linear(2 * width, words)

    def forward(self, source: Any, lengths: Any, target: Any) -> Any:
        memory, (last, _) = self.encoder(self.source(source), sequence_length=lengths)
        first = paddle.concat([last[0], last[1]], axis=-1).unsqueeze(0)
        hidden, _ = self.decoder(self.target(target), first)
        there = F.sequence_mask(lengths, maxlen=source.shape[1], dtype="float32").unsqueeze(1)
        scores = paddle.bmm(self.query(hidden), memory.transpose([0, 2, 1])) - 1e4 * (1 - there)
        return self.out(paddle.concat([hidden, paddle.bmm(F.softmax(scores), memory)], axis=-1))


class MaskedLoss(nn.Layer):
    def forward(self, logits: Any, words: Any, lengths: Any) -> Any:
        mask = F.sequence_mask(lengths, maxlen=words.shape[1], dtype=logits.dtype)
        errors = F.softmax_with_cross_entropy(logits, words.unsqueeze(-1)).squeeze(-1)
        return (errors * mask).sum() / mask.sum()


class WordsRight(paddle.metric.Metric):
    """The part of words that are right, and of sentences that are wholly so."""

    def __init__(self) -> None:
        super().__init__()
        self.reset()

    def name(self) -> list[str]:
        return ["words", "whole"]

    def compute(self, logits: Any, words: Any, lengths: Any) -> Any:
        mask = F.sequence_mask(lengths, maxlen=words.shape[1], dtype="bool")
        return paddle.logical_and(logits.argmax(axis=-1) == words, mask).astype("int64"), lengths

    def update(self, right: Any, lengths: Any) -> Any:
        hits = np.asarray(right).sum(axis=1)
        self.counts += np.array([hits.sum(), np.sum(lengths), (hits == lengths).sum(), len(lengths)])
        return self.accumulate()

    def reset(self) -> None:
        self.counts = np.zeros(4)

    def accumulate(self) -> list[float]:
        words, every, whole, sentences = self.counts
        return [float(words / every), float(whole / sentences)] if every else [0.0, 0.0]


class Diary(paddle.callbacks.Callback):
    """Losses of batches, scores of epochs, and the order of events; training ends when it is good enough."""

    def __init__(self, enough: float) -> None:
        super().__init__()
        self.enough = enough
        self.losses: list[float] = []
        self.scores: list[float] = []
        self.events: list[str] = []

    def on_train_begin(self, logs: Any = None) -> None:
        self.events.append("begin")

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        self.losses.append(float(np.ravel(logs["loss"])[0]))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.events.append(f"epoch {epoch}")

    def on_eval_end(self, logs: Any = None) -> None:
        self.scores += [float(logs["words"]), float(logs["whole"])]
        self.model.stop_training = logs["words"] >= self.enough

    def on_train_end(self, logs: Any = None) -> None:
        self.events.append("end")


def prepared(words: int) -> Any:
    """A model whose inputs and labels are named."""
    inputs = [
        paddle.static.InputSpec([None, None], "int64", "source"),
        paddle.static.InputSpec([None], "int64", "lengths"),
        paddle.static.InputSpec([None, None], "int64", "target"),
    ]
    labels = [
        paddle.static.InputSpec([None, None], "int64", "following"),
        paddle.static.InputSpec([None], "int64", "target_lengths"),
    ]
    model = paddle.Model(Translator(words), inputs, labels)
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(0.03, T_max=40)
    optimizer = paddle.optimizer.Adam(schedule, parameters=model.parameters(), grad_clip=nn.ClipGradByGlobalNorm(2.0))
    model.prepare(optimizer, MaskedLoss(), WordsRight())
    return model


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "wmt14.tgz")
        words = write_corpus(archive)
        train, test = (paddle.text.WMT14(str(archive), mode=mode, dict_size=words) for mode in ("train", "test"))
        names = train.get_dict(reverse=True)[1]
        sampler = paddle.io.BatchSampler(sampler=ByLength(train), batch_size=12)
        train_loader = paddle.io.DataLoader(train, batch_sampler=sampler, collate_fn=padded)
        shares = [
            [len(batch) for batch in paddle.io.DistributedBatchSampler(train, 5, num_replicas=3, rank=rank)]
            for rank in range(3)
        ]
        test_sampler = paddle.io.DistributedBatchSampler(test, batch_size=5, num_replicas=1, rank=0)
        test_loader = paddle.io.DataLoader(test, batch_sampler=test_sampler, collate_fn=padded)
        model = prepared(words)
        fill(model.network)
        diary = Diary(0.76)
        model.fit(train_loader, test_loader, epochs=10, verbose=0, callbacks=[diary])
        model.save(str(Path(folder, "translator")))
        again = prepared(words)
        again.load(str(Path(folder, "translator")))
        scores = again.evaluate(test_loader, verbose=0)
        (logits,) = again.predict(test_loader, verbose=0)
    said = [" ".join(names[i] for i in row.argmax(-1) if i > 1) for row in logits[0]]
    return {
        "first": {name: part.tolist() for name, part in zip(("source", "target", "following"), train[0], strict=True)},
        "shares": shares,
        "losses": diary.losses,
        "scores": diary.scores,
        "events": diary.events,
        "loss": float(np.ravel(scores["loss"])[0]),
        "again": [float(scores["words"]), float(scores["whole"])],
        "said": said,
        "logits": logits[-1][0, 0],
    }
