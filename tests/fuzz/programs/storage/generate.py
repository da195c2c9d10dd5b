"""Random programs over narrow dtypes: statements are proposed, and kept where the model has an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.fuzz.programs.draw import Draw, Refused
from tests.fuzz.programs.record import Input, Program, Statement, attributes, used
from tests.fuzz.programs.storage import model
from tests.fuzz.programs.storage.statements import family

MOST_ELEMENTS = 300
STATEMENTS = list(family.ops.values())
WEIGHTS = np.array([s.weight for s in STATEMENTS])
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class Generator:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = np.random.default_rng([seed, 0xF0, 4])
        d = self.draw = Draw(self.rng, "float32", mixed=False)
        d.ns = tuple(dict.fromkeys([d.integer(2, 7), *(int(n) for n in self.rng.choice([0, 1, 3, 5, 6], 2, False))]))
        self.worlds: list[dict[str, Any]] = [model.names() for _ in d.ns]
        d.bind = self.bind
        d.values = self.worlds
        self.statements: list[Statement] = []
        self.count = 0

    def bind(self, given: Input) -> None:
        for n, names in zip(self.draw.ns, self.worlds, strict=True):
            names[given.name] = given.array(n)
        self.draw.dtypes[given.name] = given.dtype

    def drop_inputs(self, keep: int) -> None:
        for x in self.draw.inputs[keep:]:
            del self.draw.dtypes[x.name]
            for names in self.worlds:
                del names[x.name]
        del self.draw.inputs[keep:]

    def restart(self) -> None:
        for names in self.worlds:
            names.clear()
            names |= model.names()
        for x in self.draw.inputs:
            self.bind(x)
        for s in self.statements:
            for names in self.worlds:
                with model.overflowing():
                    exec(s.judge(), names)

    def accept(self, s: Statement) -> bool:
        """Run a statement for every size; where it has no plain answer, nothing of it is left."""
        try:
            for names in self.worlds:
                with model.overflowing():
                    exec(s.judge(), names)
                if any(names[t].size > MOST_ELEMENTS or names[t].ndim > 4 for t in s.targets):
                    raise model.Unclear("too many elements")
        except (model.Unclear, ValueError, IndexError, TypeError, OverflowError):
            self.restart()
            return False
        self.statements.append(s)
        self.count += len(s.targets)
        for t in s.targets:
            self.draw.dtypes[t] = self.worlds[0][t].dtype.name
        return True

    def propose(self) -> Statement:
        op = STATEMENTS[int(self.rng.choice(len(STATEMENTS), p=WEIGHTS))]
        found = op.propose(self.draw)
        count = op.results if found.results is None else found.results
        targets = tuple(f"v{self.count + i}" for i in range(count))
        return Statement(op, targets, found.operands, attributes(found.attributes))

    def program(self) -> Program | None:
        d = self.draw
        for _ in range(d.integer(1, 3)):
            shape: list[int | str] = [d.choose((1, 2, 3, 5, 7)) for _ in range(d.integer(0, 3))]
            if shape and d.chance(0.6):
                shape[d.integer(0, len(shape) - 1)] = "n"
            d.input(shape, d.choose(model.NARROW), "codes", grad=False)
        wanted, tries = d.integer(2, 8), 0
        while len(self.statements) < wanted and tries < 60:
            tries += 1
            inputs = len(d.inputs)
            try:
                s = self.propose()
            except Refused:
                self.drop_inputs(inputs)
                continue
            if not self.accept(s):
                self.drop_inputs(inputs)
        outputs = tuple(t for s in self.statements for t in s.targets)
        if not outputs:
            return None
        varying = any("n" in x.shape for x in d.inputs)
        sizes = tuple(int(n) for n in self.rng.permutation(d.ns)) if varying else d.ns[:1]
        return used(Program(self.seed, tuple(d.inputs), tuple(self.statements), outputs, sizes, kind="storage"))


def generate(seed: int) -> Program:
    """The program of a seed."""
    for attempt in range(100):
        found = Generator(seed * 100 + attempt).program()
        if found is not None:
            return replace(found, seed=seed)
    raise AssertionError(f"no program for seed {seed}")
