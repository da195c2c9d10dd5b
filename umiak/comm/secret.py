"""Secret shared by the processes of one job: every connection must prove it, since received data are unpickled."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import socket
import tempfile

from umiak.util.disk_cache import default_folder, make_private
from umiak.util.errors import op_error

VARIABLE = "UMIAK_JOB_SECRET"  # the launcher sets it


def job_secret(op: str, host: str) -> bytes:
    """The secret for connections to ``host``: of the launcher or, on this machine, of the user."""
    if os.environ.get(VARIABLE):
        return os.environ[VARIABLE].encode()
    if is_loopback(host):
        return user_secret()
    hint = "Start the job with paddle.distributed.launch, or set it to the same text for all processes"
    raise op_error(RuntimeError, op, f"a job secret in {VARIABLE} for other machines ({host})", "none", hint)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach ``host``."""
    try:
        addresses = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return all(ipaddress.ip_address(address[4][0]).is_loopback for address in addresses)


def user_secret() -> bytes:
    """A secret in a file that only the user can read; made at the first use."""
    folder = default_folder("secret")
    make_private(folder)
    path = folder / "key"
    if not path.exists():
        handle, name = tempfile.mkstemp(dir=folder)  # readable for its owner alone
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32))
        with contextlib.suppress(FileExistsError):  # another process was first
            os.link(name, path)
        os.unlink(name)
    return path.read_bytes()
