"""Groups of two ranks over a plug-in's own collectives: two processes, and two threads."""

import numpy as np
import plugin
import pytest

from tests.support import ranks
from umiak import comm
from umiak.comm import staging
from umiak.core.array import from_numpy

MODULE = "tests.backends.plugin.collectives_checks"

pytestmark = plugin.needs_compiler


@pytest.mark.parametrize("name", ranks.checks(MODULE))
def test_two_processes(name, loop):
    with plugin.root(loop.backend.library.path.parent):
        ranks.assert_passes(2, MODULE, name)


@pytest.mark.parametrize("name", ["check_movement", "check_batches_of_messages", "check_tasks_of_several_streams"])
def test_two_threads(name, loop):
    before = staging.StagedArray.copy_to_host
    ranks.simulate(2, MODULE, name)
    assert staging.StagedArray.copy_to_host is before, "what one of the threads has replaced"


def test_operands_go_by_the_host_where_calls_are_compared(loop, monkeypatch):
    monkeypatch.setattr(comm.group.check_flag, "value", True)
    with pytest.raises(comm.CommError, match="an operand of a device was staged"):
        ranks.simulate(2, MODULE, "check_uneven_parts")


def test_a_unique_id_that_rank_0_does_not_get(loop):
    def work():
        world = comm.world()
        x = from_numpy(np.ones(2), loop.places[world.rank])
        world.all_reduce(x, x).wait()

    with loop.failing("xccl_get_unique_id"), pytest.raises(comm.CommError, match=r"unique id of rank 0's .*C_INTERNAL"):
        comm.simulate(work, 2)
