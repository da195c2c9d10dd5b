"""Mixed precision and loss scaling."""

from typing import TYPE_CHECKING

from paddle import _lazy
from paddle.amp import auto_cast, grad_scaler

if TYPE_CHECKING:
    from paddle.amp import debugging

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
