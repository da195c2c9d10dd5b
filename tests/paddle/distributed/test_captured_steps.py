"""Captured data-parallel steps: over MPI, and on virtual ranks."""

import pytest

from tests.support.ranks import assert_passes, checks, simulate

MODULE = "tests.paddle.distributed.captured_step_checks"
every = pytest.mark.parametrize("name", checks(MODULE), ids=lambda name: name.removeprefix("check_"))


@every
def test_processes(name):
    assert_passes(2, MODULE, name)


@every
def test_virtual_ranks(name):
    simulate(2, MODULE, name)


def test_a_scaled_loss_whose_scale_grows():
    """On four ranks the third step still has gradients, with a scale that is not that of the capture."""
    simulate(4, MODULE, "check_a_scaled_loss")
