"""The API of PaddlePaddle 3.3 on the umiak engine."""

from typing import TYPE_CHECKING

from paddle import _installation  # isort: skip  (refuses to share an environment with the reference framework)

from paddle import _lazy

if TYPE_CHECKING:
    from paddle import (
        amp,
        audio,
        autograd,
        callbacks,
        compat,
        cuda,
        dataset,
        decomposition,
        distributed,
        distribution,
        fft,
        geometric,
        hapi,
        hub,
        incubate,
        inference,
        io,
        jit,
        library,
        linalg,
        metric,
        onnx,
        ops,
        optimizer,
        pir,
        profiler,
        reader,
        regularizer,
        sparse,
        special,
        static,
        sysconfig,
        text,
        utils,
        version,
        vision,
    )

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "device framework nn signal tensor")

from paddle import _callables, _ready  # noqa: E402  isort: skip  (they know the modules above)

__version__ = "3.3.1"
