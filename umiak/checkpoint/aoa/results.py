"""Results of a program, as a layout."""

from __future__ import annotations

from collections.abc import Mapping

from umiak.checkpoint.aoa.blocks import Var
from umiak.checkpoint.aoa.errors import AOAAssertionError, AOAError, AOAKeyError, near
from umiak.checkpoint.aoa.layout import Layout
from umiak.checkpoint.aoa.run import Run
from umiak.checkpoint.aoa.states import split_state
from umiak.checkpoint.data_model import TensorInfo


class Results:
    """Looks up by name what a run has made; names that no statement mentions stand for themselves."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.program = run.program
        self.sources = run.sources
        self.named = {**self.program.initial, **self.program.final}
        self._parameters: dict[str, Var | None] = {}

    def wanted(self, targets: Mapping[str, TensorInfo]) -> Layout:
        """The targets, all of which must be given, in their shapes and dtypes."""
        made: dict[str, Var] = {}
        kept = set()
        for key, info in targets.items():
            target = self._target(key, info, targets)
            if target is None:
                kept.add(key)
            else:
                made[key] = target
        return Layout(targets, made, frozenset(kept))

    def everything(self) -> Layout:
        """Return all tensors that were made or given and not consumed; parameters with their states."""
        run, program = self.run, self.program
        left: list[str] = []
        for name, v in program.exit.items():
            if v in run.consumed or v in run.dropped or v in run.kept:
                continue
            if v in run.makers or (program.entry.get(name) == v and name in self.sources):
                left.append(name)
        for name in self.sources:
            state = split_state(name)
            if name not in self.named and not (state and state[0] in self.sources):
                left.append(name)
        made: dict[str, Var] = {}
        for name in left:
            var = self._plain(name)
            if var is None:
                continue
            if any(k in self.sources.infos for k in var.keys):
                self._readable(name, var)
                made[name] = var
            states = self.sources.states
            for kind in dict.fromkeys(
                kind for k in var.keys for kind, key in states.get(k, {}).items() if key not in self.named
            ):
                key = f"{name}.{kind}"
                if key not in self.named:
                    made[key] = self._state(key, var, kind, None)
        return Layout({k: TensorInfo(k, v.blocks.shape, v.blocks.dtype) for k, v in made.items()}, made, frozenset())

    def _target(self, key: str, info: TensorInfo, targets: Mapping[str, TensorInfo]) -> Var | None:
        """Return the composition of a target; None if it keeps its value."""
        state = split_state(key)
        if (
            state
            and key not in self.program.exit
            and (state[0] in self.program.exit or state[0] in self.sources.infos or state[0] in targets)
        ):
            parameter, kind = state
            if parameter not in self._parameters:
                self._parameters[parameter] = self._plain(parameter)
            var = self._parameters[parameter]
            if var is not None:
                var = self._state(key, var, kind, info.dtype)
        else:
            var = self._plain(key)
            if var is not None:
                self._readable(key, var)
        if var is None:
            return None
        if var.blocks.shape != tuple(info.shape):
            raise AOAError(
                f"{key} is wanted with shape {tuple(info.shape)}, it is made with {var.blocks.shape}", self._chain(key)
            )
        if var.blocks.dtype != info.dtype:
            raise AOAAssertionError(
                f"{key} is wanted as {info.dtype}, it is made as {var.blocks.dtype} of {', '.join(var.keys[:3])}; "
                f"a statement must say the cast: 'a -> b, dtype={info.dtype!r}'",
                self._chain(key),
            )
        return var

    def _plain(self, key: str) -> Var | None:
        """Return the final composition of a name; None if it keeps its value."""
        v = self.program.exit.get(key)
        if v is not None and v in self.run.kept:  # reversed, 'a -> _' wins over 'a -> b'
            return None
        var = None if v is None else self.run.values.get(v)
        if var is None:
            if self.run.reverse and v is None and key in self.program.final:
                step = next(s for s in self.program.steps if key in s.right)
                raise AOAError(
                    f"{key} cannot be had back: this statement assigns it, and none used it before", step.chain
                )
            if key not in self.sources:
                known = [*self.sources, *(self.run.names[u] for u in self.run.makers)]
                raise AOAKeyError(f"nothing gives {key!r}: no source and no statement.{near(key, known)}")
            var = self.sources.var(key)
        gone = [k for k in var.keys if k in self.run.removed] if self.run.removed else []
        if gone and len(gone) < len(var.keys):
            raise AOAError(f"{key} would be given in part only: '{gone[0]} -> _' removes some of it", self._chain(key))
        return None if gone else var

    def _readable(self, key: str, var: Var) -> None:
        for k in var.keys:
            if k not in self.sources.infos:
                raise AOAKeyError(
                    f"nothing gives {key!r}: it is made of {k}, of which there are only the states "
                    f"{', '.join(self.sources.spare[k])}",
                    self._chain(key),
                )

    def _state(self, key: str, var: Var, kind: str, wanted: str | None) -> Var:
        try:
            return self.sources.state(var, kind, self.named, wanted)
        except AOAError as error:
            problem = f"{key} follows its parameter: {error.problem}"
            raise type(error)(problem, self._chain(key.rpartition(".")[0])) from None

    def _chain(self, key: str) -> list[tuple[str, str]]:
        v = self.program.exit.get(key)
        return self.run.makers[v].chain if v is not None and v in self.run.makers else []
