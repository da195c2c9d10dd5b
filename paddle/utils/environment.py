"""Check of the installation."""

from __future__ import annotations

import importlib
from types import ModuleType

from paddle import version
from paddle._public import public
from umiak.util.errors import op_error


@public("paddle.utils")
def try_import(module_name: str, err_msg: str | None = None) -> ModuleType:
    """Import a module that not everyone has.

    Args:
        module_name: its full name.
        err_msg: the message where it is not there; None: one that says what to install.

    Returns:
        The module.

    Raises:
        ImportError: it is not there, or fails to import something.

    Example:
        >>> import paddle
        >>> paddle.utils.try_import("json").__name__
        'json'
    """
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        package = module_name.partition(".")[0]
        raise ImportError(err_msg or f"{module_name} is not installed. Try: pip install {package}") from error


@public("paddle.utils")
def strtobool(val: str) -> bool:
    """Truth that a word of the environment stands for.

    Args:
        val: ``y``, ``yes``, ``t``, ``true``, ``on`` or ``1``, or ``n``, ``no``, ``f``, ``false``, ``off`` or ``0``, in
            small or capital letters.

    Returns:
        A bool.

    Raises:
        ValueError: another word.

    Example:
        >>> import paddle
        >>> paddle.utils.strtobool("Yes"), paddle.utils.strtobool("off")
        (True, False)
    """
    word = val.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return True
    if word in ("n", "no", "f", "false", "off", "0"):
        return False
    raise op_error(ValueError, "strtobool", "a word such as yes, no, on or off", repr(val))


def _numbers(text: str, arg_name: str) -> tuple[int, ...]:
    if not isinstance(text, str):
        raise op_error(TypeError, "require_version", f"a str for {arg_name}", type(text).__name__)
    try:
        parts = tuple(int(p) for p in text.split("."))
    except ValueError:
        raise op_error(ValueError, "require_version", f"a {arg_name} like '3.3.1'", repr(text)) from None
    return parts + (0,) * (4 - len(parts))


@public("paddle.utils")
def require_version(min_version: str, max_version: str | None = None) -> None:
    """Refuse to go on unless ``paddle.__version__`` lies between two versions, both included.

    Args:
        min_version: the least, such as ``"3.3.1"``.
        max_version: the most; None: any.

    Raises:
        Exception: another version is installed.
        TypeError: a version that is no str.
        ValueError: a version that is not made of numbers and dots.

    Example:
        >>> import paddle
        >>> paddle.utils.require_version("3.0.0")
    """
    have = _numbers(version.full_version, "version")
    if have < _numbers(min_version, "min_version") or (
        max_version is not None and have > _numbers(max_version, "max_version")
    ):
        wanted = f"{min_version} or higher" if max_version is None else f"{min_version} to {max_version}"
        raise Exception(f"[require_version] requires version {wanted}, got {version.full_version}")


@public("paddle.utils")
def run_check() -> None:
    """Run a small matmul and its gradient, and say that it worked.

    Raises:
        RuntimeError: the gradient is wrong.

    Example:
        >>> import paddle
        >>> paddle.utils.run_check()
        paddle (umiak) works on cpu.
    """
    import paddle

    x = paddle.ones([2, 2])
    x.stop_gradient = False
    with paddle.enable_grad():
        paddle.matmul(x, x).sum().backward()
    gradient = None if x.grad is None else x.grad.tolist()
    if gradient != [[4.0, 4.0], [4.0, 4.0]]:
        raise RuntimeError(f"[run_check] requires a gradient of 4 everywhere, got {gradient}")
    print(f"paddle (umiak) works on {paddle.get_device()}.")
