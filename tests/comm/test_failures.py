"""Processes that die, hang or disagree: each survivor is told which rank it was, in which call, and what differs.

docs/design/comm.md has the table of cases.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import needs_mpi, run_ranks

pytestmark = needs_mpi

SCRIPT = Path(__file__).with_name("failing.py")
QUICK = {"comm_look_s": 0.5}


def told(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in sorted(folder.iterdir())}


# What rank 1 does -> what the others are told of it
LOST = {
    "kill": "rank 1 is gone: its process has died or was killed",
    "exit": "rank 1 is gone: its process has died or was killed",
    "sleep": "rank 1 has made 1 calls of the group and is in ",
    "return": "rank 1 has made 1 calls of the group and has ended its program",
    "sys.exit": "rank 1 has made 1 calls of the group and has ended its program",
    "raise": "rank 1 failed: KeyError: 'lost'",
    "thread": "(thread 'sender' of it failed: KeyError: 'lost')",
}


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=[pytest.mark.slow] if c in ("exit", "sys.exit", "thread") else []) for c in LOST]
)
def test_a_lost_rank_is_named_to_all_others(case, tmp_path):
    # A launcher that does not notice what has happened: its shell stays.
    keep = {"after": "sleep 5"} if case == "kill" else {}
    done = run_ranks(3, SCRIPT, case, tmp_path, flags=QUICK, options=["-disable-auto-cleanup"], **keep)
    assert done.returncode != 0
    found = told(tmp_path)
    assert sorted(found) == ["survivor 0", "survivor 2"], done.stderr
    for text in found.values():
        assert LOST[case] in text
        assert text.startswith("[all_reduce (call 1 of group 'world')] rank ")


@pytest.mark.slow
def test_a_stopped_rank_is_named_to_all_others(tmp_path):
    done = run_ranks(3, SCRIPT, "stop", tmp_path, flags=QUICK, options=["-disable-auto-cleanup"])
    assert done.returncode != 0
    for text in told(tmp_path).values():
        assert "rank 1 does not answer: its process is stopped" in text


def test_disagreement_is_told_to_every_rank(tmp_path):
    """Checked, every case is an error on all ranks. Unchecked, the cases that MPI does not complete by itself are."""
    done = run_ranks(3, SCRIPT, "disagree", tmp_path, flags={**QUICK, "comm_timeout_s": 60})
    assert done.returncode == 0, done.stderr
    found = told(tmp_path)
    theirs = {
        "collective": "all_gather(float32, (4,))",
        "barrier": "barrier()",
        "shape": "all_reduce(float32, (5,), sum)",
        "large": "all_reduce(float32, (262144,), sum)",
        "dtype": "all_reduce(float64, (4,), sum)",
        "root": "broadcast(float32, (4,), from 1)",
        "order": "broadcast(float32, (4,), from 0)",
    }
    for case, signature in theirs.items():
        for rank in (0, 1, 2):
            text = found[f"{case} 1 {rank}"]
            assert f"the ranks disagree: rank {rank} calls " in text and "[call 0 of group 'group" in text
            assert f"rank 1 calls {signature}" in text and "all_reduce(float32, (4,), sum)" in text
    for case in ("large", "root", "order"):
        for rank in (0, 2):
            expected = f"rank 1 calls {theirs[case]} there, which is not all_reduce(float32, (4,), sum)"
            assert expected in found[f"{case} 0 {rank}"]
        assert "calls all_reduce(float32, (4,), sum) there, which is not " in found[f"{case} 0 1"]
    for checked in (0, 1):
        for rank in (0, 2):
            assert "rank 1 has made 0 calls of the group and is in " in found[f"missing {checked} {rank}"]


def test_a_message_of_another_size_names_both_ranks(tmp_path):
    done = run_ranks(2, SCRIPT, "messages", tmp_path)
    assert done.returncode == 0, done.stderr
    found = told(tmp_path)
    for size, sent in ((3, "24 bytes"), (5, "more"), (1 << 20, "more")):
        text = f"[recv from rank 1 (group 'world')] rank 0 expects 32 bytes from rank 1, which sent {sent}: "
        assert found[f"{size} 0"].startswith(text)
        assert found[f"{size} 1"] == "nothing"
