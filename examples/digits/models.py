"""Three networks for images of 8×8: convolutions, convolutions with residuals, and a recurrent one that reads rows."""

from __future__ import annotations

import paddle
import paddle.nn.functional as F
from paddle import nn


class Conv(nn.Layer):
    """Two blocks of convolution, normalisation and ReLU, each followed by pooling; then a linear classifier."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, channels, 3, padding=1, bias_attr=False),
            nn.BatchNorm2D(channels),
            nn.ReLU(),
            nn.MaxPool2D(2),
            nn.Conv2D(channels, 2 * channels, 3, padding=1, bias_attr=False),
            nn.BatchNorm2D(2 * channels),
            nn.ReLU(),
            nn.MaxPool2D(2),
            nn.Flatten(),
        )
        self.classifier = nn.Sequential(nn.Dropout(0.3), nn.Linear(2 * channels * 4, 10))

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.classifier(self.features(x))


class Residual(nn.Layer):
    """Two convolutions whose result is added to what they were given (He et al., 2015)."""

    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(inputs, channels, 3, stride, 1, bias_attr=False)
        self.conv2 = nn.Conv2D(channels, channels, 3, 1, 1, bias_attr=False)
        self.norm1, self.norm2 = nn.BatchNorm2D(channels), nn.BatchNorm2D(channels)
        self.shortcut = None
        if stride != 1 or inputs != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2D(inputs, channels, 1, stride, bias_attr=False), nn.BatchNorm2D(channels)
            )

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class ResNet(nn.Layer):
    """A residual network of three stages."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2D(1, channels, 3, 1, 1, bias_attr=False), nn.BatchNorm2D(channels), nn.ReLU())
        self.blocks = nn.Sequential(
            Residual(channels, channels, 1),
            Residual(channels, 2 * channels, 2),
            Residual(2 * channels, 4 * channels, 2),
        )
        self.classifier = nn.Linear(4 * channels, 10)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.classifier(self.blocks(self.stem(x)).mean(axis=[2, 3]))


class Lstm(nn.Layer):
    """Reads an image row by row, in both directions, and judges by the last states."""

    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, hidden, direction="bidirect")
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(2 * hidden, 10))

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        _, (last, _) = self.lstm(x.squeeze(1))
        return self.classifier(paddle.concat([last[0], last[1]], axis=-1))


MODELS = {"conv": Conv, "resnet": ResNet, "lstm": Lstm}
