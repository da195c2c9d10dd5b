"""Made by ``tools/public_stubs.py``."""

from paddle.nn.quant.functional_layers import FloatFunctionalLayer as FloatFunctionalLayer
from paddle.nn.quant.functional_layers import add as add
from paddle.nn.quant.functional_layers import concat as concat
from paddle.nn.quant.functional_layers import divide as divide
from paddle.nn.quant.functional_layers import flatten as flatten
from paddle.nn.quant.functional_layers import matmul as matmul
from paddle.nn.quant.functional_layers import multiply as multiply
from paddle.nn.quant.functional_layers import reshape as reshape
from paddle.nn.quant.functional_layers import subtract as subtract
from paddle.nn.quant.functional_layers import transpose as transpose
from paddle.nn.quant.stub import Stub as Stub
from paddle.nn.quant.weight_only import apply_per_channel_scale as apply_per_channel_scale
from paddle.nn.quant.weight_only import llm_int8_linear as llm_int8_linear
from paddle.nn.quant.weight_only import weight_dequantize as weight_dequantize
from paddle.nn.quant.weight_only import weight_only_linear as weight_only_linear
from paddle.nn.quant.weight_only import weight_quantize as weight_quantize

__all__ = [
    "FloatFunctionalLayer",
    "Stub",
    "add",
    "apply_per_channel_scale",
    "concat",
    "divide",
    "flatten",
    "llm_int8_linear",
    "matmul",
    "multiply",
    "reshape",
    "subtract",
    "transpose",
    "weight_dequantize",
    "weight_only_linear",
    "weight_quantize",
]
