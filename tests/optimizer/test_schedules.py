"""Every schedule and its state, as the reference framework has them."""

import json
from pathlib import Path

import pytest
import schedules

DATA = json.loads((Path(__file__).parents[1] / "data" / "schedules.json").read_text())


@pytest.mark.parametrize("name", schedules.SCHEDULES)
def test_rates_and_state(name):
    schedule = schedules.SCHEDULES[name]()
    assert schedules.run(schedule, steps=schedules.STEPS - 1) == pytest.approx(DATA[name]["rates"], rel=1e-6, abs=1e-12)
    state, expected = schedules.state_of(schedule), DATA[name]["state"]
    assert set(state) == set(expected)
    for key, value in expected.items():
        assert state[key] == (
            value if isinstance(value, (dict, str)) or value is None else pytest.approx(value, rel=1e-6)
        )


@pytest.mark.parametrize("name", schedules.SCHEDULES)
def test_a_recorded_state_goes_on(name):
    """A state of the reference framework, in the middle of a run, is taken up."""
    whole = schedules.SCHEDULES[name]()
    schedules.run(whole, steps=12)
    other = schedules.SCHEDULES[name]()
    other.set_state_dict(json.loads(json.dumps(whole.state_dict())))
    assert schedules.run(other, 12, 10) == pytest.approx(schedules.run(whole, 12, 10))
