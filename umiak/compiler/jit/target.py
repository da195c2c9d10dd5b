"""Targets of code generation."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property


@dataclass(frozen=True)
class Target:
    """A processor in LLVM's words, and how hard code generation tries (0 to 3)."""

    triple: str
    cpu: str
    features: str
    layout: str  # of data, as LLVM prints it
    opt: int = 2  # code of level 1 compiles 3–9 % faster and runs 1–2 % slower; of 3 it is the same

    @cached_property
    def key(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def machine(self) -> str:
        return self.triple.partition("-")[0]
