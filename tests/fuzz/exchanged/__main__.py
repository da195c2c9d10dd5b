"""Random functions whose arguments, attributes and globals are exchanged between calls, captured and as they are
written: ``python -m tests.fuzz.exchanged 0 300`` runs those of 300 seeds.

A seed gives a function that reads some places (parameters, items of an argument, attributes of its object, defaults,
cells, globals), each as what a kind of values allows, and a row of calls, before each of which one place is given
another value of the same kind or of another one, or what it holds is changed. The judge is the eager call: results,
dtypes, gradients, classes of errors.
"""

from __future__ import annotations

from tests.fuzz.exchanged.check import WAYS, check, reduced
from tests.fuzz.seeds import run_seeds

run_seeds(__doc__, WAYS, check, reduced)
