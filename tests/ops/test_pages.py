"""Pages that are written in place, whatever else lies in their storage, and calls that only data refuse."""

from __future__ import annotations

import numpy as np
import pytest

from umiak import ops as F
from umiak.core.array import from_numpy, to_numpy
from umiak.core.inplace import apply_into

TABLE, COUNTS, BEFORE = (from_numpy(np.array(x, np.int64)) for x in ([[2], [0]], [2, 1], [0, 1]))


def pages(rng, *shape):
    return from_numpy(rng.standard_normal(shape).astype(np.float32))


def test_rows_that_are_read_from_the_pages_themselves(rng):
    """They are what they were before the call."""
    held = pages(rng, 3, 1, 3, 4)
    old = to_numpy(held).copy()
    rows = F.squeeze(F.slice(held, axes=(0, 2), starts=(2, 0), sizes=(1, 3), steps=(1, 1)), axes=(0,))
    rows = F.permute(rows, perm=(1, 0, 2))
    memory = held.data_ptr()
    apply_into(F.WritePages(), (held,), (held, rows, TABLE, COUNTS, BEFORE))
    want = old.copy()
    want[2, 0, :2], want[0, 0, 1] = old[2, 0, :2], old[2, 0, 2]
    np.testing.assert_array_equal(to_numpy(held), want)
    assert held.data_ptr() == memory


def test_pages_that_are_part_of_a_tensor(rng):
    """Other parts of the storage stay; a result with memory of its own leaves the operand as it was."""
    both = pages(rng, 2, 3, 1, 3, 4)
    old, rows = to_numpy(both).copy(), pages(rng, 3, 1, 4)
    part = F.squeeze(F.slice(both, axes=(0,), starts=(1,), sizes=(1,), steps=(1,)), axes=(0,))
    new = F.write_pages(part, rows, TABLE, COUNTS, BEFORE)
    np.testing.assert_array_equal(to_numpy(both), old)
    apply_into(F.WritePages(), (part,), (part, rows, TABLE, COUNTS, BEFORE))
    np.testing.assert_array_equal(to_numpy(both)[0], old[0])
    np.testing.assert_array_equal(to_numpy(both)[1], to_numpy(new))
    assert (to_numpy(both)[1] != old[1]).any()


@pytest.mark.parametrize(
    ("error", "text", "changes"),
    [
        (ValueError, "a row for each of 2 new tokens, or one row, and with 2 positions", {"mask": (1, 1, 2, 1)}),
        (ValueError, "or one row, and with 3 positions", {"mask": (1, 1, 2, 2), "before": [0, 2]}),
        (ValueError, "a row for each of 3 new tokens", {"mask": (1, 1, 2, 3), "counts": [3, 0]}),
        (IndexError, "page 3 in sequence 1", {"tables": [[2], [3]]}),
        (ValueError, "at most 3 tokens, 1 pages of 3", {"before": [2, 1]}),
        (ValueError, "add up to 3 tokens", {"counts": [1, 1]}),
        (ValueError, "at least 0", {"counts": [-1, 4]}),
    ],
)
def test_attention_refuses_by_data(rng, error, text, changes):
    given = {"tables": [[2], [0]], "counts": [2, 1], "before": [0, 1], "mask": None} | changes
    mask = None if given["mask"] is None else pages(rng, *given["mask"])
    where = [from_numpy(np.array(given[name], np.int64)) for name in ("tables", "counts", "before")]
    keys, values, query = pages(rng, 3, 1, 3, 4), pages(rng, 3, 1, 3, 2), pages(rng, 3, 2, 4)
    with pytest.raises(error, match=text):
        F.paged_attention(query, keys, values, *where, mask, None, None, causal=True, scale=1.0)


def test_every_part_of_the_work_gives_the_same_bits(rng):
    """A sequence's result is the same alone and beside others: in strips, and one by one."""
    n, counts, before = 40, np.array([30, 1, 9]), np.array([5, 60, 0])
    keys, values = pages(rng, 16, 2, 8, 16), pages(rng, 16, 2, 8, 16)
    tables = np.arange(30).reshape(3, 10) % 16
    query = to_numpy(pages(rng, n, 4, 16))

    def attend(q, *where):
        given = [from_numpy(np.ascontiguousarray(x)) for x in (q, *where)]
        return to_numpy(F.paged_attention(given[0], keys, values, *given[1:], None, None, None, causal=True, scale=0.3))

    out, first = attend(query, tables, counts, before), 0
    for b, m in enumerate(counts):
        alone = attend(query[first : first + m], tables[b : b + 1], counts[b : b + 1], before[b : b + 1])
        np.testing.assert_array_equal(out[first : first + m], alone)
        first += m
