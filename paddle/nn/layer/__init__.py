"""Layers, one file per kind. Classes of ``paddle.nn`` are attributes of this package, too."""

from typing import TYPE_CHECKING

from paddle import _lazy

if TYPE_CHECKING:
    from paddle.nn.layer import rnn, transformer, vision

__getattr__, __dir__ = _lazy.attributes_of(__name__, classes_of="paddle.nn")
