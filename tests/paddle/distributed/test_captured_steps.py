"""Captured data-parallel steps: over MPI, and on virtual ranks."""

import pytest

from tests.support.draw import drawn_order, sampled
from tests.support.ranks import assert_passes, checks, simulate

MODULE = "tests.paddle.distributed.captured_step_checks"
CHECKS = checks(MODULE)
every = pytest.mark.parametrize("name", CHECKS, ids=lambda name: name.removeprefix("check_"))
# Virtual ranks make every check in the quick suite, processes a few.
FEW = 4
TOGETHER = drawn_order(CHECKS)[:FEW]


@pytest.mark.parametrize("name", sampled(CHECKS, FEW), ids=lambda name: name.removeprefix("check_"))
def test_processes(name):
    assert_passes(2, MODULE, name, TOGETHER if name in TOGETHER else CHECKS)


@every
def test_virtual_ranks(name):
    simulate(2, MODULE, name)


def test_a_scaled_loss_whose_scale_grows():
    """On four ranks the third step still has gradients, with a scale that is not that of the capture."""
    simulate(4, MODULE, "check_a_scaled_loss")
