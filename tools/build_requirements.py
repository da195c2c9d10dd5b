"""Print what building needs, as ``pyproject.toml`` states it, for an install without build isolation."""

from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10
    import pip._vendor.tomli as tomllib

print("\n".join(tomllib.loads(Path("pyproject.toml").read_text())["build-system"]["requires"]))
