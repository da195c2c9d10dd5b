"""``Config``: which model a predictor runs, and how."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from paddle._public import public
from paddle.inference.accelerators import Devices
from paddle.inference.arguments import _names, _switch
from paddle.inference.engine_settings import EngineSettings
from paddle.inference.kinds import NARROW, PrecisionType
from paddle.inference.loading import ModelNotFound, files_of
from paddle.inference.pass_builder import CLEANING, PassBuilder, _known
from umiak.util.arguments import file_name
from umiak.util.errors import op_error

LOG = logging.getLogger("paddle.inference")


@dataclass
class NativeConfig:
    """Settings that older programs ask for."""

    model_dir: str = ""
    prog_file: str = ""
    param_file: str = ""
    device: int = 0
    use_gpu: bool = False
    use_xpu: bool = False
    fraction_of_gpu_memory: float = 0.0
    specify_input_name: bool = False
    threads: int = 1

    def cpu_math_library_num_threads(self) -> int:
        """Return the number of threads."""
        return self.threads

    def set_cpu_math_library_num_threads(self, number: int) -> None:
        """Set the number of threads.

        Args:
            number: how many.
        """
        self.threads = number


def _name(op_name: str, path: Any) -> str:
    return file_name(op_name, "the name of a file", path)


def _file(op_name: str, path: Any) -> str:
    path = _name(op_name, path)
    if not os.path.isfile(path):
        raise op_error(ModelNotFound, op_name, f"a file {path!r}", "none")
    return path


def _bytes(op_name: str, data: Any, size: Any) -> bytes:
    data = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise op_error(TypeError, op_name, "bytes", type(data).__name__)
    data = bytes(data)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= len(data):
        raise op_error(ValueError, op_name, f"a size from 0 to the {len(data)} bytes that are given", repr(size))
    return data[:size]


@public("paddle.inference")
class Config(Devices, EngineSettings):
    """Settings of a predictor: the files of a model, and how to run it.

    Settings that older programs make and that nothing depends on here are kept, so that they can be asked for; what
    asks for a device or library that is not there is refused. Switches take True and False, and lists of names take no
    single text, whose letters would be names: anything else is a TypeError.

    Args:
        *args: nothing; a folder; a folder and what the names of the model's files begin with; the files of the program
            and of its parameters, by str, bytes or path; or a ``Config``, which is copied.

    Attributes:
        Precision: the class ``PrecisionType``, whose members are attributes as well.

    Raises:
        TypeError: other arguments.
        FileNotFoundError: there is no such file.

    Example:
        >>> import paddle
        >>> config = paddle.inference.Config()
        >>> config.set_cpu_math_library_num_threads(2)
        >>> config.cpu_math_library_num_threads(), config.ir_optim()
        (2, True)
    """

    Precision: ClassVar[type[PrecisionType]] = PrecisionType
    Float32 = PrecisionType.Float32
    Int8 = PrecisionType.Int8
    Half = PrecisionType.Half
    Bfloat16 = PrecisionType.Bfloat16

    def __init__(self, *args: Any) -> None:
        if len(args) == 1 and isinstance(args[0], Config):
            self._copy_of(args[0])
            return
        Devices.__init__(self)
        EngineSettings.__init__(self)
        self._dir = self._prog = self._params = ""
        self._buffers: tuple[bytes, bytes] | None = None
        self._threads = 1
        self._flags = {
            "memory_optim": False, "profile": False, "glog": True, "ir_debug": False, "ir_optim": True,
            "onednn": True, "int8": False, "low_precision_io": False, "save_optimised": False, "use_optimised": False,
            "specify_names": False, "feed_fetch": False, "new_ir": False, "new_executor": False, "cinn": False,
        }  # fmt: skip
        self._level = 2
        self._onednn_cache = 10
        self._bfloat16: set[str] | None = None  # operators; an empty set for all
        self._mixed: set[str] | None = None
        self._unmixed: set[str] = set()
        self._builder = PassBuilder()
        self._debugged: list[str] = []
        self._cache_dir = ""
        self._shape_file = ""
        if args:
            self.set_model(*args)

    def _copy_of(self, other: Config) -> None:
        for name, value in vars(other).items():
            copied = value.copy() if isinstance(value, (dict, set, list, PassBuilder)) else value
            setattr(self, name, copied)

    # --- the model

    def set_model(self, *args: Any) -> None:
        """Name the files of the model.

        Args:
            *args: a folder; a folder and what the names of the model's files begin with; or the files of the program
                and of its parameters. The latter need not be there, or is ``""``, where the program has none.

        Raises:
            TypeError: other arguments.
            FileNotFoundError: there is no such file.
        """
        if len(args) not in (1, 2):
            raise op_error(TypeError, "Config", "a folder, or the files of a program and of its parameters", len(args))
        if len(args) == 1:
            self._dir, self._prog, self._params = _name("Config", args[0]), "", ""
        else:
            prog, params = (_name("Config", x) for x in args)
            if os.path.isdir(prog):
                prog, params = files_of(os.path.join(prog, params))
            self._dir, self._prog, self._params = "", _file("Config", prog), params
        self._buffers = None

    def set_prog_file(self, path: str | os.PathLike) -> None:
        """Name the file of the program.

        Args:
            path: its name.

        Raises:
            FileNotFoundError: there is no such file.
        """
        self._prog, self._buffers = _file("set_prog_file", path), None

    def set_params_file(self, path: str | os.PathLike) -> None:
        """Name the file of the parameters.

        Args:
            path: its name.

        Raises:
            TypeError: something that is no name of a file.
        """
        self._params, self._buffers = _name("set_params_file", path), None

    def set_model_buffer(self, prog: Any, prog_size: int, params: Any, params_size: int) -> None:
        """Give the model itself.

        Args:
            prog: the bytes of the program's file.
            prog_size: how many of them count.
            params: the bytes of the parameters' file.
            params_size: how many of them count; 0 for a program without parameters.

        Raises:
            TypeError: something that is no bytes.
            ValueError: more than there are.
        """
        read = (_bytes("set_model_buffer", prog, prog_size), _bytes("set_model_buffer", params, params_size))
        self._dir = self._prog = self._params = ""
        self._buffers = read

    def model_dir(self) -> str:
        """Return the folder of the model; an empty str where its files are named."""
        return self._dir

    def prog_file(self) -> str:
        """Return the file of the program."""
        return self._prog

    def params_file(self) -> str:
        """Return the file of the parameters."""
        return self._params

    def model_from_memory(self) -> bool:
        """Say whether the model was given as bytes."""
        return self._buffers is not None

    # --- the host

    def set_cpu_math_library_num_threads(self, number: int) -> None:
        """Set how many threads work on one run.

        Args:
            number: 1 or more.

        Raises:
            ValueError: another number.
        """
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise op_error(ValueError, "set_cpu_math_library_num_threads", "a number of 1 or more", repr(number))
        self._threads = number

    def cpu_math_library_num_threads(self) -> int:
        """Return how many threads work on one run."""
        return self._threads

    def enable_memory_optim(self, x: bool = True) -> None:
        """Have values share memory, which they do in any case.

        Args:
            x: kept.
        """
        self._flags["memory_optim"] = _switch("enable_memory_optim", x)

    def enable_onednn(self) -> None:
        """Let oneDNN multiply. It is asked in the order of ``FLAGS_cpu_providers`` in any case; this can be asked
        for."""
        self._flags["onednn"] = True

    def disable_onednn(self) -> None:
        """Undo ``enable_onednn``, and what was set of bfloat16."""
        self._flags["onednn"] = self._flags["int8"] = False
        self._bfloat16 = None

    def onednn_enabled(self) -> bool:
        """Return what ``enable_onednn`` has set."""
        return self._flags["onednn"]

    def enable_onednn_bfloat16(self) -> None:
        """Compute in bfloat16 what loses little by it: matmuls and convolutions, with sums in float32."""
        self._flags["onednn"] = True
        if self._bfloat16 is None:
            self._bfloat16 = set()

    def set_bfloat16_op(self, ops: Iterable[str]) -> None:
        """Name the operators that are computed in bfloat16, where ``enable_onednn_bfloat16`` was called.

        Args:
            ops: their names; none for all that lose little by it.
        """
        self._bfloat16 = set(_names("set_bfloat16_op", "operators", ops))

    def enable_onednn_int8(self, onednn_int8_enabled_op_types: Iterable[str] = ()) -> None:
        """Run a model that was quantised. Its operators of quantisation are computed in any case, exactly as they are
        written; weights are dequantised once.

        Args:
            onednn_int8_enabled_op_types: kept.
        """
        _names("enable_onednn_int8", "operators", onednn_int8_enabled_op_types)
        self._flags["onednn"] = self._flags["int8"] = True

    def onednn_int8_enabled(self) -> bool:
        """Return what ``enable_onednn_int8`` has set."""
        return self._flags["int8"]

    def set_onednn_cache_capacity(self, capacity: int = 0) -> None:
        """Set for how many sizes of inputs the library keeps primitives; how many are kept is fixed here.

        Args:
            capacity: kept.
        """
        self._onednn_cache = int(capacity)

    def set_onednn_op(self, ops: Iterable[str]) -> None:
        """Name the operators that oneDNN computes: it gets those that it was measured to be best at.

        Args:
            ops: accepted.
        """
        _names("set_onednn_op", "operators", ops)

    def disable_onednn_fc_passes(self) -> None:
        """Do nothing: there are no passes for one library."""

    enable_mkldnn, disable_mkldnn, mkldnn_enabled = enable_onednn, disable_onednn, onednn_enabled
    enable_mkldnn_bfloat16, mkldnn_int8_enabled = enable_onednn_bfloat16, onednn_int8_enabled
    set_mkldnn_cache_capacity, set_mkldnn_op = set_onednn_cache_capacity, set_onednn_op
    disable_mkldnn_fc_passes = disable_onednn_fc_passes

    def enable_mkldnn_int8(self, mkldnn_int8_enabled_op_types: Iterable[str] = ()) -> None:
        """Do what ``enable_onednn_int8`` does.

        Args:
            mkldnn_int8_enabled_op_types: kept.
        """
        self.enable_onednn_int8(mkldnn_int8_enabled_op_types)

    # --- precision

    def exp_enable_mixed_precision_ops(self, ops: Iterable[str]) -> None:
        """Name operators that are computed in the narrow type, beside those that lose little by it.

        Args:
            ops: their names.
        """
        self._mixed = (self._mixed or set()) | set(_names("exp_enable_mixed_precision_ops", "operators", ops))

    def exp_disable_mixed_precision_ops(self, ops: Iterable[str]) -> None:
        """Name operators that stay in float32.

        Args:
            ops: their names.
        """
        self._unmixed |= set(_names("exp_disable_mixed_precision_ops", "operators", ops))

    def enable_low_precision_io(self, x: bool = True) -> None:
        """Take inputs and give outputs in the narrow type, where the model computes in one.

        Args:
            x: False takes it back.
        """
        self._flags["low_precision_io"] = _switch("enable_low_precision_io", x)

    def _narrow(self) -> str | None:
        """The narrow type that is computed in; None for none."""
        if self._bfloat16 is not None:
            return "bfloat16"
        return NARROW.get(self._precision)

    # --- passes

    def switch_ir_optim(self, x: bool = True) -> None:
        """Run passes over the model when it is loaded.

        Args:
            x: False leaves the program as it was saved.
        """
        self._flags["ir_optim"] = _switch("switch_ir_optim", x)

    def ir_optim(self) -> bool:
        """Say whether passes are run over the model."""
        return self._flags["ir_optim"]

    def switch_ir_debug(self, x: bool = True, passes: Iterable[str] = ()) -> None:
        """Print the program before and after passes.

        Args:
            x: False ends it.
            passes: those around which it is printed; none for all.

        Raises:
            ValueError: there is no pass of a name.
        """
        self._debugged = [_known(name) for name in _names("switch_ir_debug", "passes", passes)]
        self._flags["ir_debug"] = _switch("switch_ir_debug", x)

    def set_optimization_level(self, opt_level: int = 2) -> None:
        """Set how much passes may do.

        Args:
            opt_level: 0 for nothing; 1 for what changes no result by a rounding; 2 or 3 for all.

        Raises:
            ValueError: another level.
        """
        if isinstance(opt_level, bool) or opt_level not in (0, 1, 2, 3):
            raise op_error(ValueError, "set_optimization_level", "0, 1, 2 or 3", repr(opt_level))
        self._level = opt_level

    def pass_builder(self) -> PassBuilder:
        """Return the list of passes, which can be changed.

        Returns:
            An object with ``all_passes()``, ``append_pass(name)``, ``insert_pass(index, name)``, ``delete_pass(name)``,
            ``set_passes(names)``, ``turn_on_debug()`` and ``debug_string()``.
        """
        return self._builder

    def delete_pass(self, name: str) -> None:
        """Take out a pass, which may be one that only the reference has.

        Args:
            name: of the pass.
        """
        self._builder.delete_pass(name)

    def enable_custom_passes(self, passes: Iterable[str] = (), custom_pass_only: bool = False) -> None:
        """Run further passes, before the others.

        Args:
            passes: their names; ``umiak.compiler.passes.registry.register_pass`` makes new ones.
            custom_pass_only: run no others.

        Raises:
            ValueError: there is no pass of a name.
        """
        own = [_known(name) for name in _names("enable_custom_passes", "passes", passes)]
        alone = _switch("enable_custom_passes", custom_pass_only)
        self._builder.set_passes(own if alone else [*own, *self._builder.all_passes()])

    def _passes(self) -> list[str]:
        """The names of the passes that are run."""
        if not self._flags["ir_optim"] or self._level == 0:
            return []
        passes = [*self._builder.analysis_passes(), *self._builder.all_passes()]
        return passes if self._level > 1 else [n for n in passes if n in CLEANING]

    def enable_cinn(self) -> None:
        """Compile the model, which is done in any case."""
        self._flags["cinn"] = True

    def enable_new_ir(self, x: bool = True) -> None:
        """Use the reference's newer form of programs: there is one form here.

        Args:
            x: kept.
        """
        self._flags["new_ir"] = _switch("enable_new_ir", x)

    def new_ir_enabled(self) -> bool:
        """Return what ``enable_new_ir`` has set."""
        return self._flags["new_ir"]

    def enable_new_executor(self, x: bool = True) -> None:
        """Use the reference's newer executor: there is one here.

        Args:
            x: kept.
        """
        self._flags["new_executor"] = _switch("enable_new_executor", x)

    # --- what is written

    def set_optim_cache_dir(self, path: str | os.PathLike) -> None:
        """Set the folder for what is kept of a model that was optimised.

        Args:
            path: the folder; it is made where it is not there.

        Raises:
            OSError: it cannot be made.
        """
        path = _name("set_optim_cache_dir", path)
        os.makedirs(path, exist_ok=True)
        self._cache_dir = path

    def enable_save_optim_model(self, save_optimized_model: bool = False) -> None:
        """Write the model as passes have left it: ``_optimized.json`` and ``_optimized.pdiparams``, into the folder of
        ``set_optim_cache_dir`` or beside the model.

        Args:
            save_optimized_model: False writes nothing.
        """
        self._flags["save_optimised"] = _switch("enable_save_optim_model", save_optimized_model)

    def use_optimized_model(self, x: bool = True) -> None:
        """Load what ``enable_save_optim_model`` wrote, where it is there.

        Args:
            x: False loads the model itself.
        """
        self._flags["use_optimised"] = _switch("use_optimized_model", x)

    def _optimised(self) -> str | None:
        """The beginning of the names of the files that hold the optimised model; None for a model without a folder."""
        folder = self._cache_dir or self._dir or (os.path.dirname(self._prog) or "." if self._prog else "")
        return os.path.join(folder, "_optimized") if folder else None

    def collect_shape_range_info(self, path: str | os.PathLike) -> None:
        """Write which sizes inputs had, when a predictor is done.

        Args:
            path: a file; ``enable_tuned_tensorrt_dynamic_shape`` reads it.

        Raises:
            ValueError: an empty name.
        """
        path = _name("collect_shape_range_info", path)
        if not path:
            raise op_error(ValueError, "collect_shape_range_info", "the name of a file", repr(path))
        self._shape_file = path

    def shape_range_info_path(self) -> str:
        """Return the file that sizes of inputs are written to."""
        return self._shape_file

    def shape_range_info_collected(self) -> bool:
        """Say whether sizes of inputs are written to a file."""
        return bool(self._shape_file)

    def enable_profile(self) -> None:
        """Print where the time of runs went, when the predictor is done."""
        self._flags["profile"] = True

    def disable_glog_info(self) -> None:
        """Log nothing about the model's way through the passes."""
        self._flags["glog"] = False

    def glog_info_disabled(self) -> bool:
        """Say whether nothing is logged."""
        return not self._flags["glog"]

    # --- how inputs are given

    def switch_specify_input_names(self, x: bool = True) -> None:
        """Give inputs by name, as is done in any case.

        Args:
            x: kept.
        """
        self._flags["specify_names"] = _switch("switch_specify_input_names", x)

    def specify_input_name(self) -> bool:
        """Return what ``switch_specify_input_names`` has set."""
        return self._flags["specify_names"]

    def switch_use_feed_fetch_ops(self, x: bool = True) -> None:
        """Give inputs by operations of the program: they are given by handles here.

        Args:
            x: kept.
        """
        self._flags["feed_fetch"] = _switch("switch_use_feed_fetch_ops", x)

    def use_feed_fetch_ops_enabled(self) -> bool:
        """Return what ``switch_use_feed_fetch_ops`` has set."""
        return self._flags["feed_fetch"]

    def to_native_config(self) -> NativeConfig:
        """Return the settings that older programs ask for.

        Returns:
            An object with ``model_dir``, ``prog_file``, ``param_file``, ``device``, ``use_gpu`` and others.
        """
        return NativeConfig(
            self._dir, self._prog, self._params, self.gpu_device_id(), self.use_gpu(), self.use_xpu(),
            specify_input_name=self._flags["specify_names"], threads=self._threads,
        )  # fmt: skip

    def summary(self) -> str:
        """Return all settings as a table."""
        engine = self._engine.engine if self._engine else ""
        flags = self._flags
        model = [("model_dir", self._dir)] if self._dir else [("model_file", self._prog), ("params_file", self._params)]
        groups: list[list[tuple[str, Any]]] = [
            [("model_from_memory", True)] if self._buffers is not None else model,
            [
                ("cpu_math_thread", self._threads),
                ("enable_mkldnn", flags["onednn"]),
                ("mkldnn_cache_capacity", self._onednn_cache),
                ("use_openvino", engine == "openvino"),
                ("use_onnxruntime", engine == "onnxruntime"),
                ("precision", self._narrow() or "float32"),
            ],
            [("use_gpu", self.use_gpu()), *([("gpu_device_id", self.gpu_device_id())] if self.use_gpu() else [])],
            [("use_xpu", self.use_xpu()), *([("xpu_device_id", self.xpu_device_id())] if self.use_xpu() else [])],
            [("use_tensorrt", engine == "tensorrt"), ("tensorrt_precision_mode", self._trt_precision.name)],
            [
                ("use_cinn_compiler", flags["cinn"]),
                ("save_optimized_model", flags["save_optimised"]),
                ("ir_optim", flags["ir_optim"]),
                ("optimization_level", self._level),
                ("ir_debug", flags["ir_debug"]),
                ("use_optimized_model", flags["use_optimised"]),
                ("memory_optim", flags["memory_optim"]),
                ("enable_profile", flags["profile"]),
                ("enable_log", flags["glog"]),
                ("collect_shape_range_info", self._shape_file or False),
            ],
        ]
        return _table(groups)


def _table(groups: list[list[tuple[str, Any]]]) -> str:
    """Rows of names and values, with a line between groups."""
    rows = [
        [(name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in g] for g in groups
    ]
    flat = [("Option", "Value"), *(row for g in rows for row in g)]
    left, right = (max(len(row[i]) for row in flat) for i in (0, 1))
    line = f"+{'-' * (left + 2)}+{'-' * (right + 2)}+"
    text = [line]
    for g in [[flat[0]], *rows]:
        text += [*(f"| {name:<{left}} | {value:<{right}} |" for name, value in g), line]
    return "\n".join(text) + "\n"
