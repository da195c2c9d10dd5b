"""Settings of engines that compute parts of a model: TensorRT, OpenVINO, ONNX Runtime.

An engine that is not there is refused (``engines.py``). Settings say how one would work, and are kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from paddle.inference import engines
from paddle.inference.arguments import _names, _switch
from paddle.inference.find_engine import _find_engine
from paddle.inference.kinds import NARROW, PrecisionType, _required
from umiak.util.errors import op_error

Shapes = Mapping[str, Sequence[int]]


def _name(precision: PrecisionType) -> str:
    return "int8" if precision is PrecisionType.Int8 else NARROW.get(precision, "float32")


class EngineSettings:
    """Settings of the engine that takes parts of the model."""

    def __init__(self) -> None:
        self._engine: engines.Request | None = None
        self._trt_precision = PrecisionType.Float32
        self._trt: dict[str, Any] = {"optimization_level": 3}
        self._trt_kept: set[str] = set()
        self._shapes: dict[str, dict[str, list[int]]] = {}
        self._tuned: str | None = None
        self._allow_build = False

    def _ask(self, op_name: str, name: str, precision: PrecisionType, smallest: int = 3) -> None:
        _required(op_name, "precision", precision, PrecisionType)
        _find_engine(op_name, name)
        self._engine = engines.Request(name, _name(precision), smallest)

    def _request(self, threads: int = 1) -> engines.Request | None:
        """The request to an engine, with the settings that were made since."""
        if self._engine is None:
            return None
        asked = replace(self._engine, threads=threads)
        if asked.engine != "tensorrt":
            return asked
        kept = {name if "." in name else f"pd_op.{name}" for name in self._trt_kept}
        return replace(asked, kept=frozenset(kept), settings={**self._trt, "shapes": self._shapes})

    # --- TensorRT

    def enable_tensorrt_engine(
        self,
        workspace_size: int = 1 << 30,
        max_batch_size: int = 1,
        min_subgraph_size: int = 3,
        precision_mode: PrecisionType = PrecisionType.Float32,
        use_static: bool = False,
        use_calib_mode: bool = True,
        use_cuda_graph: bool = False,
    ) -> None:
        """Have TensorRT compute the parts of the model that it takes.

        Args:
            workspace_size: bytes that it may use beside.
            max_batch_size: the largest batch.
            min_subgraph_size: parts of fewer operators are computed here.
            precision_mode: what it computes in.
            use_static: keep what it has compiled in the folder of ``set_optim_cache_dir``.
            use_calib_mode: calibrate integers.
            use_cuda_graph: replay its kernels as one.

        Raises:
            RuntimeError: no engine of the name ``tensorrt`` is registered.
            TypeError: something that is no precision.
        """
        self._ask("enable_tensorrt_engine", "tensorrt", precision_mode, int(min_subgraph_size))
        self._trt_precision = precision_mode
        self._trt.update(
            workspace_size=workspace_size, max_batch_size=max_batch_size, use_static=use_static,
            use_calib_mode=use_calib_mode, use_cuda_graph=use_cuda_graph,
        )  # fmt: skip

    def tensorrt_engine_enabled(self) -> bool:
        """Say whether TensorRT takes parts of the model."""
        return self._engine is not None and self._engine.engine == "tensorrt"

    def tensorrt_precision_mode(self) -> PrecisionType:
        """Return what TensorRT computes in."""
        return self._trt_precision

    def set_trt_dynamic_shape_info(
        self,
        min_input_shape: Shapes = MappingProxyType({}),
        max_input_shape: Shapes = MappingProxyType({}),
        optim_input_shape: Shapes = MappingProxyType({}),
        disable_trt_plugin_fp16: bool = False,
    ) -> None:
        """Say which sizes inputs have: an engine compiles for them, and a predictor prepares itself for the usual ones.

        Args:
            min_input_shape: the smallest, by name.
            max_input_shape: the largest.
            optim_input_shape: the usual ones.
            disable_trt_plugin_fp16: kept for the engine.

        Raises:
            ValueError: inputs that do not have all three.
        """
        if not set(min_input_shape) == set(max_input_shape) == set(optim_input_shape):
            raise op_error(
                ValueError, "set_trt_dynamic_shape_info", "the same inputs in all three",
                [sorted(min_input_shape), sorted(max_input_shape), sorted(optim_input_shape)],
            )  # fmt: skip
        self._shapes = {
            name: {"min": list(least), "max": list(max_input_shape[name]), "usual": list(optim_input_shape[name])}
            for name, least in min_input_shape.items()
        }
        self._trt["disable_plugin_fp16"] = disable_trt_plugin_fp16

    def tensorrt_dynamic_shape_enabled(self) -> bool:
        """Say whether sizes of inputs were given."""
        return bool(self._shapes)

    def enable_tuned_tensorrt_dynamic_shape(
        self, shape_range_info_path: str = "", allow_build_at_runtime: bool = True
    ) -> None:
        """Take the sizes of inputs from a file that ``collect_shape_range_info`` wrote.

        Args:
            shape_range_info_path: its name; an empty one keeps the sizes that are there.
            allow_build_at_runtime: an engine may compile anew for other sizes.

        Raises:
            OSError: there is no such file.
            ValueError: a file that holds something else.
        """
        if shape_range_info_path:
            with open(shape_range_info_path, encoding="utf-8") as file:
                self._shapes = _read_shapes("enable_tuned_tensorrt_dynamic_shape", file.read())
        allow = _switch("enable_tuned_tensorrt_dynamic_shape", allow_build_at_runtime)
        self._tuned, self._allow_build = shape_range_info_path, allow

    def tuned_tensorrt_dynamic_shape(self) -> bool:
        """Say whether sizes of inputs come from a file."""
        return self._tuned is not None

    def trt_allow_build_at_runtime(self) -> bool:
        """Say whether an engine may compile anew for other sizes."""
        return self._allow_build

    def exp_disable_tensorrt_ops(self, ops: Iterable[str]) -> None:
        """Name operators that TensorRT does not take.

        Args:
            ops: their names.
        """
        self._trt_kept |= set(_names("exp_disable_tensorrt_ops", "operators", ops))

    def exp_disable_tensorrt_subgraph(self, var_names: Iterable[str]) -> None:
        """Name values at which no part for TensorRT begins.

        Args:
            var_names: kept for the engine.
        """
        self._trt["excluded_values"] = _names("exp_disable_tensorrt_subgraph", "values", var_names)

    def exp_disable_tensorrt_dynamic_shape_ops(self, disabled: bool) -> None:
        """Leave operators of unknown sizes out of TensorRT.

        Args:
            disabled: kept for the engine.
        """
        self._trt["fixed_shapes_only"] = _switch("exp_disable_tensorrt_dynamic_shape_ops", disabled)

    def exp_specify_tensorrt_subgraph_precision(
        self, params_run_fp16: Iterable[str], params_exclude_trt: Iterable[str], params_run_bf16: Iterable[str]
    ) -> None:
        """Say in which precision TensorRT computes the parts that have some parameters.

        Args:
            params_run_fp16: parameters of parts in float16; kept for the engine, as are the others.
            params_exclude_trt: parameters of parts that it does not take.
            params_run_bf16: parameters of parts in bfloat16.
        """
        op_name, given = (
            "exp_specify_tensorrt_subgraph_precision",
            (params_run_fp16, params_exclude_trt, params_run_bf16),
        )
        self._trt["precision_of_parts"] = [_names(op_name, "parameters", x) for x in given]

    def mark_trt_engine_outputs(self, output_tensor_names: Sequence[str] = ()) -> None:
        """Name values that TensorRT gives beside the results.

        Args:
            output_tensor_names: kept for the engine.
        """
        self._trt["outputs"] = _names("mark_trt_engine_outputs", "values", output_tensor_names)

    def enable_tensorrt_varseqlen(self) -> None:
        """Have TensorRT compute texts of several lengths without padding: kept for the engine."""
        self._trt["varseqlen"] = True

    def tensorrt_varseqlen_enabled(self) -> bool:
        """Return what ``enable_tensorrt_varseqlen`` has set."""
        return bool(self._trt.get("varseqlen"))

    def enable_tensorrt_dla(self, dla_core: int = 0) -> None:
        """Have TensorRT use a core for deep learning.

        Args:
            dla_core: its number; kept for the engine.
        """
        self._trt["dla_core"] = dla_core

    def tensorrt_dla_enabled(self) -> bool:
        """Return what ``enable_tensorrt_dla`` has set."""
        return "dla_core" in self._trt

    def enable_tensorrt_inspector(self, inspector_serialize: bool = False) -> None:
        """Have TensorRT say what it has compiled.

        Args:
            inspector_serialize: in a file, too; kept for the engine.
        """
        self._trt["inspector"] = True
        self._trt["inspector_serialize"] = _switch("enable_tensorrt_inspector", inspector_serialize)

    def tensorrt_inspector_enabled(self) -> bool:
        """Return what ``enable_tensorrt_inspector`` has set."""
        return bool(self._trt.get("inspector"))

    def enable_tensorrt_explicit_quantization(self) -> None:
        """Have TensorRT take the scales of a quantised model: kept for the engine."""
        self._trt["explicit_quantization"] = True

    def tensorrt_explicit_quantization_enabled(self) -> bool:
        """Return what ``enable_tensorrt_explicit_quantization`` has set."""
        return bool(self._trt.get("explicit_quantization"))

    def enable_tensorrt_memory_optim(self, engine_memory_sharing: bool = True, sharing_identifier: int = 0) -> None:
        """Have several engines of TensorRT share memory.

        Args:
            engine_memory_sharing: kept for the engine.
            sharing_identifier: of those that share; kept for the engine.
        """
        shared = _switch("enable_tensorrt_memory_optim", engine_memory_sharing)
        self._trt["memory_sharing"] = sharing_identifier if shared else None

    def set_tensorrt_optimization_level(self, level: int) -> None:
        """Set how long TensorRT looks for kernels.

        Args:
            level: 0 to 5; kept for the engine.

        Raises:
            ValueError: another level.
        """
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= 5:
            raise op_error(ValueError, "set_tensorrt_optimization_level", "a level from 0 to 5", repr(level))
        self._trt["optimization_level"] = level

    def tensorrt_optimization_level(self) -> int:
        """Return what ``set_tensorrt_optimization_level`` has set."""
        return self._trt["optimization_level"]

    # --- OpenVINO, ONNX Runtime

    def enable_openvino_engine(self, inference_precision: PrecisionType = PrecisionType.Float32) -> None:
        """Have OpenVINO compute the parts of the model that it takes.

        Args:
            inference_precision: what it computes in.

        Raises:
            RuntimeError: no engine of the name ``openvino`` is registered.
            TypeError: something that is no precision.
        """
        self._ask("enable_openvino_engine", "openvino", inference_precision, 1)

    def openvino_engine_enabled(self) -> bool:
        """Say whether OpenVINO takes parts of the model."""
        return self._engine is not None and self._engine.engine == "openvino"

    def enable_onnxruntime(self) -> None:
        """Have ONNX Runtime compute the parts of the model that it takes.

        Raises:
            RuntimeError: ONNX Runtime is not installed.
        """
        self._ask("enable_onnxruntime", "onnxruntime", PrecisionType.Float32, 1)

    def disable_onnxruntime(self) -> None:
        """Compute all of the model here."""
        if self.onnxruntime_enabled():
            self._engine = None

    def onnxruntime_enabled(self) -> bool:
        """Say whether ONNX Runtime takes parts of the model."""
        return self._engine is not None and self._engine.engine == "onnxruntime"

    def enable_ort_optimization(self) -> None:
        """Do nothing: ONNX Runtime's own passes run in any case."""


def _read_shapes(op_name: str, text: str) -> dict[str, dict[str, list[int]]]:
    """Sizes of inputs by name, of a file that a predictor wrote."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise op_error(ValueError, op_name, "a file of sizes of inputs", f"no JSON: {error}") from error
    fits = isinstance(document, dict) and all(
        isinstance(v, dict)
        and set(v) == {"min", "max", "usual"}
        and all(isinstance(s, list) and all(type(n) is int and n >= 0 for n in s) for s in v.values())
        and len({len(s) for s in v.values()}) == 1
        for v in document.values()
    )
    if not fits:
        raise op_error(ValueError, op_name, "sizes min, max and usual for each input", text[:80])
    return document
