"""Small programs that PaddlePaddle saved of hundreds of operators: what ONNX can say of them gives their results."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from paddle.onnx.convert import Refused, convert
from paddle.static.formats import pir
from tests.onnx.conftest import run
from tests.static.formats.test_operators import CASES, array
from tests.support.draw import sampled

# What no opset has, and nothing is made of here.
NEVER = set(
    "bipartite_match crf_decoding ctc_align edit_distance fractional_max_pool2d im2sequence nextafter warpctc "
    "yolo_loss".split()
)


def converted(module, opset) -> onnx.ModelProto | Refused:
    try:
        return convert(module, {}, opset)
    except Refused as refused:
        return refused


@pytest.mark.parametrize(
    ("name", "opset"), [row for name in sorted(CASES) for row in sampled([(name, n) for n in (11, 14, 17, 21)], 2)]
)
def test_a_program_gives_what_it_gave(name, opset):
    row = CASES[name]
    module = pir.read(row["program"])
    feeds = {n: array(x) for n, x in row["feeds"].items()}
    never = {o.name.partition(".")[2] for o in module.block.walk()} & NEVER
    model = converted(module, opset)
    if isinstance(model, Refused):  # an operator that cannot be said at all, or that a later opset can say
        assert never if model.opset is None else model.opset > opset
        return
    assert not never
    onnx.checker.check_model(model, full_check=True)
    wanted = [array(x) for x in row["results"]]
    for x, y in zip(run(model, feeds), wanted, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x.astype("float64"), y.astype("float64"), rtol=2e-4, atol=2e-5)


def test_an_operation_of_another_form_is_an_error_that_names_it():
    module = pir.read(CASES["flip roll"]["program"])
    for o in module.block.operations:
        if o.name == "pd_op.flip":
            o.attributes.clear()
    with pytest.raises(ValueError, match=r"operands and attributes that pd_op\.flip has, got LookupError: no axis"):
        convert(module, {}, 17)
