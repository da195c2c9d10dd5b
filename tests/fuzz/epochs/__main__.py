"""Random training of some epochs, against PyTorch: ``python -m tests.fuzz.epochs 0 300`` runs that of 300 seeds."""

from tests.fuzz.epochs.check import WAYS, check, reduced
from tests.fuzz.seeds import run_seeds

if __name__ == "__main__":
    run_seeds(__doc__, WAYS, check, reduced)
