"""Version of the reference framework's API; ``umiak.__version__`` is that of the implementation."""

from paddle import _lazy

full_version = "3.3.1"
major, minor, patch = full_version.split(".")
rc = "0"
istaged = True
commit = "unknown"
with_mkl = "OFF"
cinn_version = "False"
cuda_version = "False"
cudnn_version = "False"
hip_version = "None"
nccl_version = "0"
xpu_xccl_version = "False"
xpu_xre_version = "False"
xpu_xhpc_version = "False"
tensorrt_version = "None"
cuda_archs: list[int] = []
is_tagged = True

__getattr__, __dir__ = _lazy.attributes_of(__name__)

__all__ = ["cuda", "cudnn", "nccl", "show", "xpu", "xpu_xccl", "xpu_xhpc", "xpu_xre"]


def cuda() -> str:
    """The CUDA version it was built with: ``"False"``, as nothing here is."""
    return cuda_version


def cudnn() -> str:
    """The cuDNN version it was built with."""
    return cudnn_version


def nccl() -> str:
    """The NCCL version it was built with."""
    return nccl_version


def cinn() -> str:
    """Return whether it was built with CINN."""
    return cinn_version


def hip() -> str:
    """The ROCm version it was built with."""
    return hip_version


def tensorrt() -> str:
    """The TensorRT version it was built with."""
    return tensorrt_version


def xpu() -> str:
    """The XPU version it was built with."""
    return "False"


def xpu_xre() -> str:
    """The XRE version it was built with."""
    return xpu_xre_version


def xpu_xccl() -> str:
    """The XCCL version it was built with."""
    return xpu_xccl_version


def xpu_xhpc() -> str:
    """The XHPC version it was built with."""
    return xpu_xhpc_version


def mkl() -> str:
    """Return whether it was built with MKL."""
    return with_mkl


def show() -> None:
    """Print the version and what it was built with."""
    print("full_version:", full_version)
    print("major:", major)
    print("minor:", minor)
    print("patch:", patch)
    print("rc:", rc)
    print("cuda:", cuda_version)
    print("cudnn:", cudnn_version)
    print("nccl:", nccl_version)
