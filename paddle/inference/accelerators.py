"""Settings of a model's devices: GPUs, XPUs, IPUs and those of plug-ins.

What asks for a device that is not there is refused; what only says how such a device would be used is kept.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from paddle.framework.place import DEVICE_TYPES, device_count, require
from paddle.inference import kinds
from paddle.inference.kinds import PrecisionType
from paddle.inference.xpu_config import XpuConfig
from umiak.core.place import Place
from umiak.util.errors import op_error


def _device(op_name: str, device_type: str, number: int) -> Place:
    engine_name = DEVICE_TYPES.get(device_type, device_type)
    there = device_count(engine_name)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < there:
        got = f"number {number} of {there}" if there else "none"
        required = f"a device of type {device_type!r} and its backend"
        raise op_error(RuntimeError, op_name, required, got, "disable_gpu() takes the host.")
    return require(engine_name, number, op_name)


def _no_ipu(op_name: str) -> NoReturn:
    raise op_error(RuntimeError, op_name, "an IPU and its backend", "none")


class Devices:
    """The device that a model runs on, and its settings."""

    def __init__(self) -> None:
        self._place: Place = Place("cpu")
        self._precision = PrecisionType.Float32
        self._pool_mb = 100
        self._xpu = XpuConfig()
        self._xpu_settings: dict[str, Any] = {}

    def enable_use_gpu(
        self,
        memory_pool_init_size_mb: int,
        device_id: int = 0,
        precision_mode: PrecisionType = PrecisionType.Float32,
    ) -> None:
        """Run on a GPU.

        Args:
            memory_pool_init_size_mb: kept: memory is taken as it is needed.
            device_id: the number of the GPU.
            precision_mode: what is computed in.

        Raises:
            RuntimeError: there is no such GPU.
            TypeError: something that is no precision.
        """
        kinds._required("enable_use_gpu", "precision_mode", precision_mode, PrecisionType)
        self._place = _device("enable_use_gpu", "gpu", device_id)
        self._pool_mb, self._precision = int(memory_pool_init_size_mb), precision_mode

    def disable_gpu(self) -> None:
        """Run on the host."""
        self._place = Place("cpu")

    def use_gpu(self) -> bool:
        """Say whether the model runs on a GPU."""
        return self._place.device_type == DEVICE_TYPES["gpu"]

    def gpu_device_id(self) -> int:
        """Return the number of the GPU; 0 for the host."""
        return self._place.device_id if self.use_gpu() else 0

    def memory_pool_init_size_mb(self) -> int:
        """Return what ``enable_use_gpu`` was given; nothing reads it."""
        return self._pool_mb

    def fraction_of_gpu_memory_for_pool(self) -> float:
        """Return the part of a GPU's memory that is taken at once: none."""
        return 0.0

    def exp_enable_use_cutlass(self) -> None:
        """Do nothing: kernels are chosen by measurements, not by their library."""

    def exp_sparse_conv_using_buffer(self, kernels: Sequence[Sequence[int]], strides: Sequence[Sequence[int]]) -> None:
        """Do nothing: sparse convolutions keep no buffers.

        Args:
            kernels: accepted.
            strides: accepted.
        """

    def enable_custom_device(
        self, device_type: str, device_id: int = 0, precision: PrecisionType = PrecisionType.Float32
    ) -> None:
        """Run on a device of a plug-in.

        Args:
            device_type: the name that the plug-in gave.
            device_id: the number of the device.
            precision: what is computed in.

        Raises:
            RuntimeError: there is no such device.
            TypeError: something that is no precision.
        """
        kinds._required("enable_custom_device", "precision", precision, PrecisionType)
        self._place = _device("enable_custom_device", device_type, device_id)
        self._precision = precision

    # --- XPU

    def enable_xpu(
        self,
        l3_size: int = 0x1000000,
        l3_locked: bool = False,
        conv_autotune: bool = False,
        conv_autotune_file: str = "",
        transformer_encoder_precision: str = "int16",
        transformer_encoder_adaptive_seqlen: bool = False,
        enable_multi_stream: bool = False,
    ) -> None:
        """Run on an XPU.

        Args:
            l3_size: bytes of its fast memory for the model.
            l3_locked: kept for the backend, as are the others.
            conv_autotune: kept.
            conv_autotune_file: kept.
            transformer_encoder_precision: kept.
            transformer_encoder_adaptive_seqlen: kept.
            enable_multi_stream: kept.

        Raises:
            RuntimeError: there is no XPU, or no backend for it.
        """
        self._place = _device("enable_xpu", "xpu", self._xpu.device_id)
        self._xpu.l3_size = l3_size
        self._xpu_settings = {
            "l3_locked": l3_locked, "conv_autotune": conv_autotune, "conv_autotune_file": conv_autotune_file,
            "transformer_encoder_precision": transformer_encoder_precision,
            "transformer_encoder_adaptive_seqlen": transformer_encoder_adaptive_seqlen,
            "enable_multi_stream": enable_multi_stream,
        }  # fmt: skip

    def use_xpu(self) -> bool:
        """Say whether the model runs on an XPU."""
        return self._place.device_type == "xpu"

    def set_xpu_device_id(self, device_id: int = 0) -> None:
        """Say which XPU ``enable_xpu`` takes.

        Args:
            device_id: its number.
        """
        self._xpu.device_id = device_id

    def xpu_device_id(self) -> int:
        """Return which XPU ``enable_xpu`` takes."""
        return self._xpu.device_id

    def set_xpu_config(self, config: XpuConfig) -> None:
        """Set all settings of XPUs.

        Args:
            config: the settings.

        Raises:
            TypeError: something else.
        """
        if not isinstance(config, XpuConfig):
            raise op_error(TypeError, "set_xpu_config", "an XpuConfig", type(config).__name__)
        self._xpu = config

    def xpu_config(self) -> XpuConfig:
        """Return the settings of XPUs."""
        return self._xpu

    # --- IPU

    def enable_ipu(
        self,
        ipu_device_num: int = 1,
        ipu_micro_batch_size: int = 1,
        ipu_enable_pipelining: bool = False,
        ipu_batches_per_step: int = 1,
    ) -> None:
        """Refuse: there is no backend for IPUs.

        Args:
            ipu_device_num: accepted.
            ipu_micro_batch_size: accepted.
            ipu_enable_pipelining: accepted.
            ipu_batches_per_step: accepted.

        Raises:
            RuntimeError: always.
        """
        _no_ipu("enable_ipu")

    def set_ipu_config(
        self,
        ipu_enable_fp16: bool = False,
        ipu_replica_num: int = 1,
        ipu_available_memory_proportion: float = 1.0,
        ipu_enable_half_partial: bool = False,
        ipu_enable_model_runtime_executor: bool = False,
    ) -> None:
        """Refuse: there is no backend for IPUs.

        Args:
            ipu_enable_fp16: accepted.
            ipu_replica_num: accepted.
            ipu_available_memory_proportion: accepted.
            ipu_enable_half_partial: accepted.
            ipu_enable_model_runtime_executor: accepted.

        Raises:
            RuntimeError: always.
        """
        _no_ipu("set_ipu_config")

    def set_ipu_custom_info(
        self, ipu_custom_ops_info: Sequence[Sequence[str]] = (), ipu_custom_patterns: Mapping[str, bool] = {}
    ) -> None:
        """Refuse: there is no backend for IPUs.

        Args:
            ipu_custom_ops_info: accepted.
            ipu_custom_patterns: accepted.

        Raises:
            RuntimeError: always.
        """
        _no_ipu("set_ipu_custom_info")

    def load_ipu_config(self, config_path: str | os.PathLike) -> None:
        """Refuse: there is no backend for IPUs.

        Args:
            config_path: accepted.

        Raises:
            RuntimeError: always.
        """
        _no_ipu("load_ipu_config")
