"""The command line of the launcher."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence

from paddle._public import public
from umiak.comm.launcher import restarts
from umiak.comm.launcher.job import Host, Job
from umiak.util.errors import op_error

USAGE = "%(prog)s [options] script.py [arguments]\n       %(prog)s [options] -m module [arguments]"


def parser() -> argparse.ArgumentParser:
    """The options. Those before the script are the launcher's, those behind it the script's."""
    p = argparse.ArgumentParser(
        "python -m paddle.distributed.launch", usage=USAGE, allow_abbrev=False,
        description="Start the ranks of a job through the MPI launcher, file what they write, end all when one fails.",
    )  # fmt: skip
    where = p.add_argument_group("where ranks run")
    where.add_argument("--nproc_per_node", type=int, metavar="N", help="ranks per node; one per device, else 1")
    where.add_argument("--nnodes", type=int, metavar="N", help="number of nodes; the number of hosts, else 1")
    where.add_argument("--hosts", "--ips", metavar="A,B:4", help="nodes; behind the colon how many ranks that one gets")
    where.add_argument("--devices", "--gpus", metavar="IDS", help="accelerators of each node, shared out to its ranks")
    where.add_argument("--slurm", action=argparse.BooleanOptionalAction,
                       help="start through srun; otherwise inside an allocation of several nodes")  # fmt: skip
    where.add_argument("--mpiexec", metavar="PATH", help="the MPI launcher; otherwise PADDLE_MPIEXEC, or what there is")
    where.add_argument("--mpi_args", default="", metavar="WORDS", help="further options of the MPI launcher")
    where.add_argument("--host", metavar="IP", help="address of this machine, for other nodes")
    where.add_argument("--master", metavar="IP:PORT", help="PADDLE_MASTER; otherwise a free port of rank 0's node")
    what = p.add_argument_group("what is kept and shown")
    what.add_argument("--log_dir", default="log", metavar="DIR", help="rank N writes to DIR/workerlog.N (default: log)")
    what.add_argument("--log_overwrite", action="store_true", help="begin logs anew; otherwise they grow")
    what.add_argument("--console", default="0", metavar="RANKS", help="ranks shown here: all, none or 0,3 (default: 0)")
    what.add_argument("--job_id", default="default", metavar="NAME", help="PADDLE_JOB_ID")
    when = p.add_argument_group("failures")
    when.add_argument("--max_restart", type=int, default=0, metavar="K", help="start again up to K times (default: 0)")
    when.add_argument("--grace", type=float, default=10.0, metavar="S", help="seconds from asking to killing")
    when.add_argument("--start_timeout", type=float, default=120.0, metavar="S", help="seconds for all ranks to start")
    when.add_argument("--exit_timeout", type=float, default=0.0, metavar="S",
                      help="seconds that ranks may go on after the first has ended; 0: no limit")  # fmt: skip
    p.add_argument("--run_mode", default="collective", choices=("collective", "rpc"), help=argparse.SUPPRESS)
    p.add_argument("-m", dest="module", nargs=argparse.REMAINDER, metavar="module", help="run a module")
    p.add_argument("script", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return p


def hosts(o: argparse.Namespace, slurm: bool) -> tuple[Host, ...]:
    """The nodes that are asked for; ValueError where options contradict one another."""
    devices = len(split(o.devices))
    each = o.nproc_per_node if o.nproc_per_node is not None else devices or 1
    if each < 1:
        raise op_error(ValueError, "launch", "--nproc_per_node of at least 1", each)
    hosts_given = []
    for word in split(o.hosts):
        name, colon, count = word.partition(":")
        if not name or (colon and not (count.isdigit() and int(count))):
            raise op_error(ValueError, "launch", "--hosts like a,b:4", repr(o.hosts))
        hosts_given.append(Host(name, int(count) if colon else each))
    if not hosts_given and slurm:
        hosts_given = [Host("", each)] * (o.nnodes or int(os.environ.get("SLURM_NNODES", "1")))
    hosts_given = hosts_given or [Host("", each)]
    if o.nnodes not in (None, len(hosts_given)):
        hint = "Run this command once; it reaches the other nodes by itself"
        raise op_error(
            ValueError, "launch", f"--hosts with {o.nnodes} names for --nnodes {o.nnodes}", len(hosts_given), hint
        )
    for host in hosts_given:
        if devices % host.ranks:
            raise op_error(ValueError, "launch", f"--devices that {host.ranks} ranks can share evenly", o.devices)
    return tuple(hosts_given)


def split(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def shown(text: str) -> frozenset[int] | None:
    """The ranks of ``--console``; None: all."""
    if text == "all":
        return None
    if text != "none" and not all(word.isdigit() for word in split(text)):
        raise op_error(ValueError, "launch", "--console all, none or numbers of ranks", repr(text))
    return frozenset() if text == "none" else frozenset(map(int, split(text)))


def program(o: argparse.Namespace) -> tuple[str, ...]:
    """Return the program that ranks run."""
    if o.module:
        return ("module", *o.module)
    if not o.script:
        raise op_error(ValueError, "launch", "a script, or -m and a module", "neither")
    if not os.path.isfile(o.script[0]):
        raise op_error(ValueError, "launch", "a script that exists", repr(o.script[0]))
    return ("script", *o.script)


def job(arguments: Sequence[str]) -> tuple[Job, int]:
    """The job of a command line, and how often it may start again."""
    o = parser().parse_args(arguments)
    allocation = int(os.environ.get("SLURM_NNODES", "1")) > 1 and "SLURM_JOB_ID" in os.environ
    slurm = allocation if o.slurm is None else o.slurm
    if o.max_restart < 0:
        raise op_error(ValueError, "launch", "--max_restart of at least 0", o.max_restart)
    launch_job = Job(
        what=program(o), hosts=hosts(o, slurm), log_dir=o.log_dir, log_overwrite=o.log_overwrite,
        console=shown(o.console), devices=tuple(split(o.devices)), master=o.master, address=o.host, name=o.job_id,
        starter=o.mpiexec, mpi_args=tuple(shlex.split(o.mpi_args)), slurm=slurm, grace=o.grace,
        start_timeout=o.start_timeout, exit_timeout=o.exit_timeout,
    )  # fmt: skip
    return launch_job, o.max_restart


@public("paddle.distributed paddle.distributed.launch")
def launch(arguments: Sequence[str] | None = None) -> int:
    """Run a command line: start ranks, wait for them, and return the exit status.

    Args:
        arguments: the words behind ``python -m paddle.distributed.launch``; None: those of the process.

    Returns:
        The status of the first rank that failed, 128 and the signal's number where a signal ended it; 2 for a command
        line that is refused, which is printed.

    Raises:
        SystemExit: a command line that cannot be read, or ``--help``.

    Example:
        >>> import paddle
        >>> paddle.distributed.launch(["--help"])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        SystemExit: 0
    """
    try:
        launch_job, limit = job(sys.argv[1:] if arguments is None else arguments)
        return restarts.run(launch_job, limit)
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
