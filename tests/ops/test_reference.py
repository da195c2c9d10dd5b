"""Results of the backend against an independent reference."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from references import CHECKS, REFERENCES, WITHOUT
from samples import ARRAYS, Case, assert_close, over_samples, own_ops, widen

from umiak import ops as F


def expected_of(case: Case) -> tuple:
    """What the reference gives for the inputs of the case, low precision taken as float32."""
    inputs = [widen(np.asarray(x)) if isinstance(x, ARRAYS) else x for x in case.sample.inputs]
    words = dict(case.op.attributes) | dict(zip(case.cls.param_fields, case.params, strict=True))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = REFERENCES[case.name](*inputs, **words)
    return made if isinstance(made, tuple) else (made,)


@over_samples(quick=100, where=lambda case: case.name in REFERENCES)
def test_backend_gives_what_the_reference_gives(case: Case) -> None:
    found, expected = case.run(), expected_of(case)
    assert len(found) == len(expected), f"{len(found)} results, expected {len(expected)}"
    for i, (a, b) in enumerate(zip(found, expected)):
        # Narrowed as the op's result is, so that both overflow alike.
        with np.errstate(all="ignore"):
            b = (
                np.asarray(b).astype(a.dtype)
                if np.asarray(b).dtype.kind != "b" or a.dtype.kind == "b"
                else np.asarray(b)
            )
        assert_close(a, b, f"result {i}")


@over_samples(quick=100, where=lambda case: case.name in CHECKS)
def test_backend_gives_a_right_result(case: Case) -> None:
    """Where several results are right."""
    CHECKS[case.name](case, case.run())


def test_every_op_has_a_reference_or_a_reason() -> None:
    covered = set(REFERENCES) | set(CHECKS) | set(WITHOUT)
    missing = sorted(set(own_ops()) - covered)
    assert not missing, f"neither in REFERENCES, CHECKS nor WITHOUT: {missing}"
    assert not set(WITHOUT) & (set(REFERENCES) | set(CHECKS))


@pytest.mark.parametrize("table", [REFERENCES, CHECKS, WITHOUT], ids=["REFERENCES", "CHECKS", "WITHOUT"])
def test_tables_name_ops(table: dict) -> None:
    assert set(table) <= set(F.REGISTRY), sorted(set(table) - set(F.REGISTRY))
