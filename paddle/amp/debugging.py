"""Numbers that are not finite, and precision: which ops ran in what, where the first NaN came from, how two runs
differ.

All of it watches ops of this thread from outside (``umiak.runtime.observe``): the program runs as always.
"""

from __future__ import annotations

import csv
import functools
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from paddle import _lazy
from paddle._public import public
from paddle.amp.auto_cast import op_names
from umiak.compiler.fused import Fused
from umiak.core import context, tape
from umiak.core.array import from_numpy, host_values
from umiak.core.tensor import KIND_VIEW, Tensor
from umiak.runtime import observe
from umiak.util import flags
from umiak.util.errors import op_error

_SHORT = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
_LARGEST_HALF = 65504.0


@public("paddle.amp.debugging")
class DebugMode(Enum):
    """Mode of a check: which tensors are printed, and whether it stops there.

    Attributes:
        CHECK_NAN_INF_AND_ABORT: print those with NaN or infinity, and raise an error.
        CHECK_NAN_INF: print those with NaN or infinity.
        CHECK_ALL_FOR_OVERFLOW: print also those that float16 cannot hold.
        CHECK_ALL: print all.

    Example:
        >>> import paddle
        >>> paddle.amp.debugging.DebugMode(0).name
        'CHECK_NAN_INF_AND_ABORT'
    """

    CHECK_NAN_INF_AND_ABORT = 0
    CHECK_NAN_INF = 1
    CHECK_ALL_FOR_OVERFLOW = 2
    CHECK_ALL = 3


# --- one tensor ----------------------------------------------------------------------------------------------------


class _Stats:
    """Counts and extremes of a tensor."""

    def __init__(self, tensor: Any) -> None:
        x = host_values(tensor.detach())
        x = np.abs(x) if np.iscomplexobj(x) else x.astype(np.float64 if x.dtype == np.float64 else np.float32)
        self.dtype = tensor.dtype.name
        self.device = tensor.place.device_type
        self.numel = x.size
        nan, inf = np.isnan(x), np.isinf(x)
        self.nan, self.inf, self.zero = int(nan.sum()), int(inf.sum()), int((x == 0).sum())
        held = x[~nan]
        self.max = float(held.max()) if held.size else float("nan")
        self.min = float(held.min()) if held.size else float("nan")
        with np.errstate(invalid="ignore", over="ignore"):
            self.mean = float(x.mean()) if x.size else float("nan")

    @property
    def finite(self) -> bool:
        return not (self.nan or self.inf)

    def where(self, op: str, name: str) -> str:
        return f"[device={self.device}, op={op}, tensor={name}, dtype={_SHORT.get(self.dtype, self.dtype)}]"

    def line(self, op: str, name: str) -> str:
        bad = "" if self.finite else f"num_nan={self.nan}, num_inf={self.inf}, "
        numbers = f"num_zero={self.zero}, max={_number(self.max)}, min={_number(self.min)}, mean={_number(self.mean)}"
        mark = "" if self.finite else "[ERROR] "
        return f"[PRECISION] {mark}in {self.where(op, name)}, numel={self.numel}, {bad}{numbers}"

    def wanted(self, mode: DebugMode) -> bool:
        if mode is DebugMode.CHECK_ALL or not self.finite:
            return True
        too_large = max(abs(self.max), abs(self.min)) > _LARGEST_HALF if self.numel else False
        return mode is DebugMode.CHECK_ALL_FOR_OVERFLOW and too_large

    def error(self, op: str, name: str) -> RuntimeError:
        return RuntimeError(
            f"[{op}] requires finite numbers under the check, got NaN or infinity "
            f"(num_nan={self.nan}, num_inf={self.inf}, num_zero={self.zero}) in {self.where(op, name)}"
        )


def _number(x: float) -> str:
    return f"{x:e}" if np.isfinite(x) else str(x)


@public("paddle.amp.debugging")
def check_numerics(
    tensor: Tensor, op_type: str, var_name: str, debug_mode: DebugMode = DebugMode.CHECK_NAN_INF_AND_ABORT
) -> tuple[Tensor, Tensor]:
    """Look for NaN and infinity in a tensor.

    Args:
        tensor: a floating or complex tensor.
        op_type: a name for the message.
        var_name: another name for the message.
        debug_mode: what to do about them, a :class:`DebugMode`.

    Returns:
        The counts of NaN, infinity and zero (int64 ``[3]``), and maximum, minimum and mean (float32 ``[3]``).

    Raises:
        RuntimeError: there are some, and ``debug_mode`` is ``CHECK_NAN_INF_AND_ABORT``.

    Example:
        >>> import paddle
        >>> counts, values = paddle.amp.debugging.check_numerics(paddle.to_tensor([1.0, 0.0]), "input", "x")
        >>> counts.tolist(), values.tolist()
        ([0, 0, 1], [1.0, 0.0, 0.5])
    """
    stats = _Stats(tensor)
    if stats.wanted(debug_mode):
        print(stats.line(op_type, var_name))
    if not stats.finite and debug_mode is DebugMode.CHECK_NAN_INF_AND_ABORT:
        raise stats.error(op_type, var_name)
    place = tensor.place
    counts = from_numpy(np.array([stats.nan, stats.inf, stats.zero], np.int64), place)
    return counts, from_numpy(np.array([stats.max, stats.min, stats.mean], np.float32), place)


@public("paddle.amp.debugging")
def check_layer_numerics(func: Callable) -> Callable:
    """Decorate ``forward`` of a layer: its floating inputs and results have to be finite.

    Args:
        func: the method.

    Returns:
        A method that does the same and checks.

    Raises:
        RuntimeError: at a call, they are not finite, or there is no input.

    Example:
        >>> import paddle
        >>> class Double(paddle.nn.Layer):
        ...     @paddle.amp.debugging.check_layer_numerics
        ...     def forward(self, x):
        ...         return x * 2
        >>> Double()(paddle.ones([1])).tolist()
        [2.0]
    """

    @functools.wraps(func)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not args:
            raise RuntimeError(
                f"[{type(self).__name__}] requires at least one positional input for the check, got none"
            )
        name = self.full_name() if hasattr(self, "full_name") else type(self).__name__
        _require_finite(name, "input", args)
        result = func(self, *args, **kwargs)
        _require_finite(name, "output", result if isinstance(result, (tuple, list)) else (result,))
        return result

    return forward


def _require_finite(layer: str, kind: str, values: Iterable[Any]) -> None:
    for i, x in enumerate(values):
        if _is_checked(x):
            stats = _Stats(x)
            if not stats.finite:
                raise stats.error(layer, f"{kind} {i}")


def _is_checked(x: Any) -> bool:
    return isinstance(x, Tensor) and not x._kind & ~KIND_VIEW and (x.dtype.is_floating or x.dtype.is_complex)


def _name(op: Any) -> str:
    """The op's name, those of its parts where it is a fused group; of a gradient's ops with ``_grad``."""
    name = repr(op.group) if isinstance(op, Fused) else op.name
    return f"{name}_grad" if tape.in_backward() else name


# --- all tensors ---------------------------------------------------------------------------------------------------


@public("paddle.amp.debugging")
class TensorCheckerConfig:
    """Configuration of :func:`enable_tensor_checker`: which results of ops are checked, and how.

    Args:
        enable: False checks nothing.
        debug_mode: what to do about NaN and infinity, a :class:`DebugMode`.
        output_dir: write to the file ``worker_<device>`` in this folder; None: print.
        checked_op_list: check these ops alone; None: all.
        skipped_op_list: do not check these; None: none.
        debug_step: ``[first, end]``: check in steps from the first to the one before the end; each call of
            ``enable_tensor_checker`` begins a step. None: in all.
        stack_height_limit: how many lines of the program to print with an error.

    Raises:
        ValueError: a ``debug_step`` that is not two rising numbers.
        TypeError: arguments of another kind.

    Example:
        >>> import paddle
        >>> config = paddle.amp.debugging.TensorCheckerConfig(True, checked_op_list=["div"], debug_step=[0, 2])
        >>> [config.update_and_check_step_id() for _ in range(3)]
        [True, True, False]
    """

    current_step_id: ClassVar[int] = 0

    def __init__(
        self,
        enable: bool,
        debug_mode: DebugMode = DebugMode.CHECK_NAN_INF_AND_ABORT,
        output_dir: str | None = None,
        checked_op_list: Sequence[str] | None = None,
        skipped_op_list: Sequence[str] | None = None,
        debug_step: Sequence[int] | None = None,
        stack_height_limit: int = 1,
    ) -> None:
        if not isinstance(debug_mode, DebugMode):
            raise TypeError(f"[TensorCheckerConfig] requires a DebugMode, got {debug_mode!r}")
        for what, names in (("checked_op_list", checked_op_list), ("skipped_op_list", skipped_op_list)):
            if names is not None and not isinstance(names, (list, tuple, set)):
                raise TypeError(f"[TensorCheckerConfig] requires {what} as a list, tuple or set, got {names!r}")
        if debug_step is not None and not (len(debug_step) == 2 and 0 <= debug_step[0] < debug_step[1]):
            raise ValueError(f"[TensorCheckerConfig] requires debug_step as two rising numbers, got {debug_step!r}")
        self.enable = enable
        self.debug_mode = debug_mode
        self.output_dir = output_dir
        self.checked_op_list = checked_op_list
        self.skipped_op_list = skipped_op_list
        self.debug_step = debug_step
        self.stack_height_limit = stack_height_limit
        self.start_step: int | None = None if debug_step is None else debug_step[0]
        self.end_step: int | None = None if debug_step is None else debug_step[1]
        self._checked = None if checked_op_list is None else op_names(checked_op_list)
        self._skipped = op_names(skipped_op_list)
        self._entry: Any = None
        # A new configuration counts steps from the start.
        TensorCheckerConfig.current_step_id = 0

    def update_and_check_step_id(self) -> bool:
        """Begin a step, and say whether it is to be checked."""
        if not self.enable:
            return False
        step = TensorCheckerConfig.current_step_id
        TensorCheckerConfig.current_step_id = step + 1
        return self.debug_step is None or self.debug_step[0] <= step < self.debug_step[1]

    def start_check_nan_inf(self) -> None:
        """Check from now on, on this thread."""
        self.stop_check_nan_inf()
        self._entry = observe.start(self._look, context.OBSERVE_NAN)

    def stop_check_nan_inf(self) -> None:
        """Check no more."""
        if self._entry is not None:
            observe.stop(self._entry)
            self._entry = None

    def _look(self, op: Any, operands: tuple, params: tuple, results: tuple) -> None:
        name = _name(op)
        if name in self._skipped or (self._checked is not None and name not in self._checked):
            return
        _check(name, results, self.debug_mode, self.stack_height_limit, self._write)

    def _write(self, device: str, lines: list[str]) -> None:
        if self.output_dir is None:
            print("\n".join(lines))
            return
        folder = Path(self.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / f"worker_{device}", "a") as out:
            out.write("\n".join(lines) + "\n")


def _check(name: str, results: tuple, mode: DebugMode, height: int, write: Callable[[str, list[str]], None]) -> None:
    """Report the results of one op, as far as the mode asks for them."""
    for x in results:
        if not _is_checked(x):
            continue
        stats = _Stats(x)
        if not stats.wanted(mode):
            continue
        lines = [stats.line(name, "")]
        if not stats.finite and height > 0:
            lines += _program(height)
        write(stats.device, lines)
        if not stats.finite and mode is DebugMode.CHECK_NAN_INF_AND_ABORT:
            raise stats.error(name, "")


def _program(limit: int) -> list[str]:
    """The innermost lines of the program that lie outside of the framework."""
    inside = str(Path(__file__).parents[1]), str(Path(observe.__file__).parents[1])
    frames = [f for f in traceback.extract_stack() if not f.filename.startswith(inside)]
    return [f"  {f.filename}:{f.lineno}: {f.line}" for f in frames[-limit:]]


# The ops that FLAGS_check_nan_inf checks (None: all), and those that it passes over.
_ops_to_check: dict[str, frozenset[str] | None] = {"checked": None, "skipped": None}


def _set_ops(which: str, names: Sequence[str] | None) -> None:
    if names is not None and not isinstance(names, (list, tuple)):
        raise op_error(ValueError, f"set_{which}_op_list", "a list or tuple of names, or None", repr(names))
    _ops_to_check[which] = op_names(names) if names else None


def set_checked_op_list(checked_op_list: Sequence[str] | None) -> None:
    """Let ``FLAGS_check_nan_inf`` check these ops alone.

    Args:
        checked_op_list: names of ops; None: all of them.

    Raises:
        ValueError: a value of another kind.

    Example:
        >>> import paddle
        >>> paddle.amp.debugging.set_checked_op_list(["matmul"])
        >>> paddle.amp.debugging.set_checked_op_list(None)
    """
    _set_ops("checked", checked_op_list)


def set_skipped_op_list(skipped_op_list: Sequence[str] | None) -> None:
    """Let ``FLAGS_check_nan_inf`` pass over these ops.

    Args:
        skipped_op_list: names of ops; None: none of them.

    Raises:
        ValueError: a value of another kind.

    Example:
        >>> import paddle
        >>> paddle.amp.debugging.set_skipped_op_list(["log"])
        >>> paddle.amp.debugging.set_skipped_op_list(None)
    """
    _set_ops("skipped", skipped_op_list)


def _every_op(op: Any, operands: tuple, params: tuple, results: tuple) -> None:
    checked, skipped = _ops_to_check["checked"], _ops_to_check["skipped"]
    if (checked is not None and _name(op) not in checked) or (skipped is not None and _name(op) in skipped):
        return
    _check(_name(op), results, DebugMode(LEVEL.value), 1, lambda device, lines: print("\n".join(lines)))


def _known_level(level: int) -> None:
    if not 0 <= level <= 3:
        raise op_error(ValueError, "FLAGS_check_nan_inf_level", "a level from 0 to 3", level)


LEVEL = flags.define(
    "check_nan_inf_level",
    0,
    "what FLAGS_check_nan_inf does: 0 stops at NaN or infinity, 1 prints them, 2 also what float16 cannot hold, 3 all",
    on_change=_known_level,
)
flags.define(
    "check_nan_inf",
    False,
    "check the results of all ops on all threads for NaN and infinity",
    on_change=lambda on: observe.check_everywhere(_every_op if on else None),
)

_ACTIVE = "tensor_checker"  # the configuration at work, among the values of the thread's context


@public("paddle.amp.debugging")
def enable_tensor_checker(checker_config: TensorCheckerConfig) -> None:
    """Check the results of all ops of this thread until :func:`disable_tensor_checker`, in the configured steps.

    Args:
        checker_config: a :class:`TensorCheckerConfig`.

    Raises:
        RuntimeError: from then on, at an op whose result has NaN or infinity, in mode ``CHECK_NAN_INF_AND_ABORT``.

    Example:
        >>> import paddle
        >>> from paddle.amp.debugging import DebugMode, TensorCheckerConfig
        >>> config = TensorCheckerConfig(True, DebugMode.CHECK_NAN_INF_AND_ABORT, stack_height_limit=0)
        >>> paddle.amp.debugging.enable_tensor_checker(config)
        >>> try:
        ...     paddle.to_tensor([1.0]) / 0.0
        ... except RuntimeError as error:
        ...     print("stopped")
        ... finally:
        ...     paddle.amp.debugging.disable_tensor_checker()
        ... # doctest: +NORMALIZE_WHITESPACE
        [PRECISION] [ERROR] in [device=cpu, op=div, tensor=, dtype=fp32], numel=1,
        num_nan=0, num_inf=1, num_zero=0, max=inf, min=inf, mean=inf
        stopped
    """
    disable_tensor_checker()
    if checker_config.update_and_check_step_id():
        checker_config.start_check_nan_inf()
        context.current().values[_ACTIVE] = checker_config


@public("paddle.amp.debugging")
def disable_tensor_checker() -> None:
    """End what :func:`enable_tensor_checker` began; without it, nothing happens.

    Example:
        >>> import paddle
        >>> paddle.amp.debugging.enable_tensor_checker(paddle.amp.debugging.TensorCheckerConfig(True))
        >>> paddle.amp.debugging.disable_tensor_checker()
    """
    active = context.current().values.pop(_ACTIVE, None)
    if active is not None:
        active.stop_check_nan_inf()


# --- which ops ran in what -----------------------------------------------------------------------------------------

_STATS = "operator_stats"
_COLUMNS = ("float16", "bfloat16", "float32")
_HEADINGS = ("-- FP16 Calls ---", "-- BF16 Calls ---", "--- FP32 Calls---", "-- Other Calls --")


@public("paddle.amp.debugging")
def enable_operator_stats_collection() -> None:
    """Count the ops of this thread by the dtype of their results, until :func:`disable_operator_stats_collection`.

    Raises:
        RuntimeError: a collection is under way.

    Example:
        >>> import paddle
        >>> paddle.amp.debugging.enable_operator_stats_collection()
        >>> y = paddle.exp(paddle.to_tensor([1.0]))
        >>> paddle.amp.debugging.disable_operator_stats_collection()  # doctest: +ELLIPSIS
        <--...
    """
    values = context.current().values
    if _STATS in values:
        raise RuntimeError("[enable_operator_stats_collection] requires that no collection is under way, got one")
    counts: dict[str, list[int]] = {}

    def count(op: Any, operands: tuple, params: tuple, results: tuple) -> None:
        row = counts.setdefault(_name(op), [0, 0, 0, 0])
        name = results[0].dtype.name if results else ""
        row[_COLUMNS.index(name) if name in _COLUMNS else 3] += 1

    values[_STATS] = observe.start(count), counts


@public("paddle.amp.debugging")
def disable_operator_stats_collection() -> None:
    """End the collection and print what was counted.

    Raises:
        RuntimeError: no collection is under way.

    Example:
        >>> import paddle
        >>> paddle.amp.debugging.enable_operator_stats_collection()
        >>> paddle.amp.debugging.disable_operator_stats_collection()  # doctest: +ELLIPSIS
        <--...
    """
    stats = context.current().values.pop(_STATS, None)
    if stats is None:
        raise RuntimeError("[disable_operator_stats_collection] requires a collection under way, got none")
    entry, counts = stats
    observe.stop(entry)
    print(f"<{' op list '.center(120, '-')}>")
    print(f"<{' Op Name '.center(40, '-')} | {' | '.join(_HEADINGS)}>")
    for name in sorted(counts):
        print(f"  {name:<40}|" + "|".join(f"  {n:<17}" for n in counts[name]))
    print(f"<{f' op count: {len(counts)} '.center(120, '-')}>\n")


@public("paddle.amp.debugging")
@contextmanager
def collect_operator_stats() -> Iterator[None]:
    """Count the ops inside by the dtype of their results, and print a table at the end.

    Yields:
        None: it is used in a ``with`` statement.

    Raises:
        RuntimeError: a collection is under way.

    Example:
        >>> import paddle
        >>> with paddle.amp.debugging.collect_operator_stats():  # doctest: +ELLIPSIS
        ...     y = paddle.exp(paddle.to_tensor([1.0]))
        <--...
    """
    enable_operator_stats_collection()
    try:
        yield
    finally:
        disable_operator_stats_collection()


# --- two runs ------------------------------------------------------------------------------------------------------

_LINE = re.compile(
    r"\[PRECISION\] (\[ERROR\] )?in "
    r"\[device=(?P<device>[^,]*), op=(?P<op>[^,]*), tensor=(?P<tensor>[^,]*), dtype=(?P<dtype>[^\]]*)\], "
    r"numel=(?P<numel>\d+), (num_nan=(?P<num_nan>\d+), num_inf=(?P<num_inf>\d+), )?num_zero=(?P<num_zero>\d+), "
    r"max=(?P<max>\S+), min=(?P<min>\S+), mean=(?P<mean>\S+)"
)
_FIELDS = ("dtype", "numel", "num_nan", "num_inf", "num_zero", "max", "min", "mean")


def _read(folder: str) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Read what a run wrote: by op, tensor and the number of earlier occurrences."""
    files = sorted(Path(folder).glob("worker_*"))
    if not files:
        raise FileNotFoundError(f"[compare_accuracy] requires files worker_* in {folder!r}, got none")
    rows_by_tensor: dict[tuple[str, str, int], dict[str, Any]] = {}
    seen: dict[tuple[str, str], int] = {}
    for file in files:
        for line in file.read_text().splitlines():
            match = _LINE.match(line)
            if match is None:
                continue
            entry = match.groupdict()
            key = entry["op"], entry["tensor"]
            seen[key] = seen.get(key, 0) + 1
            counts = {k: int(entry[k] or 0) for k in ("numel", "num_nan", "num_inf", "num_zero")}
            numbers = {k: float(entry[k].replace("-nan", "nan")) for k in ("max", "min", "mean")}
            place = (*key, seen[key])
            rows_by_tensor[place] = {"dtype": entry["dtype"], **counts, **numbers}
    return rows_by_tensor


@public("paddle.amp.debugging")
def compare_accuracy(
    dump_path: str,
    another_dump_path: str,
    output_filename: str,
    loss_scale: float = 1,
    dump_all_tensors: bool = False,
) -> None:
    """Put what two runs wrote side by side: a table of comma-separated values, one row per result of an op.

    Both runs are made with ``TensorCheckerConfig(True, DebugMode.CHECK_ALL, output_dir=…)``, for example one in
    float32 and one in float16. The n-th result of an op in one is compared with the n-th in the other.

    Args:
        dump_path: the folder of the first run.
        another_dump_path: the folder of the second run.
        output_filename: where to write.
        loss_scale: the second run's gradients (ops whose names end in ``_grad``) are divided by it.
        dump_all_tensors: write all rows; otherwise those that one run lacks, or that differ in NaN or infinity, or by
            more than a hundredth.

    Raises:
        FileNotFoundError: a folder without such files.
        ValueError: an ``.xlsx`` file is asked for.

    Example:
        >>> import os, paddle, tempfile
        >>> from paddle.amp.debugging import DebugMode, TensorCheckerConfig
        >>> folder = tempfile.mkdtemp()
        >>> for run in ("one", "two"):
        ...     config = TensorCheckerConfig(True, DebugMode.CHECK_ALL, os.path.join(folder, run))
        ...     paddle.amp.debugging.enable_tensor_checker(config)
        ...     y = paddle.exp(paddle.to_tensor([1.0]))
        ...     paddle.amp.debugging.disable_tensor_checker()
        >>> one, two, table = (os.path.join(folder, name) for name in ("one", "two", "table.csv"))
        >>> paddle.amp.debugging.compare_accuracy(one, two, table, dump_all_tensors=True)
        >>> with open(table) as rows:
        ...     len(rows.readlines())  # a heading and one op
        2
    """
    if Path(output_filename).suffix in (".xlsx", ".xls"):
        raise ValueError(
            f"[compare_accuracy] requires a file of comma-separated values, got {output_filename!r}. Name it .csv."
        )
    one, other = _read(dump_path), _read(another_dump_path)
    if loss_scale != 1:
        for key, entry in other.items():
            if key[0].endswith("_grad"):
                entry.update({k: entry[k] / loss_scale for k in ("max", "min", "mean")})
    with open(output_filename, "w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["op", "tensor", "call", *(f"{k}_{i}" for i in (1, 2) for k in _FIELDS), "difference", "remark"])
        for key in [*one, *(k for k in other if k not in one)]:
            a, b = one.get(key), other.get(key)
            remark, difference = _judge(a, b)
            if remark or dump_all_tensors:
                cells = [e[k] if e is not None else "" for e in (a, b) for k in _FIELDS]
                table.writerow([*key, *cells, difference, remark])


def _judge(a: dict[str, Any] | None, b: dict[str, Any] | None) -> tuple[str, Any]:
    if a is None or b is None:
        return f"only in run {2 if a is None else 1}", ""
    with np.errstate(all="ignore"):
        pairs = [(a[k], b[k]) for k in ("max", "min", "mean")]
        difference = max(abs(x - y) / max(abs(x), abs(y), 1e-6) if x != y else 0.0 for x, y in pairs)
    for what in ("num_nan", "num_inf"):
        if a[what] != b[what]:
            return f"{what} differs", difference
    if a["numel"] != b["numel"]:
        return "numel differs", difference
    return "values differ" if not difference <= 0.01 and a["num_nan"] == 0 and a["num_inf"] == 0 else "", difference


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
