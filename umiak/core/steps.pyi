"""The scalars of an optimizer's step in a captured function. See docs/design/capture.md."""

from collections.abc import Callable
from typing import Any

from umiak.core.captured import ScalarSource
from umiak.core.scalar import ScalarProgram
from umiak.core.slot import Slot

class OptimizerScalars(ScalarSource):
    """Formulas in the rate and the number of a step, evaluated at every run."""

    def __init__(
        self,
        attributes: dict[str, Any],
        schedule: type,
        slots: list[Slot],
        leaders: list[int],
        rates: list[int],
        programs: list[ScalarProgram],
        formulas: list[tuple[int, int, list[tuple[int, int]]]],
        count: int,
        renew: Callable[[], None],
    ) -> None: ...
