"""Counts of launches by the name of the op: of this distribution's own kernels, and of calls that ran on the host."""

from __future__ import annotations

import logging

from umiak.backends.host_calls import Counts, HostCalls

HOST = HostCalls(logging.getLogger("umiak_opencl"))
WRITTEN = Counts()
