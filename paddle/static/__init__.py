"""Static mode: programs that are recorded and run apart; declared inputs of captured functions; branches and loops."""

from paddle import _lazy
from paddle.static import backward, executor, input, program, scope, variable

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "nn")
