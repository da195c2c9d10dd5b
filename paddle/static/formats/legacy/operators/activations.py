"""Activations."""

from paddle.static.formats.legacy.table import rows

rows("""
brelu: hardtanh(X; t_max~24.0 t_min~0.0) -> Out
celu: celu(X; alpha~1.0) -> Out
elu: elu(X; alpha~1.0) -> Out
gelu: gelu(X; approximate~False) -> Out
gumbel_softmax: gumbel_softmax(X; axis~-1 hard~False temperature~1.0) -> Out
hard_shrink: hardshrink(X; threshold~0.5) -> Out
hard_sigmoid: hardsigmoid(X; offset~0.5 slope~0.2) -> Out
hard_swish: hardswish(X) -> Out
log_softmax: log_softmax(X; axis~-1) -> Out
logsigmoid: logsigmoid(X) -> Out
maxout: maxout(X; axis~1 groups) -> Out
mish: mish(X; lambda=threshold~20.0) -> Out
prelu: prelu(X, Alpha; mode~"all" data_format~"NCHW") -> Out
relu: relu(X) -> Out
relu6: relu6(X) -> Out
rrelu: rrelu(X; is_test~False upper~0.33333334 lower~0.125) -> Out Noise
selu: selu(X; alpha~1.6732632 scale~1.050701) -> Out
sigmoid: sigmoid(X) -> Out
silu: silu(X) -> Out
softmax: softmax(X; axis~-1) -> Out
softplus: softplus(X; threshold~20.0 beta~1.0) -> Out
softshrink: softshrink(X; threshold=lambda~0.5) -> Out
softsign: softsign(X) -> Out
stanh: stanh(X; scale_b~1.7159 scale_a~0.67) -> Out
swish: swish(X) -> Out
swiglu: swiglu(x, y?) -> out
tanh_shrink: tanh_shrink(X) -> Out
thresholded_relu: thresholded_relu(X; value~0.0 threshold~1.0) -> Out
""")
