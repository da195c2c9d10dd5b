"""Models that were saved, for the tests of predictors and of the server."""

from __future__ import annotations

import pytest

import paddle
from paddle import inference
from paddle.inference.loading import files_of
from tests.support import inference_nets


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """A network by its name, and the prefix of its files; each is saved once."""
    folder, known = tmp_path_factory.mktemp("saved"), {}

    def find(name):
        if name not in known:
            state = paddle.get_rng_state()
            paddle.seed(5)  # else its weights, and what the test draws, are other ones for the first test that asks
            known[name] = inference_nets.made(name, folder)
            paddle.set_rng_state(state)
        return known[name]

    return find


@pytest.fixture
def config(saved):
    """The settings for a network by its name."""
    return lambda name: inference.Config(*files_of(str(saved(name)[1])))
