"""``python -m tests.fuzz.calls FIRST STOP [--only MODE] [--match TEXT]``: random calls; prints what fails."""

from tests.fuzz.calls import modes
from tests.fuzz.calls.check import MODES, calls_of, check

if __name__ == "__main__":
    modes.main(check, calls_of, MODES)
