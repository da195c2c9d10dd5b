"""What belongs to no single op: dtypes, places, modes, seeds, names, parameters, files."""

from typing import TYPE_CHECKING

from paddle import _late
from paddle.framework import random, unique_name
from paddle.framework.batch import batch
from paddle.framework.dtype import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from paddle.framework.flags import get_flags, set_flags
from paddle.framework.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from paddle.framework.mode import disable_signal_handler, disable_static, in_dynamic_mode
from paddle.framework.param_attr import ParamAttr
from paddle.framework.parameter import Parameter, create_parameter
from paddle.framework.place import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    XPUPinnedPlace,
    XPUPlace,
    current_place,
)
from paddle.framework.random import (
    Generator,
    get_cuda_rng_state,
    get_rng_state,
    manual_seed,
    seed,
    set_cuda_rng_state,
    set_rng_state,
)

if TYPE_CHECKING:
    from paddle.framework import io
    from paddle.framework.io import load, save

in_dynamic_or_pir_mode = in_dynamic_mode
EagerParamBase = Parameter

__getattr__, __dir__ = _late.attributes_of(__name__)

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CustomPlace",
    "EagerParamBase",
    "Generator",
    "ParamAttr",
    "Parameter",
    "XPUPinnedPlace",
    "XPUPlace",
    "batch",
    "create_parameter",
    "current_place",
    "disable_signal_handler",
    "disable_static",
    "dtype",
    "enable_grad",
    "finfo",
    "get_cuda_rng_state",
    "get_default_dtype",
    "get_flags",
    "get_rng_state",
    "iinfo",
    "in_dynamic_mode",
    "in_dynamic_or_pir_mode",
    "io",
    "is_grad_enabled",
    "load",
    "manual_seed",
    "no_grad",
    "random",
    "save",
    "seed",
    "set_cuda_rng_state",
    "set_default_dtype",
    "set_flags",
    "set_grad_enabled",
    "set_rng_state",
    "unique_name",
]
