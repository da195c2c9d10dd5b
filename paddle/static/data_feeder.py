"""Samples of readers as what a program is fed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from paddle.framework.dense_tensor import DenseTensor
from paddle.static.program import Program, default_main_program
from umiak.core.dtype import bfloat16
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.util.arguments import several
from umiak.util.errors import op_error


class DataFeeder:
    """Makes of a list of samples what :meth:`paddle.static.Executor.run` is fed: each field of all samples as one
    array.

    Args:
        feed_list: the variables that the fields are for, or names of them.
        place: accepted: a run puts its inputs where it is.
        program: the program of the names; None: the default main program.

    Raises:
        TypeError: a feed_list of other things.
        ValueError: a name that no variable of the program has.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x, y = paddle.static.data("x", [None, 2]), paddle.static.data("y", [None, 1], "int64")
        ...     feeder = paddle.base.DataFeeder([x, y], paddle.CPUPlace())
        ...     paddle.static.Executor().run(feed=feeder.feed([([1, 2], 3), ([4, 5], 6)]), fetch_list=[x.sum(), y])
        [array(12., dtype=float32), array([[3],
               [6]])]
        >>> paddle.disable_static()
    """

    def __init__(self, feed_list: Sequence[Any], place: Any, program: Program | None = None) -> None:
        block = (program or default_main_program()).global_block()
        given = several("DataFeeder", "a list of variables or names as feed_list", feed_list, (str, Tensor))
        self._variables = [block.var(x) if isinstance(x, str) else x for x in given]

    def feed(self, iterable: Iterable[Sequence[Any]]) -> dict[str, DenseTensor]:
        """Gather samples.

        Args:
            iterable: samples, each a list or tuple with a field for each variable: an array, a list or a number. A
                field has the elements of the variable's shape without the first dim; numbers for a last dim of 1 do.

        Returns:
            A dict of an array by each variable's name, of its dtype.

        Raises:
            ValueError: a sample with another number of fields, or fields that do not fit the variable's shape.
        """
        samples = list(iterable)
        for sample in samples:
            if len(sample) != len(self._variables):
                raise op_error(ValueError, "DataFeeder", f"samples of {len(self._variables)} fields", len(sample))
        return {x.name: _gathered(x, [s[i] for s in samples]) for i, x in enumerate(self._variables)}


def _gathered(x: Tensor, fields: list[Any]) -> DenseTensor:
    wanted = [-1 if isinstance(n, Sym) else int(n) for n in x.shape]
    try:
        array = np.array(fields, dtype=x.dtype.numpy)
        if array.ndim != len(wanted) and wanted.count(-1) <= 1:
            array = array.reshape(wanted)
    except ValueError as error:
        raise op_error(ValueError, "DataFeeder", f"fields of {x.name!r} for shape {wanted}", str(error)) from None
    made = DenseTensor()
    made.set(array.view(np.uint16) if x.dtype is bfloat16 else array)
    return made
