"""Functions of elements, whose operands have one shape."""

from paddle.static.formats.legacy.table import rows

rows("""
abs: abs(X) -> Out
acos: acos(X) -> Out
acosh: acosh(X) -> Out
angle: angle(X) -> Out
asin: asin(X) -> Out
asinh: asinh(X) -> Out
assign: assign(X) -> Out
atan: atan(X) -> Out
atan2: atan2(X1, X2) -> Out
atanh: atanh(X) -> Out
bernoulli: bernoulli(X) -> Out
bitwise_and: bitwise_and(X, Y) -> Out
bitwise_left_shift: bitwise_left_shift(x, y; is_arithmetic~True) -> out
bitwise_not: bitwise_not(X) -> Out
bitwise_or: bitwise_or(X, Y) -> Out
bitwise_right_shift: bitwise_right_shift(x, y; is_arithmetic~True) -> out
bitwise_xor: bitwise_xor(X, Y) -> Out
cast: cast(X; dtype=out_dtype@dtype) -> Out
ceil: ceil(X) -> Out
clip: clip(X, Min|@min, Max|@max) -> Out
complex: complex(X, Y) -> Out
conj: conj(X) -> Out
copysign: copysign(x, y) -> out
cos: cos(X) -> Out
cosh: cosh(X) -> Out
digamma: digamma(X) -> Out
erf: erf(X) -> Out
erfinv: erfinv(X) -> Out
exp: exp(X) -> Out
expm1: expm1(X) -> Out
floor: floor(X) -> Out
gammaincc: gammaincc(x, y) -> out
gammaln: gammaln(x) -> out
i0: i0(x) -> out
i0e: i0e(x) -> out
i1: i1(x) -> out
i1e: i1e(x) -> out
imag: imag(X) -> Out
increment: increment(X; value=step~1.0) -> Out
isfinite_v2: isfinite(X) -> Out
isinf_v2: isinf(X) -> Out
isnan_v2: isnan(X) -> Out
lerp: lerp(X, Y, Weight) -> Out
lgamma: lgamma(X) -> Out
log: log(X) -> Out
log10: log10(X) -> Out
log1p: log1p(X) -> Out
log2: log2(X) -> Out
logical_and: logical_and(X, Y) -> Out
logical_not: logical_not(X) -> Out
logical_or: logical_or(X, Y) -> Out
logical_xor: logical_xor(X, Y) -> Out
logit: logit(X; eps~1e-06) -> Out
nextafter: nextafter(x, y) -> out
poisson: poisson(X) -> Out
polygamma: polygamma(x; n) -> out
pow: pow(X; y=factor~1.0) -> Out
real: real(X) -> Out
reciprocal: reciprocal(X) -> Out
rint: rint(x) -> out
round: round(X; decimals~0) -> Out
rsqrt: rsqrt(X) -> Out
scale: scale(X, ScaleTensor|@scale~1.0; bias_after_scale~True bias~0.0) -> Out
sign: sign(X) -> Out
sin: sin(X) -> Out
sinh: sinh(X) -> Out
sqrt: sqrt(X) -> Out
square: square(X) -> Out
sum: add_n(X*) -> Out
tan: tan(X) -> Out
tanh: tanh(X) -> Out
trunc: trunc(X) -> Out
where: where(Condition, X, Y) -> Out
elementwise_fmax: fmax(X, Y) -> Out
elementwise_fmin: fmin(X, Y) -> Out
elementwise_heaviside: heaviside(X, Y) -> Out
equal_all: equal_all(X, Y) -> Out
as_complex: as_complex(X) -> Out
as_real: as_real(X) -> Out
is_empty: is_empty(X) -> Out
masked_fill: masked_fill(x, mask, value) -> out
""")
