"""The MPI launchers: which one there is, and its command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod

from umiak.comm.launcher.job import Job
from umiak.util.errors import op_error

CHOICE = "PADDLE_MPIEXEC"
INSTALL = f"pip install mpich, or name one in {CHOICE}"


class MPILauncher(ABC):
    """One kind of MPI launcher. ``sign`` is in what its ``--version`` prints."""

    sign: str

    def __init__(self, path: str) -> None:
        self.path = path

    def command(self, job: Job, exported: tuple[str, ...], program: list[str]) -> list[str]:
        """The command that starts ``program`` once a rank. Ranks need the environment variables ``exported``."""
        return [self.path, *self.options(job, exported), *job.mpi_args, *program]

    @abstractmethod
    def options(self, job: Job, exported: tuple[str, ...]) -> list[str]: ...

    def direct(self, job: Job) -> bool:
        """Return whether ranks are started without it, as they are all on this machine and speak PMI-1."""
        return False


class Hydra(MPILauncher):
    """MPICH, and Intel MPI and MVAPICH which come from it. The environment goes along by itself."""

    sign = "hydra"

    def options(self, job: Job, exported: tuple[str, ...]) -> list[str]:
        hosts = [] if job.local else ["-hosts", ",".join(f"{h.name}:{h.ranks}" for h in job.hosts)]
        return [*hosts, "-n", str(job.size)]

    def direct(self, job: Job) -> bool:
        # It would listen at all of the machine's addresses, and whoever connects first and is silent holds the job.
        return job.local and not (job.starter or os.environ.get(CHOICE) or job.mpi_args)


class Intel(Hydra):
    sign = "intel"

    def direct(self, job: Job) -> bool:
        return False


class OpenMPI(MPILauncher):
    sign = "open mpi"

    def options(self, job: Job, exported: tuple[str, ...]) -> list[str]:
        hosts = [] if job.local else ["--host", ",".join(f"{h.name}:{h.ranks}" for h in job.hosts)]
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        # Threads of a rank share what the launcher gives them: no binding to one core each.
        free = ["--bind-to", "none", "--oversubscribe"]
        return [*hosts, *root, *free, *(w for name in exported for w in ("-x", name)), "-n", str(job.size)]


class Slurm(MPILauncher):
    """``srun`` inside an allocation; ranks find one another through PMI-2, which Slurm speaks."""

    sign = "slurm"

    def options(self, job: Job, exported: tuple[str, ...]) -> list[str]:
        names = [host.name for host in job.hosts if host.name]
        nodes = ["--nodelist", ",".join(names)] if names else []
        count = len(job.hosts)
        return [
            "--mpi=pmi2", *nodes, "--nodes", str(count), "--ntasks", str(job.size),
            "--ntasks-per-node", str(max(host.ranks for host in job.hosts)),
            "--input=0", "--kill-on-bad-exit=0", "--export=ALL",
        ]  # fmt: skip


KINDS: tuple[type[MPILauncher], ...] = (OpenMPI, Hydra, Intel)


def candidates(job: Job) -> list[str]:
    """Return candidate paths of the launcher, best first."""
    if job.starter or os.environ.get(CHOICE):
        return [job.starter or os.environ[CHOICE]]
    if job.slurm:
        return ["srun"]
    return [os.path.join(sys.prefix, "bin", "mpiexec"), "mpiexec", "mpirun"]


def find(job: Job) -> MPILauncher:
    """The launcher of this environment; RuntimeError where there is none or it is of no known kind."""
    wanted = candidates(job)
    path = next(filter(None, map(shutil.which, wanted)), None)
    if path is None:
        raise op_error(RuntimeError, "launch", "an MPI launcher", f"none at {', '.join(wanted)}", INSTALL)
    if job.slurm:
        return Slurm(path)
    run = subprocess.run([path, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    text = (run.stdout + run.stderr).lower()
    for kind in KINDS:
        if kind.sign in text:
            return kind(path)
    first = (run.stdout + run.stderr).strip().partition("\n")[0]
    raise op_error(RuntimeError, "launch", "mpiexec of MPICH, Intel MPI or Open MPI", f"{path}: {first!r}", INSTALL)
