"""Engines by name. Those that come with us are entered by their import."""

from __future__ import annotations

from paddle.inference import engines, onnx_runtime
from paddle.inference.engines import Engine
from umiak.util.errors import op_error

_BUILT_IN = (onnx_runtime,)


def _find_engine(op_name: str, name: str) -> Engine:
    """Return an engine that is there with all that it needs.

    Raises:
        RuntimeError: there is no such engine, or it needs what is not installed.
    """
    engine = engines.ENGINES.get(name)
    if engine is None:
        raise op_error(
            RuntimeError, op_name, f"an engine {name!r}", f"those of {sorted(engines.ENGINES)}",
            "paddle.inference.engines.register_engine makes one known.",
        )  # fmt: skip
    if missing := engine.missing():
        raise op_error(RuntimeError, op_name, missing, "none")
    return engine
