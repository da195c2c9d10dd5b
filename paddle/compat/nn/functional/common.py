"""Functions of layers whose parameters or meaning in PyTorch are others than in ``paddle.nn.functional``."""

from __future__ import annotations

from typing import Any

import paddle
from paddle._public import also, need_tensor, public
from paddle.tensor import exponents
from paddle.tensor._args import integers
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_HERE = "paddle.compat.nn.functional"


@public(_HERE, usual=False)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Linear map of the last dim, ``input @ weight.T + bias``.

    Args:
        input: floating tensor ``[..., in_features]``.
        weight: tensor ``[out_features, in_features]``, or ``[in_features]``, of input's dtype.
        bias: tensor ``[out_features]``, or None.

    Returns:
        Tensor ``[..., out_features]`` of input's dtype, without the last dim for a weight of rank 1.

    Raises:
        TypeError: tensors of different dtypes.
        ValueError: sizes that do not fit.

    Example:
        >>> import paddle
        >>> paddle.compat.nn.functional.linear(paddle.ones([2, 3]), paddle.ones([1, 3])).tolist()
        [[3.0], [3.0]]
    """
    if need_tensor(weight, "linear", "weight").ndim == 2:
        return paddle.nn.functional.linear(input, F.permute(weight, (1, 0)), bias)
    result = paddle.matmul(input, weight)
    return result if bias is None else result + bias


softmax = also(exponents.softmax, "softmax", _HERE)


@public(_HERE, usual=False)
def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = 0.0) -> Tensor:
    """Elements added around a tensor, from its last dim on: ``pad`` is (left, right, top, bottom, front, back, ...).

    Args:
        input: tensor of any shape and dtype.
        pad: two ints for each padded dim, the last dim first; negative ones crop, in mode ``"constant"``.
        mode: what is added: ``"constant"`` a value, ``"reflect"`` the elements mirrored at the edge element,
            ``"replicate"`` the edge element, ``"circular"`` the elements of the other end.
        value: what is added in mode ``"constant"``; None: 0.

    Returns:
        Tensor of input's dtype.

    Raises:
        TypeError: pad is not of integers.
        ValueError: an odd number of ints, more dims than input has, more elements than there are to mirror or wrap, or
            an unknown mode.

    Example:
        >>> import paddle
        >>> paddle.compat.nn.functional.pad(paddle.to_tensor([[1, 2]]), (1, 0)).tolist()
        [[0, 1, 2]]
    """
    rank = need_tensor(input, "pad", "input").ndim
    given = integers(pad, "pad", "pad")
    dims = len(given) // 2
    if len(given) % 2 or dims > rank:
        raise op_error(ValueError, "pad", f"two numbers for each of at most {rank} dims", list(given))
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise op_error(ValueError, "pad", "a mode of 'constant', 'reflect', 'replicate' or 'circular'", repr(mode))
    if not dims:
        return F.copy(input)
    axes = tuple(range(rank - dims, rank))
    fill = (0 if value is None else value) if mode == "constant" else 0
    if not input.dtype.is_floating and not input.dtype.is_complex:
        fill = int(fill)
    low, high = given[-2::-2], given[::-2]
    return F.pad(input, fill, mode=mode, axes=axes, lo=tuple(low), hi=tuple(high))


@public(_HERE, usual=False)
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Windows of images as columns.

    Args:
        input: images ``[N, C, H, W]`` or ``[C, H, W]`` of any dtype.
        kernel_size: size of a window, one int or (height, width).
        dilation: distances of neighbouring elements of a window, one int or (vertical, horizontal).
        padding: zeros around the images, one int or (vertical, horizontal).
        stride: distances of neighbouring windows, one int or (vertical, horizontal).

    Returns:
        Tensor ``[N, C * height * width, windows]`` of input's dtype, without N for one image.

    Raises:
        TypeError: input is not a tensor.
        ValueError: another rank, or windows that do not fit.

    Example:
        >>> import paddle
        >>> paddle.compat.nn.functional.unfold(paddle.ones([1, 1, 3, 3]), 2).shape == (1, 4, 4)
        True
    """
    if need_tensor(input, "unfold", "input").ndim == 3:
        return F.squeeze(unfold(F.unsqueeze(input, (0,)), kernel_size, dilation, padding, stride), (0,))
    return paddle.nn.functional.unfold(input, kernel_size, stride, padding, dilation)


@public(_HERE, usual=False)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Scaled dot-product attention: ``softmax(scale * query @ key^T + mask) @ value`` for each head.

    Args:
        query: floating tensor ``[batch, heads, queries, dim]``; heads and batch may be missing.
        key: tensor ``[batch, heads, keys, dim]`` of query's dtype.
        value: tensor ``[batch, heads, keys, dim]`` of query's dtype.
        attn_mask: bool (True: visible), or of query's dtype and added to the scores; broadcasts to
            ``[batch, heads, queries, keys]``.
        dropout_p: the probability that a weight is dropped, whether in training or not.
        is_causal: query i sees keys 0 to i; not beside a mask.
        scale: factor of the scores, by default ``dim ** -0.5``.
        enable_gqa: whether key and value may have fewer heads, each serving several consecutive query heads.

    Returns:
        Tensor of query's shape and dtype.

    Raises:
        TypeError: operands that are not floating, or of different dtypes; a mask of another dtype.
        ValueError: shapes that do not fit, ``dropout_p`` outside [0, 1], or a mask beside ``is_causal``.

    Example:
        >>> import paddle
        >>> x = paddle.ones([1, 2, 3, 4])
        >>> paddle.compat.nn.functional.scaled_dot_product_attention(x, x, x).shape == x.shape
        True
    """
    op = "scaled_dot_product_attention"
    rank = need_tensor(query, op, "query").ndim
    if not rank == need_tensor(key, op, "key").ndim == need_tensor(value, op, "value").ndim or not 2 <= rank <= 4:
        raise op_error(ValueError, op, "tensors of one rank from 2 to 4", f"{rank}, {key.ndim} and {value.ndim}")
    if is_causal and attn_mask is not None:
        raise op_error(ValueError, op, "is_causal or attn_mask", "both")
    missing = {2: (0, 1), 3: (0,), 4: ()}[rank]  # a batch, as one of heads has the same meaning
    q, k, v = (F.unsqueeze(x, missing) if missing else x for x in (query, key, value))
    if attn_mask is not None and attn_mask.ndim < 4:
        attn_mask = F.unsqueeze(attn_mask, tuple(range(4 - attn_mask.ndim)))
    q, k, v = (F.permute(x, (0, 2, 1, 3)) for x in (q, k, v))
    result = paddle.nn.functional.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask,
        dropout_p,
        is_causal,
        True,
        scale=scale,
        enable_gqa=enable_gqa,
    )
    result = F.permute(result, (0, 2, 1, 3))
    return F.squeeze(result, missing) if missing else result
