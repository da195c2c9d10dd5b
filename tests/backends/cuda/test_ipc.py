"""Tensors that processes share: handles, offsets, who gives memory back and when; two processes over one memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
from recording_driver import RecordingDriver, Violation

import paddle
from paddle.incubate import multiprocessing
from umiak import memory
from umiak.backends.cuda.device import Device
from umiak.backends.cuda.memory import MappedMemory
from umiak.core.dtype import float32
from umiak.core.storage import collect_foreign


@pytest.fixture
def other(cuda):
    """The device of another process: one of another driver; everything must be given back."""
    driver = RecordingDriver()
    there = Device(driver, 0)
    there.ipc.process = 1
    yield there
    gc.collect()
    collect_foreign()
    there.close()
    assert driver.left() == [] and not driver.opened


@pytest.fixture
def here(device, cuda):
    """This process's device."""
    yield cuda.device(device)
    gc.collect()
    cuda.device(device).ipc.collect()
    assert not cuda.device(device).ipc.sent


def received(there, x, sent):
    shared, descriptor = sent
    return there.ipc.receive(shared, os.dup(descriptor), (float32, x.shape, x.strides))


def is_open(cuda, address):
    return cuda.driver.exported[address].users.value


def test_memory_stays_until_the_receiver_has_dropped_it(here, other, cuda):
    x = paddle.arange(12, dtype="float32").reshape([3, 4])
    block, storage = here.memory.block(x.data_ptr()), x.storage
    y = received(other, x, here.ipc.send(x))
    assert storage.pinned and is_open(cuda, block) == 1
    assert other.memory is not here.memory and other.driver.calls.count("cuIpcOpenMemHandle") == 1
    del x, storage
    memory.empty_cache(here.place)
    here.ipc.collect()
    assert block in cuda.driver.blocks and len(here.ipc.sent) == 1
    got = np.frombuffer(bytes(other.memory.read(y.data_ptr(), 48)), np.float32)
    np.testing.assert_array_equal(got, np.arange(12, dtype=np.float32))
    del y
    assert other.driver.calls[-1] == "cuIpcCloseMemHandle" and not is_open(cuda, block)
    here.ipc.collect()
    memory.empty_cache(here.place)
    assert block not in cuda.driver.blocks


def test_a_block_is_opened_once_and_closed_with_its_last_tensor(here, other, cuda):
    x = paddle.arange(12, dtype="float32").reshape([3, 4])
    part = x[1:, ::2]
    y = received(other, x, here.ipc.send(x))
    z = received(other, part, here.ipc.send(part))
    assert other.driver.calls.count("cuIpcOpenMemHandle") == 1
    assert z.data_ptr() - y.data_ptr() == 16 and z.strides == [4, 2]
    del y
    here.ipc.collect()
    assert len(here.ipc.sent) == 1 and "cuIpcCloseMemHandle" not in other.driver.calls
    del z
    assert other.driver.calls.count("cuIpcCloseMemHandle") == 1


def test_a_receiver_that_has_died_has_let_go(here, other, cuda):
    died = subprocess.Popen([sys.executable, "-c", "pass"])
    died.wait()
    x = paddle.ones([4])
    other.ipc.process = died.pid
    y = received(other, x, here.ipc.send(x))
    paddle.device.ipc_collect()
    assert not here.ipc.sent
    del y


def test_what_nobody_has_received_stays(here, other):
    x = paddle.ones([4])
    sent = here.ipc.send(x)
    here.ipc.collect()
    assert len(here.ipc.sent) == 1
    received(other, x, sent)


def test_a_tensor_that_comes_back_is_the_same(here):
    x = paddle.ones([4])
    x.tag = "mine"
    queue = multiprocessing.get_context("spawn").SimpleQueue()
    queue.put([x, x[1:]])
    y, z = queue.get()
    assert y.data_ptr() == x.data_ptr() and z.data_ptr() == x.data_ptr() + 4 and y.tag == "mine"
    y.fill_(3.0)
    assert x.tolist() == [3.0] * 4
    assert not here.ipc.sent and not x.storage.pinned


def test_memory_that_has_no_handle_is_refused(here, other, monkeypatch):
    x = paddle.ones([4])
    y = received(other, x, here.ipc.send(x))
    with pytest.raises(ValueError, match=r"\[multiprocessing\] requires memory of this process, .* another one"):
        here.ipc.send(y)
    del y
    monkeypatch.setattr(here.memory, "has_handles", MappedMemory.has_handles)
    with pytest.raises(ValueError, match=r"\[multiprocessing\] requires memory that other processes can open"):
        here.ipc.send(x)
    x.stop_gradient = False
    with pytest.raises(RuntimeError, match=r"\[multiprocessing\] requires a tensor without history"):
        multiprocessing.get_context("spawn").SimpleQueue().put(x * 2)


def test_the_driver_notices_what_is_freed_too_early(other, cuda, device):
    here = Device(RecordingDriver(), 0)
    address = here.memory.take(256)
    mapping = other.ipc.open(here.driver.ipc_get_mem_handle(address))
    with pytest.raises(Violation, match="memory that another process has open"):
        here.memory.give(address, 256)
    del mapping
    here.driver.mem_free(address)
    here.close()


CHILD = """
import sys
sys.path[:0] = {paths!r}
import paddle
from recorded_backend import entered
from paddle.incubate import multiprocessing

def work(other):
    with entered() as backend:
        paddle.set_device("gpu:0")
        x, y = other.recv()
        total = float((x * 2.0).sum())
        y.add_(1.0 + y)
        other.send([total, str(x.place), backend.driver.calls.count("cuIpcOpenMemHandle")])
        del x, y
        other.send(None)
        other.recv()

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    other, its = context.Pipe()
    child = context.Process(target=work, args=(its,))
    child.start()
    its.close()
    with entered() as backend:
        paddle.set_device("gpu:0")
        x, y = paddle.arange(6, dtype="float32"), paddle.zeros([3], device="cpu")
        other.send([x, y])
        print(other.recv())
        assert other.recv() is None
        print(y.tolist(), x.storage.pinned)
        paddle.device.ipc_collect()
        print(x.storage.pinned)
        other.send(None)
        child.join()
        print(child.exitcode)
"""


@pytest.mark.slow
def test_two_processes(tmp_path):
    """One computes on the other's memory, and has let go of it in the end."""
    program = tmp_path / "share.py"
    program.write_text(CHILD.format(paths=sys.path))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=100)
    assert done.stdout.splitlines() == ["[30.0, 'Place(gpu:0)', 1]", "[1.0, 1.0, 1.0] True", "False", "0"], done.stderr
