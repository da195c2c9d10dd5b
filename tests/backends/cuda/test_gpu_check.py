"""The check of a device: refused where there is none; its sections, over the recording driver."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import numpy as np
import pytest

import gpu_check
import paddle
from umiak import backends


def test_a_machine_without_a_device_is_refused(capsys, tmp_path):
    if "gpu" in backends.device_types():
        pytest.skip("requires a machine without a CUDA device")
    assert gpu_check.main(["--out", str(tmp_path / "report")]) == 2
    assert "[gpu_check] requires a CUDA device: [set_device] requires a device of ['cpu'" in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_rates_and_properties_are_reported(device, cuda, monkeypatch):
    monkeypatch.setattr(cuda.driver, "execute", None)  # no result is read
    monkeypatch.setattr(gpu_check, "torch_with_cuda", lambda: None)  # it takes long to load
    sizes = {"rates": {"n": 1 << 10, "rows": 8, "least_s": 0.0}}
    report = json.loads(json.dumps(gpu_check.run(device.name, ["device", "rates"], **sizes)))
    assert report["device"]["name"] == "recording device 0" and report["device"]["major"] == 9
    assert report["rates"].pop("ok")
    rows = {name: value for name, value in report["rates"].items() if name != "seconds"}
    assert {f"{n}_gbs" for n in gpu_check.RATES} | {f"matmul_{t}_tflops" for t in gpu_check.MATMULS} < set(rows)
    assert all(ours > 0 and theirs is None for ours, theirs in rows.values())


@pytest.mark.slow
def test_steps_of_networks_are_timed(device, monkeypatch):
    import gpu_steps
    from models.common import Model

    class Loss(paddle.nn.Linear):
        def forward(self, x):
            return (super().forward(x) ** 2).mean()

    small = ModuleType("models.small")
    small.MODEL = Model(lambda: Loss(4, 2), lambda: (np.ones((3, 4), "float32"),))
    monkeypatch.setitem(sys.modules, "models.small", small)
    monkeypatch.setattr(gpu_steps, "torch_with_cuda", lambda: None)
    report = gpu_check.run(device.name, ["steps"], steps={"networks": ["small"], "least_s": 0.0})
    assert report["steps"]["ok"], report
    assert {"small_float32", "small_bfloat16"} < set(report["steps"])
    assert all(row[0] is None for row in gpu_check.targets(report).values())


def test_figures_are_held_to_targets():
    told = {
        "steps": {"ok": True, "gpt_float32": {"step_s": [1.0, 1.5]}, "seconds": 9.0},
        "rates": {"copy_gbs": [10.0, 10.0], "add_gbs": [8.0, 8.2], "launch_host_s": [1e-6, 4e-6]},
    }
    assert [met for _, _, met in gpu_check.targets(told).values()] == [True, True, False, False, True]


def test_graphs_collectives_and_profiles_are_checked(device, cuda, monkeypatch):
    from recording_nccl import RecordingNccl

    from umiak.backends.cuda import nccl, tracer

    library = RecordingNccl(cuda.driver)
    monkeypatch.setattr(nccl, "load", lambda: library)
    only = ["programs", "captures", "pinned", "collectives"]
    sizes = {"programs": {"steps": 2}, "captures": {"replays": 2}, "pinned": {"elements": 1 << 10, "least_s": 0.0}}
    report = json.loads(json.dumps(gpu_check.run(device.name, only, **sizes)))
    assert report["programs"]["ok"] and len(report["programs"]["graphs"]["losses"]) == 5, report
    assert report["captures"]["ok"] and report["pinned"]["ok"], report
    assert report["collectives"]["ok"] and library.calls == ["all_reduce", "group", "destroy"], report

    def missing():
        raise backends.Absent("none")

    monkeypatch.setattr(tracer, "load", missing)
    assert gpu_check.run(device.name, ["profile"])["profile"]["cupti"] == "not installed"


def test_a_section_that_fails_says_why_and_the_others_go_on(device, monkeypatch):
    def broken(place):
        raise RuntimeError("no such thing")

    monkeypatch.setitem(gpu_check.SECTIONS, "tests", broken)
    report = gpu_check.run(device.name, ["device", "tests"])
    assert not report["tests"]["ok"] and "no such thing" in report["tests"]["error"]
    assert report["device"]["seconds"] >= 0


def test_a_report_is_written_behind_each_section_and_none_begins_too_late(device, monkeypatch, tmp_path):
    told = []
    sections = {name: lambda place, name=name: {"ok": True, "is": name} for name in "abc"}
    gpu_check.run(device.name, [], lambda report, name: told.append((name, [*report])), sections=sections)
    assert told == [("a", ["a"]), ("b", ["a", "b"]), ("c", ["a", "b", "c"])]
    report = gpu_check.run(device.name, [], limit=-1.0, sections=sections)
    assert all(said["error"] == "not begun: -1 seconds were over" for said in report.values())


def test_a_section_of_its_own_process_says_how_that_ended(device):
    """Here the process finds no device."""
    said = gpu_check.apart("device", 120.0)(device.name)
    assert "requires a CUDA device" in said["error"] and said["error"].endswith("ended with status 2")
    assert gpu_check.apart("device", 0.0)(device.name)["error"] == "not done within 0 seconds"


@pytest.mark.slow
def test_networks_train_with_the_losses_of_the_host(device, cuda):
    report = gpu_check.training(device.name, steps=2, networks=["gpt"])  # the emulator takes long for convolutions
    assert report["ok"], report
    assert cuda.host.read() == {}
