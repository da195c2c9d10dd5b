"""``DistributedStrategy``: what training at large is to do."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from paddle._public import public
from umiak.util.errors import op_error

# What is read now. Values of other options than the default are for parts that are not there, and refused.
READ = (
    "find_unused_parameters",
    "fuse_grad_size_in_MB",
    "last_comm_group_size_MB",
    "sync_batch_norm",
    "hybrid_configs",
)
# Hints to libraries of other devices, and to ways of execution that there is one of here.
HINTS = (
    "a_sync", "conv_workspace_size_limit", "cudnn_batchnorm_spatial_persistent", "cudnn_exhaustive_search",
    "fuse_all_reduce_ops",
    "nccl_comm_num", "split_data", "sync_nccl_allreduce", "without_graph_optimization",
)  # fmt: skip

_NCCL: dict[str, Any] = {
    "commName": "", "ll_buffsize": 0, "ll128_buffsize": 0, "simple_buffsize": 0, "buffsize_align": 0, "nchannels": 0,
    "algoStr": "", "protoStr": "",
}  # fmt: skip
_MP = {
    "sync_param": True, "sync_grad": False, "sync_moment": False, "sync_mode": "broadcast", "mp_async_allreduce": False,
    "mp_skip_c_identity": False, "mp_fused_linear_param_grad_add": False, "need_broadcast_data": True,
    "recompute_allgather": False, "sp_async_reduce_scatter": False, "nccl_config": _NCCL,
}  # fmt: skip
_PP = {
    "dp_comm_overlap": False, "delay_scale_loss": False, "enable_timer": False, "sharding_comm_overlap": False,
    "profiling": False, "release_gradients": False, "overlap_p2p_comm": False, "clear_every_step_cache": False,
    "use_batch_p2p_comm": True, "best_unbalanced_scheduler": False, "enable_offload_queue": False,
    "enable_dynamic_shape": False, "use_dualpipev": False, "forward_backward_overlap_scheduler": False,
    "coll_nccl_config": _NCCL, "p2p_nccl_config": _NCCL, "shared_nccl_config": _NCCL,
}  # fmt: skip
_SHARDING = {
    "tensor_fusion": False, "accumulate_steps": 1, "comm_overlap": False, "split_param": False, "fuse_optimizer": True,
    "use_reduce_avg": True, "comm_buffer_size_MB": 256, "release_gradients": False, "free_grads_in_comm": False,
    "enable_fuse_optimizer_states": False, "nccl_config": _NCCL, "check_nccl_config": _NCCL,
    "offload_opt_buffer_size": -1,
}  # fmt: skip
_CHECKED = {"nccl_config": _NCCL, "check_nccl_config": _NCCL}
_ONE = {"nccl_config": _NCCL}

DEGREES = {"dp": "data", "pp": "pipe", "sharding": "sharding", "sep": "sep", "cp": "context", "mp": "model"}

# Every option with its default, whose type is the option's. A default that is a dict lists the keys that there are.
OPTIONS: dict[str, Any] = {
    "a_sync": True,
    "a_sync_configs": {"k_steps": -1},
    "adam_d2sum": False,
    "adaptive_localsgd": False,
    "adaptive_localsgd_configs": {"init_k_steps": 1, "begin_step": 1},
    "amp": False,
    "amp_configs": {
        "init_loss_scaling": 32768.0, "incr_every_n_steps": 1000, "decr_every_n_nan_or_inf": 2, "incr_ratio": 2.0,
        "decr_ratio": 0.8, "use_dynamic_loss_scaling": True, "custom_white_list": [], "custom_black_list": [],
        "custom_black_varnames": [], "use_pure_fp16": False, "use_fp16_guard": True, "use_optimizer_fp16": False,
        "use_pure_bf16": False,
    },
    "asp": False,
    "auto": False,
    "auto_search": False,
    "conv_workspace_size_limit": 512,
    "cudnn_batchnorm_spatial_persistent": False,
    "cudnn_exhaustive_search": False,
    "dgc": False,
    "dgc_configs": {"rampup_begin_step": 0, "rampup_step": 1, "sparsity": []},
    "elastic": False,
    "find_unused_parameters": False,
    "fp16_allreduce": False,
    "fuse_all_reduce_ops": True,
    "fuse_grad_merge": False,
    "fuse_grad_size_in_MB": 32,
    "fuse_grad_size_in_num": 8,
    "gradient_merge": False,
    "gradient_merge_configs": {"k_steps": 1, "avg": True},
    "gradient_scale_configs": {"scale_strategy": "avg", "scale_gradient": False},
    "heter_ccl_mode": False,
    "hierarchical_allreduce_inter_nranks": 1,
    "hybrid_configs": {
        **{f"{name}_degree": -1 if name == "dp" else 1 for name in DEGREES},
        "ep_degree": 1, "moe_sharding_degree": 1, "cp_sharding_degree": 1, "order": list(DEGREES),
        "mp_configs": _MP, "pp_configs": _PP, "sharding_configs": _SHARDING, "dp_configs": _CHECKED,
        "enable_optimizer_timer": False, "split_norm_comm": False,
        "ep_configs": {"nccl_config": _NCCL, "grad_nccl_config": _NCCL}, "moe_sharding_configs": _CHECKED,
        **{f"{name}_configs": _ONE for name in (
            "sep", "dp_sep", "pp_tp", "default_comm_group", "cp", "cp_sharding", "dp_cp", "cp_mp"
        )},
    },
    "is_fl_ps_mode": False,
    "is_with_coordinator": False,
    "lamb": False,
    "lamb_configs": {"lamb_weight_decay": 0.01, "exclude_from_weight_decay": []},
    "lars": False,
    "lars_configs": {
        "lars_coeff": 0.001, "lars_weight_decay": 0.0005, "epsilon": 0.0, "exclude_from_weight_decay": [],
    },
    "last_comm_group_size_MB": 1.0,
    "localsgd": False,
    "localsgd_configs": {"k_steps": 1, "begin_step": 1},
    "nccl_comm_num": 1,
    "pipeline": False,
    "pipeline_configs": {
        "micro_batch_size": 1, "accumulate_steps": 1, "schedule_mode": "1F1B", "p2p_cache_shape": True,
        "enable_partial_send_recv": True,
    },
    "qat": False,
    "qat_configs": {
        "channel_wise_abs_max": True, "weight_bits": 8, "activation_bits": 8, "not_quant_pattern": [], "algo": "",
    },
    "recompute": False,
    "recompute_configs": {
        "checkpoints": [], "enable_offload": False, "checkpoint_shape": [], "enable_tuning": False,
        "refined_ops_patterns": [],
    },
    "semi_auto": False,
    "sharding": False,
    "sharding_configs": {
        "sharding_segment_strategy": "segment_broadcast_MB", "segment_broadcast_MB": 32.0, "segment_anchors": [],
        "sharding_degree": 8, "mp_degree": 1, "dp_degree": 1, "hybrid_dp": False, "gradient_merge_acc_step": 1,
        "optimize_offload": False, "pp_allreduce_in_optimize": False, "pp_degree": 1, "optimize_cast": False,
        "stage": 1, "enable_tuning": False, "use_calc_stream": False,
    },
    "split_data": True,
    "sync_batch_norm": False,
    "sync_nccl_allreduce": True,
    "tensor_parallel": False,
    "tensor_parallel_configs": {"tensor_parallel_degree": 1, "tensor_init_seed": -1},
    "use_hierarchical_allreduce": False,
    "without_graph_optimization": True,
}  # fmt: skip


def _fits(value: Any, default: Any) -> bool:
    if isinstance(default, float):
        return type(value) in (int, float)
    return isinstance(value, type(default)) and isinstance(value, bool) == isinstance(default, bool)


def _merged(name: str, held: dict[str, Any], given: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """``held`` with what is given, all of whose keys and types are known."""
    if not isinstance(given, Mapping):
        raise op_error(TypeError, "DistributedStrategy", f"a dict as {name}", type(given).__name__)
    out = copy.deepcopy(held)
    for key, value in given.items():
        if key not in defaults:
            raise op_error(ValueError, "DistributedStrategy", f"keys of {name} among {sorted(defaults)}", repr(key))
        default = defaults[key]
        if isinstance(default, dict):
            out[key] = _merged(f"{name}[{key!r}]", held[key], value, default)
        elif not _fits(value, default):
            need = f"{name}[{key!r}] of type {type(default).__name__}"
            raise op_error(TypeError, "DistributedStrategy", need, repr(value))
        else:
            out[key] = copy.deepcopy(value)
    return out


@public("paddle.distributed.fleet")
class DistributedStrategy:
    """Options of :func:`fleet.init`, all attributes; those that are dicts are added to when they are assigned.

    Read are ``hybrid_configs`` (``dp_degree``, ``mp_degree``, ``pp_degree``, ``sharding_degree``, ``sep_degree``,
    ``cp_degree``, ``ep_degree``, ``moe_sharding_degree``: how many ranks share each way of dividing the work, where
    ``dp_degree`` -1 takes what is left; ``order``: from the outermost to the innermost), ``find_unused_parameters``,
    ``fuse_grad_size_in_MB``, ``last_comm_group_size_MB`` and ``sync_batch_norm``. Options that name what is not there
    cannot be turned on; what configures them is kept and not read.

    Raises:
        AttributeError: there is no such option.
        ValueError: no such key, or an option that is not available.
        TypeError: a value of another type.

    Example:
        >>> from paddle.distributed import fleet
        >>> strategy = fleet.DistributedStrategy()
        >>> strategy.hybrid_configs = {"dp_degree": 2, "mp_degree": 2}
        >>> strategy.hybrid_configs["mp_degree"], strategy.hybrid_configs["pp_degree"]
        (2, 1)
    """

    def __init__(self) -> None:
        self.__dict__.update(copy.deepcopy(OPTIONS))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in OPTIONS:
            raise AttributeError(f"[DistributedStrategy] requires one of {sorted(OPTIONS)}, got {name!r}")
        default = OPTIONS[name]
        if isinstance(default, dict):
            value = _merged(name, self.__dict__[name], value, default)
            if name == "hybrid_configs":
                _check_hybrid(value)
        elif not _fits(value, default):
            raise op_error(TypeError, "DistributedStrategy", f"{name} of type {type(default).__name__}", repr(value))
        elif value != default and name not in READ and name not in HINTS:
            raise op_error(
                ValueError,
                "DistributedStrategy",
                f"{name} = {default!r}",
                repr(value),
                "What it asks for is not available yet.",
            )
        self.__dict__[name] = value

    @property
    def hybrid_parallel_order(self) -> list[str]:
        """The order of ``hybrid_configs``."""
        return self.__dict__["hybrid_configs"]["order"]

    def axes(self, world: int) -> tuple[list[str], list[int]]:
        """Names and sizes of the axes of ``world`` ranks. ValueError where these are not divided evenly."""
        configs = self.__dict__["hybrid_configs"]
        order = [*configs["order"], *(n for n in DEGREES if n not in configs["order"])]
        sizes = {n: configs[f"{n}_degree"] for n in order}
        rest = 1
        for name, size in sizes.items():
            rest *= 1 if name == "dp" and size == -1 else size
        if sizes["dp"] == -1 and world % rest == 0:
            sizes["dp"], rest = world // rest, world
        if rest != world or sizes["dp"] == -1:
            shown = {f"{n}_degree": s for n, s in sizes.items()}
            raise op_error(ValueError, "fleet", f"degrees whose product is the number of ranks, {world}", shown)
        return [DEGREES[n] for n in order], [sizes[n] for n in order]

    def __repr__(self) -> str:
        changed = {name: value for name, value in self.__dict__.items() if value != OPTIONS[name]}
        return f"DistributedStrategy({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def save_to_prototxt(self, output: str) -> None:
        """Write the options to a file, in the text format of protocol buffers."""
        with open(output, "w") as f:
            f.write("\n".join(_text(self.__dict__)) + "\n")

    def load_from_prototxt(self, pb_file: str) -> None:
        """Set the options that a file of :meth:`save_to_prototxt` names.

        Raises:
            ValueError: the file is no such text, or names what is not there.
        """
        with open(pb_file) as f:
            for name, value in _parsed(f.read()).items():
                setattr(self, name, value)


def _check_hybrid(configs: Mapping[str, Any]) -> None:
    for key, value in configs.items():
        if key.endswith("_degree") and (value < 1 and not (key == "dp_degree" and value == -1)):
            raise op_error(ValueError, "DistributedStrategy", f"hybrid_configs[{key!r}] of at least 1", value)
    order = configs["order"]
    if len(set(order)) != len(order) or not set(order) <= set(DEGREES):
        raise op_error(ValueError, "DistributedStrategy", f"an order of different names of {list(DEGREES)}", order)


def _text(options: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name} {{"
            yield from _text(value, indent + "  ")
            yield f"{indent}}}"
        else:
            for item in value if isinstance(value, list) else [value]:
                quoted = '"' + str(item).replace("\\", "\\\\").replace('"', '\\"') + '"'
                shown = str(item).lower() if isinstance(item, bool) else quoted if isinstance(item, str) else repr(item)
                yield f"{indent}{name}: {shown}"


_TOKEN = re.compile(r"\s*(?:(?P<name>\w+)\s*(?P<kind>[:{])|(?P<end>\}))|\s*\Z")
_VALUE = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^\s}]+)')


def _parsed(text: str) -> dict[str, Any]:
    stack: list[tuple[dict[str, Any], Mapping[str, Any]]] = [({}, OPTIONS)]
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise op_error(ValueError, "load_from_prototxt", "names with values or braces", repr(text[at : at + 40]))
        at = token.end()
        if token["end"]:
            if len(stack) == 1:
                raise op_error(ValueError, "load_from_prototxt", "a name", "'}'")
            stack.pop()
        elif token["name"]:
            name, (held, known) = token["name"], stack[-1]
            if name not in known:
                raise op_error(ValueError, "load_from_prototxt", f"a name of {sorted(known)}", repr(name))
            if token["kind"] == "{":
                stack.append((held.setdefault(name, {}), known[name] if isinstance(known[name], dict) else {}))
                continue
            value = _VALUE.match(text, at)
            if value is None:
                raise op_error(ValueError, "load_from_prototxt", f"a value of {name}", repr(text[at : at + 40]))
            at = value.end()
            one = _scalar(value[1])
            if isinstance(known[name], list):
                held.setdefault(name, []).append(one)
            else:
                held[name] = one
    if len(stack) > 1:
        raise op_error(ValueError, "load_from_prototxt", "a '}' for every '{'", "the end of the file")
    return stack[0][0]


def _scalar(text: str) -> Any:
    if text.startswith('"'):
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return float(text)
