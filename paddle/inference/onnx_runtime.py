"""ONNX Runtime as an engine: parts of a model go to it as ONNX models."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paddle.inference.engines import Compiled, Refused, Request, register_engine
from paddle.static.formats.graph import Module, Operation
from umiak.core.array import host_values
from umiak.core.tensor import Tensor
from umiak.ops.base import REGISTRY

OPSET = 17
_PACKAGES = ("onnx", "onnxruntime")


class OnnxRuntime:
    """The engine. What it computes in is float32."""

    def missing(self) -> str:
        """Return the packages that are not installed."""
        missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
        return f"the packages {', '.join(missing)}" if missing else ""

    def takes(self, operation: Operation) -> bool:
        """Return whether there is a rule for an operation, and for all that is inside of it."""
        from paddle.onnx.table import RULES, load

        load()
        dialect, _, name = operation.name.partition(".")
        said = name in RULES or name.removesuffix("_") in RULES
        known = dialect in ("cf", "builtin") or (dialect == "pd_op" and said)
        random = getattr(REGISTRY.get(name), "random", False) or name in _RANDOM
        return known and not random and all(self.takes(o) for b in operation.regions for o in b.operations)

    def compile(self, module: Module, values: Mapping[str, Any], request: Request) -> Compiled:
        """Return a function that computes a module."""
        import onnxruntime

        from paddle.onnx.convert import Refused as Unsayable
        from paddle.onnx.convert import convert

        names = {o.plain("parameter_name") for o in module.named("builtin.parameter")}
        own = {n: v for n, v in values.items() if n in names}
        arrays = {n: host_values(v) if isinstance(v, Tensor) else np.asarray(v) for n, v in own.items()}
        try:
            model = convert(module, arrays, OPSET, "part", op="create_predictor")
        except Unsayable as error:
            raise Refused(str(error)) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = request.threads
        options.log_severity_level = 3  # errors; warnings are about its own passes
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        inputs = [o.plain("name") for o in module.named("pd_op.data")]
        read = {x.name for x in session.get_inputs()}

        def compute(given: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
            fed = {name: np.ascontiguousarray(x) for name, x in zip(inputs, given, strict=True) if name in read}
            try:
                return session.run(None, fed)
            except Exception as error:  # theirs have no other class
                raise RuntimeError(f"[onnxruntime] {error}") from error

        return compute


# Operators that draw: the runtime's numbers are its own.
_RANDOM = {
    "dropout", "uniform", "gaussian", "bernoulli", "randint", "randperm", "multinomial", "exponential_", "poisson",
    "truncated_gaussian_random", "rrelu", "binomial", "standard_gamma", "dirichlet",
}  # fmt: skip

register_engine("onnxruntime", OnnxRuntime())
