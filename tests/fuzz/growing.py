"""Random functions with loops in which lists and tensors grow, against the same as they are written:
``python -m tests.fuzz.growing 0 300`` runs those of 300 seeds.

A seed gives a function of rows ``x``. Loops run as often as there are rows, or as data say; lists are appended to,
read, written, popped, joined and gone over, in loops within loops and in branches; tensors are joined with what is
computed of them. Each is saved, loaded, run by a predictor and by ONNX Runtime, as :mod:`tests.fuzz.data_sizes` does
it, and its gradient in a static program is compared with that of eager calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

import paddle
from tests.fuzz import data_sizes
from tests.fuzz.data_sizes import WIDTH, function_of, inputs
from tests.fuzz.lines import Lines
from tests.fuzz.seeds import run_seeds
from tests.fuzz.shrink import fewer_lines, reduction

WAYS = (*data_sizes.WAYS, "gradient")


class Text(Lines):
    """A function as it is written. ``vectors``: expressions of shape ``[4]``; ``lists``: names of lists of these, none
    of them empty; ``rows``: names of shape ``[?, 4]``, of which ``x`` may be empty."""

    def __init__(self, seed: int) -> None:
        super().__init__("growing", seed)
        self.vectors, self.rows, self.lists = ["x.sum(0)", "(x.mean(0) + 0.5)"], ["x"], []  # type: ignore[var-annotated]

    def vector(self) -> str:
        r, v, w = self.r, self.r.choice(self.vectors[-4:]), self.r.choice(self.vectors)
        options = [f"paddle.tanh({v})", f"{v} * {r.choice((0.5, -0.25, 0.75))}", f"{v} * 0.5 + paddle.sin({w})"]
        options += [f"{name}.mean(0)" for name in self.rows[1:]]
        options += [f"{name}[{r.choice((-1, 0))}]" for name in self.lists]
        options += [f"paddle.stack({name}).sum(0) * 0.1" for name in self.lists]
        options += [f"paddle.tanh({name}[-1] + len({name}))" for name in self.lists]
        return r.choice(options)

    def head(self) -> str:
        """How often a loop runs."""
        index = self.name("i")
        bounds = ["x.shape[0]", "len(x)", "paddle.shape(x)[0] + 1", "(x[:, 0] > 0).astype('int64').sum()", "3"]
        bound = self.r.choice([*bounds, *(f"len({name})" for name in self.lists if self.r.random() < 0.5)])
        if bound == "x.shape[0]" and self.r.random() < 0.3:
            self.line(f"for {index} in x:")
            self.depth += 1
            return f"{index}"
        self.line(f"for {index} in range({bound}):")
        self.depth += 1
        return f"(x.sum(0) * 0.1 * {index})"

    def start(self) -> str:
        name = self.name("list")
        self.line(f"{name} = [{', '.join(self.vector() for _ in range(self.r.randint(1, 2)))}]")
        self.lists.append(name)
        return name

    def change(self, name: str) -> None:
        """Change a list so that it stays longer than it was at first."""
        y = self.vector()
        kind = self.r.choice(("append", "append", "append", "set", "swap", "extend", "branch", "add"))
        if kind == "append":
            self.line(f"{name}.append({y})")
        elif kind == "set":
            self.line(f"{name}[{self.r.choice((0, -1))}] = {y}")
        elif kind == "swap":
            last = self.name()
            self.line(f"{last} = {name}.pop()")
            self.line(f"{name}.append({last} * 0.5)")
            self.line(f"{name}.append({y})")
        elif kind == "extend":
            self.line(f"{name}.extend([{y}, {self.vector()}])")
        elif kind == "add":
            self.line(f"{name} += [{y}]")
        else:
            self.line(f"if {self.r.choice(self.vectors)}.sum() > {self.r.choice((0.1, -0.3, 0.9))}:")
            self.line(f"    {name}.append({y})")

    def list_loop(self) -> None:
        """A loop in which a list grows, or one that goes over a list."""
        name = self.start() if not self.lists or self.r.random() < 0.5 else self.r.choice(self.lists)
        known = list(self.vectors)
        if self.depth == 1 and self.r.random() < 0.25:
            total = self.name()
            self.line(f"{total} = {self.r.choice(known)} * 1.0")
            self.line(f"for item in {name}:")
            self.line(f"    {total} = {total} * 0.5 + paddle.tanh(item)")
            self.vectors.append(total)
            return
        carried = self.name()
        self.line(f"{carried} = {self.vector()}")
        self.vectors.append(carried)
        own = len(self.vectors)
        self.vectors.append(self.head())
        for _ in range(self.r.randint(1, 2)):
            self.change(name)
        if self.r.random() < 0.6:
            self.line(f"{carried} = paddle.tanh({self.vector()} + {carried})")
        if self.depth == 2 and self.r.random() < 0.25:
            lists = list(self.lists)
            self.list_loop() if self.r.random() < 0.5 else self.tensor_loop()
            self.lists = lists
        self.depth -= 1
        del self.vectors[own:]

    def tensor_loop(self) -> None:
        """A loop in which a tensor grows or shrinks."""
        name = self.name("rows")
        first = self.r.choice([f"{self.r.choice(self.rows)} * 1.0", f"{self.r.choice(self.vectors)}.unsqueeze(0)"])
        self.line(f"{name} = paddle.concat([{first}, {self.r.choice(self.vectors)}.unsqueeze(0)])")
        before = list(self.vectors)
        self.vectors.append(self.head())
        y = self.r.choice(self.vectors)
        self.line(
            self.r.choice(
                (
                    f"{name} = paddle.concat([{name}, paddle.tanh({name}[-1:]) * 0.5 + {y}])",
                    f"{name} = paddle.concat([paddle.sin({name}), {name}.mean(0, keepdim=True) + {y}])",
                    f"{name} = paddle.concat([{name} * 0.9, paddle.tanh({y}).unsqueeze(0)])",
                    f"{name} = paddle.concat([{name}[1:], {name}[:1] * 0.5, {y}.unsqueeze(0)])",
                )
            )
        )
        self.depth -= 1
        self.vectors = before
        if self.depth == 1:
            self.rows.append(name)

    def text(self) -> str:
        for _ in range(self.r.randint(1, 3)):
            self.r.choice((self.list_loop, self.list_loop, self.tensor_loop))()
        results = [f"paddle.stack({self.lists[-1]})", f"paddle.concat({self.lists[0]})"] if self.lists else []
        results += [f"{self.rows[-1]} * 1.0", self.r.choice(self.vectors)]
        self.line(f"return {', '.join(self.r.sample(results, min(len(results), 3)))}")
        return "\n".join(["import paddle", "", "", "def function(x):", *self.lines, ""])


def written(seed: int) -> str:
    """The function of a seed."""
    return Text(seed).text()


def gradient(text: str, seed: int) -> str | None:
    """What is wrong with the gradient of a function in a static program; None if nothing is."""
    function = function_of(text, seed)

    def loss(x: paddle.Tensor) -> paddle.Tensor:
        return sum((paddle.tanh(y) * (i + 1.0)).sum() for i, y in enumerate(function(x)))  # type: ignore[return-value]

    program = paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(program):
            x = paddle.static.data("x", [None, WIDTH])
            x.stop_gradient = False
            (found,) = paddle.static.gradients(paddle.jit.to_static(loss, full_graph=True)(x), [x])
        exe = paddle.static.Executor()
        results = [exe.run(program, feed={"x": x}, fetch_list=[found])[0] for x in inputs(seed)]
    finally:
        paddle.disable_static()
    for x, y in zip(inputs(seed), results, strict=True):
        given = paddle.to_tensor(x, stop_gradient=False)
        loss(given).backward()
        wanted = given.grad.numpy()
        if not np.allclose(y, wanted, 1e-3, 1e-4):
            return f"{text}\ngradient, seed {seed}: of\n{x}\ncomes\n{y}\nand not\n{wanted}"
    return None


def check(
    seed: int, tally: Counter[str] | None = None, only: Sequence[str] = WAYS, text: str | None = None
) -> str | None:
    """What is wrong; None if nothing is."""
    tally = Counter() if tally is None else tally
    text = written(seed) if text is None else text
    ways = [w for w in only if w != "gradient"]
    wrong = data_sizes.check(seed, tally, ways, text) if ways else None
    if wrong is None and "gradient" in only:
        try:
            wrong = gradient(text, seed)
        except Exception as error:
            return f"{text}\ngradient, seed {seed}: {type(error).__name__}: {error}"
        tally["gradient"] += 1
    return wrong


reduced = reduction(written, check, lambda text: fewer_lines(text, 4))


if __name__ == "__main__":
    run_seeds(__doc__, WAYS, check, reduced)
