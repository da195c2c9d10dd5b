"""The launch of ``conv``, ``conv_input_grad`` and ``conv_weight_grad``: see convolution.pyx."""

from umiak.backends.cpu.providers.table import Shapes

ADDRESS: int
KINDS: dict[str, int]  # which of the three is computed
STEPS: dict[str, int]  # what may follow

def strip_of(dtype: int, nd: int, libs: int, dims: tuple[int, ...], scalars: tuple[int, ...]) -> tuple[int, int] | None:
    """Return (output channels, multiple of input channels) of the strips in which the library has the kernels of such a
    convolution; None where it has no strips."""

class LaunchState(Shapes):
    """The state of a launch; ``pointer`` is its ``self``."""

    def __init__(
        self,
        kind: int,
        dtype: int,
        nd: int,
        libs: int,
        steps: tuple[int, ...] = (),
        strip: tuple[int, int] = (0, 0),
        numbers: tuple[float, ...] = (),
    ) -> None: ...
