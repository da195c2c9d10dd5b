"""Starting ranks through the MPI launcher, and watching them."""

from umiak.comm.launcher.job import Host, Job
from umiak.comm.launcher.watch import Outcome, Report, Watch

__all__ = ["Host", "Job", "Outcome", "Report", "Watch"]
