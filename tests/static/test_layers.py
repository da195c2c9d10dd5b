"""Layers of ``paddle.static.nn``: names, values and gradients are those that the reference gave."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import paddle
from tests.support import static_layers

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "static_layers.json").read_text())


# The reference multiplies the outer product of the singular vectors with the weight element by element, instead of with
# one number: its gradient is not that of its result.
WRONG_GRADIENTS = {"spectral_norm"}


def test_every_case_is_recorded():
    assert list(RECORDED) == list(static_layers.CASES)


@pytest.mark.parametrize("case", RECORDED)
def test_results_are_those_of_the_reference(case, programs):
    ours, theirs = static_layers.result(case), RECORDED[case]
    assert ours["parameters"] == theirs["parameters"]
    compared = 1 if case in WRONG_GRADIENTS else len(theirs["values"])
    for a, b in zip(ours["values"][:compared], theirs["values"][:compared], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
    assert ours["kept"].keys() == theirs["kept"].keys()
    for name, b in theirs["kept"].items():
        np.testing.assert_allclose(ours["kept"][name], b, rtol=2e-5, atol=2e-5)


def test_the_gradient_of_spectral_norm_is_that_of_kept_vectors(programs):
    x = paddle.static.data("x", [4, 3])
    x.stop_gradient = False
    y = paddle.static.nn.spectral_norm(x, power_iters=30)
    (grad,) = paddle.static.gradients((y * y * paddle.arange(12.0).reshape([4, 3])).sum(), x)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    weight = np.random.RandomState(0).standard_normal((4, 3)).astype("float32")
    (found,) = exe.run(feed={"x": weight}, fetch_list=[grad], program=paddle.static.default_main_program())
    left, values, right = np.linalg.svd(weight.astype("float64"))
    factors, step = np.arange(12.0).reshape(4, 3), 1e-6

    def loss(w):
        return ((w / (left[:, 0] @ w @ right[0])) ** 2 * factors).sum()

    for at in np.ndindex(4, 3):
        moved = np.zeros((4, 3))
        moved[at] = step
        assert found[at] == pytest.approx(
            (loss(weight + moved) - loss(weight - moved)) / (2 * step), rel=1e-3, abs=1e-3
        )


def spread(call):
    """The weight that a layer begins with."""
    paddle.static.Executor().run(paddle.static.default_startup_program())
    return np.array(paddle.static.global_scope().find_var(call))


def test_weights_begin_as_in_the_reference(programs):
    nn, data = paddle.static.nn, paddle.static.data
    nn.fc(data("a", [None, 64]), 128)
    nn.conv2d(data("b", [None, 32, 8, 8]), 64, 3, groups=2)
    paddle.seed(0)
    weight = spread("fc_0.w_0")
    assert np.abs(weight).max() <= np.sqrt(6 / 192) and weight.std() == pytest.approx(np.sqrt(2 / 192), rel=0.03)
    assert spread("conv2d_0.w_0").std() == pytest.approx(np.sqrt(2 / (9 * 32)), rel=0.03)
    assert not spread("fc_0.b_0").any()


SAMPLERS = {"uniform": {}, "log_uniform": {}, "custom_dist": {"custom_dist": [0.1] * 10}}


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_seed_draws_the_same_classes_in_every_run(sampler, programs):
    main, startup = programs
    x, label = paddle.static.data("x", [None, 3]), paddle.static.data("label", [None, 1], "int64")
    costs = [
        paddle.static.nn.nce(x, label, 10, num_neg_samples=4, sampler=sampler, seed=seed, **SAMPLERS[sampler])
        for seed in (5, 0)
    ]
    exe = paddle.static.Executor()
    exe.run(startup)
    feed = {"x": np.ones([6, 3], "float32"), "label": np.zeros([6, 1], "int64")}
    (same, drawn), (again, anew) = (exe.run(main, feed, costs) for _ in range(2))
    np.testing.assert_array_equal(same, again)
    assert (drawn != anew).any()
    assert len(np.unique(same)) > 1  # rows differ


REFUSED = {
    "undeclared": (ValueError, "sizes that are declared", lambda nn, x: nn.fc(x, 2)),
    "activation": (ValueError, "name of an activation", lambda nn, x: nn.row_conv(paddle.ones([1, 2, 2]), 1, act="")),
    "mode": (ValueError, "'all', 'channel' or 'element'", lambda nn, x: nn.prelu(x, "each")),
    "nothing": (ValueError, "at least one input", lambda nn, x: nn.fc([], 2)),
    "attributes": (ValueError, "as many as inputs", lambda nn, x: nn.fc([x], 2, weight_attr=[None, None])),
    "sizes": (ValueError, "filter_size or output_size", lambda nn, x: nn.conv2d_transpose(x.reshape([1, 1, 2, 2]), 1)),
    "dim": (ValueError, "a dim from 0 to 1", lambda nn, x: nn.spectral_norm(paddle.ones([2, 2]), dim=2)),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case, programs):
    error, message, call = REFUSED[case]
    with pytest.raises(error, match=message):
        call(paddle.static.nn, paddle.static.data("x", [None, None]))


def test_they_need_static_mode():
    with pytest.raises(RuntimeError, match="requires static mode"):
        paddle.static.nn.fc(paddle.ones([1, 2]), 2)


@pytest.mark.parametrize(
    ("layer", "wanted", "made"),
    [
        ("group_norm", {}, []),
        ("group_norm", {"param_attr": True}, ["w"]),
        ("group_norm", {"bias_attr": "own"}, ["own"]),
        ("group_norm", {"param_attr": True, "bias_attr": True}, ["w", "b"]),
        ("instance_norm", {}, []),
        ("instance_norm", {"param_attr": True}, []),
        ("instance_norm", {"param_attr": True, "bias_attr": True}, ["w", "b"]),
        ("layer_norm", {}, ["w", "b"]),
        ("layer_norm", {"shift": False}, ["w"]),
    ],
)
def test_normalizations_make_the_parameters_that_are_asked_for(layer, wanted, made, programs):
    """As in the reference, those of groups and instances none by default."""
    groups = [2] if layer == "group_norm" else []
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        getattr(paddle.static.nn, layer)(paddle.static.data("x", [2, 4, 3, 3]), *groups, **wanted)
    assert [p.name.rpartition(".")[2][: 1 if "." in p.name else None] for p in main.all_parameters()] == made


def test_a_bias_of_instance_norm_alone_is_refused(programs):
    with pytest.raises(ValueError, match=r"\[instance_norm\] requires a bias_attr of False with a param_attr of False"):
        paddle.static.nn.instance_norm(paddle.static.data("x", [2, 4, 3, 3]), param_attr=False, bias_attr=True)
