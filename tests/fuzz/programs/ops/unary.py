"""Elementwise functions of one value, and activations."""

from __future__ import annotations

from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import any_float

family = Family()
op = family.op

UNARY = {
    # name: ours, judge, has an in-place form of that name
    "exp": ("paddle.exp({0})", "torch.exp({0})"),
    "expm1": ("paddle.expm1({0})", "torch.expm1({0})"),
    "sin": ("paddle.sin({0})", "torch.sin({0})"),
    "cos": ("paddle.cos({0})", "torch.cos({0})"),
    "tan": ("paddle.tan({0})", "torch.tan({0})"),
    "tanh": ("paddle.tanh({0})", "torch.tanh({0})"),
    "sinh": ("paddle.sinh({0})", "torch.sinh({0})"),
    "cosh": ("paddle.cosh({0})", "torch.cosh({0})"),
    "asinh": ("paddle.asinh({0})", "torch.asinh({0})"),
    "atan": ("paddle.atan({0})", "torch.atan({0})"),
    "asin": ("paddle.asin({0})", "torch.asin({0})"),
    "acos": ("paddle.acos({0})", "torch.acos({0})"),
    "atanh": ("paddle.atanh({0})", "torch.atanh({0})"),
    "acosh": ("paddle.acosh({0})", "torch.acosh({0})"),
    "sigmoid": ("F.sigmoid({0})", "torch.sigmoid({0})"),
    "abs": ("paddle.abs({0})", "torch.abs({0})"),
    "square": ("paddle.square({0})", "torch.square({0})"),
    "sqrt": ("paddle.sqrt({0})", "torch.sqrt({0})"),
    "rsqrt": ("paddle.rsqrt({0})", "torch.rsqrt({0})"),
    "log": ("paddle.log({0})", "torch.log({0})"),
    "log2": ("paddle.log2({0})", "torch.log2({0})"),
    "log10": ("paddle.log10({0})", "torch.log10({0})"),
    "log1p": ("paddle.log1p({0})", "torch.log1p({0})"),
    "erf": ("paddle.erf({0})", "torch.erf({0})"),
    "neg": ("paddle.neg({0})", "torch.neg({0})"),
    "reciprocal": ("paddle.reciprocal({0})", "torch.reciprocal({0})"),
    "lgamma": ("paddle.lgamma({0})", "torch.lgamma({0})"),
    "digamma": ("paddle.digamma({0})", "torch.digamma({0})"),
    "floor": ("paddle.floor({0})", "torch.floor({0})"),
    "ceil": ("paddle.ceil({0})", "torch.ceil({0})"),
    "trunc": ("paddle.trunc({0})", "torch.trunc({0})"),
    "frac": ("paddle.frac({0})", "torch.frac({0})"),
    "i0": ("paddle.i0({0})", "torch.special.i0({0})"),
    "erfinv": ("paddle.erfinv({0})", "torch.erfinv({0})"),
    "nan_to_num": ("paddle.nan_to_num({0})", "torch.nan_to_num({0})"),
    "logit": ("paddle.logit({0})", "torch.logit({0})"),
    "sinc": ("paddle.sinc({0})", "torch.sinc({0})"),
}
for _name, (_ours, _outcome) in UNARY.items():
    # PyTorch's polygamma is exact to ten digits only.
    _tags = "loose" if _name in ("digamma", "lgamma") else "cancels" if _name == "sinc" else ""
    op(_name, _ours, _outcome, any_float, weight=0.25, tags=_tags)
    op(_name + "_", f"{{0}}.{_name}_()", _outcome, any_float, "write", results=0, weight=0.14, tags=_tags)
ACTIVATIONS = {
    "relu": ("F.relu({0})", "F.relu({0})"),
    "relu6": ("F.relu6({0})", "F.relu6({0})"),
    "elu": ("F.elu({0}, 0.7)", "F.elu({0}, 0.7)"),
    "selu": ("F.selu({0})", "F.selu({0})"),
    # PyTorch takes the derivative with a float32 of 1 / 1.3.
    "celu": ("F.celu({0}, 1.3)", "torch.where({0} > 0, {0}, 1.3 * torch.expm1({0} / 1.3))"),
    "gelu": ("F.gelu({0})", "F.gelu({0})"),
    "gelu_tanh": ("F.gelu({0}, approximate=True)", "F.gelu({0}, approximate='tanh')"),
    "silu": ("F.silu({0})", "F.silu({0})"),
    "mish": ("F.mish({0})", "F.mish({0})"),
    "softplus": ("F.softplus({0})", "F.softplus({0})"),
    "softsign": ("F.softsign({0})", "F.softsign({0})"),
    # Its slope at 0 is 1, in PyTorch the lower one.
    "leaky_relu": ("F.leaky_relu({0}, 0.1)", "torch.where({0} < 0, 0.1 * {0}, {0})"),
    "hardtanh": ("F.hardtanh({0})", "F.hardtanh({0})"),
    "hardswish": ("F.hardswish({0})", "F.hardswish({0})"),
    "hardshrink": ("F.hardshrink({0})", "F.hardshrink({0})"),
    "softshrink": ("F.softshrink({0})", "F.softshrink({0})"),
    "tanhshrink": ("F.tanhshrink({0})", "F.tanhshrink({0})"),
    "log_sigmoid": ("F.log_sigmoid({0})", "F.logsigmoid({0})"),
    "sqrt_of_squares": ("paddle.sqrt({0} * {0} + 0.5)", "torch.sqrt({0} * {0} + 0.5)"),
    "log_of_abs": ("paddle.log(paddle.abs({0}) + 0.5)", "torch.log(at_least({0}, 0.5))"),
    "clone": ("{0}.clone()", "{0}.clone()"),
    "assign": ("paddle.assign({0})", "{0}.clone()"),
    "zeros_like": ("paddle.zeros_like({0})", "torch.zeros_like({0})"),
    "full_like": ("paddle.full_like({0}, 1.5)", "torch.full_like({0}, 1.5)"),
}
for _name, (_ours, _outcome) in ACTIVATIONS.items():
    op(_name, _ours, _outcome, any_float, weight=0.2)
for _name in ("relu", "elu"):
    op(_name + "_", f"F.{_name}_({{0}})", f"F.{_name}({{0}})", any_float, "write", results=0, weight=0.2)
