"""Made by ``tools/public_stubs.py``."""

import builtins
from collections.abc import Sequence
from typing import Any, overload

from paddle.fft.frequencies import fftfreq as fftfreq
from paddle.fft.frequencies import rfftfreq as rfftfreq
from umiak.core.tensor import Tensor

@overload
def fft(
    x: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fft(
    x: Tensor,
    n: builtins.int | None = ...,
    *,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def fftshift(x: Tensor, axes: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def fftshift(x: Tensor, *, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def fftshift(*, input: Tensor, axes: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def fftshift(*, input: Tensor, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def hfft(
    x: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def hfft(
    x: Tensor,
    n: builtins.int | None = ...,
    *,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def hfft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def hfft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def hfft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def hfft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def hfft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def hfft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def hfftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def hfftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def hfftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def hfftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifft(
    x: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifft(
    x: Tensor,
    n: builtins.int | None = ...,
    *,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ifftshift(x: Tensor, axes: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def ifftshift(x: Tensor, *, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ifftshift(*, input: Tensor, axes: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def ifftshift(*, input: Tensor, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ihfft(
    x: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ihfft(
    x: Tensor,
    n: builtins.int | None = ...,
    *,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ihfft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ihfft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ihfft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ihfft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ihfft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ihfft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ihfftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ihfftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ihfftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def ihfftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfft(
    x: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfft(
    x: Tensor,
    n: builtins.int | None = ...,
    *,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def irfftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfft(
    x: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfft(
    x: Tensor,
    n: builtins.int | None = ...,
    *,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    axis: builtins.int = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfft(
    *,
    input: Tensor,
    n: builtins.int | None = ...,
    dim: builtins.int,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfft2(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfft2(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int],
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfftn(
    x: Tensor,
    s: Sequence[builtins.int] | None = ...,
    *,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    axes: Sequence[builtins.int] | None = ...,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def rfftn(
    *,
    input: Tensor,
    s: Sequence[builtins.int] | None = ...,
    dim: Sequence[builtins.int] | None,
    norm: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
