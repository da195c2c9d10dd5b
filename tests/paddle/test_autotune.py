"""``paddle.incubate.autotune``: what is set, and how a loader finds its workers."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import paddle
from paddle.incubate.autotune import set_config
from paddle.io import tuning


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.setattr(tuning.settings, "enabled", False)
    monkeypatch.setattr(tuning.settings, "steps", 500)
    flag = paddle.get_flags("FLAGS_use_autotune")
    yield
    paddle.set_flags(flag)


def state():
    return paddle.get_flags("FLAGS_use_autotune")["FLAGS_use_autotune"], tuning.settings.enabled, tuning.settings.steps


def test_what_is_set(tmp_path):
    assert state() == (False, False, 500)
    set_config()
    assert state() == (True, True, 500)
    set_config({"kernel": {"enable": False}, "other": 1})
    assert state() == (False, True, 500)
    set_config({"dataloader": {"tuning_steps": 7}, "layout": {"enable": True}})
    assert state() == (False, True, 7)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"kernel": {"enable": True, "tuning_range": [1, 5]}, "dataloader": {"enable": False}}))
    set_config(str(path))
    assert state() == (True, False, 7)


@pytest.mark.parametrize(
    "config",
    [
        {"kernel": {"enable": 1}},
        {"kernel": {"tuning_range": (1, 2)}},
        {"layout": {"enable": "yes"}},
        {"dataloader": {"enable": None, "tuning_steps": 5.0}},
        {"dataloader": {"tuning_steps": True}},
        "/no/such/file.json",
    ],
)
def test_what_is_left_out(config):
    with pytest.warns(UserWarning, match=r"\[set_config\]"):
        set_config(config)
    assert state() == (False, False, 500)


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (3, TypeError),
        ({"kernel": 3}, TypeError),
        ({"kernel": {"enable": True, "tuning_range": [1]}}, ValueError),
        ({"kernel": {"enable": True, "tuning_range": ["a", "b"]}}, TypeError),
        ({"dataloader": {"enable": True, "tuning_steps": 1}}, ValueError),
    ],
)
def test_what_is_refused(config, kind):
    with pytest.raises(kind, match=r"\[set_config\] requires"):
        set_config(config)
    assert state() == (False, False, 500)


@pytest.mark.parametrize(
    ("seconds", "most", "wanted"),
    [
        ({0: 1.0, 1: 1.1, 2: 0.5, 4: 0.2, 8: 0.19}, 8, 4),
        ({0: 1.0, 1: 0.9}, 1, 0),
        ({0: 1.0, 1: 0.5, 2: 0.5}, 3, 1),
        ({0: 0.0, 1: 0.5}, 1, 0),
        ({}, 0, 0),
    ],
)
def test_the_fewest_workers_that_are_quick(seconds, most, wanted):
    assert tuning.fewest_workers(seconds.__getitem__, most) == wanted


class Noisy(paddle.io.Dataset):
    """Samples that draw from every generator."""

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return np.float32(i + random.random() + np.random.random() + paddle.rand([]).item())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_loaders_try_and_leave_no_trace(monkeypatch):
    tried = []

    def fewest(seconds, most):
        tried.extend((n, seconds(n) >= 0) for n in (0, 1))
        return 1

    def batches(loader):
        random.seed(1), np.random.seed(1), paddle.seed(1)
        made = loader()
        workers, made.num_workers = made.num_workers, 0
        return workers, [x.tolist() for x in made]

    monkeypatch.setattr(tuning, "fewest_workers", fewest)
    loader = lambda: paddle.io.DataLoader(Noisy(), batch_size=3, shuffle=True, persistent_workers=True)  # noqa: E731
    workers, wanted = batches(loader)
    assert workers == 0 and not tried
    set_config({"dataloader": {"enable": True, "tuning_steps": 2}})
    assert batches(loader) == (1, wanted)
    assert tried == [(0, True), (1, True)]


def test_loaders_without_a_choice(monkeypatch):
    monkeypatch.setattr(tuning, "fewest_workers", lambda *_: pytest.fail("a trial"))
    set_config({"dataloader": {"enable": True}})

    class Stream(paddle.io.IterableDataset):
        def __iter__(self):
            return iter(range(4))

    assert paddle.io.DataLoader(Stream(), batch_size=2).num_workers == 0
    assert paddle.io.DataLoader(Noisy(), batch_size=None).num_workers == 0
    assert paddle.io.DataLoader(Noisy(), batch_size=10, num_workers=3).num_workers == 3
    assert paddle.io.DataLoader(Noisy(), batch_sampler=[[0, 1], [2]]).num_workers == 0
