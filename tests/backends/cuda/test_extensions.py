"""Operators in C++ on CUDA devices: the stream that their kernels go to, and who waits for them."""

from __future__ import annotations

import ctypes
import threading
import time

import numpy as np
import pytest

import paddle
from paddle.utils.cpp_extension.loading import functions_of
from tests.support.extensions import library_of
from umiak.core import extension, stream

# A kernel that notes the stream of its tensor, and gives a copy back.
ASKING = """
#include "umiak/extension_abi.h"
static const umiak_host* host;
void* seen;
void* asked;
static int run(void* self, umiak_call* call) {
  if (host->stream(call->arguments[0].as.tensor, 0, 0, &seen)) return UMIAK_HOST_FAILED;
  if (host->stream(0, 0, 0, &asked)) return UMIAK_HOST_FAILED;
  if (asked != seen || host->stream(0, "gpu", 0, &asked) || asked != seen) return UMIAK_FAILED;
  if (host->call("clone", call->arguments, 1, call->results, 1) != 1) return UMIAK_HOST_FAILED;
  call->n_results = 1;
  return UMIAK_OK;
}
static const char* const x[] = {"X"};
static const char* const y[] = {"Out"};
static umiak_operator op = {sizeof(op), 0, "asking", "", "here.cc", 7, 0, {1, x}, {1, y}, {0, 0}, {0, 0}, 0, run};
static const umiak_operator* const all[] = {&op};
static const umiak_extension_table table = {sizeof(table), UMIAK_ABI_MAJOR, UMIAK_ABI_MINOR, "none", 1, all, 0};
const umiak_extension_table* umiak_extension(const umiak_host* given) { host = given; return &table; }
"""


@pytest.fixture
def asking(tmp_path):
    """The operator, and a function that gives the stream it was told."""
    path = str(library_of(ASKING, tmp_path / "asking.so"))
    operator = functions_of(path)["asking"]
    library = ctypes.CDLL(path)
    return operator, lambda: ctypes.c_void_p.in_dll(library, "seen").value


def test_kernels_get_the_current_stream(device, cuda, asking):
    operator, seen = asking
    x = paddle.ones([2])
    assert operator(x).tolist() == [1.0, 1.0]
    assert seen() == cuda.device(device).queue(0).handle
    side = paddle.device.Stream("gpu:0")
    side.wait_stream(paddle.device.current_stream())
    with paddle.device.stream_guard(side):
        y = operator(x)
    assert seen() == cuda.device(device).queue(y.storage.stream).handle != cuda.device(device).queue(0).handle
    side.synchronize()


def test_what_a_kernel_launches_is_work_of_the_stream(device, asking):
    operator, _ = asking
    x = paddle.ones([2])
    own = stream.stream(device.index, 0)
    before = own.submitted
    x.clone()
    copies = own.submitted - before
    operator(x)
    assert own.submitted - before - copies > copies


# A kernel that waits until another thread has asked for the stream, and a function that does so in a thread of its own.
APART = """
#include <pthread.h>
#include <unistd.h>
#include "umiak/extension_abi.h"
static const umiak_host* host;
static umiak_tensor* kept;
void* seen;
int asks = 1, waits = 0, running = 0;
static void* ask(void* unused) { return host->stream(kept, 0, 0, &seen) ? unused : &seen; }
int in_a_thread(void) {
  pthread_t thread;
  void* found = 0;
  if (pthread_create(&thread, 0, ask, 0)) return -1;
  pthread_join(thread, &found);
  return found ? 0 : -1;
}
static int run(void* self, umiak_call* call) {
  host->retain(kept = call->arguments[0].as.tensor);
  __atomic_store_n(&running, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&waits, __ATOMIC_SEQ_CST)) usleep(1000);
  if (asks && in_a_thread()) return UMIAK_FAILED;
  __atomic_store_n(&running, 0, __ATOMIC_SEQ_CST);
  if (host->call("clone", call->arguments, 1, call->results, 1) != 1) return UMIAK_HOST_FAILED;
  call->n_results = 1;
  return UMIAK_OK;
}
static const char* const x[] = {"X"};
static const char* const y[] = {"Out"};
static umiak_operator op = {sizeof(op), 0, "apart", "", "here.cc", 7, 0, {1, x}, {1, y}, {0, 0}, {0, 0}, 0, run};
static const umiak_operator* const all[] = {&op};
static const umiak_extension_table table = {sizeof(table), UMIAK_ABI_MAJOR, UMIAK_ABI_MINOR, "none", 1, all, 0};
const umiak_extension_table* umiak_extension(const umiak_host* given) { host = given; return &table; }
"""


@pytest.fixture
def apart(tmp_path):
    path = str(library_of(APART, tmp_path / "apart.so", "-pthread"))
    return functions_of(path)["apart"], ctypes.CDLL(path)


def test_a_stream_that_a_kernel_asks_for_in_another_thread_is_asked_for_again(device, apart):
    operator, library = apart
    x = paddle.ones([70_000])  # above which the kernel runs without the lock
    own = stream.stream(device.index, 0)
    counts = []
    for asks in (0, 1):
        ctypes.c_int.in_dll(library, "asks").value = asks
        before = own.submitted
        operator(x)
        counts.append(own.submitted - before)
    assert counts[1] > counts[0] + 1
    assert extension.lent_streams() == 0


def test_streams_that_other_threads_ask_for_are_not_kept(device, apart):
    """A thread that asks by itself while a call runs elsewhere has no call at whose end its entry would go."""
    operator, library = apart
    x = paddle.ones([70_000])
    operator(x)
    waits, running = (ctypes.c_int.in_dll(library, name) for name in ("waits", "running"))
    ctypes.c_int.in_dll(library, "asks").value = 0
    waits.value = 1
    threads = [threading.Thread(target=operator, args=(x,)) for _ in range(2)]
    for t in threads:
        t.start()
    while not running.value:
        time.sleep(0.001)
    for _ in range(5):
        assert library.in_a_thread() == 0
    assert extension.lent_streams() == 1  # one stream, whoever asks
    waits.value = 0
    for t in threads:
        t.join()
    assert extension.lent_streams() == 0
    assert library.in_a_thread() == 0
    assert extension.lent_streams() == 0  # no call runs


def test_tensors_of_the_host_have_no_stream(cuda, asking):
    with pytest.raises(RuntimeError, match=r"\[asking\] a device with streams is required, got the host"):
        asking[0](paddle.ones([2]))


def test_work_of_others_on_a_stream_is_waited_for(device, cuda):
    """Its handle is all that they get."""
    x = paddle.zeros([3])
    stream.synchronize(device.index)
    handle = stream.stream(device.index, 0).handle
    driver = cuda.device(device).enter()
    driver.memset_d32_async(x.data_ptr(), int(np.float32(7).view(np.int32)), 3, handle)
    stream.synchronize(device.index)
    assert not driver.streams[handle].work
    assert x.tolist() == [7.0] * 3
