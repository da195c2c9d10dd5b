"""Numbers of 8 bits: matrices quantised by blocks, their matmul, and recipes that train with them."""

from umiak.fp8.formats import E4M3, E5M2, largest
from umiak.fp8.matmul import matmul
from umiak.fp8.quantise import Quantised, amax_of, quantise
from umiak.fp8.recipe import Recipe

__all__ = ["E4M3", "E5M2", "Quantised", "Recipe", "amax_of", "largest", "matmul", "quantise"]
