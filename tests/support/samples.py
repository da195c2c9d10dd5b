"""The samples of all ops as cases, and the decorator that makes one test per op of a property."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from draw import drawn_order, seed_of
from harness import tensor, values

from umiak import ops as F
from umiak.core import context, eager
from umiak.core.dtype import DType, convert
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ir.meta import SHORT, Meta, weak_kind
from umiak.ops.base import Op, Sample

ARRAYS = (np.ndarray, np.generic)


def dtype_of(array: Any) -> DType:
    return convert(np.asarray(array).dtype)


@dataclass(frozen=True)
class Case:
    """One call of one op."""

    cls: type[Op]
    index: int
    sample: Sample

    @property
    def name(self) -> str:
        return self.cls.name

    @property
    def op(self) -> Op:
        return self.cls(**self.sample.attrs)

    @property
    def params(self) -> tuple:
        return tuple(self.sample.params.get(n, p.default) for n, p in self.cls.param_fields.items())

    @property
    def rng(self) -> np.random.Generator:
        """A generator of the case's own."""
        return np.random.default_rng(seed_of(self.name, self.index))

    @property
    def arrays(self) -> list[np.ndarray]:
        return [np.asarray(x) for x in self.sample.inputs if isinstance(x, ARRAYS)]

    @property
    def differentiable(self) -> tuple[int, ...]:
        """Operands whose gradient means something: floating or complex arrays, unless the sample says otherwise."""
        continuous = tuple(i for i, x in enumerate(self.sample.inputs) if isinstance(x, ARRAYS) and is_continuous(x))
        chosen = self.sample.differentiable
        return continuous if chosen is None else tuple(i for i in chosen if i in continuous)

    def operands(self, inputs: tuple | None = None) -> tuple:
        """The operands as the op takes them: tensors, numbers, None."""
        return tuple(tensor(x) if isinstance(x, ARRAYS) else x for x in inputs or self.sample.inputs)

    def call(self, *operands: Any) -> tuple:
        """The results as a tuple."""
        found = eager.apply(self.op, operands, self.params)
        return found if isinstance(found, tuple) else (found,)

    def run(self, inputs: tuple | None = None) -> tuple[np.ndarray, ...]:
        """The values of the results."""
        return tuple(map(values, self.call(*self.operands(inputs))))

    def metas(self) -> list[Meta | None]:
        return [
            None
            if x is None
            else Meta(np.shape(x), dtype_of(x))
            if isinstance(x, ARRAYS)
            else Meta((), None, weak_kind(x))
            for x in self.sample.inputs
        ]

    def on(self, place: Place) -> Case:
        """The same call for operands on another place: an op that names places names that one."""
        named = {k: place.name for k in ("source", "target") if self.name == "transfer"}
        return replace(self, sample=replace(self.sample, attrs={**self.sample.attrs, **named}))

    def with_inputs(self, inputs: tuple) -> Case:
        return replace(self, sample=replace(self.sample, inputs=inputs))

    def widened(self) -> Case:
        """The same call in float64 and complex128."""

        def wide(x: Any) -> Any:
            if not isinstance(x, ARRAYS) or not is_continuous(x):
                return x
            return np.asarray(x).astype(np.complex128 if dtype_of(x).is_complex else np.float64)

        return self.with_inputs(tuple(map(wide, self.sample.inputs)))

    def __str__(self) -> str:
        operands = ", ".join(
            f"{SHORT[dtype_of(x).name]}{list(np.shape(x))}" if isinstance(x, ARRAYS) else repr(x)
            for x in self.sample.inputs
        )
        words = {**self.sample.attrs, **self.sample.params}
        extra = "".join(f", {k}={v!r}" for k, v in words.items())
        note = f"  # {self.sample.note}" if self.sample.note else ""
        return f"sample {self.index}: {self.name}({operands}{extra}){note}"


def is_continuous(x: Any) -> bool:
    d = dtype_of(x)
    return d.is_floating or d.is_complex


@functools.cache
def cases_of(name: str) -> tuple[Case, ...]:
    """The samples of one op, drawn from the op's name."""
    cls = F.REGISTRY[name]
    return tuple(Case(cls, i, s) for i, s in enumerate(cls.samples(np.random.default_rng(seed_of(name)))))


@functools.cache
def empty_samples(name: str) -> frozenset[int]:
    """The numbers of an op's samples that have an operand without elements, and show little."""
    return frozenset(c.index for c in cases_of(name) if any(x.size == 0 for x in c.arrays))


def own_ops() -> dict[str, Any]:
    """The ops of the engine, without those that users registered, as tests of such do."""
    return {name: cls for name, cls in F.REGISTRY.items() if "::" not in name}


def all_cases() -> Iterator[Case]:
    for name in sorted(own_ops()):
        yield from cases_of(name)


def usable(case: Case) -> bool:
    """Communication needs ranks, and is tested with them."""
    return not str(case.cls.effect or "").startswith("group") and case.cls.__module__ != "umiak.ops.collective"


class ShowsNothing(Exception):
    """Raised by a check where the case cannot have the property: the call refuses what would show it."""


def over_samples(
    quick: int = 2,
    where: Callable[[Case], bool] = lambda case: True,
    known: dict[str, str] | None = None,
    never: Mapping[str, str] | None = None,
    share: int = 1,
    turn: int = 0,
) -> Callable[[Callable[[Case], None]], Callable]:
    """Make a check of a case the test of a property: an item per op, which runs ``quick`` of its samples.

    The other samples are an item marked slow. The quick ones are drawn from the names of property and op, those without
    elements last. Where another property shows much of the same, the quick samples of one op in ``share`` are among the
    quick tests: of properties of another ``turn`` those of other ops, so that each op keeps one of them. ``known``
    holds ops that fail the property, with the reason; it is an error when they do not. A check that raises
    ``ShowsNothing`` leaves its case out; an op of which no case shows anything fails, unless ``never`` has it, with
    the reason. An op in ``never`` of which a case shows something fails too.
    """
    never = never or {}

    def decorate(check: Callable[[Case], None]) -> Callable:
        items = []
        tested = set()
        for name in sorted(own_ops()):
            cases = [c for c in cases_of(name) if usable(c) and where(c)]
            order = drawn_order(cases, check.__name__, name, name=lambda c: c.index)
            order.sort(key=lambda c: c.index in empty_samples(name))
            rest = order[quick:]
            marks_of_quick = [pytest.mark.slow] * ((seed_of(name) + turn) % share > 0)
            for label, part, spare, marks in (
                ("", order[:quick], rest, marks_of_quick),
                ("-rest", rest, None, [pytest.mark.slow]),
            ):
                if part:
                    tested.add(name)
                    if known and name in known:
                        marks = [*marks, pytest.mark.xfail(reason=known[name], strict=label == "")]
                    part = sorted(part, key=lambda c: c.index)
                    items.append(pytest.param(part, spare, id=name + label, marks=marks))
        stale = {*never, *(known or {})} - tested
        assert not stale, f"{check.__name__}: no cases of {sorted(stale)}"

        @pytest.mark.parametrize(("cases", "spare"), items)
        def test(cases: list[Case], spare: list[Case] | None) -> None:
            failures = []
            shown = 0
            ctx = context.current()
            modes = ctx.plan_mode
            # Spare cases are for ops whose quick ones all show nothing.
            for i, case in enumerate([*cases, *(spare or ())]):
                if shown and i >= len(cases):
                    break
                try:
                    check(case)
                    shown += 1
                except ShowsNothing:
                    continue
                except pytest.skip.Exception:
                    raise
                except Exception as error:
                    ctx.plan_mode = modes
                    text = str(error).strip() if isinstance(error, AssertionError) else trace_of(error)
                    failures.append(f"{case}\n{indent(text)}")
                    shown += 1
            if failures:
                pytest.fail("\n".join(failures), pytrace=False)
            name = cases[0].name
            if spare is not None and not shown and name not in never:
                pytest.fail(f"none of the {len(cases) + len(spare)} samples shows the property", pytrace=False)
            if shown and name in never:
                pytest.fail(f"a sample shows the property, which {never[name]}", pytrace=False)

        test.__name__ = check.__name__
        test.__doc__ = check.__doc__
        return test

    return decorate


def trace_of(error: BaseException) -> str:
    """The last frames of an error, and what it says."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    where = " < ".join(f"{f.filename.rpartition('/')[2]}:{f.lineno} {f.name}" for f in reversed(frames))
    return f"{type(error).__name__}: {error}\n({where})"


def indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines()[:24])


# How far apart results may be that are computed in another order, by dtype: (relative, absolute).
CLOSE = {
    "float64": (1e-9, 1e-11), "complex128": (1e-9, 1e-11), "float32": (2e-5, 2e-6), "complex64": (2e-5, 2e-6),
    "float16": (2e-3, 1e-3), "bfloat16": (1.6e-2, 8e-3), "float8_e4m3fn": (0.13, 0.02), "float8_e5m2": (0.26, 0.06),
}  # fmt: skip


def widen(array: np.ndarray) -> np.ndarray:
    """Low precision as float32, for comparisons; the rest as it is."""
    d = dtype_of(array)
    return array.astype(np.float32) if d.is_floating and d.itemsize < 4 else array


def assert_close(found: np.ndarray, expected: np.ndarray, what: str = "", factor: float = 1.0) -> None:
    """Equal shapes, and values within the tolerance of the dtype of ``found``; integers are equal."""
    assert found.shape == np.shape(expected), f"{what}: shape {found.shape}, expected {np.shape(expected)}"
    rtol, atol = CLOSE.get(dtype_of(found).name, (0, 0))
    a, b = widen(found), widen(np.asarray(expected))
    with np.errstate(all="ignore"):
        if rtol:
            np.testing.assert_allclose(a, b, rtol=rtol * factor, atol=atol * factor, equal_nan=True, err_msg=what)
        else:
            np.testing.assert_array_equal(a, b, err_msg=what)


def assert_same_bits(found: np.ndarray, expected: np.ndarray, what: str = "") -> None:
    """The same shape, dtype and bytes; all NaNs count as one."""
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    assert found.dtype == expected.dtype, f"{what}: dtype {found.dtype}, expected {expected.dtype}"
    if found.tobytes() != expected.tobytes():
        np.testing.assert_array_equal(widen(found), widen(expected), err_msg=what)
        a, b = widen(found), widen(expected)
        if a.dtype.kind in "fc":
            signs = [np.signbit(x.view(x.real.dtype)) for x in (np.atleast_1d(a), np.atleast_1d(b))]
            nan = np.isnan(np.atleast_1d(a).view(a.real.dtype))
            assert (signs[0] == signs[1])[~nan].all(), f"{what}: zeros of other signs"


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)
