"""Print what building needs, as ``pyproject.toml`` states it, for an install without build isolation."""

from pathlib import Path
from typing import Any

try:
    import tomllib
except ImportError:  # Python 3.10
    import pip._vendor.tomli as tomllib


def read() -> dict[str, Any]:
    """Read ``pyproject.toml``."""
    return tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())


if __name__ == "__main__":
    print("\n".join(read()["build-system"]["requires"]))
