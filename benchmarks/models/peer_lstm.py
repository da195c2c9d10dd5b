"""The model of lstm.py on PyTorch."""

from __future__ import annotations

import torch.nn.functional as F
from models.lstm import CLASSES, LAYERS, WIDTH
from torch import nn


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=LAYERS, batch_first=True)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, labels):
        y, _ = self.lstm(x)
        return F.cross_entropy(self.head(y[:, -1]), labels)


PEER = Classifier
