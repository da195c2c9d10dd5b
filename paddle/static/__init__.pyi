"""Made by ``tools/public_stubs.py``."""

from paddle.static import nn as nn
from paddle.static.backward import append_backward as append_backward
from paddle.static.backward import gradients as gradients
from paddle.static.executor import Executor as Executor
from paddle.static.input import InputSpec as InputSpec
from paddle.static.program import Program as Program
from paddle.static.program import default_main_program as default_main_program
from paddle.static.program import default_startup_program as default_startup_program
from paddle.static.program import program_guard as program_guard
from paddle.static.scope import Scope as Scope
from paddle.static.scope import global_scope as global_scope
from paddle.static.scope import scope_guard as scope_guard
from paddle.static.variable import create_global_var as create_global_var
from paddle.static.variable import data as data
from paddle.static.variable import is_persistable as is_persistable

__all__ = [
    "Executor",
    "InputSpec",
    "Program",
    "Scope",
    "append_backward",
    "create_global_var",
    "data",
    "default_main_program",
    "default_startup_program",
    "global_scope",
    "gradients",
    "is_persistable",
    "nn",
    "program_guard",
    "scope_guard",
]
