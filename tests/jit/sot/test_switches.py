"""Switches of the environment that are not read."""

import warnings

import pytest

import paddle
from paddle.jit.sot import switches


@pytest.mark.parametrize("name", sorted(switches.UNREAD))
def test_a_switch_that_is_not_read_says_so_once(name, monkeypatch):
    switches._warn.cache_clear()
    monkeypatch.setenv(name, "1")
    with pytest.warns(UserWarning, match=f"^{name} of the environment is not read: ."):
        assert paddle.jit.to_static(lambda x: x + 1)(paddle.ones([1])).item() == 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paddle.jit.to_static(lambda x: x + 2)(paddle.ones([1]))


def test_no_switch_is_read_and_not_read():
    with open(switches.__file__) as file:
        read = file.read().partition("def falls_back")[2]
    assert not [name for name in switches.UNREAD if f'"{name}"' in read]
