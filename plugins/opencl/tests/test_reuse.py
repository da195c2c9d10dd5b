"""The count of ops that run on the device without a line written for it."""

from __future__ import annotations

import pytest


@pytest.fixture
def reuse(device):
    from umiak_opencl import reuse

    return reuse


def test_ops_are_counted_by_what_runs_them(reuse, capsys):
    assert reuse.main(["sort", "tril", "--samples", "1"]) == 0
    printed = capsys.readouterr().out
    assert "reused   sort\n" in printed and "2 of 2 ops reused: 100.0%" in printed


def test_an_op_without_samples_is_an_error(reuse, capsys):
    assert reuse.main(["pack"]) == 1
    assert "1 of 1 ops untested" in capsys.readouterr().out


def test_every_op_that_is_counted_shows_something(opencl):
    from umiak_opencl import reuse

    assert [name for name in filter(reuse.asked, list(reuse.ops.REGISTRY)) if not reuse.samples(name)] == []


def test_operators_of_users_are_not_counted(reuse):
    import paddle
    from umiak.ops.base import REGISTRY

    @paddle.library.custom_op("test_reuse::shifted", mutates_args=())
    def shifted(x: paddle.Tensor) -> paddle.Tensor:
        return x + 1

    assert "test_reuse::shifted" in REGISTRY and not reuse.asked("test_reuse::shifted")


def test_another_result_is_an_error(reuse, capsys, monkeypatch):
    monkeypatch.setattr(reuse, "agrees", lambda found, expected: False)
    assert reuse.main(["tril", "--samples", "1"]) == 1
    assert "failed   tril  (other results than the host's)" in capsys.readouterr().out


@pytest.mark.slow
def test_nearly_all_ops_are_reused(reuse, capsys):
    """The target is 95 %; what is left is named in docs/design/opencl.md."""
    assert reuse.main(["--samples", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    share = next(x for x in lines if " ops reused: " in x).rpartition(" ")[2]
    assert float(share.rstrip("%")) >= 95
