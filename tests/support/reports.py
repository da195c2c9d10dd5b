"""Sends the run of pytest-xdist what it shows of a test, in half as many messages.

Each test has three reports, two of which say that there was nothing to set up or to take down, and a message that it
begins. To make, send and read them took the time of a few thousand tests.
"""

from __future__ import annotations

from typing import Any

import pytest

_NOT_SENT = {"not sent": True}


def are_left_out(config: pytest.Config) -> bool:
    """Whether nobody asks for all reports: they are in files of results and in lists of durations."""
    option = config.option
    return hasattr(config, "workerinput") and option.durations is None and getattr(option, "xmlpath", None) is None


def serializable(config: pytest.Config, report: pytest.TestReport | pytest.CollectReport) -> dict[str, Any] | None:
    """What stands for a report that is not sent; None for others."""
    # What was printed is shown with the report of the test, but for what is printed when it is taken down.
    if report.when in ("setup", "teardown") and report.passed and not report.sections and are_left_out(config):
        return dict(_NOT_SENT)
    return None


def send_less(config: pytest.Config) -> None:
    """Have a worker leave out what :func:`serializable` says, and that tests begin."""
    if not are_left_out(config):
        return
    for worker in config.pluginmanager.get_plugins():
        send = getattr(worker, "sendevent", None)
        if send is not None:
            worker.sendevent = _filtered(send)


def _filtered(send: Any) -> Any:
    def sendevent(name: str, **values: Any) -> None:
        left_out = name == "logstart" or (name == "testreport" and "not sent" in values["data"])
        if not left_out:
            send(name, **values)

    return sendevent
