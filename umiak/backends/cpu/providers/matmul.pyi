from umiak.backends.cpu.providers.table import Shapes

ADDRESS: int
STEPS: dict[str, int]

class Record(Shapes):
    """What a launch needs; ``pointer`` is its ``self``.

    ``small`` is the address of ``int small(m, n, k, a, am, ak, b, bk, bn, c, cm, cn)`` (64-bit sizes, pointers, strides
    in elements), which is asked first where m * n * k is at most ``small_limit``; other than 0, it has not computed.
    """

    def __init__(
        self,
        dtype: int,
        rank_x: int,
        rank_y: int,
        tx: bool,
        ty: bool,
        libs: int,
        steps: tuple[int, ...] = (),
        small: int = 0,
        small_limit: int = 0,
    ) -> None: ...
