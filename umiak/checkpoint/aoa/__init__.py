"""AOA: a language of statements about how tensors are renamed, cut, joined, transposed and cast between layouts."""

from umiak.checkpoint.aoa.apply import apply_layout
from umiak.checkpoint.aoa.compile import compile_aoa
from umiak.checkpoint.aoa.errors import AOAError, AOAWarning
from umiak.checkpoint.aoa.layout import Layout
