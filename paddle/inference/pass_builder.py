"""The list of passes that a model goes through when it is loaded."""

from __future__ import annotations

from collections.abc import Iterable

from umiak.compiler.passes.manager import INFERENCE, PassManager
from umiak.util.errors import op_error

# What the reference calls passes that do here what one of ours does; a program that deletes one means ours.
MEANT = {
    "conv_bn_fuse_pass": "conv2d_bn_fuse_pass",
    "conv_eltwiseadd_bn_fuse_pass": "conv2d_bn_fuse_pass",
    "conv2d_bn_onednn_fuse_pass": "conv2d_bn_fuse_pass",
    "conv2d_bias_bn_onednn_fuse_pass": "conv2d_bn_fuse_pass",
    "layer_norm_fuse_pass": "add_norm_fuse_pass",
    "multihead_matmul_fuse_pass": "fused_flash_attn_pass",
    "multihead_matmul_fuse_pass_v2": "fused_flash_attn_pass",
    "multihead_matmul_fuse_pass_v3": "fused_flash_attn_pass",
    "multihead_matmul_roformer_fuse_pass": "fused_flash_attn_pass",
    "self_attention_fuse_pass": "fused_flash_attn_pass",
}

# What the levels of `set_optimization_level` leave out: 1 does what changes no result by a rounding.
CLEANING = (
    "common_subexpression_elimination_pass",
    "identity_op_clean_pass",
    "constant_folding_pass",
    "dead_code_elimination_pass",
)


class PassBuilder:
    """Names of passes in order, of which a predictor runs those that are in it when it is created."""

    def __init__(self, names: Iterable[str] = INFERENCE) -> None:
        self._names = list(names)
        self._first: list[str] = []
        self.printing = False

    def copy(self) -> PassBuilder:
        """Return a list of its own."""
        made = PassBuilder(self._names)
        made._first, made.printing = list(self._first), self.printing
        return made

    def all_passes(self) -> list[str]:
        """Return the names, in order."""
        return list(self._names)

    def analysis_passes(self) -> list[str]:
        """Return the names of the passes that run before all others."""
        return list(self._first)

    def append_pass(self, name: str) -> None:
        """Add a pass to the end.

        Args:
            name: of the pass.

        Raises:
            ValueError: there is no such pass.
        """
        self._names.append(_known(name))

    def append_analysis_pass(self, name: str) -> None:
        """Add a pass to those that run before all others.

        Args:
            name: of the pass.

        Raises:
            ValueError: there is no such pass.
        """
        self._first.append(_known(name))

    def insert_pass(self, index: int, name: str) -> None:
        """Add a pass in the midst.

        Args:
            index: its place, 0 for the first.
            name: of the pass.

        Raises:
            ValueError: there is no such pass, or no such place.
        """
        if not 0 <= index <= len(self._names):
            raise op_error(ValueError, "insert_pass", f"a place from 0 to {len(self._names)}", index)
        self._names.insert(index, _known(name))

    def delete_pass(self, name: str) -> None:
        """Take out a pass wherever it stands; one that is not there is no mistake, since programs name passes of the
        reference.

        Args:
            name: of the pass, or what the reference calls it.
        """
        meant = MEANT.get(name, name)
        self._names = [n for n in self._names if n != meant]
        self._first = [n for n in self._first if n != meant]

    def set_passes(self, passes: Iterable[str]) -> None:
        """Exchange the whole list.

        Args:
            passes: names, in order.

        Raises:
            ValueError: there is no pass of a name.
        """
        self._names = [_known(name) for name in passes]

    def turn_on_debug(self) -> None:
        """Print the program before and after every pass."""
        self.printing = True

    def debug_string(self) -> str:
        """Return the names as lines of text."""
        return "\n".join(["Passes to apply:", *(f"  - {name}" for name in [*self._first, *self._names])])


def _known(name: str) -> str:
    """The name, of a pass that there is."""
    PassManager([name])  # refuses others
    return name
