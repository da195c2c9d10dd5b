"""The process of a server: its exit codes, its address, and running until it is told to stop."""

from __future__ import annotations

import gc
import signal
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.applications import Starlette

DONE, USAGE, NO_MODEL, NO_PORT, NO_PACKAGES, ENDLESS = 0, 2, 3, 4, 5, 6


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address.

    Raises:
        OSError, OverflowError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=2048)


def run_until_told(app: Starlette, listening: socket.socket, host: str, grace: int) -> None:
    """Serve until SIGTERM or SIGINT, and then up to ``grace`` seconds for requests in hand."""
    import uvicorn

    settings = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=grace, timeout_keep_alive=75,
        server_header=False,
    )  # fmt: skip
    server = uvicorn.Server(settings)
    # The server sends itself the signal again when it is done; what remains to be done is to return.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    gc.collect()
    gc.freeze()  # what has been loaded stays; requests need not have it looked through
    print(f"listening on http://{host}:{listening.getsockname()[1]}", flush=True)
    server.run(sockets=[listening])
