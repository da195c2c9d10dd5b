"""Starting ranks through the MPI launcher, and watching them."""

from umiak.comm.launcher.job import Host, Job
from umiak.comm.launcher.monitor import JobMonitor, Outcome, Report

__all__ = ["Host", "Job", "JobMonitor", "Outcome", "Report"]
