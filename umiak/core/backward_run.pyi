"""The state of a backward run. See docs/design/tape.md."""

from typing import Any

def install(vjp_plan: Any) -> None:
    """Set what makes a gradient program: ``vjp_plan(plan, mask of present gradients[, True under create_graph])``."""

def watch(probe: Any) -> None:
    """Tell ``probe`` of runs and of their nodes, in threads where the profiler observes; None ends that."""
