"""The calls that `make oracle` compares are well formed, and the comparison sees what differs."""

from __future__ import annotations

import ast
import base64

import numpy as np
import pytest

from tests.oracle.__main__ import REASONS, compared_calls, known_differences
from tests.oracle.calls import all_calls, as_method, written_lines
from tests.oracle.compare import verdict
from tests.oracle.coverage import CALLS_EACH, counts, uncovered
from tests.oracle.worker import array_record

CALLS = compared_calls()


def record(array: np.ndarray, dtype: str) -> dict:
    data = base64.b64encode(array.tobytes()).decode()
    return {"tensor": dtype, "dtype": str(array.dtype), "shape": list(array.shape), "data": data}


def test_calls_end_with_an_expression():
    assert len(CALLS) > 5000
    for call in CALLS:
        assert isinstance(ast.parse(call.text).body[-1], ast.Expr), call


def test_known_differences_have_a_reason():
    assert all(reason in REASONS for reason, _ in known_differences())


def test_blocks_are_expanded():
    text = "# a comment\neach sin cos\n    P.{}(N(2))\n    P.{}(N(3))\nP.add(N(2), 1)\n"
    lines = ["P.sin(N(2))", "P.cos(N(2))", "P.sin(N(3))", "P.cos(N(3))", "P.add(N(2), 1)"]
    assert written_lines(text) == lines


def test_a_function_is_also_called_as_a_method_and_in_place():
    made = as_method("a = 1; P.add(N(2), a, alpha=2)", {"add", "add_"})
    assert made == ["a = 1; N(2).add(a, alpha=2)", "a = 1; x = N(2).clone(); y = x.add_(a, alpha=2); (x, y)"]
    assert as_method("F.relu(N(2))", {"relu"}) == []


def test_a_listed_difference_is_not_counted_again_for_the_methods():
    texts = {call.text for call in all_calls({"add", "sin"}, ["P.add(N(2, 3), U(3))"])}
    assert "P.add(N(2, 3), U(3))" in texts and "N(2, 3).add(U(3))" not in texts
    assert "N(2, 3).sin()" in texts
    assert sum(".sin()" in text for text in texts) > 3
    assert sum(call.text.endswith(".sin()") for call in all_calls({"sin"}, ["*.sin()"])) == 1


@pytest.mark.parametrize(
    ("ours", "kind"),
    [
        ({"value": record(np.ones(2, "float32"), "float32")}, None),
        ({"value": record(np.ones(2, "float32") * np.float32(1.0000001), "float32")}, None),
        ({"value": record(np.ones(2, "float32") * np.float32(1.001), "float32")}, "value"),
        ({"value": record(np.ones((2, 1), "float32"), "float32")}, "value"),
        ({"value": record(np.ones(2, "float64"), "float64")}, "value"),
        ({"value": {"repr": "None"}}, "value"),
        ({"error": "ValueError", "kinds": ["ValueError"], "words": ""}, "refused here"),
        ({"value": record(np.ones(2, "float32"), "float32"), "gradients": [record(np.ones(2), "float64")]}, "gradient"),
        ({"value": record(np.ones(2, "float32"), "float32"), "gradients": [record(np.zeros(2), "float64")]}, None),
    ],
)
def test_what_differs(ours, kind):
    found = verdict({"value": record(np.ones(2, "float32"), "float32")}, ours, random=False)
    assert (found and found[0]) == kind


def test_errors_are_compared_by_kind():
    theirs = {"error": "ValueError", "kinds": ["ValueError"], "words": "no"}
    assert verdict(theirs, {"error": "ValueError", "kinds": ["ValueError"], "words": "other"}, False) is None
    assert verdict(theirs, {"error": "TypeError", "kinds": ["TypeError"], "words": ""}, False)[0] == "error"
    assert verdict(theirs, {"value": {"repr": "1"}}, False)[0] == "accepted here"
    lost = {"error": "SystemError", "kinds": ["SystemError"], "words": "a result with an exception set"}
    assert verdict(lost, {"value": {"repr": "1"}}, False)[0] == "nothing to compare"
    lacking = {"error": "RuntimeError", "kinds": ["RuntimeError"], "words": "The kernel `x` is not registered."}
    assert verdict(lacking, {"value": {"repr": "1"}}, False)[0] == "nothing to compare"


def test_a_gradient_without_a_kernel_leaves_the_values_to_compare():
    one = record(np.ones(2, "float16"), "float16")
    lacking = {"error": "RuntimeError", "kinds": ["RuntimeError"], "words": "The kernel `x` is not registered."}
    assert verdict({"value": one, "gradients": lacking}, {"value": one, "gradients": [one]}, False) is None
    other = {"value": record(np.zeros(2, "float16"), "float16"), "gradients": [one]}
    assert verdict({"value": one, "gradients": lacking}, other, False)[0] == "value"
    failed = {"error": "RuntimeError", "kinds": ["RuntimeError"], "words": "out of memory"}
    assert verdict({"value": one, "gradients": failed}, {"value": one, "gradients": [one]}, False)[0] == "gradient"


def test_gradients_are_compared_beside_the_largest():
    value = record(np.ones(2, "float32"), "float32")
    theirs = {"value": value, "gradients": [record(np.float32([1e-7, 0]), "float32"), record(np.ones(2), "float64")]}
    ours = {"value": value, "gradients": [record(np.float32([-1e-7, 0]), "float32"), record(np.ones(2), "float64")]}
    assert verdict(theirs, ours, False) is None
    ours["gradients"][0] = record(np.float32([1e-4, 0]), "float32")
    assert verdict(theirs, ours, False)[0] == "gradient"


def test_bytes_one_apart_are_rounding():
    theirs = {"value": record(np.uint8([7, 255]), "uint8")}
    assert verdict(theirs, {"value": record(np.uint8([8, 255]), "uint8")}, False)[1].startswith("rounding")
    assert verdict(theirs, {"value": record(np.uint8([7, 0]), "uint8")}, False)[1].startswith("values")


def test_images_of_pillow_are_compared():
    def image(mode: str, pixels: list[int]) -> dict:
        return {"value": {"image": mode, **array_record(np.uint8([pixels]))}}

    assert verdict(image("L", [1, 2]), image("L", [1, 2]), False) is None
    assert verdict(image("L", [1, 2]), image("P", [1, 2]), False)[1] == "dtype L here P"
    assert verdict(image("L", [1, 2]), image("L", [1, 4]), False)[0] == "value"


def test_what_the_reference_asserts_is_an_error_of_values_or_types():
    theirs = {"error": "AssertionError", "kinds": ["AssertionError"], "words": "no"}
    assert verdict(theirs, {"error": "TypeError", "kinds": ["TypeError"], "words": ""}, False) is None
    assert verdict(theirs, {"error": "OSError", "kinds": ["OSError"], "words": ""}, False)[0] == "error"


def test_every_function_has_calls():
    """Each public function has enough calls, or a reason to have none in `uncovered.txt`."""
    found = {name: count for names in counts(call.text for call in CALLS).values() for name, count in names.items()}
    assert len(found) > 2000
    excused = uncovered()
    assert all(excused.values()), "a line is 'NAMES: REASON'"
    fewer = sorted(name for name, count in found.items() if count < CALLS_EACH and name not in excused)
    assert not fewer, f"{len(fewer)} functions have fewer than {CALLS_EACH} calls: {', '.join(fewer)}"
    enough = sorted(name for name in excused if found.get(name, 0) >= CALLS_EACH)
    assert not enough, f"calls compare them, so that uncovered.txt need not name them: {', '.join(enough)}"


def test_calls_are_counted_for_aliases_and_methods():
    texts = ["P.nn.functional.relu(N(2))", "F.relu(N(3))", "N(2).abs().sin_()"]
    found = counts(texts)
    assert found["paddle.nn.functional"]["paddle.nn.functional.relu"] == 2
    assert found["Tensor"]["Tensor.abs"] == 1 and found["paddle"]["paddle.sin_"] == 1
    assert found["paddle"]["paddle.abs"] == 0
