"""Random training of some epochs, against PyTorch: ``python -m tests.fuzz.epochs 0 300`` runs that of 300 seeds,
with ``--mixed`` that in mixed precision."""

import sys

from tests.fuzz.epochs.check import MIXED, WAYS, check, check_mixed, reduced, reduced_mixed
from tests.fuzz.seeds import run_seeds

if __name__ == "__main__":
    if "--mixed" in sys.argv:
        sys.argv.remove("--mixed")
        run_seeds(__doc__, MIXED, check_mixed, reduced_mixed)
    else:
        run_seeds(__doc__, WAYS, check, reduced)
