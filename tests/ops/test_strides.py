"""Views: the strides that an op says are those of the elements that the call gives, whatever memory the operand has."""

from __future__ import annotations

import numpy as np
import pytest
from samples import ARRAYS, Case, over_samples

from umiak import ops as F
from umiak.core.dtype import convert
from umiak.ir.meta import Strided


def memories(x: np.ndarray) -> dict[str, np.ndarray]:
    """The same values in several layouts."""

    def within(shape: tuple, index: tuple) -> np.ndarray:
        out = np.zeros(shape, x.dtype)[index]
        out[...] = x
        return out

    every = (..., *(slice(None, None, 2) for _ in x.shape))
    found = {"dense": x.copy(), "every second": within(tuple(2 * n for n in x.shape), every)}
    if x.ndim:
        found["last axis outermost"] = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 0)), 0, -1)
        found["wider rows"] = within((*x.shape[:-1], x.shape[-1] + 3), (..., slice(1, x.shape[-1] + 1)))
        found["backwards"] = np.ascontiguousarray(np.flip(x, 0))[::-1]
        found["one number"] = np.broadcast_to(x.reshape(-1)[:1] if x.size else x, x.shape)
    return found


def buffer_of(x: np.ndarray) -> np.ndarray:
    """The whole memory that an array lies in, as one row."""
    while x.base is not None:
        x = x.base
    return x.reshape(-1)


def placed(x: np.ndarray) -> tuple[np.ndarray, Strided]:
    memory = buffer_of(x)
    start = (x.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // x.itemsize
    return memory, Strided(x.shape, tuple(s // x.itemsize for s in x.strides), start, convert(x.dtype))


def elements(memory: np.ndarray, at: Strided, dtype: np.dtype) -> np.ndarray:
    """What lies at the places, one by one."""
    whole = memory.view(dtype)
    out = np.empty(at.shape, dtype)
    for index in np.ndindex(*at.shape):
        out[index] = whole[at.offset + sum(i * s for i, s in zip(index, at.strides, strict=True))]
    return out


def viewable(case: Case) -> bool:
    return case.cls.view and case.op.strides is not None and isinstance(case.sample.inputs[0], ARRAYS)


@over_samples(quick=4, where=viewable)
def test_strides_find_the_elements(case: Case) -> None:
    shown = 0
    for name, x in memories(np.asarray(case.sample.inputs[0])).items():
        memory, place = placed(x)
        at = case.op.strides(place, *case.params)
        (expected,) = case.run((x.copy(), *case.sample.inputs[1:]))
        if at is None:
            assert case.name == "reshape" or not place.contiguous, name
            continue
        shown += 1
        assert tuple(at.shape) == expected.shape, name
        found = elements(memory, at, expected.dtype)
        assert found.tobytes() == expected.tobytes(), name
    assert shown, "no layout is viewed"


def random_reshape(rng: np.random.Generator) -> tuple[np.ndarray, tuple[int, ...]]:
    """Sizes out of a few factors, in memory that is dense, transposed, cut or repeated; and other sizes of them."""
    factors = [int(f) for f in rng.choice([1, 2, 2, 3], int(rng.integers(1, 6)))]

    def sizes() -> tuple[int, ...]:
        cuts = sorted(rng.integers(0, len(factors) + 1, int(rng.integers(0, 4))))
        found = [int(np.prod(factors[a:b], dtype=int)) for a, b in zip([0, *cuts], [*cuts, len(factors)])]
        return tuple(found)

    shape = sizes()
    x = np.zeros([n + int(rng.integers(0, 2)) for n in shape], np.float32)
    if rng.random() < 0.5:
        order = rng.permutation(x.ndim)
        x = np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
    x = x[tuple(slice(0, n) for n in shape)]
    if rng.random() < 0.3:
        x = x[tuple(slice(None, None, int(rng.choice([1, -1]))) for _ in shape)]
    if rng.random() < 0.2:
        x = np.broadcast_to(x[:1], x.shape)
    return x, sizes()


@pytest.mark.parametrize("part", range(4))
def test_reshapes_are_views_where_numpy_has_views(part: int, rng: np.random.Generator) -> None:
    views = 0
    for _ in range(200):
        x, target = random_reshape(rng)
        memory, place = placed(x)
        at = F.REGISTRY["reshape"]().strides(place, target)
        numbered = np.lib.stride_tricks.as_strided(
            np.arange(memory.size)[place.offset :], x.shape, [8 * s for s in place.strides]
        )
        other = numbered.view()
        try:
            other.shape = target
        except AttributeError:
            assert at is None, (x.shape, x.strides, target)
            continue
        assert at is not None, (x.shape, x.strides, target)
        views += 1
        found = elements(np.arange(memory.size), Strided(at.shape, at.strides, at.offset), np.dtype("int64"))
        np.testing.assert_array_equal(found, other)
    assert 20 < views < 200


def test_dtypes_of_views() -> None:
    """Strides count elements of the result: a complex number is two."""
    place = Strided((3,), (2,), 1, convert("complex64"))
    at = F.REGISTRY["as_real"]().strides(place)
    assert (at.shape, at.strides, at.offset) == ((3, 2), (4, 1), 2)
