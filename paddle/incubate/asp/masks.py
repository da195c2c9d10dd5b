"""Masks of n:m sparsity: along rows n in every m elements are zero, or in squares of m x m n in every row and column.

A matrix is padded with zeros to multiples of m. A tensor of rank 3 is a matrix of its last axis; one of rank 4 is one
of its third axis, which is the axis of input channels of a transposed kernel.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from paddle._public import public
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

# Squares of 4 x 4 with two ones in every row and column, row by row as the bits of a number. Of squares that keep the
# same sum the first one is taken; the order is the reference's.
_SQUARES_2_4 = (
    "c693 93c6 c33c c639 cc33 6969 53ac 9a65 a695 693c 9c63 39c6 9c36 5a3c 53ca 9a56 59a6 96c3 569a c3a5 "
    "3cc3 659a a55a 65a9 936c 5a5a 396c 5ca3 69a5 c53a 5aa5 9669 a3c5 3c69 963c 596a 3c3c aa55 5c3a 56a9 "
    "96a5 c35a 3ca5 ac53 956a a596 c396 6a95 c936 5a96 a5c3 a35c 695a 5ac3 a965 6996 c963 9966 639c 63c9 "
    "ac35 69c3 5a69 a956 a659 a569 35ca 35ac 6699 a53c 6c93 9696 3c96 c3c3 6a59 965a 33cc c5a3 6c39 ca35 "
    "36c9 3c5a c369 a5a5 3a5c 369c 3ac5 95a6 55aa ca53 "
)


@public("paddle.incubate.asp", usual=False)
class MaskAlgo(Enum):
    """Ways to choose a mask.

    Attributes:
        MASK_1D: the least elements of every m in a row are zero.
        MASK_2D_GREEDY: in squares, the largest elements stay as long as their rows and columns have room.
        MASK_2D_BEST: in squares, the elements stay whose sum is largest.

    Example:
        >>> import paddle
        >>> paddle.incubate.asp.MaskAlgo.MASK_1D.value
        'get_mask_1d'
    """

    MASK_1D = "get_mask_1d"
    MASK_2D_GREEDY = "get_mask_2d_greedy"
    MASK_2D_BEST = "get_mask_2d_best"


@public("paddle.incubate.asp", usual=False)
class CheckMethod(Enum):
    """Ways to check a mask.

    Attributes:
        CHECK_1D: every m in a row.
        CHECK_2D: rows and columns of squares.

    Example:
        >>> import paddle
        >>> from paddle.incubate.asp import CheckMethod, MaskAlgo
        >>> CheckMethod.get_checking_method(MaskAlgo.MASK_2D_BEST).name
        'CHECK_2D'
    """

    CHECK_1D = "check_mask_1d"
    CHECK_2D = "check_mask_2d"

    @staticmethod
    def get_checking_method(mask_algo: MaskAlgo) -> CheckMethod:
        """Return the check for masks of an algorithm.

        Args:
            mask_algo: the algorithm.

        Returns:
            ``CHECK_1D`` for ``MASK_1D``, otherwise ``CHECK_2D``.

        Raises:
            TypeError: something else.
        """
        if not isinstance(mask_algo, MaskAlgo):
            raise op_error(TypeError, "get_checking_method", "a MaskAlgo", type(mask_algo).__name__)
        return CheckMethod.CHECK_1D if mask_algo is MaskAlgo.MASK_1D else CheckMethod.CHECK_2D


def array_of(x: Any) -> np.ndarray:
    """A NumPy array from a tensor or an array."""
    return x.numpy() if isinstance(x, Tensor) else np.asarray(x)


def _matrix(x: Any, op: str) -> np.ndarray:
    mat = array_of(x)
    if mat.ndim != 2:
        raise op_error(ValueError, op, "a matrix", f"shape {list(mat.shape)}")
    return mat


def _padded(mat: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """A float64 copy with zeros up to multiples of ``rows`` and ``columns``."""
    r, c = mat.shape
    out = np.zeros((r + -r % rows, c + -c % columns))
    out[:r, :c] = mat
    return out


def _squares(mat: np.ndarray, m: int) -> np.ndarray:
    """Squares of m x m, those of a row of squares after each other: shape ``[squares, m, m]``."""
    r, c = mat.shape
    return mat.reshape(r // m, m, c // m, m).swapaxes(1, 2).reshape(-1, m, m)


def _joined(squares: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The matrix of squares, cut to ``shape``."""
    m = squares.shape[1]
    rows, columns = (-(-n // m) for n in shape)
    padded = squares.reshape(rows, columns, m, m).swapaxes(1, 2).reshape(rows * m, columns * m)
    return padded[: shape[0], : shape[1]]


@public("paddle.incubate.asp", usual=False)
def get_mask_1d(mat: Any, n: int, m: int) -> np.ndarray:
    """Mask that zeroes the n least elements of every m in a row, by their absolute values.

    Args:
        mat: matrix.
        n: how many elements are zero.
        m: of how many.

    Returns:
        Array of zeros and ones, of the shape and dtype of ``mat``. Of equal elements the first ones are zeroed.

    Raises:
        ValueError: ``mat`` is no matrix.

    Example:
        >>> import numpy as np
        >>> import paddle.incubate.asp
        >>> paddle.incubate.asp.get_mask_1d(np.array([[3.0, -4.0, 1.0, 2.0]]), 2, 4).tolist()
        [[1.0, 1.0, 0.0, 0.0]]
    """
    mat = _matrix(mat, "get_mask_1d")
    padded = _padded(np.abs(mat), 1, m)
    groups = padded.reshape(-1, m)
    kept = np.ones_like(groups)
    np.put_along_axis(kept, np.argsort(groups, axis=1, kind="stable")[:, :n], 0, axis=1)
    return kept.reshape(padded.shape)[:, : mat.shape[1]].astype(mat.dtype)


@public("paddle.incubate.asp", usual=False)
def get_mask_2d_greedy(mat: Any, n: int, m: int) -> np.ndarray:
    """Mask that keeps, in squares of m x m, the largest elements, at most n in a row and in a column.

    Args:
        mat: matrix.
        n: how many elements of a row and of a column stay.
        m: size of the squares.

    Returns:
        float64 array of zeros and ones of the shape of ``mat``.

    Raises:
        ValueError: ``mat`` is no matrix.

    Example:
        >>> import numpy as np
        >>> import paddle.incubate.asp
        >>> paddle.incubate.asp.get_mask_2d_greedy(np.array([[9.0, 8.0], [7.0, 1.0]]), 1, 2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    mat = _matrix(mat, "get_mask_2d_greedy")
    squares = _squares(_padded(np.abs(mat), m, m), m)
    kept = np.zeros_like(squares)
    for square, out in zip(squares, kept, strict=True):
        rows, columns = [n] * m, [n] * m
        # In NumPy's default order, which decides between equal elements as in the reference.
        for at in np.argsort(square, axis=None)[::-1]:
            i, j = divmod(int(at), m)
            if rows[i] and columns[j]:
                rows[i], columns[j], out[i, j] = rows[i] - 1, columns[j] - 1, 1
    return _joined(kept, mat.shape)


@cache
def _patterns(n: int, m: int) -> np.ndarray:
    """All squares of m x m with n ones in every row and column."""
    if (n, m) == (2, 4):
        bits = [[int(word, 16) >> k & 1 for k in reversed(range(16))] for word in _SQUARES_2_4.split()]
        return np.array(bits, float).reshape(-1, 4, 4)
    rows = [[float(k in ones) for k in range(m)] for ones in itertools.combinations(range(m), n)]
    patterns = np.array(list(itertools.product(rows, repeat=m)))
    return patterns[(patterns.sum(1) == n).all(1)]


@public("paddle.incubate.asp", usual=False)
def get_mask_2d_best(mat: Any, n: int, m: int) -> np.ndarray:
    """Mask that keeps, in squares of m x m, n elements of every row and column, so that their sum is largest.

    Args:
        mat: matrix. Its elements count with their signs.
        n: how many elements of a row and of a column stay.
        m: size of the squares.

    Returns:
        float64 array of zeros and ones of the shape of ``mat``.

    Raises:
        ValueError: ``mat`` is no matrix.

    Example:
        >>> import numpy as np
        >>> import paddle.incubate.asp
        >>> paddle.incubate.asp.get_mask_2d_best(np.array([[9.0, 8.0], [7.0, 1.0]]), 1, 2).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    mat = _matrix(mat, "get_mask_2d_best")
    patterns = _patterns(n, m)
    squares = _squares(_padded(mat, m, m), m)
    sums = squares.reshape(-1, m * m) @ patterns.reshape(-1, m * m).T
    return _joined(patterns[np.argmax(sums, axis=1)], mat.shape)


@public("paddle.incubate.asp", usual=False)
def check_mask_1d(mat: Any, n: int, m: int) -> bool:
    """Tell whether n elements or more are zero of every m in a row.

    Args:
        mat: matrix.
        n: how many elements must be zero.
        m: of how many.

    Returns:
        The answer.

    Raises:
        ValueError: ``mat`` is no matrix.

    Example:
        >>> import numpy as np
        >>> import paddle.incubate.asp
        >>> paddle.incubate.asp.check_mask_1d(np.array([[0, 0, 1, 1], [0, 1, 1, 1]]), 2, 4)
        False
    """
    full = _padded(_matrix(mat, "check_mask_1d") != 0, 1, m).reshape(-1, m).sum(1)
    return bool((full <= m - n).all())


@public("paddle.incubate.asp", usual=False)
def check_mask_2d(mat: Any, n: int, m: int) -> bool:
    """Tell whether, in squares of m x m, n elements or more are zero of every row and of every column.

    Args:
        mat: matrix.
        n: how many elements must be zero.
        m: size of the squares.

    Returns:
        The answer.

    Raises:
        ValueError: ``mat`` is no matrix.

    Example:
        >>> import numpy as np
        >>> import paddle.incubate.asp
        >>> paddle.incubate.asp.check_mask_2d(np.array([[0, 1], [1, 0]]), 1, 2)
        True
    """
    squares = _squares(_padded(_matrix(mat, "check_mask_2d") != 0, m, m), m)
    return bool((squares.sum(1) <= m - n).all() and (squares.sum(2) <= m - n).all())


_MASKS: dict[MaskAlgo, Callable] = {
    MaskAlgo.MASK_1D: get_mask_1d,
    MaskAlgo.MASK_2D_GREEDY: get_mask_2d_greedy,
    MaskAlgo.MASK_2D_BEST: get_mask_2d_best,
}
_CHECKS: dict[CheckMethod, Callable] = {CheckMethod.CHECK_1D: check_mask_1d, CheckMethod.CHECK_2D: check_mask_2d}


def _as_matrix(x: np.ndarray, op: str) -> np.ndarray:
    if not 1 <= x.ndim <= 4:
        raise op_error(ValueError, op, "a tensor of rank 1 to 4", f"shape {list(x.shape)}")
    if x.ndim == 4:
        x = x.transpose(0, 1, 3, 2)
    return x.reshape(-1, x.shape[-1])


@public("paddle.incubate.asp", usual=False)
def create_mask(tensor: Any, func_name: MaskAlgo = MaskAlgo.MASK_1D, n: int = 2, m: int = 4) -> np.ndarray:
    """Mask of n:m sparsity for a tensor.

    Args:
        tensor: array or tensor of rank 1 to 4.
        func_name: how the mask is chosen.
        n: how many elements are zero (``MASK_1D``), or stay.
        m: of how many.

    Returns:
        Array of zeros and ones of the tensor's shape and dtype.

    Raises:
        TypeError: ``func_name`` is no ``MaskAlgo``.
        ValueError: the tensor has another rank.

    Example:
        >>> import numpy as np
        >>> import paddle.incubate.asp
        >>> paddle.incubate.asp.create_mask(np.array([1.0, 5.0, -4.0, 2.0])).tolist()
        [0.0, 1.0, 1.0, 0.0]
    """
    if not isinstance(func_name, MaskAlgo):
        raise op_error(TypeError, "create_mask", "a MaskAlgo as func_name", type(func_name).__name__)
    x = array_of(tensor)
    mask = _MASKS[func_name](_as_matrix(x, "create_mask"), n, m).astype(x.dtype)
    if x.ndim == 4:
        a, b, c, d = x.shape
        return np.ascontiguousarray(mask.reshape(a, b, d, c).transpose(0, 1, 3, 2))
    return mask.reshape(x.shape)


@public("paddle.incubate.asp", usual=False)
def check_sparsity(tensor: Any, func_name: CheckMethod = CheckMethod.CHECK_1D, n: int = 2, m: int = 4) -> bool:
    """Tell whether a tensor has n:m sparsity.

    Args:
        tensor: array or tensor of rank 1 to 4.
        func_name: what is checked.
        n: how many elements must be zero.
        m: of how many.

    Returns:
        The answer.

    Raises:
        TypeError: ``func_name`` is no ``CheckMethod``.
        ValueError: the tensor has another rank.

    Example:
        >>> import paddle
        >>> paddle.incubate.asp.check_sparsity(paddle.to_tensor([0.0, 0.0, 1.0, 1.0]))
        True
    """
    if not isinstance(func_name, CheckMethod):
        raise op_error(TypeError, "check_sparsity", "a CheckMethod as func_name", type(func_name).__name__)
    return _CHECKS[func_name](_as_matrix(array_of(tensor), "check_sparsity"), n, m)


@public("paddle.incubate.asp", usual=False)
def calculate_density(x: Any) -> float:
    """Share of the elements that are not zero.

    Args:
        x: array or tensor.

    Returns:
        A number from 0 to 1; that of no elements is NaN.

    Raises:
        ValueError: ``x`` cannot be an array, such as a list of lists of several lengths.

    Example:
        >>> import paddle
        >>> paddle.incubate.asp.calculate_density(paddle.to_tensor([[0.0, 1.0, 3.0, 0.0], [1.0, 1.0, 0.0, 1.0]]))
        0.625
    """
    values = array_of(x)
    return int(np.count_nonzero(values)) / values.size if values.size else float("nan")
