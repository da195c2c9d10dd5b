"""The model of encoder_training.py on PyTorch."""

from __future__ import annotations

import torch.nn.functional as F
from models.encoder import WIDTH
from models.encoder_training import CLASSES
from models.peer_encoder import encoder
from torch import nn


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = encoder()
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, labels):
        return F.cross_entropy(self.head(self.encoder(x).mean(dim=1)), labels)


PEER = Classifier
