"""Number of threads that work on one operation."""

from __future__ import annotations

import operator

from paddle._public import public
from umiak.runtime import parallel
from umiak.util import flags
from umiak.util.errors import op_error


@public("paddle paddle.device")
def set_num_threads(n: int) -> None:
    """Set how many threads may work on one operation on the CPU.

    The same as ``FLAGS_paddle_num_threads``. Small operations stay on one thread.

    Args:
        n: the number, up to 65535; 0: as many as ``OMP_NUM_THREADS`` says, or one per CPU.

    Raises:
        TypeError: n is no integer.
        ValueError: n is negative or beyond 65535.

    Example:
        >>> import paddle
        >>> paddle.set_num_threads(1)
        >>> paddle.get_num_threads()
        1
        >>> paddle.set_num_threads(0)
    """
    try:
        count = operator.index(n)
    except TypeError:
        raise op_error(TypeError, "set_num_threads", "an integer", type(n).__name__) from None
    if not 0 <= count < 1 << 16:
        raise op_error(ValueError, "set_num_threads", "a number of threads from 0 to 65535", count)
    flags.set_flags({"FLAGS_paddle_num_threads": count})


@public("paddle paddle.device")
def get_num_threads() -> int:
    """Number of threads that may work on one operation.

    Returns:
        An int.

    Example:
        >>> import paddle
        >>> paddle.get_num_threads() >= 1
        True
    """
    return parallel.get_num_threads()
