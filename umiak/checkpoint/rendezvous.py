"""Committing without a group: ranks that save in the background agree through the checkpoint's folder.

Every rank leaves ``<rank>_<uid>.prepared.json`` once its blocks are on disk, or with the error that kept it from that.
The coordinator waits for all of them and commits; the others wait for the manifest. Nobody waits for the dead: the
coordinator's claim is locked as long as it lives, and it gives up when a rank reports an error or time is up.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Mapping
from typing import Any

from umiak.checkpoint import strict_json as sj
from umiak.checkpoint.commit import Saving, claim_path, is_committed
from umiak.checkpoint.data_model import Stored, TensorInfo
from umiak.checkpoint.manifest import Manifest, decode_block, decode_tensor, encode_block, manifest_name
from umiak.util.errors import op_error

SECONDS = 1800.0
_POLL = 0.02


def _name(rank: int, uid: int) -> str:
    return f"{rank}_{uid}.prepared.json"


def announce(saving: Saving, error: str | None = None) -> None:
    """Tell the coordinator that this rank's blocks are on disk, or what went wrong."""
    rows = [[s.file, s.block.key, s.block.dtype, list(s.block.global_shape), *encode_block(s)] for s in saving.stored]
    body = {"claim": saving.claim, "error": error, "stored": rows}
    path = os.path.join(saving.folder, _name(saving.rank, saving.uid))
    part = os.path.join(saving.folder, f".{_name(saving.rank, saving.uid)}.{saving.claim[:12]}.part")
    with open(part, "wb") as f:
        f.write(sj.dumps(body).encode())
    os.rename(part, path)


def _read(saving: Saving, rank: int) -> list[Stored] | None:
    """Read the announcement of a rank in this save; None while there is none."""
    path = os.path.join(saving.folder, _name(rank, saving.uid))
    try:
        with open(path, "rb") as f:
            body = sj.parse(f.read(), path)
    except FileNotFoundError:
        return None
    claim, error, rows = sj.object_fields(body, ("claim", "error", "stored"), "what a rank prepared", path)
    if claim != saving.claim:
        return None
    if error is not None:
        raise op_error(RuntimeError, "save", f"the blocks of rank {rank}", f"its error: {error}")
    out = []
    for row in rows:
        file, key, dtype, shape, *rest = sj.row(row, 10, "a block", path)
        out.append(decode_block(rest, *decode_tensor(key, dtype, shape, path), file, path))
    return out


def finish(
    saving: Saving,
    infos: Mapping[str, TensorInfo],
    flat_mapping: Mapping[str, tuple[str, ...]] | None = None,
    extra: Mapping[str, Any] | None = None,
    timeout: float = SECONDS,
) -> Manifest | None:
    """Second phase on every rank, after ``prepare``: returns once the checkpoint is committed.

    The coordinator gets the manifest.

    Raises:
        RuntimeError: another rank failed.
        TimeoutError: another rank was not heard of in time.
    """
    until = time.monotonic() + timeout
    if saving.lock is None:
        announce(saving)
        try:
            _await_manifest(saving, until)
        finally:
            _forget(saving, saving.rank)
        return None
    stored = {saving.rank: saving.stored}
    try:
        while len(stored) < saving.world:
            for rank in range(saving.world):
                if rank not in stored and (rows := _read(saving, rank)) is not None:
                    stored[rank] = rows
            if len(stored) < saving.world:
                missing = [r for r in range(saving.world) if r not in stored]
                _pause(until, f"ranks {missing[:8]} to have prepared checkpoint {saving.uid}", saving.folder)
        return saving.commit([stored[rank] for rank in range(saving.world)], infos, flat_mapping, extra)
    finally:
        for rank in range(saving.world):
            _forget(saving, rank)


def _forget(saving: Saving, rank: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(saving.folder, _name(rank, saving.uid)))


def _pause(until: float, awaited: str, folder: str) -> None:
    if time.monotonic() > until:
        raise op_error(TimeoutError, "save", f"{awaited} in {folder}", "nothing in time")
    time.sleep(_POLL)


def _await_manifest(saving: Saving, until: float) -> None:
    while not is_committed(saving.folder, saving.uid):
        if not _coordinator_lives(saving) and not is_committed(saving.folder, saving.uid):
            got = "a coordinator that gave up or died"
            raise op_error(RuntimeError, "save", f"{manifest_name(saving.uid)} in {saving.folder}", got)
        _pause(until, manifest_name(saving.uid), saving.folder)
    saving.committed = True


def _coordinator_lives(saving: Saving) -> bool:
    try:
        with open(claim_path(saving.folder, saving.uid), "rb") as f:
            if saving.claim.encode() not in f.read():
                return False
            fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
