"""Constructors named by dtype: ``FloatTensor(2, 3)``."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.tensor._args import op_error
from paddle.tensor.filled import empty
from paddle.tensor.from_data import to_tensor
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor


def _typed(d: DType, args: tuple, device: Any) -> Tensor:
    """``FloatTensor([1, 2])`` makes a tensor of data, ``FloatTensor(2, 3)`` one of a shape, not filled."""
    if not args:
        return empty([0], d, device=device)
    if all(isinstance(a, int) for a in args):
        return empty(list(args), d, device=device)
    if len(args) > 1:
        raise op_error(TypeError, "to_tensor", "data in one argument, or sizes", f"{len(args)} arguments")
    return to_tensor(args[0], d, device)


@public("paddle paddle.tensor paddle.device paddle.cuda")
def BFloat16Tensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype bfloat16: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype bfloat16.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.BFloat16Tensor([1, 2]).tolist()
        [1.0, 2.0]
        >>> paddle.BFloat16Tensor(2, 3).shape
        paddle.Size([2, 3])
    """
    return _typed(dt.bfloat16, args, device)


@public("paddle paddle.tensor paddle.device paddle.cuda")
def BoolTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype bool: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype bool.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.BoolTensor([1, 2]).tolist()
        [True, True]
        >>> paddle.BoolTensor(2, 3).shape
        paddle.Size([2, 3])
    """
    return _typed(dt.bool, args, device)


@public("paddle paddle.tensor paddle.device paddle.cuda")
def ByteTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype uint8: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype uint8.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ByteTensor([1, 2]).tolist()
        [1, 2]
        >>> paddle.ByteTensor(2, 3).shape
        paddle.Size([2, 3])
    """
    return _typed(dt.uint8, args, device)


@public("paddle paddle.tensor paddle.device paddle.cuda")
def CharTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype int8: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype int8.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.CharTensor([1, 2]).tolist()
        [1, 2]
        >>> paddle.CharTensor(2, 3).shape
        paddle.Size([2, 3])
    """
    return _typed(dt.int8, args, device)


@public("paddle paddle.tensor paddle.device paddle.cuda")
def DoubleTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype float64: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype float64.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.DoubleTensor([1, 2]).tolist()
        [1.0, 2.0]
        >>> paddle.DoubleTensor(2, 3).shape
        paddle.Size([2, 3])
    """
    return _typed(dt.float64, args, device)


@public("paddle paddle.tensor paddle.device paddle.cuda")
def FloatTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype float32: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype float32.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.FloatTensor([1, 2]).tolist()
        [1.0, 2.0]
        >>> paddle.FloatTensor(2, 3).shape
        paddle.Size([2, 3])
    """
    return _typed(dt.float32, args, device)


@public("paddle paddle.tensor paddle.device paddle.cuda")
def HalfTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype float16: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype float16.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.HalfTensor([1, 2]).tolist()
        [1.0, 2.0]
        >>> paddle.HalfTensor(2, 3).shape
        paddle.Size([2, 3])
    """
    return _typed(dt.float16, args, device)


@public("paddle paddle.tensor paddle.device paddle.cuda")
def IntTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype int32: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype int32.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.IntTensor([1, 2]).tolist()
        [1, 2]
        >>> paddle.IntTensor(2, 3).shape
        paddle.Size([2, 3])
    """
    return _typed(dt.int32, args, device)


@public("paddle paddle.tensor paddle.device paddle.cuda")
def LongTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype int64: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype int64.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.LongTensor([1, 2]).tolist()
        [1, 2]
        >>> paddle.LongTensor(2, 3).shape
        paddle.Size([2, 3])
    """
    return _typed(dt.int64, args, device)


@public("paddle paddle.tensor paddle.device paddle.cuda")
def ShortTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype int16: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype int16.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ShortTensor([1, 2]).tolist()
        [1, 2]
        >>> paddle.ShortTensor(2, 3).shape
        paddle.Size([2, 3])
    """
    return _typed(dt.int16, args, device)
