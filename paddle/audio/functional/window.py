"""Window functions by name.

References:
    F. J. Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform", 1978.
    T. T. Taylor, "Design of line-source antennas for narrow beamwidth and low side lobes", 1955.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import paddle
from paddle._public import public
from paddle.tensor._args import dtype_of, number
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_OP = "get_window"


def _places(n: int) -> np.ndarray:
    """Distances of the points from the middle of the window."""
    return np.arange(n) - (n - 1) / 2


def _general_cosine(n: int, sym: bool, a: Sequence[float]) -> np.ndarray:
    if not isinstance(a, (list, tuple, np.ndarray)):
        raise op_error(TypeError, _OP, "a sequence of coefficients for the window 'general_cosine'", repr(a))
    turn = np.linspace(-np.pi, np.pi, n)
    return sum((c * np.cos(k * turn) for k, c in enumerate(a)), np.zeros(n))


def _cosines(*a: float) -> Callable[[int, bool], np.ndarray]:
    return lambda n, sym: _general_cosine(n, sym, a)


def _general_hamming(n: int, sym: bool, alpha: float) -> np.ndarray:
    return _general_cosine(n, sym, (alpha, 1 - alpha))


def _general_gaussian(n: int, sym: bool, p: float, sig: float) -> np.ndarray:
    return np.exp(-0.5 * np.abs(_places(n) / sig) ** (2 * p))


def _gaussian(n: int, sym: bool, std: float) -> np.ndarray:
    return _general_gaussian(n, sym, 1, std)


def _exponential(n: int, sym: bool, center: float | None = None, tau: float = 1.0) -> np.ndarray:
    if sym and center is not None:
        raise op_error(ValueError, _OP, "no center for a symmetric window 'exponential'", center)
    return np.exp(-np.abs(np.arange(n) - ((n - 1) / 2 if center is None else center)) / tau)


def _triang(n: int, sym: bool) -> np.ndarray:
    return 1 - np.abs(2 * _places(n)) / (n + n % 2)


def _bohman(n: int, sym: bool) -> np.ndarray:
    x = np.abs(np.linspace(-1, 1, n))
    w = (1 - x) * np.cos(np.pi * x) + np.sin(np.pi * x) / np.pi
    w[[0, -1]] = 0
    return w


def _cosine(n: int, sym: bool) -> np.ndarray:
    return np.sin(np.pi / n * (np.arange(n) + 0.5))


def _tukey(n: int, sym: bool, alpha: float = 0.5) -> np.ndarray:
    if alpha <= 0:
        return np.ones(n)
    if alpha >= 1:
        return _general_hamming(n, sym, 0.5)
    # Distances from the nearer end, in units of the tapered part, which takes a share of alpha.
    rise = 2 * ((n - 1) / 2 - np.abs(_places(n))) / (alpha * (n - 1))
    return np.where(rise < 1, 0.5 * (1 - np.cos(np.pi * rise)), 1.0)


def _taylor(n: int, sym: bool, nbar: int = 4, sll: float = 30, norm: bool = True) -> np.ndarray:
    nbar = int(nbar)
    a = np.arccosh(10 ** (sll / 20)) / np.pi
    sigma2 = nbar**2 / (a**2 + (nbar - 0.5) ** 2)
    m = np.arange(1, nbar)
    coefficients = []
    for k in m:
        above = (-1) ** (k + 1) * np.prod(1 - k**2 / sigma2 / (a**2 + (m - 0.5) ** 2))
        coefficients.append(above / (2 * np.prod([1 - k**2 / j**2 for j in m if j != k])))

    def at(places: Any) -> Any:
        terms = (c * np.cos(2 * np.pi * k * places / n) for k, c in zip(m, coefficients))
        return 1 + 2 * sum(terms, np.zeros(np.shape(places)))

    w = at(_places(n))
    return w / at(0.0) if norm else w


def _kaiser(n: int, sym: bool, beta: float) -> np.ndarray:
    return np.kaiser(n, beta)


def _bartlett(n: int, sym: bool) -> np.ndarray:
    return np.bartlett(n)


class _Window(NamedTuple):
    make: Callable[..., np.ndarray]  # of the number of points, whether it is symmetric, and the parameters
    least: int = 0
    most: int = 0
    named: bool = True  # whether the name alone is enough


_WINDOWS = {
    "hamming": _Window(_cosines(0.54, 0.46)),
    "hann": _Window(_cosines(0.5, 0.5)),
    "blackman": _Window(_cosines(0.42, 0.5, 0.08)),
    "nuttall": _Window(_cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411)),
    "gaussian": _Window(_gaussian, 1, 1, named=False),
    "general_gaussian": _Window(_general_gaussian, 2, 2),
    "exponential": _Window(_exponential, 0, 2, named=False),
    "triang": _Window(_triang),
    "bohman": _Window(_bohman),
    "cosine": _Window(_cosine),
    "tukey": _Window(_tukey, 0, 1),
    "taylor": _Window(_taylor, 0, 3),
    "kaiser": _Window(_kaiser, 1, 1, named=False),
    "bartlett": _Window(_bartlett),
    "general_cosine": _Window(_general_cosine, 1, 1),
    "general_hamming": _Window(_general_hamming, 1, 1),
}


@public("paddle.audio.functional")
def get_window(window: Any, win_length: int, fftbins: bool = True, dtype: Any = "float64") -> Tensor:
    """Window by name, which frames of a signal are multiplied by.

    Args:
        window: a name, or a tuple of a name and parameters. Without parameters: ``"hamming"``, ``"hann"``,
            ``"blackman"``, ``"nuttall"``, ``"triang"``, ``"bohman"``, ``"cosine"``, ``"bartlett"``. With parameters in
            this order: ``("gaussian", std)``, ``("general_gaussian", p, sig)``, ``("exponential", center, tau)``,
            ``("tukey", alpha)``, ``("taylor", nbar, sll, norm)``, ``("kaiser", beta)``,
            ``("general_cosine", coefficients)``, ``("general_hamming", alpha)``; those of ``"tukey"`` (0.5),
            ``"taylor"`` (4, 30, True) and ``"exponential"`` (the middle, 1) have defaults. Lengths are in points.
        win_length: number of points, 0 or more.
        fftbins: whether the window is periodic, as spectra want it; otherwise it is symmetric.
        dtype: floating dtype of the result.

    Returns:
        Tensor ``[win_length]`` of ``dtype``.

    Raises:
        TypeError: a window gets fewer or more parameters than it has, or ``dtype`` is not floating.
        ValueError: no such window, one that needs parameters without them, a negative length, or a symmetric
            exponential window with a center.

    Example:
        >>> import paddle
        >>> paddle.audio.functional.get_window("hann", 4).tolist()
        [0.0, 0.5, 1.0, 0.5]
        >>> paddle.audio.functional.get_window(("kaiser", 0.0), 2).tolist()
        [1.0, 1.0]
    """
    if not isinstance(window, (str, tuple)):
        raise op_error(ValueError, _OP, "the name of a window or a tuple that begins with it", repr(window))
    name, parameters = (window, ()) if isinstance(window, str) else (window[0] if window else None, window[1:])
    entry = _WINDOWS.get(name) if isinstance(name, str) else None
    if entry is None:
        raise op_error(ValueError, _OP, f"one of the windows {', '.join(_WINDOWS)}", repr(name))
    if isinstance(window, str) and not entry.named:
        raise op_error(ValueError, _OP, f"parameters for the window {name!r}", "the name alone", "Pass a tuple.")
    if not entry.least <= len(parameters) <= entry.most:
        wanted = f"{entry.least}" if entry.least == entry.most else f"{entry.least} to {entry.most}"
        raise op_error(TypeError, _OP, f"{wanted} parameters for the window {name!r}", len(parameters))
    if int(win_length) != win_length or win_length < 0:
        raise op_error(ValueError, _OP, "a length of 0 or more points", win_length)
    made = dtype_of(dtype)
    if not made.is_floating:
        raise op_error(TypeError, _OP, "a floating dtype", made.name)
    n = int(win_length)
    if n < 2:
        return paddle.to_tensor(np.ones(n), made)
    values = entry.make(n + bool(fftbins), not fftbins, *map(number, parameters))
    return paddle.to_tensor(values[:n], made)
