"""Build a wheel without code that is named ``paddlepaddle`` and requires ``umiak``.

Programs that require the reference framework by its distribution's name are satisfied by it. A marker file in its
metadata lets ``import paddle`` tell it from the real distribution.
"""

import base64
import hashlib
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

NAME = "paddlepaddle"
VERSION = "3.3.1"
MARKER = "umiak-shim"  # paddle/_installation.py looks for it

METADATA = f"""Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: Stand-in without code: the paddle package of this environment is Umiak's
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: umiak
"""

WHEEL = """Wheel-Version: 1.0
Generator: umiak
Root-Is-Purelib: true
Tag: py3-none-any
"""


def build(folder: Path) -> Path:
    """Write the wheel into ``folder``; the same bytes every time."""
    info = f"{NAME}-{VERSION}.dist-info"
    files = {f"{info}/METADATA": METADATA, f"{info}/WHEEL": WHEEL, f"{info}/{MARKER}": "umiak\n"}
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(text.encode())}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{NAME}-{VERSION}-py3-none-any.whl"
    with ZipFile(path, "w", ZIP_DEFLATED) as wheel:
        for name, text in files.items():
            wheel.writestr(ZipInfo(name, (2020, 1, 1, 0, 0, 0)), text)
    return path


if __name__ == "__main__":
    print(build(Path(*sys.argv[1:])))
