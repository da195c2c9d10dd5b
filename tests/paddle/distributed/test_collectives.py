"""Operations among ranks: data, gradients, captured programs. Processes over MPI, virtual ranks, and a rank alone."""

import pytest

from tests.support.ranks import assert_passes, checks, simulate


def every(*names: str, virtual: bool = False) -> pytest.MarkDecorator:
    modules = [f"tests.paddle.distributed.{name}" for name in names]
    cases = [(m, name) for m in modules for name in checks(m, virtual)]
    return pytest.mark.parametrize(("module", "name"), cases, ids=[name.removeprefix("check_") for _, name in cases])


@pytest.mark.parametrize(
    "size", [1, 2, pytest.param(4, marks=pytest.mark.slow)], ids=["1 process", "2 processes", "4 processes"]
)
@every("collective_checks")
def test_processes(module, name, size):
    assert_passes(size, module, name)


@pytest.mark.parametrize(
    "size", [1, 2, pytest.param(4, marks=pytest.mark.slow)], ids=["1 process", "2 processes", "4 processes"]
)
@every("gradient_checks", "ring_checks")
def test_gradients_of_processes(module, name, size):
    assert_passes(size, module, name)


@pytest.mark.parametrize("size", [3, 4], ids="{} ranks".format)
@every("collective_checks", "gradient_checks", "ring_checks", virtual=True)
def test_virtual_ranks(module, name, size):
    simulate(size, module, name)
