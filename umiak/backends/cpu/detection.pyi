"""Regions of interest, columns of deformable convolutions, suppression of boxes, on dense memory by address."""

KINDS: dict[str, int]

def regions(
    kind: str,
    doubles: bool,
    spread: bool,
    aligned: bool,
    x: int,
    boxes: int,
    images: int,
    out: int,
    shape: tuple[int, ...],
    count: int,
    bins: tuple[int, int],
    out_channels: int,
    scale: float,
    ratio: int,
) -> None:
    """Pool ``count`` regions of images of ``shape`` (n, channels, height, width).

    ``kind``: "align" (RoI align), "sensitive" (position-sensitive means), "max_index" (int64 results). ``spread``: from
    results in ``x`` to images in ``out``, which hold zeros. ``images`` has the image of each region as int64.
    """

def deformable(
    kind: str,
    doubles: bool,
    x: int,
    offset: int,
    mask: int,
    g: int,
    out: int,
    mask_out: int,
    shape: tuple[int, ...],
    kernel: tuple[int, int],
    positions: tuple[int, int],
    groups: int,
    strides: tuple[int, int],
    pads: tuple[int, int],
    dilations: tuple[int, int],
) -> None:
    """Sample images of ``shape`` (n, height, width, channels) at shifted positions; 0 stands for no mask.

    ``kind``: "columns"; "spread" from g into ``out``, which holds zeros; "slopes" of the offsets (``out``) and of the
    mask (``mask_out``, 0 for none).
    """

def suppress(
    doubles: bool,
    boxes: int,
    group: int,
    valid: int,
    kept: int,
    count: int,
    threshold: float,
    eta: float,
    offset: float,
) -> None:
    """Write 1 to ``kept`` for each box that no kept one before it, of its group, overlaps by more than ``threshold``.

    ``group``: int64 below ``count``, ``valid``: bytes; 0 stands for none of them.
    """
