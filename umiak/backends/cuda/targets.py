"""Targets of PTX: the architecture for a device, and the version that its driver takes."""

from __future__ import annotations

from umiak.backends.tile_matmul import Cores
from umiak.compiler.render import ptx, ptx_tiles, ptx_warpgroups

# Versions of PTX that come with versions of CUDA (PTX ISA, release notes), as the driver writes these.
VERSIONS = {
    11000: 70, 11010: 71, 11020: 72, 11030: 73, 11040: 74, 11050: 75, 11060: 76, 11070: 77, 11080: 78,
    12000: 80, 12010: 81, 12020: 82, 12030: 83, 12040: 84, 12050: 85, 12070: 86, 12080: 87, 12090: 88, 13000: 90,
}  # fmt: skip


def architecture(capability: tuple[int, int], driver: int) -> str:
    """The newest architecture whose PTX a device runs and a driver (``cuDriverGetVersion``) takes: that of older ones
    runs on newer ones, but that of an architecture with a letter only on devices of its very capability."""
    here = 10 * capability[0] + capability[1]
    own = f"sm_{here}a"
    if own in ptx.ARCHITECTURES and newest(driver) >= ptx.OLDEST_VERSION[own]:
        return own
    fitting = [a for a in ptx.ARCHITECTURES if a[3:].isdigit() and int(a[3:]) <= here]
    if not fitting:
        required = f"compute capability {int(ptx.ARCHITECTURES[0][3:]) / 10} at least"
        raise ValueError(f"[gpu] requires a device of {required}, got one of {capability[0]}.{capability[1]}")
    return max(fitting, key=lambda a: int(a[3:]))


def newest(driver: int) -> int:
    """The newest version of PTX that a driver takes; 0 where none is known."""
    return max((v for cuda, v in VERSIONS.items() if cuda <= driver), default=0)


def version(driver: int, arch: str) -> int:
    """The newest version of PTX that both a driver (``cuDriverGetVersion``) and the compiler know."""
    known, least = newest(driver), ptx.OLDEST_VERSION[arch]
    if known < least:
        oldest = next(cuda for cuda, v in VERSIONS.items() if v >= least)
        required = f"a driver of CUDA {oldest // 1000}.{oldest % 1000 // 10} at least for {arch}"
        raise ValueError(f"[gpu] requires {required}, got {driver // 1000}.{driver % 1000 // 10}")
    return min(known, ptx.NEWEST_VERSION)


def cores(arch: str, version: int) -> Cores:
    """Abilities of tensor cores that PTX of an architecture and a version has."""
    takes_bytes = arch not in ptx_tiles.BEFORE_BYTES and version >= ptx_tiles.BYTES_VERSION
    return Cores(takes_bytes, arch in ptx_warpgroups.ARCHITECTURES)
