import builtins
import importlib
import os
import sys
import threading
import time

import pytest

from umiak.util import locks
from umiak.util.locks import fork_safe


def test_child_gets_a_free_lock(recwarn):
    # Newer Pythons warn of forking with threads, which is the point here.
    lock = fork_safe(threading.Lock())
    held, go = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            go.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    threading.Timer(0.05, go.set).start()
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(timeout=60) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    assert lock.acquire(timeout=60)
    lock.release()


@pytest.fixture
def importing(tmp_path, monkeypatch):
    """A thread that is importing the module ``slow`` until the event is set."""
    (tmp_path / "slow.py").write_text("import builtins\nbuiltins.gate.wait(60)\ndone = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    gate = threading.Event()
    monkeypatch.setattr(builtins, "gate", gate, raising=False)
    thread = threading.Thread(target=importlib.import_module, args=("slow",))
    thread.start()
    while not locks._foreign_imports():
        time.sleep(0.001)
    yield gate
    gate.set()
    thread.join()
    del sys.modules["slow"]


def test_forking_waits_for_imports(importing, monkeypatch, recwarn):
    monkeypatch.setattr(locks, "IMPORT_SECONDS", 60.0)  # a busy machine sets events late
    threading.Timer(0.05, importing.set).start()
    child = os.fork()
    if child == 0:
        os._exit(0 if getattr(sys.modules.get("slow"), "done", False) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_child_imports_anew_what_did_not_end_in_time(importing, monkeypatch, recwarn):
    monkeypatch.setattr(locks, "IMPORT_SECONDS", 0.01)
    child = os.fork()
    if child == 0:
        builtins.gate = threading.Event()  # the lock of the other one may be held by a thread that is not here
        builtins.gate.set()
        os._exit(0 if importlib.import_module("slow").done else 1)
    assert os.waitpid(child, 0)[1] == 0
