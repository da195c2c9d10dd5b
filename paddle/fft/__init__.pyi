"""Made by ``tools/public_stubs.py``."""

from paddle.fft.any_axes import fftn as fftn
from paddle.fft.any_axes import hfftn as hfftn
from paddle.fft.any_axes import ifftn as ifftn
from paddle.fft.any_axes import ihfftn as ihfftn
from paddle.fft.any_axes import irfftn as irfftn
from paddle.fft.any_axes import rfftn as rfftn
from paddle.fft.frequencies import fftfreq as fftfreq
from paddle.fft.frequencies import fftshift as fftshift
from paddle.fft.frequencies import ifftshift as ifftshift
from paddle.fft.frequencies import rfftfreq as rfftfreq
from paddle.fft.one_axis import fft as fft
from paddle.fft.one_axis import hfft as hfft
from paddle.fft.one_axis import ifft as ifft
from paddle.fft.one_axis import ihfft as ihfft
from paddle.fft.one_axis import irfft as irfft
from paddle.fft.one_axis import rfft as rfft
from paddle.fft.two_axes import fft2 as fft2
from paddle.fft.two_axes import hfft2 as hfft2
from paddle.fft.two_axes import ifft2 as ifft2
from paddle.fft.two_axes import ihfft2 as ihfft2
from paddle.fft.two_axes import irfft2 as irfft2
from paddle.fft.two_axes import rfft2 as rfft2

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
