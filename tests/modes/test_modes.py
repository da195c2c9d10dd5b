"""Calls of the oracle in every mode, without the reference: a sample. ``python -m tests.modes`` runs all of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import paddle
from tests.modes.modes import IDENTITIES, MODES, findings
from tests.oracle.calls import Call, all_calls
from tests.support.draw import drawn_order

# Functions of tensors: calls of other families have state (layers, optimizers, the process).
FAMILIES = {
    "creation",
    "elementwise",
    "fft",
    "indexing",
    "layers",
    "linalg",
    "losses",
    "manipulation",
    "reductions",
    "tensor",
    "vision_ops",
}
# Functions of other things as well: captured as they are in eager.
CAPTURED = {"distribution", "graphs", "nn", "sparse"}
CALLS = [call for call in all_calls(set()) if call.family in FAMILIES]
STEP, STEP_OF_CAPTURED, CHUNK = 599, 331, 500
SOME_IDENTITIES = 30

# What a mode may say of a call that is right: who needs the values of tensors is refused while a function is captured,
# and sizes of 0 where there must be an element.
ALLOWED = {
    "captured": r"are not known while the program is traced|requires a tensor with data"
    r"|are read while the function is captured|with data, got a tensor of a captured function",
    "layouts": r"are not known while the program is traced",
    "not_numbers": r"are not known while the program is traced",
    "sizes": r"\[\w+Error: \[\w+\] requires|expected",
    "expanded": r"Write into a copy of it",
    # What wanted a gradient still wants one, which is zeros.
    "in_place": r"dtype, stop_gradient \('(\w+)', True\) against \('\1', False\)",
    "dtypes": r"refused: \[\w+Error: \[\w+\] requires",
    # What ONNX, ONNX Runtime or a program with open sizes has no form for. Elements there must be.
    "exported": r"refused: |NOT_IMPLEMENTED|N\(.*\b0[,)]",
}
# No modes of these: elements without values, derivatives that are not defined, float32 from all dtypes, other axes.
OTHERWISE = re.compile(r"P\.empty|P\.gammaincc?\(|mode='complete'|ldexp|P\.cross\(|P\.unique")
# No slopes of these: matrices that are symmetric by convention, ties, places that overlap, what is
# written over without a history, and gradients that the call defines.
NO_SLOPES = re.compile(
    r"eigvalsh|eigh\(N|cholesky\(.*tril|hermitian=True|P\.sort\(I|max_unpool|Function|PyLayer|saved_tensors"
    r"|x = N\(2, 2\);.*(\] =|_\(|assign\()"
)
# Not in every dtype: layers whose parameters are float32, and what decides by comparing with a threshold, which
# rounded operands may pass.
FIXED_DTYPE = re.compile(
    r"L\(P\.vision|vision\.ops\.(matrix_nms|yolo_box|generate_proposals|distribute_fpn_proposals)\("
)
LAYERS = re.compile(r"L\(P\.vision")


def said(call: Call, mode: str) -> list[str]:
    if OTHERWISE.search(call.text) or (mode == "slopes" and NO_SLOPES.search(call.text)):
        return []
    if mode == "dtypes" and FIXED_DTYPE.search(call.text):
        return []
    if mode == "slopes" and LAYERS.search(call.text):  # which float64 operands do not fit
        return []
    allowed = ALLOWED.get(mode)
    return [f"{call.text}: {line}" for line in findings(call, mode) if not (allowed and re.search(allowed, line))]


@pytest.mark.parametrize("mode", MODES)
def test_a_sample(mode):
    calls = [call for call in CALLS[::STEP] if not call.random]
    assert len(calls) > 10
    found = [line for call in calls for line in said(call, mode)]
    assert not found, "\n".join(found)


def test_a_sample_is_captured():
    calls = [call for call in all_calls(set()) if call.family in CAPTURED and not call.random][::STEP_OF_CAPTURED]
    assert len(calls) > 5
    found = [line for call in calls for line in said(call, "captured")]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("mode", ["captured", "shared", "slopes"])
@pytest.mark.parametrize("count", [SOME_IDENTITIES, pytest.param(len(IDENTITIES), marks=pytest.mark.slow)])
def test_calls_that_change_nothing(mode, count):
    calls = drawn_order(IDENTITIES, mode, name=lambda call: call.text)[:count]
    found = [line for call in calls for line in said(call, mode)]
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(CALLS), CHUNK))
def test_slopes(first):
    """First and second derivatives of every call."""
    found = [line for call in CALLS[first : first + CHUNK] for line in said(call, "slopes")]
    assert not found, "\n".join(found)


# --- the net itself ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "name", "wrong", "call"),
    [
        ("slopes", "sin", lambda x: paddle.exp(x) + x.detach() * x, "P.sin(N(2, 3))"),
        ("captured", "cos", lambda x: x * (1.0 if type(x) is paddle.Tensor else 2.0), "P.cos(N(2, 3))"),
        ("dtypes", "tanh", lambda x: x * (2.0 if x.dtype == paddle.float16 else 1.0), "P.tanh(N(2, 3))"),
        ("sizes", "abs", lambda x: x.numpy()[0] * x, "P.abs(N(3))"),
        ("shared", "neg", lambda x: x.reshape([-1]).reshape(x.shape), "P.neg(N(2, 3))"),
        ("exported", "sqrt", lambda x: x * (1.0 if type(x) is paddle.Tensor else 2.0), "P.sqrt(N(2, 3))"),
        ("layouts", "exp", lambda x: x * float(x.is_contiguous()), "P.exp(N(2, 3))"),
    ],
)
def test_a_defect_is_found(monkeypatch, mode, name, wrong, call):
    monkeypatch.setattr(paddle, name, wrong)
    assert said(Call("", call), mode)


def test_an_exported_call_is_refused_where_the_call_is(monkeypatch):
    assert not said(Call("", "P.sum(N(2, 3), axis=2)"), "exported")
    assert not said(Call("", "P.take(N(3, 4), T([12]))"), "exported")  # the model fails

    def refusing(x):
        if type(x) is paddle.Tensor:
            raise ValueError("eager")
        return x * 2.0

    monkeypatch.setattr(paddle, "sqrt", refusing)
    assert "but the model gives 1 results" in said(Call("", "P.sqrt(N(2, 3))"), "exported")[0]

    def broken(x):
        if type(x) is paddle.Tensor:
            raise ValueError("eager")
        return x.there_is_no_such_attribute

    monkeypatch.setattr(paddle, "sqrt", broken)
    assert (
        "and the export fails: [Refused: recorded: AttributeError" in said(Call("", "P.sqrt(N(2, 3))"), "exported")[0]
    )


def test_inputs_are_those_of_the_call():
    from tests.modes.calls import function_of, inputs_of

    made = inputs_of("a = N(2, 3); P.add(a, T([1., 2., 3.]))")
    assert [x.values.shape for x in made] == [(2, 3), (3,)]
    assert [x.values.shape for x in inputs_of("P.add(N(2, 3), N(3))", {3: 5})] == [(2, 5), (5,)]
    found = function_of("a = N(2, 3); P.add(a, T([1., 2., 3.]))")(*[x.tensor() for x in made])
    np.testing.assert_allclose(found.numpy(), made[0].values + made[1].values)
