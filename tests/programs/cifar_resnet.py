"""A residual network learns stripes on small colour images: transforms, a data set of one's own, and ``Model.fit``."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill
from PIL import Image

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.io import DataLoader, Dataset
from paddle.vision import transforms as T

KINDS = ("lying", "standing", "rising", "falling")
MEAN, DEVIATION = [0.45, 0.45, 0.45], [0.25, 0.25, 0.25]
SLOW = ("",)


class Stripes(Dataset):
    """Noisy pictures of stripes in any colour; the label is their direction."""

    def __init__(self, count: int, seed: int, transform: Any = None) -> None:
        super().__init__()
        rng = np.random.RandomState(seed)
        y, x = np.mgrid[:20, :20]
        waves = [y, x, x + y, x - y]
        self.labels = rng.randint(0, len(KINDS), count)
        self.pictures = []
        for label in self.labels:
            wave = np.sin(waves[label] * rng.uniform(0.8, 1.2) + rng.uniform(0, 6))
            colour = rng.uniform(40, 110, 3)
            picture = 128 + wave[..., None] * colour + rng.normal(0, 12, (20, 20, 3))
            self.pictures.append(Image.fromarray(picture.clip(0, 255).astype("uint8")))
        self.transform = transform

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        picture = self.pictures[index]
        return self.transform(picture) if self.transform else picture, self.labels[index : index + 1]

    def __len__(self) -> int:
        return len(self.labels)


class Residual(nn.Layer):
    """Two convolutions beside a shortcut, which is a convolution where the size changes."""

    def __init__(self, channels: int, width: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(channels, width, 3, stride, 1, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(width)
        self.conv2 = nn.Conv2D(width, width, 3, padding=1, bias_attr=False)
        self.bn2 = nn.BatchNorm2D(width)
        self.shortcut: Any = nn.Identity()
        if stride != 1 or channels != width:
            self.shortcut = nn.Sequential(nn.Conv2D(channels, width, 1, stride, bias_attr=False), nn.BatchNorm2D(width))

    def forward(self, x: Any) -> Any:
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


class ResNet(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2D(3, 8, 3, padding=1, bias_attr=False), nn.BatchNorm2D(8), nn.ReLU())
        self.stages = nn.LayerList([Residual(8, 8), Residual(8, 16, 2), Residual(16, 32, 2)])
        self.pool, self.flatten = nn.AdaptiveAvgPool2D(1), nn.Flatten()
        self.head = nn.Linear(32, len(KINDS))

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(self.flatten(self.pool(x)))


class History(paddle.callbacks.Callback):
    """The loss and the rate of each step, and what evaluations found."""

    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.evaluated: list[float] = []
        self.right: list[float] = []
        self.epochs = 0

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        self.losses.append(float(np.asarray(logs["loss"]).item()))
        self.rates.append(self.model._optimizer.get_lr())

    def on_eval_end(self, logs: Any = None) -> None:
        self.evaluated.append(float(np.asarray(logs["loss"]).item()))
        self.right += [logs["acc_top1"], logs["acc_top2"]]

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epochs += 1


def run() -> dict[str, Any]:
    training = T.Compose(
        [T.Pad(2, padding_mode="reflect"), T.CenterCrop(20), T.RandomHorizontalFlip(0.0), T.Resize(16), T.ToTensor(),
         T.Normalize(MEAN, DEVIATION)]
    )  # fmt: skip
    testing = T.Compose(
        [T.Resize((16, 16), "bicubic"), T.Grayscale(3), T.Transpose(),
         T.Normalize([127.5] * 3, [127.5] * 3, data_format="CHW")]
    )  # fmt: skip
    data, held_out = Stripes(96, 0, training), Stripes(32, 1, testing)
    network = fill(ResNet())
    schedule = paddle.optimizer.lr.MultiStepDecay(0.02, milestones=[2, 4], gamma=0.3)
    model = paddle.Model(network)
    model.prepare(
        paddle.optimizer.Momentum(schedule, parameters=network.parameters(), weight_decay=1e-4),
        nn.CrossEntropyLoss(),
        paddle.metric.Accuracy(topk=(1, 2)),
    )
    history = History()
    stopping = paddle.callbacks.EarlyStopping("loss", patience=1, min_delta=0.05, verbose=0, save_best_model=False)
    model.fit(
        DataLoader(data, batch_size=16, drop_last=True),
        held_out,
        batch_size=16,
        epochs=9,
        verbose=0,
        shuffle=False,
        callbacks=[history, paddle.callbacks.LRScheduler(by_step=False, by_epoch=True), stopping],
    )
    scores = model.predict(held_out, batch_size=16, stack_outputs=True, verbose=0)[0]
    return {
        "losses": history.losses,
        "rates": history.rates,
        "evaluated": history.evaluated,
        "right": history.right,
        "epochs": history.epochs,
        "scores": scores[:4],
        "parameters": paddle.summary(network, (1, 3, 16, 16)),
    }
