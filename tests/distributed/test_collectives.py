"""Operations among 1, 2 and 4 ranks: data, gradients, captured programs."""

import pytest

from tests.support.ranks import assert_passes, checks

MODULES = ["tests.distributed.collective_checks", "tests.distributed.gradient_checks"]
CASES = [(m, name) for m in MODULES for name in checks(m)]


@pytest.mark.parametrize("size", [1, 2, 4], ids="{} ranks".format)
@pytest.mark.parametrize(("module", "name"), CASES, ids=[name.removeprefix("check_") for _, name in CASES])
def test_ranks(module, name, size):
    assert_passes(size, module, name)
