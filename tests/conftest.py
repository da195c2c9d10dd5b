"""Fixtures of every test: seeded from its own name, nothing of it left behind."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.support import reports, shared
from tests.support.garbage import collect_garbage, without_garbage
from tests.support.seeding import number_of, seed_by_name

# The same examples every time, and no verdict by the clock.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")

# Constants of all modules that are loaded are examples, too, which then depend on the tests before and on all sources;
# to parse those takes a second.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

# Workers of a run share the CPUs, so threads of GNU OpenMP that spin until there is work keep others from theirs: that
# took a third of the time of tests of layers. Read when the library is loaded, which NumPy does not.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell ignores SIGINT in what it starts in the background, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


ran = 0  # tests, in this process


def pytest_configure(config: pytest.Config) -> None:
    shared.set_up(config)


def pytest_sessionstart(session: pytest.Session) -> None:
    reports.send_less(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_report_to_serializable(
    config: pytest.Config, report: pytest.TestReport | pytest.CollectReport
) -> dict[str, object] | None:
    return reports.serializable(config, report)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what collection makes out of the garbage collector's sight.

    Modules and items are a million and a half objects that live as long as the session. To walk them
    takes a third of the time of collection, and a second in each test that collects garbage to see what is left of it.
    Nor is it walked once for the garbage in it, which stays. What tests make is walked less often, too, which took a
    tenth of the time of captured functions.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        if "umiak" in sys.modules:
            os.environ["UMIAK_BUILT"] = "1"  # an editable install looks for work at every start (tools/ninja)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Take what tests have left, plans and modules for the most part, out of the garbage collector's sight at times.

    A collection by a test, of which there are hundreds, walked hundreds of thousands of them, for up to a second.
    """
    global ran
    done = yield
    ran += 1
    if ran % 500 == 0 and nextitem is not None:
        collect_garbage()
        gc.freeze()
    return done


@pytest.fixture(autouse=True)
def isolated(request: pytest.FixtureRequest) -> Iterator[None]:
    """Seed every generator from the test's name, so that a test does not depend on those before it, and take away what
    it leaves.

    One fixture, as each costs a tenth of a millisecond in each test. Operators that a test registers are its
    own: names may come again. So do names of variables: the global scope is each test's own, and static mode ends with
    the test.
    """
    seed_by_name(request.node.nodeid)
    registry = sys.modules.get("paddle.library.registry")
    before = set() if registry is None else set(registry.PYTHON_OP_REGISTRY._operators)
    yield
    registry, scope, mode = map(
        sys.modules.get, ("paddle.library.registry", "paddle.static.scope", "paddle.framework.mode")
    )
    if registry is not None and registry.PYTHON_OP_REGISTRY._operators.keys() != before:
        from umiak.ops.custom_op import take_out

        for name in [n for n in registry.PYTHON_OP_REGISTRY._operators if n not in before]:
            take_out(registry.PYTHON_OP_REGISTRY.remove(name).definition)
    if scope is not None:
        scope.current().state.values.pop(scope._CURRENT + ".first", None)
    if mode is not None:
        mode.disable_static()


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The number that generators were seeded with."""
    return number_of(request.node.nodeid)


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    """A generator of the test's own."""
    return np.random.default_rng(seed)


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """How many threads kernels use, of the pool."""
    from umiak.runtime import parallel

    count, driver = parallel.get_num_threads(), parallel.get_driver()
    parallel.set_driver("pool")
    parallel.set_num_threads(request.param)
    yield request.param
    parallel.set_driver(driver)
    parallel.set_num_threads(count)


@pytest.fixture
def no_garbage() -> Iterator[None]:
    """Memory is only what the test itself uses."""
    with without_garbage():
        yield
