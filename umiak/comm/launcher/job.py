"""Description of a job, and the environment variables of its ranks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# Set by those who want another number of threads than the launcher's.
THREADS = ("OMP_NUM_THREADS", "UMIAK_NUM_THREADS", "FLAGS_paddle_num_threads")


@dataclass(frozen=True)
class Host:
    """A node, and how many ranks it gets."""

    name: str
    ranks: int


@dataclass(frozen=True)
class Job:
    """Ranks that run one program."""

    what: tuple[str, ...]  # ("script", path, *arguments), ("module", name, *arguments) or ("call",)
    hosts: tuple[Host, ...]  # one of them, called "", is this machine, or what Slurm gives
    payload: bytes = b""  # of a call
    environ: Mapping[str, str] = field(default_factory=dict)  # beyond what `environments` says
    log_dir: str | None = None
    log_overwrite: bool = False
    console: frozenset[int] | None = frozenset({0})  # ranks whose output is shown; None: all of them
    prefix: bool = True
    stdin: bool = True
    devices: tuple[str, ...] = ()
    master: str | None = None
    address: str | None = None  # of the launcher, for other nodes
    name: str = "default"
    starter: str | None = None  # path of mpiexec or srun; None: what there is
    mpi_args: tuple[str, ...] = ()
    slurm: bool = False
    grace: float = 10.0  # seconds between asking ranks to end and killing them
    start_timeout: float = 120.0
    exit_timeout: float = 0.0  # seconds that ranks may go on after the first has ended; 0: as long as they like

    @property
    def size(self) -> int:
        return sum(host.ranks for host in self.hosts)

    @property
    def local(self) -> bool:
        """Return whether all ranks run on this machine."""
        here = {"", "localhost", "127.0.0.1", os.uname().nodename}
        return not self.slurm and all(host.name in here for host in self.hosts)

    def log(self, rank: int) -> str | None:
        return None if self.log_dir is None else os.path.abspath(os.path.join(self.log_dir, f"workerlog.{rank}"))


@dataclass(frozen=True)
class RankSlot:
    """Node, address and CPUs that the MPI launcher gave a rank."""

    node: str
    address: str
    port: int
    master_port: int
    cpus: int


def environments(slots: Sequence[RankSlot], job: Job, restart: int) -> list[tuple[dict[str, str], dict[str, str]]]:
    """Variables of every rank by number: those that are set, and those that the user's environment overrules."""
    nodes = list(dict.fromkeys(slot.node for slot in slots))
    endpoints = [f"{slot.address}:{slot.port}" for slot in slots]
    master = job.master or f"{slots[0].address}:{slots[0].master_port}"
    taken = dict.fromkeys(nodes, 0)
    rank_environments = []
    for rank, slot in enumerate(slots):
        local, beside = taken[slot.node], sum(other.node == slot.node for other in slots)
        taken[slot.node] += 1
        words: dict[str, object] = {
            "PADDLE_TRAINER_ID": rank,
            "PADDLE_TRAINERS_NUM": len(slots),
            "PADDLE_GLOBAL_RANK": rank,
            "PADDLE_GLOBAL_SIZE": len(slots),
            "PADDLE_LOCAL_RANK": local,
            "PADDLE_RANK_IN_NODE": local,
            "PADDLE_LOCAL_SIZE": beside,
            "PADDLE_NNODES": len(nodes),
            "PADDLE_NODE_RANK": nodes.index(slot.node),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
            "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
            "PADDLE_MASTER": master,
            "PADDLE_JOB_ID": job.name,
            "PADDLE_RESTART_COUNT": restart,
            "UMIAK_COMM": "mpi",
            **job.environ,
        }
        if job.devices:
            each = len(job.devices) // beside
            words["FLAGS_selected_gpus"] = ",".join(job.devices[local * each : (local + 1) * each])
        defaults: dict[str, object] = {}
        if not any(name in os.environ for name in THREADS):
            defaults["OMP_NUM_THREADS"] = max(1, slot.cpus // beside)
        if beside > slot.cpus:  # ranks that wait must let the others work
            defaults |= {"MPIR_CVAR_POLLS_BEFORE_YIELD": 1, "OMPI_MCA_mpi_yield_when_idle": 1}
        rank_environments.append(({k: str(v) for k, v in words.items()}, {k: str(v) for k, v in defaults.items()}))
    return rank_environments


def oversubscribed(slots: Sequence[RankSlot]) -> list[str]:
    """Nodes with more ranks than CPUs, in words."""
    counts = {slot.node: (sum(s.node == slot.node for s in slots), slot.cpus) for slot in slots}
    return [f"{n} ranks on the {cpus} CPUs of {node}" for node, (n, cpus) in counts.items() if n > cpus]
