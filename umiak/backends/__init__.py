"""Backends, which run ops: one package each, all entering through the entry-point group ``umiak.backends``.

Nothing is loaded at import; the first place that is used, or the first question about backends, loads them.
"""

from umiak.backends.base import (
    Absent,
    Backend,
    Kernel,
    Properties,
    Span,
    Tracer,
    absence,
    backends_of,
    device_types,
    discover,
    find_kernel,
    get,
    install_loader,
    provide,
    register,
    unregister,
)

__all__ = [
    "Absent",
    "Backend",
    "Kernel",
    "Properties",
    "Span",
    "Tracer",
    "absence",
    "backends_of",
    "device_types",
    "discover",
    "find_kernel",
    "get",
    "install_loader",
    "provide",
    "register",
    "unregister",
]
