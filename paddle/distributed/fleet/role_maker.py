"""Role of a process. Every process trains here: there are no parameter servers."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.distributed.parallel import get_rank, get_world_size
from umiak.util.errors import op_error


@public("paddle.distributed.fleet")
class Role:
    """Role of a process.

    Example:
        >>> from paddle.distributed import fleet
        >>> fleet.Role.WORKER
        1
    """

    WORKER = 1
    SERVER = 2
    HETER_WORKER = 3
    ALL = 4
    COORDINATOR = 5


@public("paddle.distributed.fleet")
class PaddleCloudRoleMaker:
    """The role that the launcher gave this process.

    Args:
        is_collective: True: processes train together.
        **kwargs: settings of parameter servers, none of which is there.

    Raises:
        ValueError: ``is_collective`` is False, or there are settings.

    Example:
        >>> from paddle.distributed import fleet
        >>> fleet.init(fleet.PaddleCloudRoleMaker(is_collective=True)).worker_num()
        1
    """

    def __init__(self, is_collective: bool = False, **kwargs: Any) -> None:
        if not is_collective or kwargs:
            got = f"is_collective={is_collective}" + "".join(f", {k}={v!r}" for k, v in kwargs.items())
            raise op_error(
                ValueError, type(self).__name__, "is_collective=True and nothing else", got,
                "There are no parameter servers: every process trains.",
            )  # fmt: skip
        self._is_collective = is_collective


@public("paddle.distributed.fleet")
class UserDefinedRoleMaker(PaddleCloudRoleMaker):
    """A role that the program names: it must be the one that the launcher gave.

    Args:
        is_collective: True: processes train together.
        init_gloo: accepted for existing programs.
        **kwargs: ``current_id``, ``worker_num``, ``role`` (``Role.WORKER``) and ``worker_endpoints``; each may be
            left out.

    Raises:
        ValueError: ``is_collective`` is False, or this process is another.

    Example:
        >>> from paddle.distributed import fleet
        >>> role = fleet.UserDefinedRoleMaker(is_collective=True, current_id=0, worker_num=1)
    """

    def __init__(self, is_collective: bool = False, init_gloo: bool = False, **kwargs: Any) -> None:
        told = {"current_id": get_rank(), "worker_num": get_world_size(), "role": Role.WORKER}
        endpoints = kwargs.pop("worker_endpoints", None)
        if endpoints is not None:
            kwargs.setdefault("worker_num", len(endpoints))
        wrong = {k: v for k, v in kwargs.items() if k in told and v != told[k]}
        if wrong:
            raise op_error(ValueError, "UserDefinedRoleMaker", f"what the launcher has told: {told}", wrong)
        super().__init__(is_collective, **{k: v for k, v in kwargs.items() if k not in told})
