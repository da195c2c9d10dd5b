"""Data parallelism: a step of the GPT on two processes of one thread each, against PyTorch's, and over slower links.

Sides take turns, and the fastest steps count (models/parallel_worker.py).
"""

from __future__ import annotations

from functools import partial

from measure import Settings
from ranks import Job
from rows import Outcome, add_row, add_section, duration

SECTION = add_section("data-parallel", "Data parallelism, two processes of one thread: time of a step")
ROUNDS, STEPS = 9, 3
SLACK = 1.2  # of what hides the other: the longer of computing and communication
# Latency in µs and bandwidth in GB/s. Gradients come in the last two thirds of a step only: where communication takes
# as long as computing, no order of things hides more than that.
LINKS = {"fast": "100:0.5", "medium": "100:0.1", "slow": "100:0.02"}


WORKER = "models.parallel_worker"


def against_peer(settings: Settings) -> Outcome:
    rounds, steps = (1, 1) if settings.check else (ROUNDS, STEPS)
    with Job(WORKER, "ours", settings) as one, Job(WORKER, "peer", settings) as two:
        found = [[s.run(f"step {steps}") for s in ((one, two) if i % 2 else (two, one))] for i in range(rounds)]
    pairs = [pair if i % 2 else pair[::-1] for i, pair in enumerate(found)]
    ours, other = (min(p[i] for p in pairs) for i in (0, 1))
    return Outcome(duration(ours), duration(other), f"{other / ours:.3g}×", other / ours >= 1, other / ours)


def against_eager(settings: Settings) -> Outcome:
    """The step as one program, and as it is written, in the same processes by turns."""
    rounds, steps = (1, 1) if settings.check else (ROUNDS, STEPS)
    kinds = ("captured", "step")
    with Job(WORKER, "ours", settings) as job:
        found = [[job.run(f"{kind} {steps}") for kind in kinds] for _ in range(rounds)]
    captured, eager = (min(row[i] for row in found) for i in (0, 1))
    return Outcome(
        duration(captured), duration(eager), f"{eager / captured:.3g}×", eager / captured >= 1, eager / captured
    )


def hidden(link: str, settings: Settings) -> Outcome:
    """A step is to take little more than the longer of its computing and its communication."""
    rounds, steps = (1, 1) if settings.check else (ROUNDS, STEPS)
    kinds = ("step", "compute", "communication")
    with Job(WORKER, "ours", settings, {"FLAGS_comm_link": link}) as job:
        found = [[job.run(f"{kind} {steps}") for kind in kinds] for _ in range(rounds)]
    step, compute, communication = (min(row[i] for row in found) for i in range(3))
    longer = max(compute, communication)
    parts = f"computing {duration(compute)}, communication {duration(communication)}"
    return Outcome(duration(step), parts, f"{step / longer:.3g}× the longer", step <= SLACK * longer)


def enter() -> None:
    what = "GPT step, 4 layers, 256 wide, 4 × 256 tokens on each process"
    add_row("dp-gpt", what, "PyTorch DDP over gloo takes ≥ 1×", against_peer, SECTION)
    add_row("dp-gpt-captured", f"{what}, captured", "ours eager takes ≥ 1×", against_eager, SECTION)
    for name, link in LINKS.items():
        latency, bandwidth = link.split(":")
        add_row(
            f"dp-gpt-{name}-link",
            f"the same over an emulated link of {latency} µs and {bandwidth} GB/s",
            f"≤ {SLACK:g}× the longer of computing and communication",
            partial(hidden, link),
            SECTION,
        )


enter()
