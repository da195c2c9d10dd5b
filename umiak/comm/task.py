"""A started operation: its messages, and what it does between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from umiak.comm.channel import Request
from umiak.comm.errors import CommError
from umiak.util import flags

if TYPE_CHECKING:
    from umiak.comm.group import Group

timeout_flag = flags.define(
    "comm_timeout_s", 1800.0, "seconds after which waiting for other ranks is an error; 0 waits for ever"
)


class Task:
    """The handle of an operation on a group. It goes on whenever one asks; its maker must wait for it in the end."""

    __slots__ = ("_after", "_error", "_messages", "_steps", "group", "what")

    def __init__(self, group: Group, what: str, steps: Generator[Sequence[Request], None, None]) -> None:
        self.group = group
        self.what = what
        self._steps: Any = steps
        self._messages: list[Request] = []
        self._error: BaseException | None = None
        self._after: list[Callable[[], Any]] = []
        self.done()  # the first messages leave now

    def done(self) -> bool:
        """Move on as far as possible without blocking. True once the operation is complete.

        Raises:
            CommError: it failed; every later call raises the same.
        """
        if self._steps is None:
            if self._error is not None:
                raise self._error
            return True
        messages = self._messages
        try:
            while True:
                while messages:
                    if not messages[-1].Test():
                        return False
                    messages.pop()
                messages.extend(next(self._steps))
        except StopIteration:
            self._close(None)
            self._act()
            return True
        except Exception as error:
            if not isinstance(error, CommError):
                error = self.group.explain(self.what, error)
            self._close(error)
            raise error from error.__cause__

    is_completed = done

    def then(self, action: Callable[[], Any]) -> None:
        """Call ``action`` once the operation is complete, whoever notices: now if it is. Not after a failure."""
        self._after.append(action)
        if self._steps is None and self._error is None:
            self._act()

    def _act(self) -> None:
        while self._after:
            self._after.pop(0)()

    def _close(self, error: BaseException | None) -> None:
        self._steps, self._error = None, error
        self._messages.clear()
        self.group.forget(self)

    def wait(self, timeout: float | None = None) -> bool:
        """Until it is complete.

        Args:
            timeout: seconds, instead of the group's; 0 for no limit.

        Raises:
            CommError: it failed, or did not complete in time; the text names the ranks that did not come.
        """
        if self.done():
            return True
        limit = self.group.timeout if timeout is None else timeout
        start = time.monotonic()
        pause = self.group.channel.pause
        while not self.done():
            waited = time.monotonic() - start
            if limit and waited > limit:
                error = self.group.late(self.what, waited)
                self._close(error)
                raise error
            try:
                pause(waited, self.what)
            except CommError as error:
                self._close(error)
                raise
        return True

    synchronize = wait
