"""This package under the name ``torch``: ``import torch.nn`` gives ``paddle.nn`` with the layers of ``paddle.compat``.

A finder in front of ``sys.meta_path`` makes modules that look names up here. Some may get PyTorch itself: modules that
are blocked or not in the scope. ``sys.modules`` has one place for a name, so it holds what most get, and imports of
the others exchange it while they run: ``builtins.__import__`` asks who imports, the module whose code does or one that
contains it. (``importlib.import_module`` does not ask: what is loaded is what it gives.)
"""

from __future__ import annotations

import builtins
import importlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any

from paddle._public import also, public
from umiak.util.errors import op_error

_NAME = "torch"
_IMPORTERS = (
    "importlib",
    "_frozen_importlib",
    "_frozen_importlib_external",
)  # frames of the import itself are not who imports

# What stands in place of a module's own name, by module: where it is, and after a colon under which name.
_OTHERS: dict[str, dict[str, str]] = {
    "paddle": {
        "device": "paddle.device:Device",  # PyTorch's is a class: `isinstance`, `torch.device | None`
        "pow": "paddle.compat._torch_functions",
        "relu": "paddle.nn.functional",
    },
    "paddle.cuda": {"ExternalStream": "paddle.compat._torch_cuda"},
    "paddle.distributed": {"ProcessGroup": "paddle.distributed.communication.group:Group"},
    "paddle.version": dict.fromkeys(
        ("__version__", "cuda", "debug", "git_version", "hip", "xpu"), "paddle.compat._torch_version"
    ),
    "paddle.ops": {"load_library": "paddle.compat._torch_ops"},
    "paddle.nn": dict.fromkeys(
        "AvgPool1D AvgPool1d AvgPool2D AvgPool2d AvgPool3D AvgPool3d Linear MultiheadAttention Softmax Unfold".split(),
        "paddle.compat.nn",
    ),
    "paddle.nn.functional": dict.fromkeys(
        "linear pad scaled_dot_product_attention softmax unfold".split(), "paddle.compat.nn.functional"
    ),
}
# Modules that only PyTorch has.
_ADDED = {
    "torch._C": "paddle.compat._torch_internals",
    "torch.compiler": "paddle.compat._torch_compiler",
    "torch.torch_version": "paddle.compat._torch_version",
    "torch.utils._pytree": "paddle.compat._torch_pytree",
}
# Modules that never get this package as `torch`: what they look for there are internals of PyTorch.
_blocked = {"tvm_ffi"}


class Proxy(ModuleType):
    """A module of this package under PyTorch's name; names that are set on it stay with it."""

    _original: ModuleType
    _family: dict[str, ModuleType]  # those of one finder, by name

    def __getattr__(self, name: str) -> Any:
        # Not `self._original`: an attribute that a half-made module lacks would be looked for without end.
        original = self.__dict__.get("_original")
        if original is None:
            raise AttributeError(name)
        if (added := f"{self.__name__}.{name}") in _ADDED:
            value = _loaded(added, self._family)
            setattr(self, name, value)
            return value
        home, _, called = _OTHERS.get(original.__name__, {}).get(name, "").partition(":")
        value = getattr(importlib.import_module(home) if home else original, called or name)
        own = f"{original.__name__}.{name}"
        # Operators of a namespace are a module that nobody can import.
        if isinstance(value, ModuleType) and value.__name__ == own and own in sys.modules:
            value = _loaded(f"{self.__name__}.{name}", self._family)
            setattr(self, name, value)
        return value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._original(*args, **kwargs)  # type: ignore[operator]  # `torch.device("cpu")`

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._original), *_OTHERS.get(self._original.__name__, {})})


def _loaded(name: str, family: dict[str, ModuleType]) -> ModuleType:
    """The proxy of this name; whoever has that of its parent may have it, whatever the scope is."""
    return family.get(name) or module_from_spec(_spec(name, family))


def _spec(name: str, family: dict[str, ModuleType]) -> ModuleSpec:
    original = importlib.import_module(_ADDED.get(name, "paddle" + name[len(_NAME) :]))
    spec = ModuleSpec(
        name, _Maker(original, family), origin=original.__file__, is_package=hasattr(original, "__path__")
    )
    spec.has_location = original.__file__ is not None
    return spec


class _Maker(Loader):
    def __init__(self, original: ModuleType, family: dict[str, ModuleType]) -> None:
        self._original = original
        self._family = family

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name not in self._family:
            proxy = self._family[spec.name] = Proxy(spec.name, self._original.__doc__)
            proxy._original, proxy._family = self._original, self._family
        return self._family[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run: names are looked up in the module of this package."""


def _within(name: str, modules: Iterable[str]) -> bool:
    return any(name == m or name.startswith(m + ".") for m in modules)


def _importer() -> str:
    """The name of the module whose code imports."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name != __name__ and not _within(name, _IMPORTERS):
            return name
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _take_modules() -> dict[str, ModuleType]:
    # A list first: other threads import meanwhile.
    names = [name for name in list(sys.modules) if name.partition(".")[0] == _NAME]
    return {name: sys.modules.pop(name) for name in names}


def _pytorchs(modules: Mapping[str, ModuleType]) -> dict[str, ModuleType]:
    return {name: m for name, m in modules.items() if not isinstance(m, Proxy)}


class _Finder(MetaPathFinder):
    """``scope``: the modules that may import ``torch`` so; None: all. ``before``: the modules of PyTorch's name that
    were loaded, which come back when the finder ends. ``pytorch`` and ``family``: what the one and the other import."""

    def __init__(self, scope: set[str] | None, family: dict[str, ModuleType]) -> None:
        self.scope = scope
        self.before = _take_modules()
        self.pytorch = _pytorchs(self.before)
        if _enabled:
            self.pytorch = {**_enabled[-1].pytorch, **self.pytorch}
        self.family = family
        self.show(scope is None)

    def serves(self, importer: str) -> bool:
        """Return whether this module gets proxies. What PyTorch's own modules import is PyTorch."""
        return not _within(importer, {_NAME, *_blocked}) and (self.scope is None or _within(importer, self.scope))

    def show(self, proxies: bool) -> None:
        """Put the modules of one kind into ``sys.modules``, in the place of those of the other."""
        self.pytorch.update(_pytorchs(_take_modules()))
        sys.modules.update(self.family if proxies else self.pytorch)

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != _NAME or not self.serves(_importer()):
            return None
        return _spec(fullname, self.family)


class _Turns:
    """One thread at a time imports what bears PyTorch's name: it may exchange the modules of all."""

    SECONDS = 60.0  # threads may wait for each other's modules in a circle, which must end

    def __init__(self) -> None:
        self.lock = threading.RLock()
        os.register_at_fork(after_in_child=self._in_child)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        lock = self.lock
        taken = lock.acquire(timeout=self.SECONDS)
        try:
            yield
        finally:
            if taken:
                lock.release()

    def _in_child(self) -> None:
        # The lock of a thread that is not here, and perhaps in the middle of an exchange.
        self.lock = threading.RLock()
        if _enabled:
            _enabled[-1].show(_enabled[-1].scope is None)


_enabled: list[_Finder] = []
_turn = _Turns()


def _asking(before: Callable) -> Callable:
    """``builtins.__import__`` that gives each module what it may have."""

    def importing(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if level or not _enabled or name.partition(".")[0] != _NAME:
            return before(name, globals, locals, fromlist, level)
        importer = (globals or {}).get("__name__") or _importer()
        with _turn():
            if not _enabled:  # any more
                return before(name, globals, locals, fromlist, level)
            finder = _enabled[-1]
            served, usual = finder.serves(importer), finder.scope is None
            loaded = sys.modules.get(_NAME)
            if (usual if loaded is None else isinstance(loaded, Proxy)) is served:  # so are PyTorch's own imports
                return before(name, globals, locals, fromlist, level)
            finder.show(served)
            try:
                return before(name, globals, locals, fromlist, level)
            finally:
                finder.show(usual)

    importing.before = before
    return importing


def _names(given: Any, op: str) -> set[str] | None:
    if given is None:
        return None
    names = {given} if isinstance(given, str) else set(given)
    if not all(isinstance(name, str) for name in names):
        raise op_error(TypeError, op, "names of modules", repr(given))
    return names


@public("paddle.compat")
def enable_torch_proxy(
    *, scope: Any = None, blocked_modules: Any = None, backend: str = "torch", silent: bool = False
) -> None:
    """Let ``import torch`` import this package, with PyTorch's meaning where ``paddle.compat`` has it.

    Args:
        scope: name or names of the modules that import it so, with all that is in them; None: every module. A later
            scope comes to an earlier one; a scope after None changes nothing.
        blocked_modules: name or names of modules that never do.
        backend: only ``"torch"``.
        silent: whether there is no warning where a scope changes.

    Raises:
        TypeError: names that are not strings.
        AssertionError: another backend.

    Example:
        >>> import paddle
        >>> with paddle.compat.use_torch_proxy_guard():
        ...     import torch
        ...     torch.sin is paddle.sin
        True
    """
    if backend != _NAME:
        raise op_error(AssertionError, "enable_torch_proxy", f"backend={_NAME!r}", repr(backend))
    wanted = _names(scope, "enable_torch_proxy")
    if blocked_modules is not None:
        extend_torch_proxy_blocked_modules(blocked_modules)
    if _enabled:
        now = _enabled[-1].scope
        if now is None and wanted is not None:
            note = "PyTorch is imported from this package everywhere, so the scope is not obeyed"
        elif now is not None and wanted is None:
            note = f"PyTorch is imported from this package everywhere from now on, not only in {sorted(now)}"
        elif now != wanted:
            note = f"the scope {sorted(now or ())} is extended by {sorted(wanted or ())}"
        else:
            note = ""
        if note and not silent:
            warnings.warn(f"[enable_compat] {note}", stacklevel=2)
        wanted = None if now is None or wanted is None else now | wanted
    _start(wanted)


def _start(scope: set[str] | None, family: dict[str, ModuleType] | None = None) -> None:
    with _turn():
        _enabled.append(_Finder(scope, {} if family is None else family))
        sys.meta_path.insert(0, _enabled[-1])
        if len(_enabled) == 1:
            builtins.__import__ = _asking(builtins.__import__)


def _stop() -> None:
    with _turn():
        finder = _enabled.pop()
        sys.meta_path.remove(finder)
        finder.show(False)
        if _enabled:
            _enabled[-1].pytorch.update(finder.pytorch)
            _enabled[-1].show(_enabled[-1].scope is None)
            return
        sys.modules.update(finder.before)
        # Another that was put in front of ours stays there, and ours does nothing.
        builtins.__import__ = getattr(builtins.__import__, "before", builtins.__import__)


enable_compat = also(enable_torch_proxy, "enable_compat", "paddle")


@public("paddle.compat")
def disable_torch_proxy() -> None:
    """End what the last :func:`enable_torch_proxy` began; modules keep what they have imported.

    Example:
        >>> import paddle
        >>> paddle.enable_compat()
        >>> paddle.disable_compat()
    """
    if _enabled:
        _stop()


disable_compat = also(disable_torch_proxy, "disable_compat", "paddle")


@public("paddle.compat")
@contextmanager
def use_torch_proxy_guard(*, enable: bool = True, scope: Any = None, silent: bool = False) -> Iterator[None]:
    """Let ``import torch`` import this package inside a ``with`` block, or not.

    Args:
        enable: False ends it inside the block.
        scope: as for :func:`enable_torch_proxy`.
        silent: as for :func:`enable_torch_proxy`.

    Returns:
        A context manager.

    Raises:
        TypeError: names that are not strings.

    Example:
        >>> import paddle
        >>> with paddle.use_compat_guard():
        ...     import torch.nn.functional as F
        ...     F.linear is paddle.compat.nn.functional.linear
        True
    """
    if enable:
        enable_torch_proxy(scope=scope, silent=silent)
        try:
            yield
        finally:
            disable_torch_proxy()
        return
    ended = [(finder.scope, finder.family) for finder in _enabled]
    while _enabled:
        _stop()
    try:
        yield
    finally:
        for each in ended:
            _start(*each)


use_compat_guard = also(use_torch_proxy_guard, "use_compat_guard", "paddle")


@public("paddle.compat")
def extend_torch_proxy_blocked_modules(modules: Iterable[str]) -> None:
    """Name modules that never import this package as ``torch``.

    Args:
        modules: their names; what is in them is blocked, too.

    Raises:
        TypeError: names that are not strings.

    Example:
        >>> import paddle
        >>> paddle.compat.extend_torch_proxy_blocked_modules(["another_framework"])
    """
    _blocked.update(_names(modules, "extend_torch_proxy_blocked_modules") or ())
