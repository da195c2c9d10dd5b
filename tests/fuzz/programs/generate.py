"""Random programs: statements are proposed, run by the judge for every size, and kept where they mean something.

A statement stays if the judge accepts it for each size, its values are finite and of modest size, and rounding is not
magnified much. So what is generated has an answer, and the answer can be compared.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from tests.fuzz.programs.draw import CONTINUOUS, Draw, Refused
from tests.fuzz.programs.memory import Judge, Noise, Unclear, Variable, make
from tests.fuzz.programs.ops.dtypes import promoted
from tests.fuzz.programs.ops.table import OPS
from tests.fuzz.programs.record import Input, Op, Program, Statement, attributes, used
from tests.fuzz.programs.settings import SETTINGS, Setting

LARGEST = 30.0
MOST_ELEMENTS = 160
NOISE = 1e-6
MAGNIFIED = 300.0
WRITES = ("write", "rewrite", "turn")


class World:
    """The judge's values for one size."""

    def __init__(self, n: int, noise: Noise | None, seed: int) -> None:
        self.n = n
        self.noise = noise
        self.seed = seed
        self.restart([])

    def restart(self, inputs: list[Input]) -> None:
        noise = None if self.noise is None else Noise(self.seed, self.noise.size)
        self.judge = Judge(noise, seed=self.seed + self.n)
        self.names: dict[str, Any] = self.judge.names()
        for x in inputs:
            self.bind(x)

    def bind(self, given: Input) -> None:
        self.names[given.name] = leaf(given, given.array(self.n))

    def variables(self) -> dict[str, Any]:
        return self.names


def leaf(given: Input, array: np.ndarray) -> Variable:
    tensor = torch.from_numpy(array)
    if given.grad:
        tensor.requires_grad_()
    made = make(tensor)
    made.cell.input_grad = given.grad
    return made


class Generator:
    def __init__(self, seed: int, setting: Setting) -> None:
        self.seed = seed
        self.setting = setting
        rng = self.rng = np.random.default_rng([seed, 0xF0, *setting.stream])
        floating = str(rng.choice(list(setting.dtypes), p=list(setting.dtypes.values())))
        mixed = bool(rng.random() < setting.mixed) and floating not in ("float16", "bfloat16")
        self.draw = Draw(rng, floating, mixed)
        main = int(rng.integers(2, 6))
        others = [1 if rng.random() < 0.75 else 0, int(rng.integers(2, 7))]
        if rng.random() < 0.1:
            others.append(0)
        ns = list(dict.fromkeys([main, *others]))
        self.worlds = [World(n, None, seed) for n in ns]
        self.shaken = World(main, Noise(seed, NOISE), seed)
        self.draw.ns = tuple(ns)
        self.draw.bind = self.bind
        self.draw.values = [w.names for w in self.worlds]
        self.codes: list[Any] = []
        self.statements: list[Statement] = []
        self.count = 0
        self.weights = setting.themes[int(rng.choice(len(setting.themes), p=[0.5, 0.35, 0.15]))]

    def bind(self, given: Input) -> None:
        for w in (*self.worlds, self.shaken):
            w.bind(given)
        self.draw.dtypes[given.name] = given.dtype

    def restart(self) -> None:
        for w in (*self.worlds, self.shaken):
            w.restart(self.draw.inputs)
        for s, code in zip(self.statements, self.codes, strict=True):
            for w in (*self.worlds, self.shaken):
                exec(code, w.names)
            self.freeze(s)
        self.draw.values = [w.names for w in self.worlds]

    def first_inputs(self) -> None:
        d = self.draw
        sized = d.chance(0.85)
        for _ in range(d.integer(1, 2)):
            rank = int(self.rng.choice(5, p=[0.06, 0.24, 0.4, 0.22, 0.08]))
            shape: list[int | str] = [
                int(self.rng.choice([1, 2, 3, 4, 0], p=[0.15, 0.3, 0.33, 0.2, 0.02])) for _ in range(rank)
            ]
            if sized and rank:
                shape[0 if d.chance(0.85) else d.integer(0, rank - 1)] = "n"
            d.input(shape)
        if d.chance(0.15):
            d.input(d.sizes(d.inputs[0].name), "bool", "bool")
        if d.mixed:
            d.input(
                d.sizes(d.inputs[0].name),
                str(self.rng.choice(list(self.setting.others), p=list(self.setting.others.values()))),
            )

    def dtype(self, op: Op, operands: tuple[str, ...]) -> str:
        given = [self.draw.dtypes[x] for x in operands]
        if op.dtype is not None:
            return op.dtype(*given)
        return given[0] if op.form in ("view", "take") else promoted(*given)

    def propose(self) -> Statement:
        d = self.draw
        op = self.setting.ops[int(self.rng.choice(len(self.setting.ops), p=self.weights))]
        inputs = len(d.inputs)
        try:
            proposal = op.propose(d)
        except Refused:
            self.drop_inputs(inputs)
            raise
        count = op.results if proposal.results is None else proposal.results
        targets = tuple(f"v{self.count + i}" for i in range(count)) if op.results else ()
        quiet = False
        if op.form in WRITES and op.form != "turn":
            cell = d.values[0][proposal.operands[0]].cell
            if cell.input_grad and d.chance(0.85):
                raise Refused
            quiet = cell.input_grad or d.chance(0.05)
        elif op.form == "compute":
            quiet = d.chance(0.04)
        return Statement(op, targets, proposal.operands, attributes(proposal.attributes), quiet)

    def drop_inputs(self, keep: int) -> None:
        for x in self.draw.inputs[keep:]:
            del self.draw.dtypes[x.name]
            for w in (*self.worlds, self.shaken):
                del w.names[x.name]
        del self.draw.inputs[keep:]

    def accept(self, s: Statement) -> bool:
        """Run a statement in every world; where it has no plain answer, nothing of it is left."""
        if s.op.form == "turn":
            # An input keeps its shape, and a view of a leaf is the leaf's.
            cell = self.draw.values[0][s.operands[0]].cell
            if cell.input_grad or s.operands[0] in {x.name for x in self.draw.inputs}:
                return False
            if cell.frozen and self.setting.complex:  # maybe one of a leaf as pairs of real numbers
                return False
        code = compile(s.judge(), "<statement>", "exec")
        try:
            for w in (*self.worlds, self.shaken):
                exec(code, w.names)
                for x in s.targets if s.op.form not in WRITES else s.operands[:1]:
                    self.inspect(w.names[x])
            self.compare(s)
            self.freeze(s)
        except Exception:
            for x in s.targets:
                for w in (*self.worlds, self.shaken):
                    w.names.pop(x, None)
            self.restart()
            return False
        self.codes.append(code)
        self.statements.append(s)
        self.count += len(s.targets)
        for x in s.targets:
            self.draw.dtypes[x] = self.dtype(s.op, s.operands)
        return True

    def inspect(self, x: Variable) -> None:
        t = x.t.detach()
        if t.numel() > MOST_ELEMENTS:
            raise Unclear("too many elements")
        if (t.is_complex() and not self.setting.complex) or t.dim() > 5:
            raise Unclear("not here")
        if t.dtype is torch.bool and self.setting.bools:
            return
        if t.numel() and (not torch.isfinite(t).all() or t.abs().max() > LARGEST):
            raise Unclear("a value that is too large")

    def compare(self, s: Statement) -> None:
        for x in s.targets or s.operands[:1]:
            if len({len(w.names[x].shape) for w in self.worlds}) > 1:
                raise Unclear("a rank that depends on a size")
            a, b = self.worlds[0].names[x].t.detach(), self.shaken.names[x].t.detach()
            if a.dtype.is_floating_point or a.is_complex():
                if a.numel() and (a - b).abs().max() > MAGNIFIED * NOISE * max(1.0, float(a.abs().max())):
                    raise Unclear("rounding is magnified")
            elif not torch.equal(a, b):
                raise Unclear("a value at a step")

    def freeze(self, s: Statement) -> None:
        if "unclear" not in s.op.tags:
            return
        for w in (*self.worlds, self.shaken):
            x = w.names[s.targets[0] if s.targets else s.operands[0]]
            places = x.at.positions.reshape(-1)
            if (np.diff(places) != 1).any():
                x.unclear()

    def outputs(self) -> tuple[str, ...]:
        d = self.draw
        read = {x for s in self.statements for x in s.operands}
        made = [t for s in self.statements for t in s.targets]
        ends = [t for t in made if t not in read]
        picked = ends[-3:] or made[-1:]
        more = [t for t in made if t not in picked]
        if more and d.chance(0.3):
            picked.append(d.choose(more))
        return tuple(picked)

    def program(self) -> Program | None:
        d = self.draw
        self.first_inputs()
        wanted, tries = d.integer(2, 7), 0
        while len(self.statements) < wanted and tries < 60:
            tries += 1
            inputs = len(d.inputs)
            try:
                s = self.propose()
            except Refused:
                continue
            if not self.accept(s):
                self.drop_inputs(inputs)
        outputs = self.outputs()
        if not outputs or not any(d.dtypes[x] in CONTINUOUS for x in outputs):
            return None
        varying = any("n" in x.shape for x in d.inputs)
        ns = list(d.ns) if varying else [d.ns[0]]
        order = [int(n) for n in self.rng.permutation(ns)]
        nest = None
        if len(self.statements) > 2 and d.chance(0.2):
            a = d.integer(0, len(self.statements) - 2)
            nest = a, d.integer(a + 1, len(self.statements))
        invalid = False
        if d.chance(0.03):
            invalid = self.mistake()
        made = used(
            Program(
                self.seed, tuple(d.inputs), tuple(self.statements), outputs, tuple(order), nest, invalid,
                kind=self.setting.kind,
            )
        )  # fmt: skip
        return made if invalid else self.with_region(made)

    def with_region(self, program: Program) -> Program:
        """Some statements as a branch or a loop body."""
        d = self.draw
        if not d.chance(0.3):
            return program
        a = d.integer(0, len(program.statements) - 1)
        b = d.integer(a + 1, min(len(program.statements), a + 4))
        if not program.can_be_region(a, b):
            return program
        ways = ["then", "else"] if program.read(a, b) else ["then", "loop", "loop of branches"]
        return replace(program, nest=(a, b), how=d.choose(ways))

    def mistake(self) -> bool:
        """Append a statement that the judge refuses at every size, if one is found soon."""
        d = self.draw
        for _ in range(20):
            x, y = d.pick(), d.pick()
            op = OPS[d.choose(("add", "multiply", "matmul", "subtract"))]
            if self.setting.complex and d.dtypes[x] != d.dtypes[y]:
                continue  # the judge's matmul takes one dtype alone
            s = Statement(op, (f"v{self.count}",), (x, y))
            code = compile(s.judge(), "<statement>", "exec")
            refused = []
            for w in self.worlds:
                try:
                    exec(code, dict(w.names))
                    refused.append(False)
                except (RuntimeError, ValueError, IndexError):
                    refused.append(True)
            if all(refused):
                self.statements.append(s)
                self.count += 1
                return True
        return False


def generate(seed: int, kind: str = "plain") -> Program:
    """The program of a seed."""
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # a warning of the first time only would make programs depend on those before
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what PyTorch warns of is no statement
            for attempt in range(100):
                found = Generator(seed * 100 + attempt, SETTINGS[kind]).program()
                if found is not None:
                    return replace(found, seed=seed)
    finally:
        torch.set_warn_always(always)
    raise AssertionError(f"no program for seed {seed}")
