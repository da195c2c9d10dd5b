"""Made by ``tools/public_stubs.py``."""

import builtins

from paddle.utils.cpp_extension import building as building
from paddle.utils.cpp_extension import compiling as compiling
from paddle.utils.cpp_extension import loading as loading
from paddle.utils.cpp_extension.building import BuildExtension as BuildExtension
from paddle.utils.cpp_extension.building import CppExtension as CppExtension
from paddle.utils.cpp_extension.building import CUDAExtension as CUDAExtension
from paddle.utils.cpp_extension.building import setup as setup
from paddle.utils.cpp_extension.compiling import get_build_directory as get_build_directory
from paddle.utils.cpp_extension.loading import load as load
from paddle.utils.cpp_extension.loading import load_op_meta_info_and_register_op as load_op_meta_info_and_register_op
from paddle.utils.cpp_extension.loading import parse_op_info as parse_op_info

CUDA_HOME: builtins.str | None

__all__ = [
    "CUDA_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "building",
    "compiling",
    "get_build_directory",
    "load",
    "load_op_meta_info_and_register_op",
    "loading",
    "parse_op_info",
    "setup",
]
