"""Server for what MPICH's library asks of the process that started it: PMI-1, lines of text over an inherited socket.

Ranks of one machine need no more of an MPI launcher than this. Nobody else can reach the sockets: they have no address.
The protocol is that of MPICH's own process managers: "PMI: A Scalable Parallel Process-Management Interface for
Extreme-Scale Systems" (Balaji and others, EuroMPI 2010).
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable

LIMIT = 1 << 20  # bytes of a line


class Server:
    """Key-value space and barrier of one job.

    ``ends[rank]`` is the socket that the rank inherits; ``on_abort(rank, code)`` is called in the server's thread.
    """

    def __init__(self, size: int, name: str, on_abort: Callable[[int, int], None]) -> None:
        self.size, self.name = size, name
        self.ends: list[socket.socket] = []
        self._on_abort = on_abort
        self._sockets: list[socket.socket] = []
        self._pending = [b""] * size
        self._values = {"PMI_process_mapping": f"(vector,(0,1,{size}))"}  # all ranks on one node
        self._waiting: set[int] = set()
        self._selector = selectors.DefaultSelector()
        for rank in range(size):
            ours, theirs = socket.socketpair()
            self._sockets.append(ours)
            self.ends.append(theirs)
            self._selector.register(ours, selectors.EVENT_READ, rank)
        self._wake, self._waker = socket.socketpair()
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, daemon=True, name="launch-pmi")

    def start(self) -> None:
        """Answer from now on; the ranks have their ends."""
        for end in self.ends:
            end.close()
        self._thread.start()

    def close(self) -> None:
        self._waker.close()
        if self._thread.ident is not None:
            self._thread.join()
        for s in (*self._sockets, *self.ends, self._wake):
            s.close()
        self._selector.close()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._wake:
                    return
                if not self._hear(key.data):
                    self._selector.unregister(key.fileobj)

    def _hear(self, rank: int) -> bool:
        """Handle a request of a rank; False when it has gone, or sends what no MPI library would."""
        try:
            data = self._sockets[rank].recv(1 << 16)
            *lines, rest = (self._pending[rank] + data).split(b"\n")
            for line in lines:
                self._answer(rank, line.decode())
        except (OSError, ValueError):
            return False
        self._pending[rank] = rest
        return bool(data) and len(rest) < LIMIT

    def _answer(self, rank: int, line: str) -> None:
        words = dict(word.partition("=")[::2] for word in line.split(" "))
        if "cmd" not in words:
            # Several lines, to start further processes. Its last one is answered.
            if line == "endcmd":
                self._say(rank, "cmd=spawn_result rc=-1 errmsg=not_here")
            return
        name = words["cmd"]
        if name == "init":
            self._say(rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0")
        elif name == "get_maxes":
            self._say(rank, "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024")
        elif name == "get_appnum":
            self._say(rank, "cmd=appnum rc=0 appnum=0")
        elif name == "get_universe_size":
            self._say(rank, f"cmd=universe_size rc=0 size={self.size}")
        elif name == "get_my_kvsname":
            self._say(rank, f"cmd=my_kvsname rc=0 kvsname={self.name}")
        elif name == "put":
            self._values[words["key"]] = line.partition(" value=")[2]
            self._say(rank, "cmd=put_result rc=0 msg=success")
        elif name == "get":
            value = self._values.get(words["key"])
            reply = "rc=-1 value=unknown" if value is None else f"rc=0 value={value}"
            self._say(rank, f"cmd=get_result {reply}")
        elif name == "barrier_in":
            self._waiting.add(rank)
            if len(self._waiting) == self.size:
                self._waiting.clear()
                for other in range(self.size):
                    self._say(other, "cmd=barrier_out rc=0")
        elif name == "finalize":
            self._say(rank, "cmd=finalize_ack rc=0")
        elif name == "abort":
            self._on_abort(rank, int(words.get("exitcode", "1")))
        else:
            self._say(rank, f"cmd={name}_result rc=-1")

    def _say(self, rank: int, line: str) -> None:
        # A rank waits for each answer before it asks again: one that lets answers pile up is none of MPI's.
        self._sockets[rank].send(line.encode() + b"\n", socket.MSG_DONTWAIT)
