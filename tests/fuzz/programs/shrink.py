"""From a program that fails to a small one that fails in the same way, and from that to a script."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tests.fuzz.programs import layers, run
from tests.fuzz.programs.check import Failure, dtypes
from tests.fuzz.programs.draw import CONTINUOUS
from tests.fuzz.programs.generate import leaf
from tests.fuzz.programs.kinds import CHECKS, ON_DEVICES, check
from tests.fuzz.programs.memory import Judge
from tests.fuzz.programs.record import Input, Program, used
from tests.fuzz.programs.storage import model
from tests.fuzz.programs.storage.check import modelled
from tests.fuzz.shrink import shrunk


def shrink(program: Program, failure: Failure, steps: int = 400) -> tuple[Program, Failure]:
    """Take away what is not needed for a failure in the same mode and of the same kind."""
    return shrunk(program, failure, smaller, fails, steps)


def kind(failure: Failure) -> tuple[str, str]:
    message = str(failure).partition(": ")[2]
    return failure.mode, message[:30] if message.startswith("raises") else message.split()[0]


def fails(program: Program, wanted: Failure) -> Failure | None:
    try:
        if not program.invalid:
            CHECKS[program.kind].means_something(program)
        check(program, only=wanted.mode.removesuffix(", captured"))
    except Failure as found:
        return found if kind(found) == kind(wanted) else None
    except Exception:  # a candidate that means nothing
        return None
    return None


def smaller(program: Program) -> Iterator[Program]:
    """Programs with one thing less, those with much less first."""
    if len(program.sizes) > 1:
        for i in range(len(program.sizes)):
            yield replace(program, sizes=program.sizes[:i] + program.sizes[i + 1 :])
    if program.nest is not None:
        yield replace(program, nest=None)
    for i in reversed(range(len(program.statements))):
        yield from without(program, i)
    if len(program.outputs) > 1:
        for i in range(len(program.outputs)):
            yield used(replace(program, outputs=program.outputs[:i] + program.outputs[i + 1 :]))
    for i in reversed(range(len(program.statements))):
        yield from cut(program, i)
    for i, s in enumerate(program.statements):
        if s.no_grad:
            yield replace(
                program, statements=(*program.statements[:i], replace(s, no_grad=False), *program.statements[i + 1 :])
            )
    for i, x in enumerate(program.inputs):
        if x.grad:
            yield replace(program, inputs=(*program.inputs[:i], replace(x, grad=False), *program.inputs[i + 1 :]))
    for i, n in enumerate(program.sizes):
        if n > 2:
            yield replace(program, sizes=(*program.sizes[:i], 2, *program.sizes[i + 1 :]))


def without(program: Program, i: int) -> Iterator[Program]:
    """The program without a statement, and those that need its values."""
    gone, kept, places = set(program.statements[i].targets), [], []
    for k, s in enumerate(program.statements):
        places.append(len(kept))
        if k == i or any(x in gone for x in s.operands):
            gone |= set(s.targets)
        else:
            kept.append(s)
    made = {t for s in kept for t in s.targets} | {x.name for x in program.inputs}
    outputs = tuple(x for x in program.outputs if x in made) or tuple(t for s in kept for t in s.targets)[-1:]
    if not outputs and kept:
        outputs = (kept[-1].operands[0],)
    if outputs:
        found = replace(program, statements=tuple(kept), outputs=outputs, nest=None)
        if program.nest is not None and program.how != "call":
            a, b = (places[k] if k < len(places) else len(kept) for k in program.nest)
            if a < b and found.can_be_region(a, b):
                yield used(replace(found, nest=(a, b)))
        yield used(found)


def cut(program: Program, i: int) -> Iterator[Program]:
    """The values that a statement makes become inputs."""
    s = program.statements[i]
    if not s.targets:
        return
    narrow, shapes, known = program.kind == "storage", [], {}
    try:
        for n in program.sizes:
            names = model.names() if narrow else Judge(seed=program.seed).names()
            for x in program.inputs:
                names[x.name] = x.array(n) if narrow else leaf(x, x.array(n))
            for t in program.statements[: i + 1]:
                exec(t.judge(), names)
            shapes.append([names[t].shape for t in s.targets])
        known = {t: names[t].dtype.name for t in s.targets} if narrow else dtypes(program)
    except Exception:
        return
    made = []
    for k, t in enumerate(s.targets):
        if known[t] not in (model.NARROW if narrow else CONTINUOUS):
            return
        sizes: list[int | str] = []
        for axis in zip(*(shape[k] for shape in shapes)):
            if len(set(axis)) == 1:
                sizes.append(int(axis[0]))
            elif axis == program.sizes:
                sizes.append("n")
            else:
                return
        made.append(Input(t, tuple(sizes), known[t], not narrow, "codes" if narrow else "normal", 1000 * i + k))
    yield used(
        replace(
            program,
            inputs=(*program.inputs, *made),
            statements=program.statements[:i] + program.statements[i + 1 :],
            nest=None,
        )
    )


# --- a script --------------------------------------------------------------------------------------------------------

LOSS = """
def loss_of(outputs):
    parts = [paddle.as_real(y) if y.dtype.is_complex else y for y in outputs if not y.stop_gradient]
    terms = [y.astype("float64") for y in parts if y.dtype.is_floating]
    return sum(((y * 0.5 + 1.0) * y).sum() for y in terms)
"""

STORAGE = ["import ml_dtypes", "from tests.fuzz.programs.storage.check import kept"]
DEVICES = """import sys

sys.path.insert(0, "tests/support")
import fake

from tests.fuzz.programs.run import moved, near

installed = fake.installed()
installed.__enter__()
"""

MIXED = """plain = run

def run(*given):
    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        return plain(*given)
"""


def given(x: Input, n: int, kind: str) -> str:
    """The statement that makes an input."""
    array = x.array(n)
    if x.fill == "codes":
        codes = array.view(np.uint8).tolist()
        return (
            f"{x.name} = paddle.to_tensor(np.array({codes}, 'uint8').view(ml_dtypes.{x.dtype}).reshape({array.shape}))"
        )
    place = f".to('{run.home(x)}')" if kind == "devices" else ""
    return (
        f"{x.name} = paddle.to_tensor(np.array({array.tolist()!r}, '{array.dtype}').reshape({array.shape}))"
        f".astype('{x.dtype}'){place}\n{x.name}.stop_gradient = {not x.grad}"
    )


LAYERS = inspect.getsource(layers).replace("from __future__ import annotations\n", "")


def script(program: Program, failure: Failure) -> str:
    """A Python script that shows what differs; what should come stands in its comments."""
    mode = failure.mode
    if program.kind == "sharded":
        return textwrap.indent(f"seed {program.seed}\n{failure}", "# ") + f"\n{program.ours()}"
    lines = [
        *textwrap.indent(f"seed {program.seed}\n{failure}", "# ").splitlines(),
        "import numpy as np",
        "",
        "import paddle",
        "import paddle.nn.functional as F",
        "from paddle.distributed.fleet.utils import recompute",
        "",
        "dropout, drawn = F.dropout, lambda x: x",
        *([DEVICES] if program.kind in ON_DEVICES else []),
        *(["from tests.fuzz.programs import models", "from umiak import ops"] if program.kind == "language" else []),
        *(STORAGE if program.kind == "storage" else []),
        "",
        "",
        program.ours(),
        *([LAYERS] if program.tags & {"python", "hook"} else []),
        *([LOSS] if program.kind != "storage" else []),
    ]
    inside = "step" in mode
    names = ", ".join(x.name for x in program.inputs)
    counted = ", ".join(["[*outputs", *(x.name for x in program.inputs if not x.grad)]) + "]"
    if inside:
        body = [f"outputs = program({names})", f"loss_of({counted}).backward()", "return outputs"]
        lines += ["", f"def step({names}):", *(f"    {line}" for line in body), ""]
    lines.append(f"\nrun = {'step' if inside else 'program'}")
    if "mixed" in mode:
        lines.append(MIXED)
    if "captured" in mode:
        lines.append("run = paddle.jit.to_static(run)")
    for n in program.sizes:
        lines.append(f"\npaddle.seed({program.seed})")
        lines += [given(x, n, program.kind) for x in program.inputs]
        if program.kind == "storage":
            lines.append(f"print(*run({names}), sep='\\n')")
            lines += [f"# output {i}: {y.tolist()}" for i, y in enumerate(modelled(program, n)[0])]
            continue
        call = (
            f"recompute(run, {names}, use_reentrant={program.seed % 2 == 0})"
            if mode.endswith("recomputed")
            else f"run({names})"
        )
        lines.append(f"outputs = {call}")
        leaves = ", ".join(x.name for x in program.inputs if x.grad)
        if "twice" in mode:
            lines.append(f"first = paddle.grad([loss_of({counted})], [{leaves}], create_graph=True, allow_unused=True)")
            lines.append("loss_of([g for g in first if g is not None]).backward()")
        elif not inside:
            lines.append(f"if any(not y.stop_gradient for y in {counted}):\n    loss_of({counted}).backward()")
        lines.append(f"print(*outputs, *(x.grad for x in [{leaves}]), sep='\\n')")
        try:
            if not program.tags & {"random"} and not program.invalid:
                expected = run.judged(program, n, twice="twice" in mode)
                for what, array in expected.parts():
                    lines.append(f"# {what}: {None if array is None else array.tolist()}")
        except RuntimeError as error:
            lines.append(f"# the judge: {error}")
    return "\n".join(lines) + "\n"
