"""Static mode: programs that are recorded and run apart; declared inputs of captured functions; branches and loops."""

from paddle import _lazy
from paddle.static import (
    averages,
    backward,
    compiled,
    executor,
    input,
    ipu,
    metrics,
    places,
    program,
    python_function,
    saving,
    scope,
    variable,
    weight_norm,
)

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "amp nn")
