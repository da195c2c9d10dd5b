"""The tensors that there are, and the optimizer states among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from umiak.checkpoint.aoa.blocks import BlockFactory, Var
from umiak.checkpoint.aoa.errors import AOAError, AOAKeyError
from umiak.checkpoint.aoa.states import SINGLE, by_parameter
from umiak.checkpoint.data_model import TensorInfo


class SourceTensors:
    """Sources by name. A parameter of which only states are there can be spoken of, but not read.

    Attributes:
        infos: the sources.
        states: parameter → kind of state → key of the source.
        spare: the part of ``states`` whose parameters are not sources.
    """

    def __init__(self, infos: Mapping[str, TensorInfo], factory: BlockFactory) -> None:
        self.infos = infos
        self.states = by_parameter(infos)
        self.spare = {p: kinds for p, kinds in self.states.items() if p not in infos}
        self._factory = factory

    def __contains__(self, name: str) -> bool:
        return name in self.infos or name in self.spare

    def __iter__(self) -> Iterator[str]:
        yield from self.infos
        yield from self.spare

    def info(self, name: str) -> TensorInfo:
        """A source, or what states tell of their parameter: its shape and parts, no dtype."""
        if name in self.infos:
            return self.infos[name]
        for kind, key in self.spare[name].items():
            if kind not in SINGLE:
                return TensorInfo(name, self.infos[key].shape, "", self.infos[key].parts)
        raise AOAError(f"{name} is not there, nor a state of it that has its shape")

    def var(self, name: str) -> Var:
        """A source, whole."""
        info = self.info(name)
        return Var(self._factory.full(tuple(info.shape), info.dtype), (name,))

    def state(self, var: Var, kind: str, named: Mapping[str, object], wanted: str | None) -> Var:
        """The state of a parameter that is ``var``: made in the same way of the states of what that is made of.

        Args:
            named: names in statements; states among them follow those.
            wanted: the dtype to give; None for that of the sources.
        """
        infos = []
        for name in var.keys:
            key = self.states.get(name, {}).get(kind)
            if key is None or key in named:
                raise AOAKeyError(f"{name} has no state {kind}")
            infos.append(self.infos[key])
        if kind in SINGLE:  # one optimizer counts the same steps for all of its parameters
            out = Var(self._factory.full(tuple(infos[0].shape), infos[0].dtype), (infos[0].key,))
            return out if wanted is None else self._factory.cast(out, wanted)
        for name, info in zip(var.keys, infos):
            if tuple(info.shape) != tuple(self.info(name).shape):
                raise AOAError(f"{info.key} has shape {info.shape}, its parameter has {self.info(name).shape}")
        dtypes = sorted({info.dtype for info in infos})
        if wanted is None and len(dtypes) > 1:
            raise AOAError(f"the states {kind} of {', '.join(var.keys[:3])} have several dtypes: {', '.join(dtypes)}")
        # Casts are said of parameters. A state has the dtype that its optimizer gave it.
        blocks = self._factory.uncast(var, dtypes[0] if len(dtypes) == 1 else "").blocks
        out = Var(blocks, tuple(info.key for info in infos))
        return out if wanted is None else self._factory.cast(out, wanted)
