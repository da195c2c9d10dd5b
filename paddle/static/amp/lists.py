"""Lists of ops of a program that compute in a narrower type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from paddle._public import also, public
from paddle.amp.amp_lists import black_list, white_list
from paddle.amp.auto_cast import _low_dtype, names_given
from umiak.compiler.amp import custom_lists
from umiak.util.errors import op_error


@public("paddle.static.amp")
class AutoMixedPrecisionLists:
    """Lists of ops that compute in a narrower type, and of those that do not.

    Args:
        custom_white_list: names of ops that compute in the narrower type, too.
        custom_black_list: names of ops that compute in float32.
        custom_black_varnames: names of variables; ops that read them compute in float32.
        dtype: the narrower type, ``"float16"`` or ``"bfloat16"``.

    Attributes:
        white_list: names of the ops that compute in the narrower type.
        black_list: names of those that compute in float32.
        black_varnames: names of variables.

    Raises:
        TypeError: a name that is no text.
        ValueError: a name on both lists, or another dtype.

    Example:
        >>> import paddle
        >>> lists = paddle.static.amp.CustomOpLists(custom_black_list={"matmul"}, dtype="bfloat16")
        >>> "matmul" in lists.black_list, "matmul" in lists.white_list
        (True, False)
    """

    def __init__(
        self,
        custom_white_list: Iterable[str] | None = None,
        custom_black_list: Iterable[str] | None = None,
        custom_black_varnames: Iterable[str] | None = None,
        dtype: Any = "float16",
    ) -> None:
        white = names_given("AutoMixedPrecisionLists", "custom_white_list", custom_white_list)
        black = names_given("AutoMixedPrecisionLists", "custom_black_list", custom_black_list)
        if white & black:
            raise op_error(
                ValueError, "AutoMixedPrecisionLists", "lists that do not overlap", f"both with {sorted(white & black)}"
            )
        self.amp_dtype = _low_dtype("AutoMixedPrecisionLists", dtype).name
        self.white_list = (white_list()[self.amp_dtype]["O1"] | white) - black
        self.black_list = (black_list()[self.amp_dtype]["O1"] | black) - white
        self.black_varnames = set(custom_black_varnames or ())
        self._custom = white, black

    def _id(self, rest: str) -> int:
        """The lists as the engine knows them; ``rest``: what becomes of ops on neither."""
        return custom_lists(*self._custom, rest)


CustomOpLists = also(AutoMixedPrecisionLists, "CustomOpLists", "paddle.static.amp")
