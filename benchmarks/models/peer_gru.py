"""The model of gru.py on PyTorch."""

from __future__ import annotations

from models.gru import CLASSES, LAYERS
from models.inference import WIDTH
from torch import nn


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(WIDTH, WIDTH, num_layers=LAYERS, batch_first=True)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        y, _ = self.gru(x)
        return self.head(y[:, -1])


NETWORKS = {"gru": Classifier}
