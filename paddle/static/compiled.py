"""``CompiledProgram`` and ``BuildStrategy``: what older programs wrap a program in."""

from __future__ import annotations

import enum
from typing import Any, ClassVar

from paddle._public import public
from paddle.static.program import Program
from umiak.util.errors import op_error


class ReduceStrategy(enum.IntEnum):
    """Exchange of gradients among devices."""

    AllReduce = 0
    Reduce = 1
    _NoReduce = 2


# Defaults; the type of each is the type of what may be set. None takes anything.
_SETTINGS: dict[str, Any] = {
    "allow_cuda_graph_capture": False, "async_mode": False, "bkcl_comm_num": 1, "build_cinn_pass": False,
    "cache_runtime_context": False, "debug_graphviz_path": "", "enable_addto": False, "enable_auto_fusion": False,
    "enable_backward_optimizer_op_deps": True, "enable_inplace": True, "fuse_adamw": False,
    "fuse_all_optimizer_ops": False, "fuse_all_reduce_ops": True, "fuse_bn_act_ops": False, "fuse_bn_add_act_ops": True,
    "fuse_broadcast_ops": True, "fuse_dot_product_attention": False, "fuse_elewise_add_act_ops": False,
    "fuse_gemm_epilogue": False, "fuse_relu_depthwise_conv": False, "fuse_resunit": False, "fused_attention": False,
    "fused_feedforward": False, "hierarchical_allreduce_inter_nranks": 0, "memory_optimize": None,
    "mkldnn_enabled_op_types": set(), "nccl_comm_num": 1, "num_trainers": 1, "onednn_enabled_op_types": set(),
    "reduce_strategy": ReduceStrategy.AllReduce, "sequential_run": False, "sync_batch_norm": False, "trainer_id": 0,
    "trainers_endpoints": [], "use_hierarchical_allreduce": False,
}  # fmt: skip


@public("paddle.static")
class BuildStrategy:
    """Switches of the reference's passes over programs. They take values of their type and keep them; programs are
    fused, and their memory planned, in any case.

    Attributes:
        ReduceStrategy: values of ``reduce_strategy``.

    Raises:
        AttributeError: a switch that is not known is set.
        TypeError: one is set to a value of another type.

    Example:
        >>> import paddle
        >>> strategy = paddle.static.BuildStrategy()
        >>> strategy.fuse_bn_act_ops = True
        >>> strategy.fuse_bn_act_ops, strategy.num_trainers
        (True, 1)
    """

    ReduceStrategy: ClassVar[type[ReduceStrategy]] = ReduceStrategy

    def __init__(self) -> None:
        for name, value in _SETTINGS.items():
            object.__setattr__(self, name, type(value)(value) if isinstance(value, (list, set)) else value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _SETTINGS:
            raise op_error(AttributeError, "BuildStrategy", f"a switch of {sorted(_SETTINGS)}", repr(name))
        kind = type(_SETTINGS[name])
        if _SETTINGS[name] is None:
            fits = value is None or isinstance(value, bool)
        else:
            fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not fits:
            wanted = "a bool or None" if _SETTINGS[name] is None else f"a value of type {kind.__name__}"
            raise op_error(TypeError, "BuildStrategy", f"{wanted} for {name}", repr(value))
        object.__setattr__(self, name, value)


for _name, _value in _SETTINGS.items():
    setattr(BuildStrategy, _name, _value)


@public("paddle.static")
class CompiledProgram:
    """A program and switches; an ``Executor`` runs it as it runs the program.

    Args:
        program_or_graph: the program.
        build_strategy: a ``BuildStrategy``, which changes nothing; None for the defaults.

    Raises:
        TypeError: something else.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     y = paddle.static.data("x", [2]) * 2.0
        ...     compiled = paddle.static.CompiledProgram(paddle.static.default_main_program())
        ...     paddle.static.Executor().run(compiled, {"x": numpy.ones(2, "float32")}, [y])
        [array([2., 2.], dtype=float32)]
        >>> paddle.disable_static()
    """

    def __init__(self, program_or_graph: Program, build_strategy: BuildStrategy | None = None) -> None:
        if not isinstance(program_or_graph, Program):
            raise op_error(TypeError, "CompiledProgram", "a Program", type(program_or_graph).__name__)
        if build_strategy is not None and not isinstance(build_strategy, BuildStrategy):
            raise op_error(TypeError, "CompiledProgram", "a BuildStrategy or None", type(build_strategy).__name__)
        self._program = program_or_graph
        self._build_strategy = build_strategy
