"""LeNet: two convolutions and three linear layers, for digits.

Y. LeCun et al., Gradient-based learning applied to document recognition, 1998.
"""

from __future__ import annotations

from paddle import nn
from paddle._public import public
from umiak.core.tensor import Tensor


@public("paddle.vision paddle.vision.models")
class LeNet(nn.Layer):
    """LeNet, for grey images of 28 × 28.

    Args:
        num_classes: scores per image; 0 leaves out the linear layers.

    Shape:
        input: ``[N, 1, 28, 28]``.
        output: ``[N, num_classes]``; without classes ``[N, 16, 5, 5]``.

    Raises:
        ValueError: images of another size or with other channels.

    Example:
        >>> import paddle
        >>> paddle.vision.models.LeNet()(paddle.zeros([2, 1, 28, 28])).shape
        paddle.Size([2, 10])
    """

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 3, stride=1, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5, stride=1, padding=0),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
        )
        if num_classes > 0:
            self.fc = nn.Sequential(nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, num_classes))

    def forward(self, inputs: Tensor) -> Tensor:
        x = self.features(inputs)
        return self.fc(x.flatten(1)) if self.num_classes > 0 else x
