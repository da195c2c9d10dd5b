"""Numbers of few bits: quantise and dequantise."""

from paddle.static.formats.legacy.table import rows

rows("""
dequantize_abs_max: dequantize_abs_max(X, Scale; max_range) -> Out
dequantize_linear: dequantize_linear(X, Scale, ZeroPoint, InAccum?, InState?; only_observer~False round_type~0
    qmax~127 qmin~-128 bit_length~8 is_test~True quant_axis~0) -> Y OutState OutAccum OutScale
dequantize_log: dequantize_log(X, Dict) -> Out
fake_channel_wise_dequantize_max_abs: fake_channel_wise_dequantize_max_abs(X, Scales*; x_num_col_dims~1
    quant_axis~0 quant_bits~[8]) -> Out
fake_channel_wise_quantize_abs_max: fake_channel_wise_quantize_abs_max(X; is_test~False quant_axis~0
    round_type~1 bit_length~8) -> Out OutScale
fake_channel_wise_quantize_dequantize_abs_max: fake_channel_wise_quantize_dequantize_abs_max(X; quant_axis~0
    round_type~1 bit_length~8) -> Out OutScale
fake_dequantize_max_abs: fake_dequantize_max_abs(X, Scale; max_range) -> Out
fake_quantize_abs_max: fake_quantize_abs_max(X; round_type~1 bit_length~8) -> Out OutScale
fake_quantize_dequantize_abs_max: fake_quantize_dequantize_abs_max(X; round_type~1 bit_length~8) -> Out OutScale
fake_quantize_dequantize_moving_average_abs_max: fake_quantize_dequantize_moving_average_abs_max(X, InScale,
    InAccum?, InState?; round_type~1 is_test~False bit_length~8 moving_rate~0.9) -> Out OutScale OutState
    OutAccum
fake_quantize_moving_average_abs_max: fake_quantize_moving_average_abs_max(X, InScale, InAccum?, InState?;
    round_type~1 is_test~False bit_length~8 moving_rate~0.9) -> Out OutScale OutState OutAccum
fake_quantize_range_abs_max: fake_quantize_range_abs_max(X, InScale, Iter?; is_test~False bit_length~8
    round_type~1 window_size~10000) -> Out OutScale OutScales
lookup_table_dequant: lookup_table_dequant(W, Ids; padding_idx~-1) -> Out
moving_average_abs_max_scale: moving_average_abs_max_scale(X, InAccum?, InState?; is_test~False moving_rate~0.9)
    -> Out OutScale OutState OutAccum
quantize_linear: quantize_linear(X, Scale, ZeroPoint, InAccum?, InState?; only_observer~False round_type~0
    qmax~127 qmin~-128 bit_length~8 is_test~True quant_axis~0) -> Y OutState OutAccum OutScale
""")
