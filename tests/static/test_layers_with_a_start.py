"""Layers whose parameters begin with more than an initializer gives: the startup program does it, once."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
from paddle import nn, static


def values(p: Any) -> np.ndarray:
    return np.array(static.global_scope().find_var(p.name).get_tensor())


def trained(make: Any, loss_of: Any, feed: Any) -> tuple[Any, list[dict[str, np.ndarray]]]:
    """A layer, and its parameters at the start and after each of two steps."""
    main, startup = static.Program(), static.Program()
    paddle.enable_static()
    try:
        with static.program_guard(main, startup), static.scope_guard(static.Scope()):
            layer = make()
            paddle.optimizer.SGD(0.125).minimize(loss_of(layer))
            executor = static.Executor()
            executor.run(startup)
            found = []
            for _ in range(3):
                found.append({name: values(p) for name, p in layer.named_parameters()})
                executor.run(main, feed=feed)
            return layer, found
    finally:
        paddle.disable_static()


def test_the_row_of_a_padding_is_zeros_at_the_start_and_free_afterwards():
    def loss_of(layer):
        ids = static.data("ids", [None], "int64")
        return layer(ids).sum() + layer.weight.sum()  # as where the table is the weight of scores, too

    _, found = trained(lambda: nn.Embedding(4, 2, padding_idx=1), loss_of, {"ids": np.array([0, 1])})
    rows = [f["weight"][1].tolist() for f in found]
    assert rows == [[0.0, 0.0], [-0.125, -0.125], [-0.25, -0.25]]


def test_weight_norm_begins_with_the_length_of_its_direction():
    def loss_of(layer):
        return layer(static.data("x", [None, 3])).square().sum()

    x = np.ones([2, 3], "float32")
    _, found = trained(lambda: nn.utils.weight_norm(nn.Linear(3, 2), dim=1), loss_of, {"x": x})
    np.testing.assert_allclose(found[0]["weight_g"], np.linalg.norm(found[0]["weight_v"], axis=0), 1e-6)
    layer = nn.utils.weight_norm(nn.Linear(3, 2), dim=1)
    for name, p in layer.named_parameters():
        p.set_value(found[0][name])
    optimizer = paddle.optimizer.SGD(0.125, parameters=layer.parameters())
    for after in found[1:]:
        layer(paddle.to_tensor(x)).square().sum().backward()
        optimizer.step()
        optimizer.clear_grad()
        for name, p in layer.named_parameters():
            np.testing.assert_allclose(after[name], p.numpy(), 1e-5, 1e-6)


def test_weight_norm_that_is_removed_leaves_the_parameter():
    def make():
        return nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(3, 2), dim=1))

    x = np.ones([2, 3], "float32")
    layer, found = trained(make, lambda layer: layer(static.data("x", [None, 3])).sum(), {"x": x})
    assert found[0]["weight"].any() and sorted(found[0]) == ["bias", "weight"]
    np.testing.assert_allclose(found[1]["weight"], found[0]["weight"] - 0.25, 1e-5, 1e-6)


def test_initializers_that_are_set_for_all_fill_what_functions_make():
    x = np.ones([2, 3, 4, 4], "float32")
    nn.initializer.set_global_initializer(nn.initializer.Constant(0.5), nn.initializer.Constant(0.25))
    paddle.enable_static()
    try:
        with static.program_guard(static.Program(), static.Program()), static.scope_guard(static.Scope()):
            v = static.data("x", [2, 3, 4, 4])
            fetched = [
                static.nn.conv2d(v, 5, 3), static.nn.fc(v, 2),
                static.nn.conv2d(v, 1, 1, param_attr=nn.initializer.Constant(2.0), bias_attr=False),
                static.nn.batch_norm(v, is_test=True, epsilon=0.0),
            ]  # fmt: skip
            executor = static.Executor()
            executor.run(static.default_startup_program())
            got = executor.run(feed={"x": x}, fetch_list=fetched)
    finally:
        paddle.disable_static()
        nn.initializer.set_global_initializer(None)
    for result, value in zip(got, [27 * 0.5 + 0.25, 48 * 0.5 + 0.25, 6.0, 0.5 + 0.25], strict=True):
        np.testing.assert_allclose(result, np.full_like(result, value), rtol=1e-6)
