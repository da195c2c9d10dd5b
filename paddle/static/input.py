"""``InputSpec``: what an argument of a captured function looks like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.util.errors import op_error


@public("paddle.static")
class InputSpec:
    """Shape, dtype and name of an input; a size of None or -1 may differ between calls.

    Args:
        shape: sizes: ints of at least 0, -1 or None.
        dtype: of the elements.
        name: of the input; None for none.
        stop_gradient: whether no gradient is wanted for it.

    Raises:
        TypeError: other sizes, or a value that is not a dtype.

    Example:
        >>> import paddle
        >>> paddle.static.InputSpec([None, 784], "float32", "image")
        InputSpec(shape=(-1, 784), dtype=paddle.float32, name=image, stop_gradient=False)
    """

    def __init__(
        self, shape: Any, dtype: Any = "float32", name: str | None = None, stop_gradient: bool = False
    ) -> None:
        self.shape: Sequence[int] = tuple(_size(n) for n in shape)
        self.dtype = convert(dtype)
        self.name = name
        self.stop_gradient = stop_gradient

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> InputSpec:
        """Make the spec of a tensor, all sizes fixed but those that are open in a program.

        Args:
            tensor: the tensor, or a variable of a program.
            name: its name; None: the tensor's own.

        Returns:
            An :class:`InputSpec`.
        """
        return cls(tensor.shape, tensor.dtype, name or getattr(tensor, "name", None), tensor.stop_gradient)

    @classmethod
    def from_numpy(cls, ndarray: Any, name: str | None = None) -> InputSpec:
        """Make the spec of an array, all sizes fixed.

        Args:
            ndarray: the array.
            name: its name; None for none.

        Returns:
            An :class:`InputSpec`.
        """
        return cls(ndarray.shape, str(ndarray.dtype), name)

    def batch(self, batch_size: int | None) -> InputSpec:
        """Put a size in front.

        Args:
            batch_size: the size; None or -1 for one that may differ.

        Returns:
            The spec itself.
        """
        self.shape = (_size(batch_size), *self.shape)
        return self

    def unbatch(self) -> InputSpec:
        """Take the first size away.

        Returns:
            The spec itself.

        Raises:
            ValueError: there is none.
        """
        if not self.shape:
            raise op_error(ValueError, "InputSpec.unbatch", "at least one dim", "shape ()")
        self.shape = self.shape[1:]
        return self

    def _key(self) -> tuple:
        return tuple(self.shape), self.dtype, self.name, self.stop_gradient

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InputSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        shape = tuple(self.shape)
        return f"InputSpec(shape={shape}, dtype={self.dtype!r}, name={self.name}, stop_gradient={self.stop_gradient})"


def _size(n: Any) -> int:
    if n is None or type(n) is Sym:  # an open size of a program
        return -1
    if not isinstance(n, int) or isinstance(n, bool) or n < -1:
        raise op_error(TypeError, "InputSpec", "sizes that are ints of at least 0, -1 or None", repr(n))
    return n
