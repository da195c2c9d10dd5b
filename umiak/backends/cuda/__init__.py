"""NVIDIA devices: the device type ``gpu``, through the driver alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from umiak.backends.cuda.nvidia import load

if TYPE_CHECKING:
    from umiak.backends.cuda.backend import CudaBackend


def load_backend() -> CudaBackend:
    """Return the backend of the machine's devices.

    Raises:
        Absent: there is no device, no driver, or no ``cuda-bindings``.
    """
    driver = load()
    # Imported here: machines without a device load nothing of it.
    from umiak.backends.cuda import triton_driver
    from umiak.backends.cuda.backend import CudaBackend

    backend = CudaBackend(driver)
    triton_driver.attach(backend)
    return backend
