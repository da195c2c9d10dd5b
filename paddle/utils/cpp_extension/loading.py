"""``load``: sources compiled, and their operators as functions of a module."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import paddle
from paddle._public import public
from paddle.utils.cpp_extension.compiling import compile_library, get_build_directory
from paddle.utils.cpp_extension.operators import OPERATORS, registered
from paddle.utils.cpp_extension.schemas import registered_schemas
from umiak.core.extension import open_library, set_call
from umiak.util.errors import op_error

# Functions of the operators of a library, by its real path: a library is loaded once.
_loaded: dict[str, dict[str, Callable[..., Any]]] = {}

_DECLARED, _SCHEMAS = 0, (1, 2, 3)  # kinds of declarations, see paddle/include/umiak/extension_abi.h


def functions_of(path: str) -> dict[str, Callable[..., Any]]:
    """Load a library, and enter its operators in the registry: functions by name."""
    real = os.path.realpath(path)
    if real not in _loaded:
        if not os.path.exists(real):
            raise op_error(FileNotFoundError, "load", "a library that exists", path)
        declarations = open_library(real)
        functions = registered([d for d in declarations if d.kind == _DECLARED])
        functions.update(registered_schemas([d for d in declarations if d.kind in _SCHEMAS]))
        _loaded[real] = functions
    return _loaded[real]


def run_custom_op(op_name: str, *args: Any) -> list[Any]:
    """The results of an operator that a loaded library declares, by its name: a list, also of one."""
    functions = next((functions for functions in _loaded.values() if op_name in functions), None)
    if functions is None:
        names = sorted(name for known in _loaded.values() for name in known)
        raise op_error(
            ValueError, "_run_custom_op", f"the name of an operator of a loaded library: {names}", repr(op_name)
        )
    results = functions[op_name](*args)
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _called(name: str, arguments: list[Any]) -> Any:
    """A function of the library that C++ asks for."""
    function = getattr(paddle, name, None) or getattr(paddle.nn.functional, name, None)
    if function is None:
        raise AttributeError(f"no function {name!r} in paddle or paddle.nn.functional")
    return function(*arguments)


set_call(_called)


def fill_module(module: ModuleType, path: str) -> ModuleType:
    """Give a module the functions of a library, and the names of a module in C that the library is, too."""
    functions = functions_of(path)
    names = set(functions)
    own = module.__name__.rpartition(".")[2]
    if f"PyInit_{own}".encode() in Path(path).read_bytes():
        loader = ExtensionFileLoader(own, path)
        spec = spec_from_file_location(own, path, loader=loader)
        assert spec is not None
        native = module_from_spec(spec)
        loader.exec_module(native)
        vars(module).update({n: v for n, v in vars(native).items() if not n.startswith("__")})
        names |= {n for n in vars(native) if not n.startswith("_")}
    vars(module).update(functions)
    module.__all__ = sorted(names)
    return module


def _texts(xs: Any, name: str) -> list[str]:
    if xs is None:
        return []
    if isinstance(xs, str) or not all(isinstance(x, (str, os.PathLike)) for x in xs):
        raise op_error(TypeError, "load", f"a list of str for {name}", repr(xs))
    return [os.fspath(x) for x in xs]


@public("paddle.utils.cpp_extension")
def load(
    name: str,
    sources: Sequence[str],
    extra_cxx_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    extra_library_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
) -> ModuleType:
    """Compile sources in C++ that declare operators, and return a module with a function for each.

    What was compiled before, of the same sources, headers and flags, is used again. ``CXX`` names the compiler. What
    ``PYBIND11_MODULE`` declares, with the module's name, is there, too; that needs the headers of ``pybind11``.

    Args:
        name: name of the module.
        sources: paths of ``.cc``, ``.cpp`` or ``.cu`` files, which include ``paddle/extension.h`` or
            ``torch/library.h``.
        extra_cxx_cflags: flags for C++.
        extra_cuda_cflags: flags for ``nvcc``.
        extra_ldflags: flags for linking.
        extra_include_paths: folders with headers.
        extra_library_paths: folders with libraries.
        build_directory: folder for what is compiled; None: :func:`get_build_directory`.
        verbose: whether commands are printed.

    Returns:
        A module. Operators with a schema are ``paddle.ops.<namespace>.<name>`` besides.

    Raises:
        RuntimeError: no compiler, or sources that do not compile; the message has what the compiler says.
        ImportError: a library that does not load, or whose declarations are wrong.
        FileNotFoundError: a source that is not there.
        ValueError: an operator of this name is registered already.

    Example:
        >>> import paddle
        >>> paddle.utils.cpp_extension.load("my_operators", [])
        Traceback (most recent call last):
        ...
        ValueError: [load] requires at least one source, got none
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise op_error(ValueError, "load", "an identifier as name", repr(name))
    files = [os.path.abspath(s) for s in _texts(sources, "sources")]
    if not files:
        raise op_error(ValueError, "load", "at least one source", "none")
    folder = os.path.abspath(build_directory or get_build_directory(verbose))
    library = compile_library(
        Path(folder, name, name), files, _texts(extra_cxx_cflags, "extra_cxx_cflags"),
        _texts(extra_cuda_cflags, "extra_cuda_cflags"), _texts(extra_ldflags, "extra_ldflags"),
        _texts(extra_include_paths, "extra_include_paths"), _texts(extra_library_paths, "extra_library_paths"),
        verbose, "load",
    )  # fmt: skip
    module = ModuleType(name, f"Operators of {library}.")
    module.__file__ = str(library)
    fill_module(module, str(library))
    sys.modules[name] = module
    return module


def load_library(path: str) -> ModuleType:
    """A library that was compiled before, as a module. One that was loaded already gives the same functions."""
    module = ModuleType(Path(path).name.partition(".")[0], f"Operators of {path}.")
    module.__file__ = os.path.realpath(path)
    return fill_module(module, path)


@public("paddle.utils.cpp_extension")
def load_op_meta_info_and_register_op(lib_filename: str) -> list[str]:
    """Load a library that was compiled before, and register its operators.

    Args:
        lib_filename: path of the library.

    Returns:
        The names of its operators. A library that was loaded already gives the same.

    Raises:
        FileNotFoundError: no such file.
        ImportError: a library that does not load, has no operators, or was built for another version of the interface.

    Example:
        >>> import paddle
        >>> paddle.utils.cpp_extension.load_op_meta_info_and_register_op("nowhere.so")
        Traceback (most recent call last):
        ...
        FileNotFoundError: [load_op_meta_info_and_register_op] requires a library that exists, got nowhere.so
    """
    return list(functions_of(lib_filename))


@public("paddle.utils.cpp_extension")
def parse_op_info(op_name: str) -> tuple[list[str], list[str], list[str]]:
    """Return the names of an operator's inputs, attributes and outputs, as C++ declares them.

    Args:
        op_name: the name that ``PD_BUILD_OP`` got.

    Returns:
        Three lists of names.

    Raises:
        ValueError: no operator of this name is registered.

    Example:
        >>> import paddle
        >>> paddle.utils.cpp_extension.parse_op_info("nothing")
        Traceback (most recent call last):
        ...
        ValueError: [parse_op_info] requires the name of an operator that PD_BUILD_OP has declared, got 'nothing'
    """
    operator = OPERATORS.get(op_name)
    if operator is None:
        raise op_error(
            ValueError, "parse_op_info", "the name of an operator that PD_BUILD_OP has declared", repr(op_name)
        )
    declaration = operator.declaration
    return list(declaration.inputs), list(operator.attributes), list(declaration.outputs)
