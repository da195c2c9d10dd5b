"""Made by ``tools/public_stubs.py``."""

from paddle.pir.operation import Operation as Operation
from paddle.pir.pass_manager import PassManager as PassManager
from paddle.pir.patterns import DrrPatternContext as DrrPatternContext
from paddle.pir.picture import program_svg as program_svg

__all__ = [
    "DrrPatternContext",
    "Operation",
    "PassManager",
    "program_svg",
]
