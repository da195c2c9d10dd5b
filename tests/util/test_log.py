import pytest

from umiak.util import flags, log


def test_level_follows_the_flag(caplog):
    before = flags.get_flags("FLAGS_log")
    try:
        flags.set_flags({"FLAGS_log": "info"})
        log.get("compiler").info("seen")
        log.get("compiler").debug("not seen")
    finally:
        flags.set_flags(before)
    assert [record.message for record in caplog.records] == ["seen"]


def test_unknown_level_is_refused():
    with pytest.raises(ValueError, match="debug, info, warning, error"):
        flags.set_flags({"FLAGS_log": "loud"})
