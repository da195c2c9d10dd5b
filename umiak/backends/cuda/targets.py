"""Targets of PTX: the architecture for a device, and the version that its driver takes."""

from __future__ import annotations

from umiak.compiler.render import ptx

# Versions of PTX that come with versions of CUDA (PTX ISA, release notes), as the driver writes these.
VERSIONS = {
    11000: 70, 11010: 71, 11020: 72, 11030: 73, 11040: 74, 11050: 75, 11060: 76, 11070: 77, 11080: 78,
    12000: 80, 12010: 81, 12020: 82, 12030: 83, 12040: 84, 12050: 85, 12070: 86, 12080: 87, 12090: 88, 13000: 90,
}  # fmt: skip


def architecture(capability: tuple[int, int]) -> str:
    """The newest architecture whose PTX runs on a device: that of older ones runs on newer ones."""
    here = 10 * capability[0] + capability[1]
    fitting = [a for a in ptx.ARCHITECTURES if int(a[3:]) <= here]
    if not fitting:
        required = f"compute capability {int(ptx.ARCHITECTURES[0][3:]) / 10} at least"
        raise ValueError(f"[gpu] requires a device of {required}, got one of {capability[0]}.{capability[1]}")
    return max(fitting, key=lambda a: int(a[3:]))


def version(driver: int, arch: str) -> int:
    """The newest version of PTX that both a driver (``cuDriverGetVersion``) and the compiler know."""
    known = [v for cuda, v in VERSIONS.items() if cuda <= driver]
    least = ptx.OLDEST_VERSION[arch]
    if not known or known[-1] < least:
        oldest = next(cuda for cuda, v in VERSIONS.items() if v >= least)
        required = f"a driver of CUDA {oldest // 1000}.{oldest % 1000 // 10} at least for {arch}"
        raise ValueError(f"[gpu] requires {required}, got {driver // 1000}.{driver % 1000 // 10}")
    return min(known[-1], ptx.NEWEST_VERSION)
