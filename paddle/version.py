"""Version of the reference framework's API; ``umiak.__version__`` is that of the implementation."""

from paddle import _lazy
from paddle._public import public

full_version = "3.3.1"
major, minor, patch = full_version.split(".")
rc = "0"
istaged = True
commit = "unknown"
with_mkl = "OFF"
with_hml = ""
with_pip_cuda_libraries = "OFF"
with_pip_tensorrt = "OFF"
cinn_version = "False"
cuda_version = "False"
cudnn_version = "False"
hip: str | None = None  # of ROCm, a value in the reference framework, too
nccl_version = "0"
xpu_xccl_version = "False"
xpu_xre_version = "False"
xpu_xhpc_version = "False"
tensorrt_version = "None"
compiled_cuda_archs: list[int] = []
is_tagged = True


@public("paddle.version")
def cuda() -> str:
    """CUDA version that this was built with: ``"False"``, as nothing here is.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.version.cuda()
        'False'
    """
    return cuda_version


@public("paddle.version")
def cudnn() -> str:
    """cuDNN version that this was built with: ``"False"`` for none.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.version.cudnn()
        'False'
    """
    return cudnn_version


@public("paddle.version")
def nccl() -> str:
    """NCCL version that this was built with: ``"0"`` for none.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.version.nccl()
        '0'
    """
    return nccl_version


def cinn() -> str:
    """CINN version that this was built with: ``"False"`` for none.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.version.cinn()
        'False'
    """
    return cinn_version


def tensorrt() -> str:
    """TensorRT version that this was built with: ``"None"`` for none.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.version.tensorrt()
        'None'
    """
    return tensorrt_version


@public("paddle.version")
def xpu() -> str:
    """XPU version that this was built with: ``"False"`` for none.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.version.xpu()
        'False'
    """
    return "False"


@public("paddle.version")
def xpu_xre() -> str:
    """XRE version that this was built with: ``"False"`` for none.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.version.xpu_xre()
        'False'
    """
    return xpu_xre_version


@public("paddle.version")
def xpu_xccl() -> str:
    """XCCL version that this was built with: ``"False"`` for none.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.version.xpu_xccl()
        'False'
    """
    return xpu_xccl_version


@public("paddle.version")
def xpu_xhpc() -> str:
    """XHPC version that this was built with: ``"False"`` for none.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.version.xpu_xhpc()
        'False'
    """
    return xpu_xhpc_version


def mkl() -> str:
    """Switch that says whether this was built with MKL: ``"OFF"``.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.version.mkl()
        'OFF'
    """
    return with_mkl


def hml() -> str:
    """HML version that this was built with: empty for none.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.version.hml()
        ''
    """
    return with_hml


def cuda_archs() -> list[int]:
    """Compute capabilities that this was built for, 90 for 9.0: none.

    Returns:
        A list.

    Example:
        >>> import paddle
        >>> paddle.version.cuda_archs()
        []
    """
    return compiled_cuda_archs


class CudaVersion(str):
    """CUDA version as a str that compares by its numbers.

    It consists of numbers with dots between them; ``"False"``, which stands for none, is less than all others.

    Example:
        >>> import paddle
        >>> paddle.version.CudaVersion("12.10") > "12.9"
        True
    """

    def _numbers(self, text: str) -> tuple[int, ...]:
        return tuple(int(n) for n in text.split(".")) if text != "False" else ()

    def __lt__(self, other: str) -> bool:
        return self._numbers(self) < self._numbers(other)

    def __le__(self, other: str) -> bool:
        return self._numbers(self) <= self._numbers(other)

    def __gt__(self, other: str) -> bool:
        return self._numbers(self) > self._numbers(other)

    def __ge__(self, other: str) -> bool:
        return self._numbers(self) >= self._numbers(other)


@public("paddle.version")
def show() -> None:
    """Print the version and what this was built with.

    Example:
        >>> import paddle
        >>> paddle.version.show()  # doctest: +ELLIPSIS
        full_version: ...
    """
    print("full_version:", full_version)
    print("major:", major)
    print("minor:", minor)
    print("patch:", patch)
    print("rc:", rc)
    print("cuda:", cuda_version)
    print("cudnn:", cudnn_version)
    print("hip:", hip)
    print("nccl:", nccl_version)
    print("xpu_xre:", xpu_xre_version)
    print("xpu_xccl:", xpu_xccl_version)
    print("xpu_xhpc:", xpu_xhpc_version)
    print("cinn:", cinn_version)
    print("tensorrt_version:", tensorrt_version)
    print("cuda_archs:", compiled_cuda_archs)


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
