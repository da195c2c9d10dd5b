"""Tensors made of numbers: constants, ranges, random ones."""

from paddle.static.formats.legacy.table import rows

rows("""
empty: empty(ShapeTensorList*|ShapeTensor|@shape~[]; dtype@dtype~5) -> Out
exponential: exponential_(X; lam=lambda~1.0) -> Out
eye: eye(@num_rows, @num_columns~-1; dtype@dtype~5) -> Out
fill_any: fill(X, @value~0.0) -> Out
fill_any_like: full_like(X, @value~0.0; dtype@dtype~-1) -> Out
fill_constant_batch_size_like: full_batch_size_like(Input; output_dim_idx~0 input_dim_idx~0 value~0.0
    dtype@dtype~5 shape) -> Out
gaussian_inplace: gaussian_inplace(x; seed~0 std~1.0 mean~0.0) -> out
gaussian_random: gaussian(ShapeTensorList*|ShapeTensor|@shape~[]; dtype@dtype~5 seed~0 std~1.0 mean~0.0) -> Out
linspace: linspace(Start, Stop, Num; dtype@dtype) -> Out
logspace: logspace(Start, Stop, Num, Base; dtype@dtype) -> Out
multinomial: multinomial(X, @num_samples~1; replacement~False) -> Out
randint: randint(ShapeTensorList*|ShapeTensor|@shape~[]; dtype@dtype~3 high low) -> Out
randperm: randperm(; dtype@dtype~3 n) -> Out
tril_indices: tril_indices(; dtype@dtype~3 offset~0 cols~0 rows~0) -> out
triu_indices: triu_indices(; dtype@dtype~3 offset~0 col~0 row~0) -> out
truncated_gaussian_random: truncated_gaussian_random(; dtype@dtype~5 b~2.0 a~-2.0 seed~0 std~1.0 mean~0.0 shape)
    -> Out
uniform_random: uniform(ShapeTensorList*|ShapeTensor|@shape~[], @min~-1.0, @max~1.0; seed~0 dtype@dtype~5) -> Out
uniform_random_batch_size_like: uniform_random_batch_size_like(Input; diag_val~1.0 diag_step~0 dtype@dtype~5
    diag_num~0 seed~0 max~1.0 min~-1.0 output_dim_idx~0 input_dim_idx~0 shape) -> Out
uniform_random_inplace: uniform_inplace(X; diag_val~1.0 diag_step~0 diag_num~0 seed~0 max~1.0 min~-1.0) -> Out
dirichlet: dirichlet(Alpha) -> Out
binomial: binomial(count, prob) -> out
standard_gamma: standard_gamma(x) -> out
""")
