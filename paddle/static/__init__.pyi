"""Made by ``tools/public_stubs.py``."""

from paddle.static import amp as amp
from paddle.static import nn as nn
from paddle.static.averages import ExponentialMovingAverage as ExponentialMovingAverage
from paddle.static.backward import append_backward as append_backward
from paddle.static.backward import gradients as gradients
from paddle.static.compiled import BuildStrategy as BuildStrategy
from paddle.static.compiled import CompiledProgram as CompiledProgram
from paddle.static.executor import Executor as Executor
from paddle.static.input import InputSpec as InputSpec
from paddle.static.ipu import IpuCompiledProgram as IpuCompiledProgram
from paddle.static.ipu import IpuStrategy as IpuStrategy
from paddle.static.ipu import ipu_shard_guard as ipu_shard_guard
from paddle.static.ipu import set_ipu_shard as set_ipu_shard
from paddle.static.metrics import accuracy as accuracy
from paddle.static.metrics import auc as auc
from paddle.static.metrics import ctr_metric_bundle as ctr_metric_bundle
from paddle.static.places import cpu_places as cpu_places
from paddle.static.places import cuda_places as cuda_places
from paddle.static.places import device_guard as device_guard
from paddle.static.places import name_scope as name_scope
from paddle.static.places import xpu_places as xpu_places
from paddle.static.program import Program as Program
from paddle.static.program import default_main_program as default_main_program
from paddle.static.program import default_startup_program as default_startup_program
from paddle.static.program import program_guard as program_guard
from paddle.static.python_function import Print as Print
from paddle.static.python_function import py_func as py_func
from paddle.static.saved_variables import load_vars as load_vars
from paddle.static.saved_variables import save_vars as save_vars
from paddle.static.saving import deserialize_persistables as deserialize_persistables
from paddle.static.saving import deserialize_program as deserialize_program
from paddle.static.saving import load as load
from paddle.static.saving import load_from_file as load_from_file
from paddle.static.saving import load_inference_model as load_inference_model
from paddle.static.saving import load_program_state as load_program_state
from paddle.static.saving import normalize_program as normalize_program
from paddle.static.saving import save as save
from paddle.static.saving import save_inference_model as save_inference_model
from paddle.static.saving import save_to_file as save_to_file
from paddle.static.saving import serialize_persistables as serialize_persistables
from paddle.static.saving import serialize_program as serialize_program
from paddle.static.saving import set_program_state as set_program_state
from paddle.static.scope import Scope as Scope
from paddle.static.scope import global_scope as global_scope
from paddle.static.scope import scope_guard as scope_guard
from paddle.static.variable import create_global_var as create_global_var
from paddle.static.variable import create_parameter as create_parameter
from paddle.static.variable import data as data
from paddle.static.variable import is_persistable as is_persistable
from paddle.static.variable import setitem as setitem
from paddle.static.weight_norm import WeightNormParamAttr as WeightNormParamAttr
from umiak.core.tensor import Tensor as Variable

__all__ = [
    "BuildStrategy",
    "CompiledProgram",
    "Executor",
    "ExponentialMovingAverage",
    "InputSpec",
    "IpuCompiledProgram",
    "IpuStrategy",
    "Print",
    "Program",
    "Scope",
    "Variable",
    "WeightNormParamAttr",
    "accuracy",
    "amp",
    "append_backward",
    "auc",
    "cpu_places",
    "create_global_var",
    "create_parameter",
    "ctr_metric_bundle",
    "cuda_places",
    "data",
    "default_main_program",
    "default_startup_program",
    "deserialize_persistables",
    "deserialize_program",
    "device_guard",
    "global_scope",
    "gradients",
    "ipu_shard_guard",
    "is_persistable",
    "load",
    "load_from_file",
    "load_inference_model",
    "load_program_state",
    "load_vars",
    "name_scope",
    "nn",
    "normalize_program",
    "program_guard",
    "py_func",
    "save",
    "save_inference_model",
    "save_to_file",
    "save_vars",
    "scope_guard",
    "serialize_persistables",
    "serialize_program",
    "set_ipu_shard",
    "set_program_state",
    "setitem",
    "xpu_places",
]
