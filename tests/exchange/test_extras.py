"""Tests that need a package of ``umiak[test]`` fail where it is missing."""

from __future__ import annotations

import extras
import pytest


def test_a_missing_module_is_a_failure():
    with pytest.raises(ImportError, match="no_such_module"):
        extras.module("no_such_module", "apache-tvm-ffi")


def test_a_distribution_for_other_machines_is_a_skip():
    with pytest.raises(pytest.skip.Exception, match="no-such-distribution"):
        extras.module("math", "no-such-distribution")
