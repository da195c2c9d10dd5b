"""Groups of two processes over tensors of the device."""

from __future__ import annotations

from tests.support import ranks

MODULE = "plugins.opencl.tests.group_checks"


def test_two_processes(opencl):
    for name in ranks.checks(MODULE):  # one start of the processes makes all
        ranks.assert_passes(2, MODULE, name)
