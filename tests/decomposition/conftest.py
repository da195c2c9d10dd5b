"""Static mode for the tests of this folder."""

from tests.support.static_mode import programs  # noqa: F401  a fixture
