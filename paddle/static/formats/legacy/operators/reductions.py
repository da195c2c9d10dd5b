"""Sums and other reductions, and running ones."""

from paddle.static.formats.legacy.table import rows

rows("""
arg_max: argmax(X, @axis; dtype@dtype~3 flatten~False keepdims~False) -> Out
arg_min: argmin(X, @axis; dtype@dtype~3 flatten~False keepdims~False) -> Out
cummax: cummax(x; dtype@dtype~3 axis~-1) -> out indices
cummin: cummin(x; dtype@dtype~3 axis~-1) -> out indices
cumprod: cumprod(X; reverse~False exclusive~False dim) -> Out
cumsum: cumsum(X, @axis~-1; reverse~False exclusive~False flatten~False) -> Out
dist: dist(X, Y; p~2.0) -> Out
frobenius_norm: frobenius_norm(X, @dim~[0]; reduce_all~False keep_dim~False) -> Out
l1_norm: l1_norm(X) -> Out
logcumsumexp: logcumsumexp(X; reverse~False exclusive~False flatten~False axis~-1) -> Out
logsumexp: logsumexp(X; reduce_all~False keepdim~False axis~[]) -> Out
mean: mean_all(X) -> Out
median: median(x; mode~"avg" keepdim~True axis~[]) -> out medians
nanmedian: nanmedian(X; mode~"avg" keepdim~True axis~[]) -> Out MedianIndex
nansum: nansum(x; keepdim~False dtype@dtype~-1 axis~[]) -> out
p_norm: p_norm(X; asvector~False keepdim~False epsilon~1e-12 axis~-1 porder~2.0) -> Out
reduce_as: reduce_as(x, target) -> out
squared_l2_norm: squared_l2_norm(X) -> Out
clip_by_norm: clip_by_norm(X; max_norm) -> Out
variance: variance(x; keepdim~False axis~[]) -> out
renorm: renorm(X; max_norm axis p) -> Out
""")
