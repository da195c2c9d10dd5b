"""Made by ``tools/public_stubs.py``."""

from paddle.framework import io as io
from paddle.framework import random as random
from paddle.framework import unique_name as unique_name
from paddle.framework.background_save import async_save as async_save
from paddle.framework.background_save import clear_async_save_task_queue as clear_async_save_task_queue
from paddle.framework.batch import batch as batch
from paddle.framework.dtype import convert_np_dtype_to_dtype_ as convert_np_dtype_to_dtype_
from paddle.framework.dtype import finfo as finfo
from paddle.framework.dtype import get_default_dtype as get_default_dtype
from paddle.framework.dtype import iinfo as iinfo
from paddle.framework.dtype import set_default_dtype as set_default_dtype
from paddle.framework.flags import get_flags as get_flags
from paddle.framework.flags import set_flags as set_flags
from paddle.framework.grad_mode import enable_grad as enable_grad
from paddle.framework.grad_mode import is_grad_enabled as is_grad_enabled
from paddle.framework.grad_mode import no_grad as no_grad
from paddle.framework.grad_mode import set_grad_enabled as set_grad_enabled
from paddle.framework.loading import load as load
from paddle.framework.mode import disable_signal_handler as disable_signal_handler
from paddle.framework.mode import disable_static as disable_static
from paddle.framework.mode import dygraph_only as dygraph_only
from paddle.framework.mode import in_dynamic_mode as in_dynamic_mode
from paddle.framework.mode import in_dynamic_or_pir_mode as in_dynamic_or_pir_mode
from paddle.framework.mode import in_pir_mode as in_pir_mode
from paddle.framework.mode import use_pir_api as use_pir_api
from paddle.framework.param_attr import ParamAttr as ParamAttr
from paddle.framework.parameter import EagerParamBase as EagerParamBase
from paddle.framework.parameter import Parameter as Parameter
from paddle.framework.parameter import create_parameter as create_parameter
from paddle.framework.place import CPUPlace as CPUPlace
from paddle.framework.place import CUDAPinnedPlace as CUDAPinnedPlace
from paddle.framework.place import CUDAPlace as CUDAPlace
from paddle.framework.place import CustomPlace as CustomPlace
from paddle.framework.place import XPUPinnedPlace as XPUPinnedPlace
from paddle.framework.place import XPUPlace as XPUPlace
from paddle.framework.place import current_place as current_place
from paddle.framework.random import Generator as Generator
from paddle.framework.random import get_cuda_rng_state as get_cuda_rng_state
from paddle.framework.random import get_rng_state as get_rng_state
from paddle.framework.random import manual_seed as manual_seed
from paddle.framework.random import seed as seed
from paddle.framework.random import set_cuda_rng_state as set_cuda_rng_state
from paddle.framework.random import set_rng_state as set_rng_state
from paddle.framework.saving import save as save
from umiak.core.dtype import DType as dtype

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
    "async_save",
    "batch",
    "clear_async_save_task_queue",
    "convert_np_dtype_to_dtype_",
    "create_parameter",
    "current_place",
    "disable_signal_handler",
    "disable_static",
    "dtype",
    "dygraph_only",
    "enable_grad",
    "finfo",
    "get_cuda_rng_state",
    "get_default_dtype",
    "get_flags",
    "get_rng_state",
    "iinfo",
    "in_dynamic_mode",
    "in_dynamic_or_pir_mode",
    "in_pir_mode",
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
    "use_pir_api",
]
