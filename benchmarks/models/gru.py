"""A GRU over sequences and a judgement by its last output."""

from __future__ import annotations

from models.inference import WIDTH

from paddle import nn

LAYERS, CLASSES = 2, 10


class Classifier(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(WIDTH, WIDTH, num_layers=LAYERS)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        y, _ = self.gru(x)
        return self.head(y[:, -1])


NETWORKS = {"gru": Classifier}
