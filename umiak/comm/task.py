"""Operation in flight: its messages, and the steps between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from umiak.comm.channel import Request
from umiak.comm.errors import CommError
from umiak.comm.keys import GROUPS
from umiak.core.context import current
from umiak.util import flags

if TYPE_CHECKING:
    from umiak.comm.group import Group

timeout_flag = flags.define(
    "comm_timeout_s", 1800.0, "seconds after which waiting for other ranks is an error; 0 waits for ever"
)
look_flag = flags.define(
    "comm_look_s", 5.0, "seconds of waiting after which the other ranks are asked whether they can still come; 0: never"
)


class Task:
    """Handle of an operation on a group. It progresses when polled; its creator must wait for it in the end."""

    __slots__ = ("_after", "_error", "_lock", "_messages", "_moving", "_steps", "call", "description", "group")

    def __init__(
        self, group: Group, description: str, steps: Generator[Sequence[Request], None, None], call: int | None = None
    ) -> None:
        self.group = group
        self.description = description
        self.call = call  # its number among the collectives of the group
        self._steps: Any = steps
        self._messages: list[Request] = []
        self._error: BaseException | None = None
        self._lock = threading.RLock()  # another thread of the rank may move it on while it waits for something else
        self._moving = False
        self._after: list[Callable[[], Any]] = []
        self.done()  # the first messages leave now

    def done(self) -> bool:
        """Progress the operation as far as possible without blocking. True once it is complete.

        Raises:
            CommError: it failed; every later call raises the same.
        """
        if self._steps is not None:
            with self._lock:
                if self._moving or not self._advance():
                    return False
        if self._error is not None:
            raise self._error from self._error.__cause__
        self._act()
        return True

    def _advance(self) -> bool:
        """Return whether it has ended, well or not."""
        messages = self._messages
        self._moving = True
        try:
            while self._steps is not None:
                while messages:
                    if not messages[-1].Test():
                        return False
                    messages.pop()
                messages.extend(next(self._steps))
        except StopIteration:
            self._close(None)
        except Exception as error:  # raised where the task is waited for
            self._close(error if isinstance(error, CommError) else self.group.explain(self, error))
        finally:
            self._moving = False
        return True

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
        self.group.forget(self, error)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the operation is complete.

        Args:
            timeout: seconds, instead of the group's; 0 for no limit.

        Raises:
            CommError: it failed, or did not complete in time; the text names the ranks that did not come.
        """
        if self.done():
            return True
        limit = self.group.timeout if timeout is None else timeout
        look = look_flag.value or float("inf")
        start = time.monotonic()
        pause = self.group.channel.pause
        groups = tuple(current().state.values.get(GROUPS, {}).values())
        while not self.done():
            for group in groups:  # others may wait for what this rank has to do for another operation
                group.progress(self)
            waited = time.monotonic() - start
            try:
                late = 0 < limit < waited
                if late or waited > look:
                    error = self.group.stall_error(self, waited, late)
                    if error is not None:
                        raise error
                    look = 2 * waited
                self.group.progress(self)  # others may wait for what it sends
                pause(waited, self.description)
            except CommError as error:
                self._close(error)
                raise
        return True

    synchronize = wait
