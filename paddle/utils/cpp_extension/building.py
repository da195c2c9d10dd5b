"""Packages with operators in C++: ``setup``, extensions for it, and the command that builds them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import setuptools
from setuptools.command.build_ext import build_ext

from paddle._public import public
from paddle.utils.cpp_extension.compiling import compile_library
from umiak.util.errors import op_error

_SUFFIX = "_pd_.so"  # a library is no module of Python: a module of its name loads it
_MODULE = '''"""Operators in C++ of {library}."""

import os
import sys

from paddle.utils.cpp_extension.loading import fill_module

fill_module(sys.modules[__name__], os.path.join(os.path.dirname(os.path.abspath(__file__)), {library!r}))
'''


def _extension(function: str, sources: Sequence[str], args: Any, kwargs: dict[str, Any]) -> setuptools.Extension:
    files = [os.fspath(s) for s in ([] if isinstance(sources, (str, os.PathLike)) else sources)]
    if not files:
        raise op_error(ValueError, function, "a list of sources", repr(sources))
    name = kwargs.pop("name", None) or (args[0] if args else "_".join(Path(s).stem for s in files))
    return setuptools.Extension(name, files, *args[1:], language="c++", **kwargs)


@public("paddle.utils.cpp_extension")
def CppExtension(sources: Sequence[str], *args: Any, **kwargs: Any) -> setuptools.Extension:
    """Return an extension of sources in C++, for :func:`setup`.

    Args:
        sources: paths of the sources.
        *args: further arguments of ``setuptools.Extension``, its name first.
        **kwargs: the same by name. ``extra_compile_args`` are a list, or a dict with lists for ``"cxx"`` and
            ``"nvcc"``.

    Returns:
        A ``setuptools.Extension``.

    Raises:
        ValueError: no sources.

    Example:
        >>> import paddle
        >>> paddle.utils.cpp_extension.CppExtension(["relu.cc"], extra_compile_args=["-O3"]).sources
        ['relu.cc']
    """
    return _extension("CppExtension", sources, args, kwargs)


@public("paddle.utils.cpp_extension")
def CUDAExtension(sources: Sequence[str], *args: Any, **kwargs: Any) -> setuptools.Extension:
    """Return an extension of sources in C++ and CUDA, for :func:`setup`; ``nvcc`` compiles the latter.

    ``nvcc`` is that of ``CUDA_HOME``, of the path, of ``/usr/local/cuda``, or of NVIDIA's wheels of CUDA 13.
    ``PADDLE_CUDA_ARCH_LIST`` lists the devices that it compiles for (``8.0;9.0+PTX``); else they are the machine's.

    Args:
        sources: paths of the sources; those that end in ``.cu`` are CUDA.
        *args: as for :func:`CppExtension`.
        **kwargs: as for :func:`CppExtension`.

    Returns:
        A ``setuptools.Extension``. Building it raises RuntimeError where ``nvcc`` or a part of its toolkit is missing,
        and says which.

    Raises:
        ValueError: no sources.

    Example:
        >>> import paddle
        >>> paddle.utils.cpp_extension.CUDAExtension(["relu.cc", "relu.cu"]).language
        'c++'
    """
    extension = _extension("CUDAExtension", sources, args, kwargs)
    extension.with_cuda = True
    return extension


@public("paddle.utils.cpp_extension")
class BuildExtension(build_ext):
    """Command ``build_ext`` for extensions with operators: a library, and a module that loads it.

    Args:
        dist: the distribution that is built, which ``setuptools`` passes.
        **kw: attributes of the command.

    With ``output_dir``, an option, a library comes into that folder under the extension's name, and without a module.

    Example:
        >>> import paddle
        >>> command = paddle.utils.cpp_extension.BuildExtension
        >>> issubclass(command.with_options(), command)
        True
    """

    output_dir: str | None = None

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """The command with options set: attributes of it by name."""
        return type(cls.__name__, (cls,), options)

    def finalize_options(self) -> None:
        """Set the folder of what is built."""
        super().finalize_options()
        if self.output_dir is not None:
            self.build_lib = self.output_dir

    def get_ext_filename(self, fullname: str) -> str:
        """The path of an extension's library."""
        return os.path.join(*fullname.split(".")) + (_SUFFIX if self.output_dir is None else ".so")

    def build_extension(self, ext: Any) -> None:
        """Compile one extension, and write its module."""
        target = Path(self.get_ext_fullpath(ext.name)).absolute()
        flags = ext.extra_compile_args
        flags = flags if isinstance(flags, dict) else {"cxx": flags, "nvcc": flags}
        defines = [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in ext.define_macros]
        library = compile_library(
            Path(self.build_temp, ext.name, ext.name).absolute(), [os.path.abspath(s) for s in ext.sources],
            [*defines, *(flags.get("cxx") or [])], [*defines, *(flags.get("nvcc") or [])],
            [*(ext.extra_link_args or []), *(f"-l{name}" for name in ext.libraries)], ext.include_dirs,
            ext.library_dirs, bool(self.verbose), "setup", getattr(ext, "with_cuda", False),
        )  # fmt: skip
        target.parent.mkdir(parents=True, exist_ok=True)
        self.copy_file(str(library), str(target))
        if self.output_dir is None:
            module = target.with_name(target.name.removesuffix(_SUFFIX) + ".py")
            module.write_text(_MODULE.format(library=target.name))


@public("paddle.utils.cpp_extension")
def setup(**attr: Any) -> None:
    """Build and install a package with operators in C++: ``setuptools.setup`` with :class:`BuildExtension`.

    The package is imported under the name of the extension, which is that of the package where there is one.

    Args:
        **attr: arguments of ``setuptools.setup``. ``name`` is required; ``ext_modules`` is an extension or several,
            of :func:`CppExtension` or :func:`CUDAExtension`.

    Raises:
        ValueError: no name, or no extension.
        RuntimeError: sources that do not compile.

    Example:
        >>> import paddle
        >>> paddle.utils.cpp_extension.setup(name="my_ops")
        Traceback (most recent call last):
        ...
        ValueError: [setup] requires extensions as ext_modules, got None
    """
    if not isinstance(attr.get("name"), str):
        raise op_error(ValueError, "setup", "a str as name", repr(attr.get("name")))
    extensions = attr.get("ext_modules")
    extensions = [extensions] if isinstance(extensions, setuptools.Extension) else list(extensions or [])
    if not extensions:
        raise op_error(ValueError, "setup", "extensions as ext_modules", repr(attr.get("ext_modules")))
    if len(extensions) == 1:
        extensions[0].name = attr["name"].replace("-", "_")
    attr["ext_modules"] = extensions
    attr["cmdclass"] = {"build_ext": BuildExtension, **(attr.get("cmdclass") or {})}
    attr.setdefault("zip_safe", False)
    setuptools.setup(**attr)
