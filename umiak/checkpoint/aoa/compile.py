"""Statements and tensors to a layout: read, expand, resolve, run, collect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from umiak.checkpoint.aoa.blocks import BlockFactory
from umiak.checkpoint.aoa.errors import AOAError
from umiak.checkpoint.aoa.expand import Expander
from umiak.checkpoint.aoa.layout import Layout
from umiak.checkpoint.aoa.program import Program
from umiak.checkpoint.aoa.results import Results
from umiak.checkpoint.aoa.run import Run
from umiak.checkpoint.aoa.source_tensors import SourceTensors
from umiak.checkpoint.aoa.syntax import parse
from umiak.checkpoint.data_model import TensorInfo


def compile_aoa(
    statements: str | Sequence[str],
    sources: Mapping[str, TensorInfo],
    targets: Mapping[str, TensorInfo] | None = None,
    *,
    reverse: bool = False,
    traceback: bool = True,
) -> Layout:
    """Compile statements of the AOA language into a layout: how tensors are made of other tensors.

    Args:
        statements: one text of several lines, or a list of them.
        sources: the tensors that there are. Their ``parts`` say by how many ranks fused ones are split.
        targets: the wanted tensors; None for all that the statements leave.
        reverse: the statements describe the way from ``targets`` to ``sources``; go back.
        traceback: show in errors how the statement came about.

    Raises:
        AOAError: a mistake in the statements, or tensors that do not fit them. It is a ``SyntaxError``, ``KeyError``,
            ``AssertionError``… too, as the mistake may be.

    Examples:
        >>> from umiak.checkpoint.aoa import compile_aoa
        >>> from umiak.checkpoint.data_model import TensorInfo
        >>> layout = compile_aoa("a, b -> c, axis=0", {k: TensorInfo(k, (4, 6), "float32") for k in "ab"})
        >>> layout.targets["c"].shape
        (8, 6)
        >>> [(p.key, p.target.offset) for p in layout.pieces("c")]
        [('a', (0, 0)), ('b', (4, 0))]
    """
    try:
        factory = BlockFactory()
        available = SourceTensors(sources, factory)
        steps = Expander(sources, targets, available.spare, reverse).expand(parse(statements))
        results = Results(Run(Program(steps, reverse), available, targets, factory))
        return results.everything() if targets is None else results.wanted(targets)
    except RecursionError:
        raise AOAError(
            "statements follow one another too deeply: what a tensor becomes is further away than Python's "
            "limit of recursion"
        ) from None
    except AOAError as error:
        if traceback:
            raise
        raise type(error)(error.problem) from None
