"""Refuses to share an environment with the reference framework: two distributions would write one ``paddle`` folder.

Looks for metadata folders of known names on ``sys.path`` instead of listing every distribution, which would take
longer than the rest of a small program's start.
"""

import os
import sys

OURS = "umiak"
REFERENCE = "paddlepaddle"  # and paddlepaddle_gpu, paddlepaddle_xpu, ...
MARKER = "umiak-shim"  # in the metadata of the stand-in that `make shim` builds


def find_reference() -> str | None:
    """The metadata folder of an installed reference framework, or None."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:  # archives and folders that do not exist
            continue
        for name in names:
            if name.startswith(REFERENCE) and name.endswith((".dist-info", ".egg-info")):
                path = os.path.join(folder, name)
                if not os.path.exists(os.path.join(path, MARKER)):
                    return path
    return None


def check() -> None:
    reference = find_reference()
    if reference is not None:
        name, _, rest = os.path.basename(reference).partition("-")
        name, version = name.replace("_", "-"), rest.rsplit(".", 1)[0]
        raise ImportError(
            f"import paddle requires one distribution that provides it, got two: {OURS}, and {name} {version} in "
            f"{os.path.dirname(reference)}. Use an environment for each; to repair this one, uninstall both "
            f"(pip uninstall {OURS} {name}) and install the one you want."
        )


check()
