"""Copies beside the work of devices (``paddle.incubate.tensor.manipulation``): order, memory, what is late."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fake import FAKE, OTHER
from harness import CPU

import paddle
from paddle.base.core import eager
from paddle.incubate.tensor import manipulation as M
from umiak import ops as F
from umiak.core import array, stream

pytestmark = pytest.mark.usefixtures("fake")

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def load():
    return M.create_async_load()


def on(place, value=X):
    x = array.from_numpy(np.asarray(value), place)
    stream.synchronize(place.index)
    return x


def test_tensors_go_to_the_host_and_come_back_while_nobody_waits(fake, load):
    x = F.mul(on(FAKE), 2.0)
    stream.synchronize(FAKE.index)
    with fake.held(FAKE):
        y = F.add(x, 1.0)
        kept, task = M.async_offload(y.t(), load)
        assert not task.is_completed()
    task.cpu_wait()
    assert task.is_completed() and kept.place is CPU
    np.testing.assert_array_equal(kept.numpy(), (2 * X + 1).T)
    del x, y
    with fake.held(FAKE):
        back, task = M.async_reload(kept, load)  # to where it was, not to the current place
        assert back.place is FAKE and not task.is_completed()
        task.cuda_wait()
        z = F.mul(back, 10.0)
    np.testing.assert_array_equal(array.host_values(z), 10 * (2 * X + 1).T)


def test_memory_is_kept_until_a_copy_is_done(fake, load):
    with fake.held(FAKE):
        x = F.add(array.from_numpy(X, FAKE), 1.0)
        at = x.storage.data_ptr()
        kept, task = M.async_offload(x, load)
        del x
        y = F.mul(array.from_numpy(X, FAKE), 0.0)  # not in the memory that is still to be read
        assert y.storage.data_ptr() != at
        del kept
    task.cpu_wait()
    with fake.lazy():
        x = array.from_numpy(X, FAKE)
        kept, task = M.async_offload(x, load)
        again, task = M.async_reload(kept, load)
        del x, kept, again, task, load
        gc.collect()  # waits, so that nothing is written to memory of others


END = """
import sys
import numpy as np
from fake import FAKE, installed
from paddle.incubate.tensor import manipulation as M
from umiak import ops as F
from umiak.core import array

backend = installed()
backend.__enter__()
load = M.create_async_load()
kept, task = M.async_offload(F.add(array.from_numpy(np.ones(2, "float32"), FAKE), 1.0), load)
sys.kept = [load, backend]  # so that they go after the modules they are written in
"""


def test_a_process_ends_without_a_word_while_copies_have_streams():
    path = os.pathsep.join([str(Path(__file__).parents[1] / "support"), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", END], capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_parts_of_tensors(fake, load):
    x, target = on(FAKE, np.arange(8.0)), paddle.zeros([6], "float64")
    version = target.inplace_version
    task = M.async_offload_with_offset(x, target, 2, 1, 3, load)
    task.cpu_wait()
    assert target.tolist() == [0.0, 2.0, 3.0, 4.0, 0.0, 0.0] and target.inplace_version > version
    M.async_offload_with_offset(target, x, 0, 5, 3, load).cpu_wait()  # the other way
    assert array.host_values(x).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 2.0, 3.0]
    M.async_offload_with_offset(target, target[3:], 1, 0, 2, load).cpu_wait()
    assert target.tolist() == [0.0, 2.0, 3.0, 2.0, 3.0, 0.0]
    for wrong, message in (
        ((x, target, 6, 0, 3), r"elements 6 to 9 of src, got 8 elements"),
        ((x, target, 0, -1, 3), r"elements -1 to 2 of dst"),
        ((x.reshape([2, 4]), target, 0, 0, 3), r"src of one axis"),
        ((x, paddle.zeros([6]), 0, 0, 3), r"two tensors of one dtype, got float32 and float64"),
    ):
        with pytest.raises(ValueError, match=r"\[(async_)?offload_with_offset\] requires " + message):
            M.async_offload_with_offset(*wrong, load)


@pytest.mark.parametrize(("here", "shape"), [(CPU, [2, 3]), (FAKE, [0, 3]), (OTHER, []), (FAKE, [1])])
def test_tensors_of_all_kinds(load, here, shape):
    x = on(here, np.full(shape, 3.0, np.float32))
    kept, task = M.async_offload(x, load)
    task.cpu_wait()
    back, again = M.async_reload(kept, load)
    again.xpu_wait()
    assert kept.shape == back.shape == shape and back.place is here and kept.place is CPU
    assert array.host_values(back).tolist() == array.host_values(x).tolist()
    assert kept.data_ptr() != x.data_ptr() or not kept.size


def test_parameters_stay_parameters(load):
    p = paddle.nn.Parameter(paddle.ones([3]), trainable=False)
    p.optimize_attr["learning_rate"] = 0.5
    kept, task = M.async_offload(p, load)
    task.cpu_wait()
    assert type(kept) is type(p) and not kept.trainable and kept.optimize_attr == {"learning_rate": 0.5}
    assert kept.name != p.name and kept.tolist() == [1.0, 1.0, 1.0] and kept.optimize_attr is not p.optimize_attr
    into = paddle.Tensor()
    paddle.base.core.AsyncLoad().offload(into, p).cpu_wait()
    assert into.tolist() == [1.0, 1.0, 1.0]
    load.reload(into, kept).cpu_wait()
    assert into.tolist() == [1.0, 1.0, 1.0]


def test_work_that_fails_is_told_to_whoever_waits(fake, load):
    bad = F.take(on(FAKE), on(FAKE, np.array([9])), axis=0)
    kept, task = M.async_offload(bad, load)
    with pytest.raises(RuntimeError, match=r"failed on fake:0 after .*\[take\] on fake:0: \[take\] requires an index"):
        task.cpu_wait()
    with pytest.raises(RuntimeError, match=r"\[take\] failed on fake:0 after it was launched"):
        stream.synchronize(FAKE.index)
    y, task = M.async_offload(on(FAKE), load)  # and the next is right
    task.cpu_wait()
    np.testing.assert_array_equal(y.numpy(), X)


def test_what_is_no_tensor_or_no_loader():
    with pytest.raises(TypeError, match=r"\[async_offload\] .*src_tensor.*got list"):
        M.async_offload([1.0], M.create_xpu_async_load())
    with pytest.raises(TypeError, match=r"\[async_reload\] requires what create_async_load\(\) has returned, got None"):
        M.async_reload(paddle.ones([1]), None)


def numbers(*values):
    return paddle.to_tensor(values, "int64").reshape([-1])


ROWS = np.arange(40, dtype=np.float32).reshape(10, 4)


def test_rows_are_read_while_nobody_waits(fake):
    src, buffer, dst = paddle.to_tensor(ROWS), paddle.zeros([3, 4]), on(FAKE, np.zeros((9, 4), np.float32))
    version = dst.inplace_version
    with fake.held(FAKE):
        eager.async_read(src, dst, numbers(7, 0, 7), buffer, numbers(1, 8), numbers(2, 2))
        y = F.mul(dst, 2.0)  # comes after the copies
        assert not stream.stream(FAKE.index, 0).query()
    wanted = ROWS[[1, 2, 8, 9, 7, 0, 7]]
    np.testing.assert_array_equal(array.host_values(y)[:7], 2 * wanted)
    np.testing.assert_array_equal(array.host_values(dst)[7:], 0)
    np.testing.assert_array_equal(buffer.numpy(), ROWS[[7, 0, 7]])
    assert dst.inplace_version > version
    eager.async_read(src, dst, numbers(), buffer, numbers(), numbers())  # nothing
    np.testing.assert_array_equal(array.host_values(dst)[:7], wanted)


def test_rows_are_written_once_the_stream_is_waited_for(fake):
    src, dst = on(FAKE, ROWS), paddle.zeros([12, 4])
    with fake.held(FAKE):
        y = F.add(src, 1.0)
        eager.async_write(y, dst, numbers(0, 7), numbers(3, 4))
        assert dst.numpy().sum() == 0
    stream.synchronize(FAKE.index)
    wanted = np.zeros((12, 4), np.float32)
    wanted[:3], wanted[7:11] = ROWS[:3] + 1, ROWS[3:7] + 1
    np.testing.assert_array_equal(dst.numpy(), wanted)
    del y
    other = paddle.zeros([2, 4])  # on the host alone
    eager.async_write(paddle.to_tensor(ROWS), other, numbers(1), numbers(1))
    np.testing.assert_array_equal(other.numpy(), [[0] * 4, ROWS[0]])


def test_rows_that_do_not_fit_are_refused(fake):
    src, dst, buffer = paddle.to_tensor(ROWS), on(FAKE, np.zeros((5, 4), np.float32)), paddle.zeros([2, 4])
    for arguments, message in (
        ((src, dst, numbers(10), buffer, numbers(), numbers()), "rows from 0 to 9 as index, got 10 to 10"),
        ((src, dst, numbers(-1), buffer, numbers(), numbers()), "rows from 0 to 9 as index, got -1 to -1"),
        ((src, dst, numbers(0, 1, 2), buffer, numbers(), numbers()), "rows 0 to 3 of buffer, got 2 rows"),
        ((src, dst, numbers(), buffer, numbers(9), numbers(2)), "rows 9 to 11 of src, got 10 rows"),
        ((src, dst, numbers(), buffer, numbers(9), numbers(-1)), "rows 9 to 8 of src"),
        ((src, dst, numbers(1), buffer, numbers(0), numbers(5)), "rows 0 to 6 of dst, got 5 rows"),
        ((src, dst, numbers(), buffer, numbers(0, 1), numbers(5)), "2 numbers as count"),
        ((src, dst, numbers(), buffer[:, :2], numbers(), numbers()), "buffer with an axis of rows"),
        ((src, dst, numbers(), paddle.zeros([2, 3]), numbers(), numbers()), "buffer with rows like those of dst"),
        ((dst, dst, numbers(), buffer, numbers(), numbers()), "src in the memory of the host, got fake:0"),
        ((src, dst, numbers().astype("int32"), buffer, numbers(), numbers()), "int64 of one axis as index"),
    ):
        with pytest.raises(ValueError, match=rf"\[async_read\] requires {message}"):
            eager.async_read(*arguments)
    for arguments, message in (
        ((dst, src, numbers(8), numbers(3)), "rows 8 to 11 of dst, got 10 rows"),
        ((dst, src, numbers(0, 5), numbers(5, 1)), "rows 0 to 6 of src, got 5 rows"),
        ((src, dst, numbers(0), numbers(1)), "dst in the memory of the host"),
    ):
        with pytest.raises(ValueError, match=rf"\[async_write\] requires {message}"):
            eager.async_write(*arguments)
