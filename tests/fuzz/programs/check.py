"""Whether a program does the same in every mode, and what the judge says."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

import paddle
from tests.fuzz.programs import run
from tests.fuzz.programs.draw import COMPLEX
from tests.fuzz.programs.memory import Noise
from tests.fuzz.programs.ops.dtypes import promoted
from tests.fuzz.programs.record import Program
from tests.fuzz.programs.run import Around, Found, itself
from tests.fuzz.programs.saved import overwrites
from umiak.runtime import parallel

# By the narrowest dtype: what is allowed in any case, relative to the largest value (at least 1); the noise that the
# judge is given; and how many times what the noise does is allowed. What magnifies noise further is not compared.
TOLERANCES = {
    "float64": (1e-11, 1e-6, 1e-7),
    "float32": (2e-5, 1e-6, 8.0),
    "float16": (2e-2, 2e-3, 6.0),
    "bfloat16": (6e-2, 8e-3, 6.0),
}
CALLS = 7  # of one capture, some of whose results wait for their gradients
ROW = 6  # calls after which launches that may run side by side do
ILL = 0.05  # relative change under noise beyond which nothing is compared

_STATIC = "static", "saved", "predicted", "exported", "compiled"  # how modes begin that record static programs

# What is refused by design. Each with the reason, and when it may be.
REFUSALS: dict[str, tuple[str, Callable[[Program, str], bool]]] = {
    "a saved tensor was written to": (
        r"got it modified in place",
        # A captured gradient has what it needs, but for one in Python, which asks for tensors.
        lambda p, mode: ("captured" not in mode or "python" in p.tags) and overwrites(p),
    ),
    "a saved tensor was written to, behind a graph break": (
        r"requires what it read not to change before the gradient is computed",
        lambda p, mode: mode == "captured step" and "host" in p.tags and overwrites(p),
    ),
    "data are read while capturing": (
        r"data of (a tensor|SymTensor).* (read while the function|not known while the program|known only while the)",
        # Static programs read the number of elements.
        lambda p, mode: mode != "eager" and not mode.startswith(_STATIC) and "mask" in p.tags,
    ),
    "code branched on a size that differs between runs": (
        r"the program was recorded for sizes with|in static mode, declare the size|sizes that are declared",
        lambda p, mode: mode.startswith(("static", "saved", "predicted", "exported")),
    ),
    "differentiated twice, a captured function needs what it wrote over": (
        r"writes to tensors whose values from before its gradient needs",
        lambda p, mode: mode == "captured twice" and inputs_written(p),
    ),
    "differentiated twice, a captured function has a gradient in Python": (
        r"gradients written in Python, .* are differentiated only inside",
        lambda p, mode: mode == "captured twice" and "python" in p.tags,
    ),
    "ONNX has no operators for it": (
        r"operators that ONNX can say.*\(opset none\)",
        lambda p, mode: mode.startswith("exported"),
    ),
    "ONNX Runtime has no kernel for a dtype": (
        r"NOT_IMPLEMENTED : Could not find an implementation|data type is not supported with Scatter",
        lambda p, mode: mode.startswith("exported")
        and ("mixed" in mode or {"float16", "float64"} & {*dtypes(p).values()} != set()),
    ),
    "what depends on data is not compiled ahead of time": (
        r"\[compile\] requires (a program without branches and loops on data|operations that can be compiled)",
        lambda p, mode: mode.startswith("compiled"),
    ),
    "a model is compiled for sizes that it takes": (
        r"\[compile\] requires sizes that the program takes|was compiled for shapes? \[",
        lambda p, mode: mode.startswith("compiled"),
    ),
    "a write within a branch changes a dtype": (
        r"requires a tensor made inside the branch or loop body",
        lambda p, mode: "mixed precision" in mode
        and p.nest is not None
        and p.how != "call",
    ),
}  # fmt: skip


class Failure(Exception):
    """A program that does not do what the judge says. ``mode``: in which way it was run."""

    def __init__(self, mode: str, message: str) -> None:
        super().__init__(f"{mode}: {message}")
        self.mode = mode


def precision(program: Program) -> str:
    names = {COMPLEX.get(d, d) for d in ({x.dtype for x in program.inputs} | set(dtypes(program).values()))}
    return next(d for d in ("bfloat16", "float16", "float32", "float64") if d in names or d == "float64")


def dtypes(program: Program) -> dict[str, str]:
    """What the dtype of each value should be."""
    found = {x.name: x.dtype for x in program.inputs}
    for s in program.statements:
        given = [found[x] for x in s.operands]
        made = s.op.dtype(*given) if s.op.dtype else given[0] if s.op.form in ("view", "take") else promoted(*given)
        found |= dict.fromkeys(s.targets, made)
    return found


def inputs_written(program: Program) -> bool:
    names = {x.name for x in program.inputs}
    for s in program.statements:
        if s.op.form in ("view",) and s.operands[0] in names:
            names |= set(s.targets)
        if s.op.form in ("write", "rewrite", "turn") and s.operands[0] in names:
            return True
    return False


class Expected:
    """What the judge says for a size, and how close one has to come."""

    def __init__(self, program: Program, n: int, draws: list[np.ndarray] | None, twice: bool, dtype: str) -> None:
        self.floor, size, self.times = TOLERANCES[dtype]
        if "loose" in program.tags:
            self.floor = max(self.floor, 1e-8)
        if "cancels" in program.tags:  # derivatives near 0 are small differences of large numbers
            self.floor = max(self.floor, 1e-8 if dtype == "float64" else 1e-3)
        self.found = run.judged(program, n, None, draws, twice)
        self.shaken = [run.judged(program, n, Noise(seed, size), draws, twice) for seed in (1, 2)]

    def moved(self) -> float:
        """How much noise does to any part, times what is allowed; infinite where it is not known."""
        most = 0.0
        for k, (_, b) in enumerate(self.found.parts()):
            for other in self.shaken:
                a = other.parts()[k][1]
                if a is not None and b is not None and b.size and b.dtype.kind in "fc":
                    most = max(most, float(np.abs(a - b).max()))
        return self.times * most if np.isfinite(most) else np.inf

    def compare(self, mode: str, found: Found) -> bool:
        """False: rounding is magnified so much that nothing can be said of a part."""
        whole = True
        others = [s.parts() for s in self.shaken]
        for k, ((what, a), (_, b)) in enumerate(zip(found.parts(), self.found.parts(), strict=True)):
            if a is None and b is None:
                continue
            a, b = (np.zeros(()) if x is None else x for x in (a, b))
            nothing = what.startswith("gradient") and (a.shape == () or b.shape == ())
            if a.shape != b.shape and not nothing:
                raise Failure(mode, f"{what} has shape {a.shape}, not {b.shape}")
            if b.dtype.kind not in "fc":
                steps = any(not np.array_equal(b, other[k][1]) for other in others)
                whole &= not steps
                if not steps and not np.array_equal(a, b):
                    raise Failure(mode, f"{what} is\n{a}\nand not\n{b}")
                continue
            if not b.size or not a.size:
                continue
            moved = max(float(np.abs(np.asarray(0.0 if o[k][1] is None else o[k][1]) - b).max()) for o in others)
            scale = max(1.0, float(np.abs(b).max()))
            if not np.isfinite(moved) or moved > ILL * scale or not np.isfinite(scale):
                whole = False
                continue
            allowed = self.floor * scale + self.times * moved
            off = np.abs(a - b).max()
            if not off <= allowed:
                raise Failure(mode, f"{what} is\n{a}\nand not\n{b}\n({off:.3g} off, {allowed:.3g} allowed)")
        return whole


class Check:
    """One program in several modes. ``modes``: in which part of the programs each is tried; eager, always."""

    modes: ClassVar[dict[str, float]] = {
        "captured": 0.3,
        "captured step": 0.3,
        "captured again": 0.2,
        "side by side": 0.1,
        "twice": 0.15,
        "captured twice": 0.06,
        "recomputed": 0.15,
        "mixed precision": 0.1,
        "differences": 0.1,
        "static": 0.3,
        "static, recomputed": 0.1,
        "static, mixed precision": 0.1,
        "static, in a branch": 0.1,
        "static, saved": 0.3,
        "exported": 0.3,
        "predicted": 0.2,
        "saved, recomputed": 0.1,
        "saved, mixed precision": 0.1,
        "exported, mixed precision": 0.1,
        "predicted, mixed precision": 0.1,
        "compiled": 0.0,  # takes a second each: asked for by name
        "compiled, mixed precision": 0.0,
        "results kept": 0.1,
    }

    def __init__(self, program: Program, tally: Counter[str]) -> None:
        self.program = program
        self.tally = tally
        self.dtype = precision(program)
        self.first = program.sizes[0]
        self.draws: dict[int, list[np.ndarray] | None] = dict.fromkeys(program.sizes)
        self.expected: dict[Any, Expected] = {}
        self.plain: Found | None = None
        self.leaves = [k for k, x in enumerate(program.inputs) if x.grad]

    def drawn_modes(self) -> list[str]:
        rng = np.random.default_rng([self.program.seed, 7])
        return [m for m, share in self.modes.items() if rng.random() < share]

    @staticmethod
    def means_something(program: Program) -> None:
        """Raise whatever the judge raises."""
        for n in program.sizes:
            run.judged(program, n)

    def all(self, modes: list[str]) -> None:
        self.tally["programs"] += 1
        if self.program.invalid:
            self.invalid()
            return
        self.eager()
        for mode in modes:
            if mode != "eager":
                getattr(self, mode.replace(",", "").replace(" ", "_"))()

    # --- running and comparing

    def run(self, mode: str, n: int, function: Callable[..., Any], **options: Any) -> Found | None:
        """What a run gives; None where it refuses by design."""
        try:
            return run.ours(self.program, n, function, **options)
        except Exception as error:
            self.refused(mode, error)
            return None

    def refused(self, mode: str, error: Exception) -> None:
        for reason, (pattern, when) in REFUSALS.items():
            if re.search(pattern, str(error), re.DOTALL) and when(self.program, mode):
                self.tally[f"refused: {reason}"] += 1
                return
        raise Failure(mode, f"raises {type(error).__name__}: {error}") from error

    def judge(self, n: int, twice: bool = False, dtype: str = "") -> Expected:
        key = n, twice, dtype
        if key not in self.expected:
            self.expected[key] = Expected(self.program, n, self.draws[n], twice, dtype or self.dtype)
        return self.expected[key]

    def compare(self, mode: str, n: int, found: Found | None, **options: Any) -> None:
        if found is not None:
            whole = self.judge(n, **options).compare(mode, found)
            self.tally[mode if whole else f"{mode}: in part, rounding is magnified"] += 1

    def dtypes(self, mode: str, found: Found, wanted: list[str] | None = None) -> None:
        known = dtypes(self.program)
        wanted = wanted or [known[x] for x in self.program.outputs]
        if found.dtypes != wanted:
            raise Failure(mode, f"dtypes are {found.dtypes}, and not {wanted}")

    # --- modes

    def eager(self) -> None:
        """The first size; the others of every second program, and of those that draw numbers, which the judge needs."""
        random = "random" in self.program.tags
        for k, n in enumerate(self.program.sizes):
            if k and not random and self.program.seed % 2:
                continue
            kept = run.Draws() if random else None
            found = self.run("eager", n, run.function_of(self.program, kept))
            if kept is not None:
                self.draws[n] = kept.kept
            if not k and found is not None:
                self.plain = found
                self.dtypes("eager", found)
            self.compare("eager", n, found)

    def captured(self, mode: str = "captured", inside: bool = False) -> None:
        """For every size, with one capture."""
        function = run.function_of(self.program)
        static = paddle.jit.to_static(run.step_of(self.program, function) if inside else function)
        for n in self.program.sizes:
            found = self.run(mode, n, static, inside=inside)
            self.compare(mode, n, found)
            if found is not None:
                self.dtypes(mode, found)

    def static(self, mode: str = "static", around: Around = itself, dtype: str = "") -> list[Found]:
        """For every size, with one program of static mode."""
        recorded: Any = None
        try:
            recorded = run.Recorded(self.program, around)
        except Exception as error:
            self.refused(mode, error)
            return []
        results = []
        for n in self.program.sizes:
            try:
                found = recorded.run(n)
            except Exception as error:
                self.refused(mode, error)
                continue
            self.compare(mode, n, found, dtype=dtype)
            if not dtype:
                self.dtypes(mode, found)
            results.append(found)
        return results

    def static_saved(self) -> None:
        """Written as a model and read again."""
        if run.is_a_model(self.program):
            self.elsewhere("static, saved", run.Saved, self.program.sizes)

    def predicted(self) -> None:
        """By a predictor of the model."""
        if run.is_a_model(self.program):
            self.elsewhere("predicted", run.Predicted, self.program.sizes)

    def exported(self) -> None:
        """Exported to ONNX, and run there; what is empty is not what it is made for."""
        if self.can_be_exported():
            self.elsewhere("exported", run.Exported, self.sizes_with_elements())

    def can_be_exported(self) -> bool:
        """NumPy has no bfloat16, ONNX no complex numbers."""
        used = {x.dtype for x in self.program.inputs} | set(dtypes(self.program).values())
        return run.is_a_model(self.program) and not any(d == "bfloat16" or d.startswith("complex") for d in used)

    def sizes_with_elements(self) -> list[int]:
        return [n for n in self.program.sizes if all(x.array(n).size for x in self.program.inputs)]

    def compiled(self) -> None:
        """Compiled ahead of time, and run through the interface in C."""
        if run.is_a_model(self.program):
            self.elsewhere("compiled", run.Compiled, self.program.sizes)

    def saved_recomputed(self) -> None:
        """Written as a model under ``recompute``: a program that does nothing beside its result."""
        beside = inputs_written(self.program) or self.program.tags & {"hook", "grad"}
        if run.is_a_model(self.program) and not beside and self.leaves:
            reentrant = self.program.seed % 2 == 0
            self.elsewhere(
                "saved, recomputed", run.Saved, self.program.sizes, lambda function: run.again(function, reentrant)
            )

    def saved_mixed_precision(self) -> None:
        """Written as a model under ``auto_cast``."""
        self.mixed_elsewhere("saved, mixed precision", run.Saved, self.program.sizes)

    def predicted_mixed_precision(self) -> None:
        """The same by a predictor."""
        self.mixed_elsewhere("predicted, mixed precision", run.Predicted, self.program.sizes)

    def compiled_mixed_precision(self) -> None:
        """The same compiled ahead of time."""
        self.mixed_elsewhere("compiled, mixed precision", run.Compiled, self.program.sizes)

    def exported_mixed_precision(self) -> None:
        """The same exported to ONNX, with results that NumPy has a dtype for."""
        if self.can_be_exported():
            self.mixed_elsewhere("exported, mixed precision", run.Exported, self.sizes_with_elements(), run.widened)

    def mixed_elsewhere(
        self, mode: str, written: Callable[..., Any], sizes: Sequence[int], outside: Around = itself
    ) -> None:
        """By the seed in either narrow type, and with all that can be cast cast."""
        if self.dtype != "float32" or not run.is_a_model(self.program):
            return
        level = ("O1", "O2")[self.program.seed & 1]
        dtype = ("bfloat16", "float16")[self.program.seed >> 1 & 1]

        def around(function: Callable[..., Any]) -> Callable[..., Any]:
            return outside(run.mixed(function, level, dtype))

        eager = self.run("mixed precision", self.first, around(run.function_of(self.program)))
        if eager is not None:
            self.elsewhere(mode, written, sizes, around, dtype, eager.dtypes)

    def elsewhere(
        self, mode: str, written: Callable[..., Any], sizes: Sequence[int], around: Around = itself,
        dtype: str = "", kinds: list[str] | None = None,
    ) -> None:  # fmt: skip
        """Results of a program that was written to a file, for some sizes. ``dtype``: how close they should be;
        ``kinds``: the dtypes of the results, where they are not those that operands decide."""
        try:
            saved = written(self.program, around)
        except Exception as error:
            self.refused(mode, error)
            return
        if saved.own is not None:
            self.tally[f"{mode}: in our own format: {saved.own.rsplit(' for ', 1)[-1]}"] += 1
            if mode.startswith("exported"):
                return
        # Attributes of operators are float32 there.
        dtype = dtype or ("float32" if self.dtype == "float64" else "")
        for n in sizes:
            try:
                found = saved.run(n)
            except Exception as error:
                self.refused(mode, error)
                continue
            self.dtypes(mode, found, kinds)
            # What is not computed is as it should be.
            rest = self.judge(n, dtype=dtype).found
            found = dataclasses.replace(found, gradients=rest.gradients, after=rest.after)
            self.compare(mode, n, found, dtype=dtype)

    def static_recomputed(self) -> None:
        """As :meth:`recomputed`."""
        beside = inputs_written(self.program) or self.program.tags & {"hook", "grad"}
        if not beside and self.leaves:
            self.static("static, recomputed", lambda function: run.again(function, self.program.seed % 2 == 0))

    def static_mixed_precision(self) -> None:
        """As :meth:`mixed_precision`."""
        mode = "static, mixed precision"
        if self.dtype != "float32":
            return
        eager = self.run("mixed precision", self.first, run.mixed(run.function_of(self.program)))
        for found in self.static(mode, run.mixed, "bfloat16"):
            if eager is not None and found.dtypes != eager.dtypes:
                raise Failure(mode, f"dtypes are {found.dtypes}, in eager mode {eager.dtypes}")

    def static_in_a_branch(self) -> None:
        """All of the program as a branch: of programs that do nothing beside their result."""
        if not (inputs_written(self.program) or self.program.tags & {"hook", "grad"}):
            self.static("static, in a branch", run.within)

    def captured_step(self) -> None:
        """The same with the backward run inside."""
        self.captured("captured step", inside=True)

    def captured_again(self) -> None:
        """Many calls of one capture, between which sizes, modes, gradients and a number of Python's change: as in eager
        mode, also where that refuses."""
        mode = "captured again"
        p, rng = self.program, np.random.default_rng([self.program.seed, 11])
        inside = bool(rng.random() < 0.5)
        function = run.function_of(p)
        plain, other = (run.Scaled(run.step_of(p, function) if inside else function) for _ in range(2))
        static = paddle.jit.to_static(other.function)
        options: dict[str, Any] = {"grad": True, "frozen": False, "held": False}
        n = self.first
        for _ in range(10):
            change = str(rng.choice(["size", "grad", "frozen", "held", "factor", "none"]))
            if change == "size":
                n = int(rng.choice(p.sizes))
            elif change == "factor":
                factor = float(rng.choice([1.0, 0.5, -1.0]))
                plain.change(factor)
                other.change(factor)
            elif change != "none":
                options[change] = not options[change]
            found: list[Any] = []
            for f in (plain.function, static):
                try:
                    found.append(run.ours(p, n, f, inside=inside, **options))
                except Exception as error:
                    found.append(error)
            self.alike(mode, f"for a size of {n} and {options}", n, *found)
        self.tally[mode] += 1

    def results_kept(self) -> None:
        """Calls of one capture whose gradients come later, in any order, and whose results are then written to: neither
        reaches another call, and no call what earlier ones have given."""
        mode, p = "results kept", self.program
        if "random" in p.tags:
            return
        rng = np.random.default_rng([p.seed, 13])
        function = paddle.jit.to_static(run.function_of(p))
        pending: list[tuple[int, run.Pending]] = []
        done: list[run.Pending] = []
        for _ in range(CALLS):
            n = int(rng.choice(p.sizes))
            try:
                pending.append((n, run.Pending(p, n, function)))
                if rng.random() < 0.5:
                    n, one = pending.pop(int(rng.integers(len(pending))))
                    self.compare(mode, n, one.finish())
                    done.append(one)
            except Exception as error:
                self.refused("captured", error)
                return
            if done and rng.random() < 0.5:
                done[-1].write()
            if any(one.changed() for one in (*done, *(one for _, one in pending))):
                raise Failure(mode, "results of a call are others after later calls")

    def side_by_side(self) -> None:
        """Launches of a capture that need nothing of each other at the same time: the bits are those of a row."""
        mode, threads, found = "side by side", parallel.get_num_threads(), []
        parallel.set_num_threads(2)
        try:
            for flag in ("never", "always"):
                paddle.set_flags({"FLAGS_parallel_branches": flag})
                static = paddle.jit.to_static(run.function_of(self.program))
                found.append([self.run("captured", self.first, static) for _ in range(ROW)])
        finally:
            paddle.set_flags({"FLAGS_parallel_branches": "auto"})
            parallel.set_num_threads(threads)
        for k, (a, b) in enumerate(zip(*found, strict=True)):
            if a is None or b is None:
                continue
            for (what, x), (_, y) in zip(a.parts(), b.parts(), strict=True):
                if (x is None) != (y is None) or (x is not None and x.tobytes() != y.tobytes()):
                    raise Failure(mode, f"{what} of call {k} is\n{y}\nand not\n{x}")
        self.tally[mode] += 1

    def alike(self, mode: str, when: str, n: int, a: Any, b: Any) -> None:
        """Whether a captured run ``b`` did what the eager one did."""
        if isinstance(b, Exception):
            if not isinstance(a, Exception):
                self.refused("captured", b)
            return
        if isinstance(a, Exception):
            if not re.search(REFUSALS["a saved tensor was written to"][0], str(a)):
                raise Failure(mode, f"runs {when} where eager mode raises {type(a).__name__}: {a}") from a
            return
        moved = self.judge(n).moved()
        has_region = self.program.nest is not None and self.program.how != "call"
        for (what, x), (_, y) in zip(a.parts(), b.parts(), strict=True):
            if has_region and x is None and y is not None and not np.any(y):
                continue  # of what a captured branch or loop does not use; none in eager mode
            if (x is None) != (y is None):
                raise Failure(mode, f"{what} {when} is {y} and not {x}")
            if x is None or not x.size:
                continue
            scale = max(1.0, float(np.abs(x).max()))
            if x.dtype.kind not in "fc" or not np.isfinite(scale):
                continue
            off, allowed = float(np.abs(x - y).max()), self.judge(n).floor * scale + moved
            if moved <= ILL * scale and not off <= 4 * allowed:
                raise Failure(mode, f"{what} {when} is\n{y}\nand not\n{x}\n({off:.3g} off, {allowed:.3g} allowed)")

    def twice(self, mode: str = "twice") -> None:
        """The gradient of the gradient."""
        if self.program.tags & {"hook"} or self.dtype in ("float16", "bfloat16") or not self.leaves:
            return
        try:
            self.judge(self.first, twice=True)
        except RuntimeError:
            self.tally[f"{mode}: beyond the judge"] += 1
            return
        function = run.function_of(self.program)
        function = function if mode == "twice" else paddle.jit.to_static(function)
        self.compare(mode, self.first, self.run(mode, self.first, function, twice=True), twice=True)

    def captured_twice(self) -> None:
        self.twice("captured twice")

    def recomputed(self) -> None:
        """Programs that do nothing beside their result, which is done twice by design, and ask for no gradients."""
        mode, reentrant = "recomputed", self.program.seed % 2 == 0
        beside = inputs_written(self.program) or self.program.tags & {"hook", "grad"}
        if self.plain is None or beside or not self.leaves:
            return
        found = self.run(mode, self.first, run.again(run.function_of(self.program), reentrant))
        self.compare(mode, self.first, found)
        if found is not None:
            for i, (a, b) in enumerate(zip(found.outputs, self.plain.outputs, strict=True)):
                if not np.array_equal(a, b):
                    raise Failure(mode, f"output {i} is\n{a}\nand not\n{b}")

    def mixed_precision(self) -> None:
        if self.dtype != "float32":
            return
        kinds = []
        for mode in ("mixed precision", "mixed precision, captured"):
            function = run.mixed(run.function_of(self.program))
            function = paddle.jit.to_static(function) if "captured" in mode else function
            found = self.run(mode, self.first, function)
            self.compare(mode, self.first, found, dtype="bfloat16")
            if found is not None:
                kinds.append(found.dtypes)
        if len(kinds) == 2 and kinds[0] != kinds[1]:
            raise Failure(mode, f"dtypes are {kinds[1]}, in eager mode {kinds[0]}")

    def invalid(self) -> None:
        for mode in ("eager", "captured"):
            function = run.function_of(self.program)
            function = paddle.jit.to_static(function) if mode == "captured" else function
            for n in self.program.sizes:
                try:
                    function(*run.arguments(self.program, n))
                except (ValueError, TypeError, IndexError, RuntimeError):
                    self.tally[f"{mode}: refused as it must be"] += 1
                else:
                    raise Failure(mode, f"accepts what cannot be, for a size of {n}")

    def differences(self) -> None:
        """The gradient along a line, by differences of values: of programs that say what their derivative is."""
        p = self.program
        if self.dtype != "float64" or p.tags & {"hook", "cut", "random", "grad", "skewed"} or inputs_written(p):
            return
        if self.plain is None or any(s.no_grad for s in p.statements) or not self.leaves:
            return
        rng = np.random.default_rng(p.seed)
        arrays = [t.numpy().copy() for t in run.arguments(p, self.first)]
        lines = {k: np.asarray(rng.standard_normal(arrays[k].shape)) for k in self.leaves}
        for k, line in lines.items():
            if arrays[k].dtype.kind == "c":
                lines[k] = line + 1j * rng.standard_normal(line.shape)
        function = run.function_of(p)

        def value(h: float) -> tuple[Any, list[Any]]:
            moved = [paddle.to_tensor(a + h * lines[k] if k in lines else a) for k, a in enumerate(arrays)]
            for k in self.leaves:
                moved[k].stop_gradient = False
            return run.loss_of(function(*moved)), moved

        loss, moved = value(0.0)
        if loss is None:
            return
        loss.backward()
        grads = {k: moved[k].grad.numpy() for k in self.leaves if moved[k].grad is not None}
        # A gradient has the derivatives by both parts as its parts.
        found = sum(float((g.conj() * lines[k]).real.sum()) for k, g in grads.items())
        wide, narrow = (float(value(h)[0] - value(-h)[0]) / (2 * h) for h in (1e-4, 1e-5))
        scale = max(1.0, abs(found), abs(float(loss)))
        if abs(wide - narrow) > 1e-4 * scale:
            self.tally["differences: not smooth there"] += 1
            return
        if abs(narrow - found) > 2e-4 * scale:
            raise Failure("differences", f"the derivative along a line is {found}, by differences {narrow}")
        self.tally["differences"] += 1
