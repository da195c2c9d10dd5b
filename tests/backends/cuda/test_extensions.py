"""Operators in C++ on CUDA devices: the stream that their kernels go to, and who waits for them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import paddle
from paddle.utils.cpp_extension.loading import functions_of
from tests.support.extensions import library_of
from umiak.core import stream

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
