"""The reference's kernels of optimizers as functions of ``paddle._C_ops``: a step of one parameter, in place.

Arguments come by position, in the order of the kernels' declarations. Where ``master_param`` is given and
``multi_precision`` is true, the step is applied to it, and the parameter gets its values. They write the parameter,
its states and the powers of betas, and return what they write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.inplace import apply_into
from umiak.core.tensor import Tensor
from umiak.runtime.selected_rows import SelectedRows
from umiak.util.errors import op_error

_COPY, _SGD, _ADAMAX, _LAMB = F.Copy(), F.SgdUpdate(), F.AdamaxUpdate(), F.LambUpdate()
_ADAGRAD, _ADADELTA, _RMSPROP, _RPROP = F.AdagradUpdate(), F.AdadeltaUpdate(), F.RmspropUpdate(), F.RpropUpdate()
_MOMENTUM = {nesterov: F.MomentumUpdate(nesterov) for nesterov in (False, True)}
_ADAM = {amsgrad: F.AdamUpdate(amsgrad) for amsgrad in (False, True)}
_ADAMW = {amsgrad: F.AdamwUpdate(amsgrad) for amsgrad in (False, True)}

Tensors = tuple[Any, ...]


def sgd_(param: Any, learning_rate: Any, grad: Any, master_param: Any = None, multi_precision: bool = False) -> Tensors:
    target = _target(param, master_param, multi_precision)
    _apply(_SGD, (target,), (target, _dense(grad), _scalar(learning_rate)), (), param)
    return param, master_param


def momentum_(
    param: Any, grad: Any, velocity: Any, learning_rate: Any, master_param: Any, mu: float, use_nesterov: bool = False,
    regularization_method: str = "", regularization_coeff: float = 0.0, multi_precision: bool = False,
    rescale_grad: float = 1.0,
) -> Tensors:  # fmt: skip
    if regularization_method not in ("", "l2_decay"):
        need = "'' or 'l2_decay' as regularization_method"
        raise op_error(ValueError, "momentum_", need, repr(regularization_method))
    target, grad = _target(param, master_param, multi_precision), _dense(grad)
    if rescale_grad != 1.0:
        grad = F.mul(grad, rescale_grad)
    decay = float(regularization_coeff) if regularization_method else 0.0
    operands = target, grad, velocity, _scalar(learning_rate)
    _apply(_MOMENTUM[bool(use_nesterov)], (target, velocity), operands, (float(mu), decay), param)
    return param, velocity, master_param


def adam_(
    param: Any, grad: Any, learning_rate: Any, moment1: Any, moment2: Any, moment2_max: Any, beta1_pow: Any,
    beta2_pow: Any, master_param: Any = None, skip_update: Any = None, beta1: Any = 0.9, beta2: Any = 0.999,
    epsilon: Any = 1e-8, lazy_mode: bool = False, min_row_size_to_use_multithread: int = 1000,
    multi_precision: bool = False, use_global_beta_pow: bool = False, amsgrad: bool = False,
) -> Tensors:  # fmt: skip
    states = moment1, moment2, moment2_max
    powers = beta1_pow, beta2_pow, use_global_beta_pow
    _adam(_ADAM, param, grad, _scalar(learning_rate), states, powers, master_param, skip_update,
          (beta1, beta2, epsilon), multi_precision, amsgrad, ())  # fmt: skip
    return param, moment1, moment2, moment2_max, beta1_pow, beta2_pow, master_param


def adamw_(
    param: Any, grad: Any, learning_rate: Any, moment1: Any, moment2: Any, moment2_max: Any, beta1_pow: Any,
    beta2_pow: Any, master_param: Any = None, skip_update: Any = None, beta1: Any = 0.9, beta2: Any = 0.999,
    epsilon: Any = 1e-8, lr_ratio: float = 1.0, coeff: float = 0.01, with_decay: bool = False, lazy_mode: bool = False,
    min_row_size_to_use_multithread: int = 1000, multi_precision: bool = False, use_global_beta_pow: bool = False,
    amsgrad: bool = False,
) -> Tensors:  # fmt: skip
    states = moment1, moment2, moment2_max
    powers = beta1_pow, beta2_pow, use_global_beta_pow
    decay = float(coeff) if with_decay else 0.0
    _adam(_ADAMW, param, grad, _scalar(learning_rate) * float(lr_ratio), states, powers, master_param, skip_update,
          (beta1, beta2, epsilon), multi_precision, amsgrad, (decay,))  # fmt: skip
    return param, moment1, moment2, moment2_max, beta1_pow, beta2_pow, master_param


def adamax_(
    param: Any, grad: Any, learning_rate: Any, moment: Any, inf_norm: Any, beta1_pow: Any, master_param: Any = None,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, multi_precision: bool = False,
) -> Tensors:  # fmt: skip
    target = _target(param, master_param, multi_precision)
    operands = target, _dense(grad), moment, inf_norm, _scalar(learning_rate)
    params = float(beta1), float(beta2), float(epsilon), _scalar(beta1_pow)
    _apply(_ADAMAX, (target, moment, inf_norm), operands, params, param)
    return param, moment, inf_norm, master_param


def adagrad_(
    param: Any, grad: Any, moment: Any, learning_rate: Any, master_param: Any = None, epsilon: float = 1e-6,
    multi_precision: bool = False,
) -> Tensors:  # fmt: skip
    target = _target(param, master_param, multi_precision)
    operands = target, _dense(grad), moment, _scalar(learning_rate)
    _apply(_ADAGRAD, (target, moment), operands, (float(epsilon),), param)
    return param, moment, master_param


def adadelta_(
    param: Any, grad: Any, avg_squared_grad: Any, avg_squared_update: Any, learning_rate: Any,
    master_param: Any = None, rho: float = 0.95, epsilon: float = 1e-6, multi_precision: bool = False,
) -> Tensors:  # fmt: skip
    target = _target(param, master_param, multi_precision)
    operands = target, _dense(grad), avg_squared_grad, avg_squared_update, _scalar(learning_rate)
    outs = target, avg_squared_grad, avg_squared_update
    _apply(_ADADELTA, outs, operands, (float(rho), float(epsilon)), param)
    return param, avg_squared_grad, avg_squared_update, master_param


def rmsprop_(
    param: Any, mean_square: Any, grad: Any, moment: Any, learning_rate: Any, mean_grad: Any = None,
    master_param: Any = None, epsilon: float = 1e-10, decay: float = 0.9, momentum: float = 0.0,
    centered: bool = False, multi_precision: bool = False,
) -> Tensors:  # fmt: skip
    target, mean = _target(param, master_param, multi_precision), mean_grad if centered else None
    operands = target, _dense(grad), mean_square, moment, _scalar(learning_rate), mean
    outs = target, mean_square, moment, *((mean,) if centered else ())
    _apply(_RMSPROP, outs, operands, (float(decay), float(epsilon), float(momentum)), param)
    return param, moment, mean_square, mean_grad, master_param


def rprop_(
    param: Any, grad: Any, prev: Any, learning_rate: Any, master_param: Any, learning_rate_range: Any, etas: Any,
    multi_precision: bool = False,
) -> Tensors:  # fmt: skip
    target = _target(param, master_param, multi_precision)
    limits = *map(float, learning_rate_range), *map(float, etas)
    _apply(_RPROP, (target, prev, learning_rate), (target, _dense(grad), prev, learning_rate, 0.0), limits, param)
    return param, prev, learning_rate, master_param


def lamb_(
    param: Any, grad: Any, learning_rate: Any, moment1: Any, moment2: Any, beta1_pow: Any, beta2_pow: Any,
    master_param: Any, skip_update: Any, weight_decay: float, beta1: float = 0.9, beta2: float = 0.999,
    epsilon: float = 1e-6, always_adapt: bool = False, multi_precision: bool = False,
) -> Tensors:  # fmt: skip
    results = param, moment1, moment2, beta1_pow, beta2_pow, master_param
    if skip_update is not None and bool(skip_update):
        return results
    adapts = weight_decay > 0 or always_adapt
    target = _target(param, master_param, multi_precision)
    operands: Tensors = target, _dense(grad), moment1, moment2, _scalar(learning_rate), *(() if adapts else (None,))
    params = float(beta1), float(beta2), float(epsilon), _scalar(beta1_pow), _scalar(beta2_pow)
    decay = (float(weight_decay),) if adapts else ()
    _apply(_LAMB if adapts else _ADAM[False], (target, moment1, moment2), operands, (*params, *decay), param)
    _multiply(beta1_pow, beta1)
    _multiply(beta2_pow, beta2)
    return results


def merged_momentum_(
    param: Any, grad: Any, velocity: Any, learning_rate: Any, master_param: Any, mu: float, use_nesterov: bool = False,
    regularization_method: Any = (), regularization_coeff: Any = (), multi_precision: bool = False,
    rescale_grad: float = 1.0,
) -> Tensors:  # fmt: skip
    rates = _each(learning_rate, len(param))
    copies = _each(master_param, len(param))
    methods, coeffs = _each(regularization_method or "", len(param)), _each(regularization_coeff or 0.0, len(param))
    for p, g, v, lr, copied, method, coeff in zip(param, grad, velocity, rates, copies, methods, coeffs, strict=True):
        momentum_(p, g, v, lr, copied, mu, use_nesterov, method, coeff, multi_precision, rescale_grad)
    return param, velocity, master_param


def merged_adam_(
    param: Any, grad: Any, learning_rate: Any, moment1: Any, moment2: Any, moment2_max: Any, beta1_pow: Any,
    beta2_pow: Any, master_param: Any = None, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
    multi_precision: bool = False, use_global_beta_pow: bool = False, amsgrad: bool = False,
) -> Tensors:  # fmt: skip
    n = len(param)
    lists = (_each(x, n) for x in (param, grad, learning_rate, moment1, moment2, moment2_max, beta1_pow, beta2_pow,
                                   master_param))  # fmt: skip
    for p, g, lr, m, v, top, power1, power2, copied in zip(*lists, strict=True):
        adam_(p, g, lr, m, v, top, power1, power2, copied, None, beta1, beta2, epsilon, False, 1000, multi_precision,
              use_global_beta_pow, amsgrad)  # fmt: skip
    return param, moment1, moment2, moment2_max, beta1_pow, beta2_pow, master_param


def _adam(
    ops: dict[bool, Any], param: Any, grad: Any, rate: float, states: Tensors, powers: Tensors, master_param: Any,
    skip_update: Any, numbers: Tensors, multi_precision: bool, amsgrad: bool, decay: tuple[float, ...],
) -> None:  # fmt: skip
    if skip_update is not None and bool(skip_update):
        return
    beta1_pow, beta2_pow, keeps_powers = powers
    beta1, beta2, epsilon = map(_scalar, numbers)
    target, (m, v, top) = _target(param, master_param, multi_precision), states
    operands = target, _dense(grad), m, v, rate, top if amsgrad else None
    params = beta1, beta2, epsilon, _scalar(beta1_pow), _scalar(beta2_pow), *decay
    _apply(ops[bool(amsgrad)], (target, m, v, *((top,) if amsgrad else ())), operands, params, param)
    if not keeps_powers:
        _multiply(beta1_pow, beta1)
        _multiply(beta2_pow, beta2)


def _target(param: Any, master_param: Any, multi_precision: bool) -> Any:
    return master_param if multi_precision and master_param is not None else param


def _apply(op: Any, outs: Tensors, operands: Tensors, params: tuple, param: Any) -> None:
    with no_grad_guard():
        apply_into(op, outs, operands, params)
        if outs[0] is not param:
            apply_into(F.Cast(param.dtype), (param,), (outs[0],))


def _multiply(x: Any, factor: float) -> None:
    with no_grad_guard():
        apply_into(_COPY, (x,), (F.mul(x, factor),))


def _dense(grad: Any) -> Any:
    return grad.to_dense() if isinstance(grad, SelectedRows) else grad


def _scalar(x: Any) -> float:
    return float(x.item()) if isinstance(x, Tensor) else float(x)


def _each(x: Any, n: int) -> list[Any]:
    """One for each of n parameters: the list itself, or the same for all."""
    if isinstance(x, (list, tuple)):
        return list(x) * n if len(x) == 1 else list(x)
    return [x] * n


_ALL = (
    *(adadelta_, adagrad_, adam_, adamax_, adamw_, lamb_),
    *(merged_adam_, merged_momentum_, momentum_, rmsprop_, rprop_, sgd_),
)
KERNELS: dict[str, Callable[..., Any]] = {f.__name__: f for f in _ALL}
