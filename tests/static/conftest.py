"""The fixture of tests that record programs."""

from tests.support.static_mode import programs  # noqa: F401  a fixture
