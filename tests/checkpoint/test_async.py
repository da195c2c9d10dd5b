"""Saving in another process: what a handle says has happened, and nobody waits for the dead."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from checkpoints import cut, infos_of, load, whole

from umiak.checkpoint import rendezvous
from umiak.checkpoint.async_save import AsyncSaver, Job, bare_python
from umiak.checkpoint.box import Box
from umiak.checkpoint.commit import Saving, complete, open_checkpoint
from umiak.checkpoint.verify import verify

LONG = 300  # seconds


@pytest.fixture
def saver():
    made = AsyncSaver()
    yield made
    if made.process is not None and made.process.poll() is None:
        os.kill(made.process.pid, signal.SIGCONT)
    made.failed = None
    made.close()


@pytest.fixture
def w(rng):
    return rng.standard_normal((300, 40)).astype(np.float32)


def job(folder, w, **options):
    return Job(folder, [whole("w", w)], infos_of({"w": w}), **options)


def test_what_was_there_at_the_call_is_saved(w, tmp_path, saver):
    handles = []
    for i in range(3):
        value = w.T + i
        handles.append(saver.save(job(tmp_path, value, extra={"step": i}, flat_mapping={"w": ("a", "w")})))
        value[:] = -1
    assert [h.wait(LONG) for h in handles] == [0, 1, 2]
    assert all(h.done() and h.exception() is None for h in handles)
    for i in range(3):
        manifest = open_checkpoint(tmp_path, i)
        np.testing.assert_array_equal(load(tmp_path, manifest, "w", verify=True), w.T + i)
        assert manifest.extra == {"step": i} and manifest.flat_mapping == {"w": ("a", "w")}
    assert sorted(os.listdir(tmp_path)) == sorted(f for i in range(3) for f in (f"0_{i}.distcp", f"{i}.metadata.json"))


def test_larger_and_smaller_snapshots_share_memory(rng, tmp_path, saver):
    saver.reserve(1000)
    for i, n in enumerate((10, 100_000, 5)):
        arrays = {"x": rng.integers(0, 9, n), "e": np.zeros((0, 3)), "z": np.asarray(3.0)}
        made = Job(tmp_path, [whole(k, a) for k, a in arrays.items()], infos_of(arrays), format="safetensors")
        assert saver.save(made).wait(LONG) == i
        for key, a in arrays.items():
            np.testing.assert_array_equal(load(tmp_path, open_checkpoint(tmp_path), key), a)


def test_copies_while_the_caller_goes_on(w, tmp_path, saver):
    handle = saver.save(job(tmp_path, w), overlap=True)
    handle.copied(LONG)
    expected = w.copy()
    w[:] = 0
    handle.wait(LONG)
    np.testing.assert_array_equal(load(tmp_path, open_checkpoint(tmp_path), "w"), expected)


def test_large_arrays_are_copied_by_several_threads(rng, tmp_path, monkeypatch):
    from umiak.checkpoint import async_save

    monkeypatch.setattr(async_save, "_PIECE", 1000)
    w = rng.standard_normal((70, 31, 5))
    with AsyncSaver(threads=3) as saver:
        saver.save(job(tmp_path, w.T)).wait(LONG)
    np.testing.assert_array_equal(load(tmp_path, open_checkpoint(tmp_path), "w"), w.T)


def test_the_writer_is_a_bare_process(w, tmp_path, saver):
    """It has neither the engine nor the trainer's files, and is not of its process group."""
    with open(tmp_path / "open", "w") as kept:
        os.set_inheritable(kept.fileno(), True)
        saver.save(job(tmp_path, w)).wait(LONG)
        pid = saver.process.pid
        files = {os.path.realpath(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        assert not any(str(tmp_path) in f for f in files)
    with open(f"/proc/{pid}/maps") as f:
        maps = f.read()
    assert "dtype.cpython" not in maps and "libmpi" not in maps and "llvmlite" not in maps
    assert os.getpgid(pid) == pid


def test_an_error_of_the_writer_arrives_once(w, tmp_path, saver):
    good = saver.save(job(tmp_path, w))
    good.wait(LONG)
    bad = saver.save(Job(tmp_path, [whole("z", np.zeros(3, complex))], infos_of({}), format="safetensors"))
    with pytest.raises(TypeError, match="complex128"):
        bad.wait(LONG)
    assert saver.save(job(tmp_path, w)).wait(LONG) == 1, "it was told by the handle; its uid is free again"
    saver.save(Job(tmp_path, [whole("z", np.zeros(3, complex))], infos_of({}), format="safetensors"))
    with pytest.raises(TypeError, match="complex128"):
        saver.save(job(tmp_path, w))
        saver.save(job(tmp_path, w))
    saver.wait(LONG)
    assert 0 in complete(tmp_path) and not any(n.endswith((".part", ".claim")) for n in os.listdir(tmp_path))


def test_errors_of_the_caller_arrive_at_once(w, tmp_path, saver):
    with pytest.raises(ValueError, match=r"float32 \[300, 40\] for 'w', got float64"):
        saver.save(Job(tmp_path, [(whole("w", w)[0], w.astype(float))], infos_of({"w": w})))
    saver.save(job(tmp_path, w, uid=4)).wait(LONG)
    with pytest.raises(FileExistsError, match="got 4"):
        saver.save(job(tmp_path, w, uid=4))
    assert saver.save(job(tmp_path, w)).wait(LONG) == 5
    with pytest.raises(ValueError, match="in_flight >= 1"):
        AsyncSaver(0)


def test_back_pressure(w, tmp_path):
    """With room for two, the third call waits until the first save is done."""
    with AsyncSaver(in_flight=2) as saver:
        saver.save(job(tmp_path, w)).wait(LONG)
        os.kill(saver.process.pid, signal.SIGSTOP)
        first, second = (saver.save(job(tmp_path, w)) for _ in range(2))
        third = []
        thread = threading.Thread(target=lambda: third.append(saver.save(job(tmp_path, w))))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive() and not third and not first.done()
        with pytest.raises(TimeoutError, match="still at work"):
            first.wait(0.01)
        os.kill(saver.process.pid, signal.SIGCONT)
        thread.join(LONG)
        assert [h.wait(LONG) for h in (first, second, *third)] == [1, 2, 3]


def test_the_writer_is_killed(w, tmp_path, saver):
    saver.save(job(tmp_path, w)).wait(LONG)
    os.kill(saver.process.pid, signal.SIGSTOP)
    lost = saver.save(job(tmp_path, w + 1))
    os.kill(saver.process.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="SIGKILL"):
        lost.wait(LONG)
    assert complete(tmp_path) == [0]
    again = saver.save(job(tmp_path, w + 2))
    assert again.wait(LONG) == 1 and verify(tmp_path).ok
    np.testing.assert_array_equal(load(tmp_path, open_checkpoint(tmp_path), "w"), w + 2)


TRAINER = """
import os, signal, sys
import numpy as np
sys.path.insert(0, {support!r})
import umiak
from checkpoints import infos_of, whole
from umiak.checkpoint.async_save import AsyncSaver, Job
saver = AsyncSaver(in_flight=2)
for i in range(2):
    w = np.full((1000, 300), i)
    saver.save(Job({folder!r}, [whole("w", w)], infos_of(dict(w=w))))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_the_trainer_is_killed(tmp_path):
    """What it has handed over is committed all the same."""
    support = str(Path(__file__).parents[1] / "support")
    script = TRAINER.format(support=support, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], timeout=120)
    assert done.returncode == -signal.SIGKILL
    for i in range(2):
        wait_for(lambda uid=i: uid in complete(tmp_path))
        assert (load(tmp_path, open_checkpoint(tmp_path, i), "w", verify=True) == i).all()


def wait_for(condition):
    until = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
def test_leaving_waits_for_what_is_under_way(tmp_path):
    support = str(Path(__file__).parents[1] / "support")
    script = TRAINER.format(support=support, folder=str(tmp_path)).rsplit("\n", 2)[0]
    subprocess.run([sys.executable, "-W", "error", "-c", script], timeout=120, check=True)
    assert complete(tmp_path) == [0, 1]
    assert not [n for n in os.listdir(tmp_path) if n.endswith((".claim", ".part"))]


# Several ranks, which agree through the folder.


def ranks_of(w, tmp_path, **options):
    halves = [cut("w", w, Box((0, 0), (150, 40))), cut("w", w, Box((150, 0), (150, 40)))]
    first = Saving.begin(tmp_path, rank=0, world=2)
    jobs = [Job(tmp_path, halves[0], infos_of({"w": w}), first.uid, 0, 2, saving=first, **options)]
    jobs.append(Job(tmp_path, halves[1], {}, first.uid, 1, 2, first.claim, **options))
    return jobs


def test_ranks_commit_in_the_background(w, tmp_path, saver):
    with AsyncSaver() as other:
        one, two = ranks_of(w, tmp_path)
        handles = [other.save(two), saver.save(one)]
        assert [h.wait(LONG) for h in handles] == [0, 0]
    np.testing.assert_array_equal(load(tmp_path, open_checkpoint(tmp_path), "w", verify=True), w)
    assert sorted(os.listdir(tmp_path)) == ["0.metadata.json", "0_0.distcp", "1_0.distcp"]


def test_a_rank_that_fails_fails_all(w, tmp_path, saver):
    with AsyncSaver() as other:
        one, two = ranks_of(w, tmp_path)
        two.format = "nonsense"
        handles = [saver.save(one), other.save(two)]
        with pytest.raises(ValueError, match="format of"):
            handles[1].wait(LONG)
        with pytest.raises(RuntimeError, match=r"the blocks of rank 1, got its error: ValueError.*format"):
            handles[0].wait(LONG)
        one, two = ranks_of(w, tmp_path)
        one.format = "nonsense"
        handles = [other.save(two), saver.save(one)]
        with pytest.raises(RuntimeError, match="a coordinator that gave up"):
            handles[0].wait(LONG)
        with pytest.raises(ValueError, match="format of"):
            handles[1].wait(LONG)
    assert os.listdir(tmp_path) == []


def test_a_rank_that_never_comes(w, tmp_path, saver):
    one, _ = ranks_of(w, tmp_path, timeout=0.1)
    with pytest.raises(TimeoutError, match=r"ranks \[1\] to have prepared checkpoint 0"):
        saver.save(one).wait(LONG)
    assert os.listdir(tmp_path) == []


def test_a_coordinator_that_dies(w, tmp_path, saver):
    one, two = ranks_of(w, tmp_path)
    with AsyncSaver() as other:
        handle = other.save(two)
        wait_for(lambda: os.path.exists(tmp_path / "1_0.prepared.json"))
        os.close(one.saving.lock)
        one.saving.lock = None
        with pytest.raises(RuntimeError, match="gave up or died"):
            handle.wait(LONG)
    assert os.listdir(tmp_path) == ["0.claim"]


def test_what_a_rank_prepared_is_checked(w, tmp_path):
    one, two = ranks_of(w, tmp_path)
    with pytest.raises(ValueError, match="what a rank prepared"):
        (tmp_path / "1_0.prepared.json").write_text("{}")
        rendezvous.finish(one.saving, one.infos)
    one.saving.abort()


def test_a_bare_python_has_no_engine():
    code = "import umiak.checkpoint.writer, sys\nassert not any(m.startswith('umiak.core') for m in sys.modules)"
    subprocess.run(bare_python(code), check=True, timeout=LONG)
