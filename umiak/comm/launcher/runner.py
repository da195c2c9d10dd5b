"""The first code of a rank: runs a script, a module or a pickled call as the main program, and tells of its failure.

``runner.py STATUS CALL script PATH ARGS...``, ``... module NAME ARGS...`` or ``... call``. CALL is an open file with a
function and its arguments. STATUS is an open file for what the program came to: a line with the exit status that
follows and the time by the machine's clock, and the text of an exception. It must be told before the interpreter ends,
since MPI's finalisation waits for the other ranks.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import io
import multiprocessing.spawn
import os
import pickle
import runpy
import signal
import sys
import time
import traceback
import types
from typing import NoReturn


def run_script(path: str) -> None:
    """Run a script as ``python path`` does. runpy would remove the main module while threads and exit handlers run."""
    path = os.path.abspath(path)
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__, __spec__=None, __cached__=None)
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def run_module(name: str) -> None:
    """Run a module as ``python -m name`` does."""
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def run_call(file: int) -> None:
    """A function by reference and its arguments; those of the main module are found in ``__mp_main__``."""
    with open(file, "rb") as stream:
        preparation, call = pickle.load(stream)
    process = multiprocessing.current_process()
    process._inheriting = True  # type: ignore[attr-defined]  # a main module that starts processes now is mistaken
    try:
        multiprocessing.spawn.prepare(preparation)
        function, arguments = pickle.loads(call)
    finally:
        del process._inheriting  # type: ignore[attr-defined]
    function(*arguments)


def own(frame: types.FrameType) -> bool:
    """Return whether a frame is of the machinery that starts programs."""
    name = frame.f_code.co_filename
    return name in (__file__, multiprocessing.spawn.__file__) or "runpy" in name


def tell(status: int, code: int, text: str = "") -> None:
    with contextlib.suppress(OSError):
        os.write(status, f"{code} {time.monotonic()}\n{text}".encode("utf-8", "replace")[: 1 << 15])


def leave(code: int, text: str) -> NoReturn:
    """End after a failure as Python would, but for MPI's finalisation: ranks that wait for this one never get there."""
    with contextlib.suppress(Exception):
        shutdown = sys.modules.get("umiak.comm.shutdown")
        if shutdown is not None:
            shutdown.give_up(text)  # to the other ranks
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def fail(status: int, error: BaseException, show: bool) -> NoReturn:
    """Tell of an exception that nobody caught."""
    trace = error.__traceback__
    while trace is not None and own(trace.tb_frame):
        trace = trace.tb_next
    if show:
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    code = 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    tell(status, code, "".join(traceback.format_exception(type(error), error, trace)))
    leave(code, f"{type(error).__name__}: {error}")


def main(arguments: list[str]) -> None:
    """Run the program of a rank and tell its status, as the docstring of the module describes."""
    status, call = map(int, arguments[:2])
    kind, *words = arguments[2:]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = None if "PYTHONIOENCODING" in os.environ else "utf-8"
            stream.reconfigure(line_buffering=True, encoding=encoding)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR2)  # how the launcher asks a rank that hangs where it is
    os.set_inheritable(status, False)
    os.set_inheritable(call, False)
    sys.path.pop(0)
    try:
        if kind == "call":
            run_call(call)
        else:
            sys.argv = words
            sys.path.insert(0, os.path.dirname(os.path.realpath(words[0])) if kind == "script" else os.getcwd())
            (run_script if kind == "script" else run_module)(words[0])
    except SystemExit as error:
        code = (error.code & 0xFF) if isinstance(error.code, int) else int(error.code is not None)
        if code and not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
        tell(status, code, f"SystemExit: {error.code}\n" if code else "")
        if code:
            leave(code, f"SystemExit: {error.code}")
    except BaseException as error:  # told to the launcher, of which this is a rank
        fail(status, error, show=kind != "call")
    else:
        tell(status, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
