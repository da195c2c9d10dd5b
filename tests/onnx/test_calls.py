"""Calls of all kinds: programs that PaddlePaddle saved give its results in ONNX Runtime, at every opset."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest

from paddle.onnx import table
from paddle.onnx.convert import convert
from paddle.static.formats import pir
from tests.onnx import inputs
from tests.onnx.conftest import records, run
from tests.support.draw import sampled

OPSETS = 11, 13, 17, 21
# Calls that not every opset can say: the first that can, None if there is none.
FIRST = {
    "einsum": 12, "einsum_trace": 12, "mode": 12, "collected": 13, "quantize_channels": 13,
    "quantize_last_channels": 13,
    "rcnn": 16, "roi_align": 16, "grid_sample": 16, "grid_sample_nearest": 16, "grid_sample_reflection": 16,
    "index_add": 16, "index_put_add": 16, "put_along_axis_add": 16, "scatter_add": 16, "scatter_nd_add": 16,
    "scatter_nd": 16, "segment_sum": 16, "segment_mean": 16, "send_u_recv": 16, "send_ue_recv": 16,
    "bitwise_and": 18, "bitwise_or": 18, "bitwise_xor": 18, "put_along_axis_max": 18, "segment_max": 18,
    "send_u_recv_max": 18, "deform_conv2d": 19, "deform_conv2d_mask": 19,
}  # fmt: skip


def compare(got, results):
    assert len(got) == len(results)
    for x, wanted in zip(got, results):
        assert (list(x.shape), str(x.dtype)) == (wanted["shape"], wanted["dtype"])
        np.testing.assert_allclose(x, np.array(wanted["values"]).reshape(x.shape), rtol=2e-4, atol=2e-5)


def names() -> list[str]:
    return sorted(records())


def opsets(name: str) -> list:
    """Two opsets are quick, and those that cannot say the call."""
    first = FIRST.get(name, 11) or max(OPSETS) + 1
    refused = [(name, n) for n in OPSETS if n < first]
    return refused + sampled([(name, n) for n in OPSETS if n >= first], 2)


@pytest.mark.parametrize(("name", "opset"), [row for name in names() for row in opsets(name)])
def test_a_call_gives_the_results_of_the_reference(name, opset):
    record = records()[name]
    module = pir.read(record.program)
    first = FIRST.get(name, 11)
    if first is None or opset < first:
        with pytest.raises(ValueError, match=re.escape(f"(opset {first or 'none'})")):
            convert(module, {}, opset)
        return
    model = convert(module, {}, opset)
    onnx.checker.check_model(model, full_check=True)
    compare(run(model, record.call.inputs), record.results)


@pytest.mark.parametrize("name", sorted(k for k, first in FIRST.items() if first is not None and first not in OPSETS))
def test_the_opset_that_an_error_names_can_say_it(name):
    record = records()[name]
    compare(run(convert(pir.read(record.program), {}, FIRST[name]), record.call.inputs), record.results)


def test_the_record_is_that_of_the_calls():
    assert {k: c.line for k, c in inputs.calls().items()} == {k: r.call.line for k, r in records().items()}


def test_the_table_says_more_than_220_operators():
    table.load()
    said = {o.name.partition(".")[2] for r in records().values() for o in pir.read(r.program).block.walk()}
    covered = {name for name in said if name in table.RULES or name.removesuffix("_") in table.RULES}
    assert len(covered) >= 220, sorted(covered)
