"""Triton, whose kernels run on tensors of this package."""

from __future__ import annotations

from types import ModuleType

from paddle._public import public
from paddle.compat.proxy import enable_torch_proxy
from umiak import backends
from umiak.util.errors import op_error


@public("paddle.compat")
def paddle_triton_fun() -> ModuleType:
    """Import Triton, whose modules then get this package where they import ``torch``.

    Kernels run on tensors of CUDA devices of this package after a plain ``import triton``, too. Only where PyTorch with
    CUDA is loaded in the same process Triton stays with PyTorch's streams, until this function is called.

    Returns:
        The module ``triton``.

    Raises:
        ImportError: Triton is not installed.

    Example:
        >>> import paddle
        >>> try:
        ...     triton = paddle.compat.paddle_triton_fun()
        ... except ImportError:
        ...     print("there is no Triton")  # doctest: +SKIP
    """
    enable_torch_proxy(scope={"triton"}, silent=True)
    try:
        import triton  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise op_error(ImportError, "paddle_triton_fun", "the package triton", str(error), "Install it.") from error
    if "gpu" in backends.device_types():
        from umiak.backends.cuda import triton_driver
        from umiak.backends.cuda.backend import CudaBackend

        for backend in backends.backends_of("gpu"):
            if isinstance(backend, CudaBackend):
                triton_driver.take(backend)
    return triton
