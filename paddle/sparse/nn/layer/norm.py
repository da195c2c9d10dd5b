"""Normalisations of sparse tensors as layers."""

from __future__ import annotations

from typing import Any

from paddle import nn
from paddle._public import public
from paddle.nn.layer.layers import Layer
from paddle.sparse.unary import need_sparse
from umiak.core.tensor import Tensor


@public("paddle.sparse.nn")
class BatchNorm(nn.BatchNorm1D):
    """Batch normalization of the stored values of a sparse tensor, over all positions, by channel.

    Args:
        num_features: channels of the input.
        momentum: how much of the running values stays at each step.
        epsilon: added to the variance.
        weight_attr: attributes of the weight ``[num_features]``, ones by default; False for none.
        bias_attr: attributes of the bias ``[num_features]``, zeros by default; False for none.
        data_format: ``"NDHWC"`` or ``"NHWC"``: channels are last.
        use_global_stats: whether the running values are used in training, too; None: in evaluation alone.

    Shape:
        input: sparse COO tensor ``[b, *, num_features]``, in which the channels are dense, floating.
        output: sparse COO tensor of the input's positions and dtype.

    Raises:
        TypeError: in a call, an input that is not sparse.
        ValueError: another data_format; in a call, another number of channels.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1]], [[1.0], [3.0]], [1, 2, 2, 1])
        >>> [round(v, 3) for v in paddle.sparse.nn.BatchNorm(1)(x).values().flatten().tolist()]
        [-1.0, 1.0]
    """

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NDHWC",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        if data_format not in ("NDHWC", "NHWC"):
            raise ValueError(f"[BatchNorm] requires data_format 'NDHWC' or 'NHWC', got {data_format!r}")
        settings = (momentum, epsilon, weight_attr, bias_attr, "NCL", use_global_stats, name)
        super().__init__(num_features, *settings)
        self._shown_format = data_format

    def forward(self, input: Tensor) -> Tensor:
        x: Any = need_sparse(input, "BatchNorm")
        return x.with_values(super().forward(x.values()))

    def extra_repr(self) -> str:
        main = f"num_features={self._num_features}, momentum={self._momentum}, epsilon={self._epsilon}"
        return f"{main}, data_format={self._shown_format}" + (f", name={self._name}" if self._name else "")


@public("paddle.sparse.nn")
class SyncBatchNorm(nn.SyncBatchNorm):
    """Batch normalization of the stored values of a sparse tensor, over the positions of all processes together.

    Args:
        num_features: channels of the input.
        momentum: how much of the running values stays at each step.
        epsilon: added to the variance.
        weight_attr: attributes of the weight ``[num_features]``, ones by default; False for none.
        bias_attr: attributes of the bias ``[num_features]``, zeros by default; False for none.
        data_format: accepted; channels are the last dim, which is dense.

    Shape:
        x: sparse COO tensor ``[b, *, num_features]``, in which the channels are dense, floating.
        output: sparse COO tensor of x's positions and dtype.

    Raises:
        TypeError: in a call, an input that is not sparse.
        ValueError: in a call, another number of channels.

    Example:
        >>> import paddle
        >>> net = paddle.nn.Sequential(paddle.sparse.nn.SubmConv3D(1, 4, 3), paddle.sparse.nn.BatchNorm(4))
        >>> paddle.sparse.nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]
        SyncBatchNorm(num_features=4, momentum=0.9, epsilon=1e-05)
    """

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, "NCHW", name)

    def forward(self, x: Tensor) -> Tensor:
        points: Any = need_sparse(x, "SyncBatchNorm")
        return points.with_values(super().forward(points.values()))

    @classmethod
    def convert_sync_batchnorm(cls, layer: Layer) -> Layer:
        """Replace the batch norms of a layer, at any depth, by synchronized ones that hold the same parameters.

        Args:
            layer: changed in place, unless it is a batch norm itself. Those of dense tensors are replaced as well.

        Returns:
            The layer, or the one that takes its place.
        """
        if isinstance(layer, BatchNorm):
            converted = cls(layer._num_features, layer._momentum, layer._epsilon, False, False, name=layer._name)
            converted._parameters.clear()
            converted._parameters.update(layer._parameters)
            converted._use_global_stats = layer._use_global_stats
            converted.training = layer.training
            return converted
        if isinstance(layer, nn.SyncBatchNorm):
            return layer
        if not layer._sub_layers:
            return nn.SyncBatchNorm.convert_sync_batchnorm(layer)
        for name, inner in list(layer._sub_layers.items()):
            if inner is not None:
                layer._sub_layers[name] = cls.convert_sync_batchnorm(inner)
        return layer
