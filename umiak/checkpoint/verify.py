"""Verification of a checkpoint: every file, every block, every byte."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from umiak.checkpoint.checksum import Checksum
from umiak.checkpoint.commit import manifest_uids, open_checkpoint
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.files import open_file
from umiak.checkpoint.manifest import Manifest, manifest_name, nbytes, read_manifest

_CHUNK = 8 << 20


@dataclass(frozen=True)
class Finding:
    """The state of a file, or of one tensor's block in it.

    ``state`` is "ok", "unchecked" (there, but saved without a checksum), "missing", "truncated" or "corrupted".
    """

    state: str
    file: str
    key: str | None = None
    offset: tuple[int, ...] | None = None
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """Result of :func:`verify`: ``findings`` of all blocks, ``bad`` those that are neither ok nor unchecked."""

    folder: str
    uid: int | None
    findings: tuple[Finding, ...]

    @property
    def bad(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.state not in ("ok", "unchecked"))

    @property
    def ok(self) -> bool:
        return not self.bad

    def count(self, state: str) -> int:
        return sum(f.state == state for f in self.findings)


def verify(
    folder: str | os.PathLike[str], uid: int | None = None, progress: Callable[[int, int], object] | None = None
) -> Report:
    """Read a checkpoint and compare all checksums. Damage is reported, not raised.

    Args:
        uid: which; by default the one with the largest uid, damaged or not.
        progress: called with the bytes read since the last call and the bytes of the whole checkpoint.

    Raises:
        CheckpointError: no checkpoint in the folder.
    """
    folder = os.fspath(folder)
    number = max(manifest_uids(folder), default=None) if uid is None else uid
    if number is None:
        return check_files(folder, open_checkpoint(folder), None, progress)
    name = manifest_name(number)
    try:
        manifest = read_manifest(os.path.join(folder, name))
    except FileNotFoundError:
        raise CheckpointError(f"[verify] requires {name} in {folder}, got none") from None
    except (CheckpointError, OSError) as error:
        return Report(folder, number, (Finding("corrupted", name, detail=str(error)),))
    return check_files(folder, manifest, number, progress)


def check_files(
    folder: str, manifest: Manifest, uid: int | None, progress: Callable[[int, int], object] | None = None
) -> Report:
    """:func:`verify` for a manifest that was read already."""
    total = sum(nbytes(s.block) for s in manifest.stored)
    findings = []
    by_file: dict[str, list] = {}
    for s in sorted(manifest.stored, key=lambda s: (s.file, s.begin)):
        by_file.setdefault(s.file, []).append(s)
    buffer = np.empty(min(_CHUNK, max(total, 1)), np.uint8)
    for name, rows in by_file.items():
        path = os.path.join(folder, name)
        try:
            fd = open_file(path)
        except FileNotFoundError:
            findings += [Finding("missing", name, s.block.key, s.block.box.offset, "no such file") for s in rows]
            continue
        except (CheckpointError, OSError) as error:
            findings += [Finding("missing", name, s.block.key, s.block.box.offset, str(error)) for s in rows]
            continue
        try:
            size, wanted = os.fstat(fd).st_size, manifest.files.get(name)
            if wanted is not None and size != wanted:
                state = "truncated" if size < wanted else "corrupted"
                findings.append(Finding(state, name, detail=f"{size} bytes of {wanted}"))
            for s in rows:
                at, end = s.begin, s.begin + nbytes(s.block)
                sum_ = Checksum(s.checksum or None)
                state, detail = "ok" if s.checksum else "unchecked", ""
                if end > size:
                    state, detail = "truncated", f"the file ends at byte {size} of {end}"
                while at < end and state in ("ok", "unchecked"):
                    n = os.preadv(fd, [buffer.data[: min(len(buffer), end - at)]], at)
                    if n == 0:
                        state, detail = "truncated", f"the file ends at byte {at} of {end}"
                        break
                    sum_.update(buffer[:n])
                    at += n
                    if progress is not None:
                        progress(n, total)
                if state == "ok" and sum_.text() != s.checksum:
                    state, detail = "corrupted", f"checksum {sum_.text()}, saved as {s.checksum}"
                findings.append(Finding(state, name, s.block.key, s.block.box.offset, detail))
        finally:
            os.close(fd)
    return Report(folder, uid, tuple(findings))
