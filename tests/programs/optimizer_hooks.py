"""Optimizers that packages write by the reference's hooks: states of their own, and those of a base."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import normal

import paddle
from paddle import _C_ops
from paddle.base import core, framework
from paddle.optimizer import AdamW, Momentum, Optimizer

STEPS = 5


class Signs(Optimizer):
    """A mean of gradients, of which the sign is the change; float32 copies of 16-bit parameters."""

    _mean = "mean"

    def __init__(self, *args: Any, multi_precision: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._multi_precision = multi_precision
        self._master_weights = {}
        self._default_dict["decay"] = 0.5
        self.ended = 0

    def _create_accumulators(self, block: Any, parameters: Any) -> None:
        assert isinstance(block, framework.Block)
        for p in parameters["params"] if isinstance(parameters, dict) else parameters:
            if self._multi_precision and self._is_dtype_fp16_or_bf16(p.dtype):
                p = self._create_master_weight(p)
            self._add_accumulator(self._mean, p, dtype=core.VarDesc.VarType.FP32, fill_value=0.1)
            self._add_accumulator("count", p, dtype="float32", shape=[1])

    def _append_optimize_op(self, block: Any, param_and_grad: Any) -> None:
        decay = 0.5
        if isinstance(param_and_grad, dict):
            decay = param_and_grad.get("decay", self._default_dict["decay"])
            param_and_grad = param_and_grad["params"]
        p, g = param_and_grad
        mean, count = (self._get_accumulator_master(name, p) for name in (self._mean, "count"))
        target = self._master_weights.get(p.name, p)
        mean.set_value(mean * decay + g.astype("float32") * (1 - decay))
        count.set_value(count + 1)
        rate = self._create_param_lr(param_and_grad) / paddle.sqrt(count)
        target.set_value(target - rate * paddle.tanh(mean))
        if target is not p:
            p.set_value(target.astype(p.dtype))

    def _finish_update(self, block: Any, parameters_and_grads: Any) -> None:
        self.ended += 1


class Layerwise(AdamW):
    """AdamW whose rate falls from parameter to parameter."""

    def _append_optimize_op(self, block: Any, param_and_grad: Any) -> Any:
        p = param_and_grad["params"][0] if isinstance(param_and_grad, dict) else param_and_grad[0]
        rate = p.optimize_attr["learning_rate"]
        p.optimize_attr["learning_rate"] = rate * 0.5 ** len(p.shape)
        done = super()._append_optimize_op(block, param_and_grad)
        p.optimize_attr["learning_rate"] = rate
        return done


class OneSecondMoment(AdamW):
    """AdamW with one average of squares for all elements of a parameter."""

    def _add_moments_pows(self, p: Any) -> None:
        self._add_accumulator(self._moment1_acc_str, p)
        self._add_accumulator(self._moment2_acc_str, p, shape=[1])
        self._add_accumulator(self._beta1_pow_acc_str, p, fill_value=self._beta1, shape=[1], device="cpu")

    def _append_optimize_op(self, block: Any, param_and_grad: Any) -> None:
        if isinstance(param_and_grad, dict):
            param_and_grad = self._update_param_group(param_and_grad)
        p, g = param_and_grad
        names = self._moment1_acc_str, self._moment2_acc_str, self._beta1_pow_acc_str
        m, v, power = (self._get_accumulator_master(name, p) for name in names)
        m[:] = self._beta1 * m + (1 - self._beta1) * g
        v[:] = self._beta2 * v + (1 - self._beta2) * (g * g).mean()
        p *= 1 - self._create_param_lr(param_and_grad) * self._weight_decay
        p -= self._create_param_lr(param_and_grad) * m / (1 - power) / (v.sqrt() + self._epsilon)
        power[:] = power * self._beta1


class ByKernel(Momentum):
    """Momentum by the kernel of that name, with Nesterov's step."""

    def _append_optimize_op(self, block: Any, param_and_grad: Any) -> None:
        p, g = param_and_grad
        velocity = self._get_accumulator_master(self._velocity_acc_str, p)
        rate = self._create_param_lr(param_and_grad)
        _C_ops.momentum_(p, g, velocity, rate, None, self._momentum, True, "", 0.0, False, 1.0)


def grouped(p: Any) -> list[dict[str, Any]]:
    return [
        {"params": [p[0]], "learning_rate": 0.5, "weight_decay": 0.3, "decay": 0.25, "beta1": 0.5},
        {"params": p[1:]},
    ]


def clip() -> Any:
    return paddle.nn.ClipGradByGlobalNorm(1.0)


def by_steps() -> Any:
    return paddle.optimizer.lr.StepDecay(0.1, 2)


MAKERS: dict[str, Any] = {
    "signs": lambda p: Signs(0.1, p, weight_decay=0.1, grad_clip=clip()),
    "signs, groups": lambda p: Signs(by_steps(), grouped(p)),
    "signs, named": lambda p: Signs(0.1, p, name="own"),
    "signs, float16": lambda p: Signs(0.1, p, multi_precision=True),
    "layerwise": lambda p: Layerwise(0.1, parameters=p, weight_decay=0.1, grad_clip=clip()),
    "layerwise, groups": lambda p: Layerwise(by_steps(), parameters=grouped(p), weight_decay=0.1),
    "one second moment": lambda p: OneSecondMoment(0.1, parameters=p, apply_decay_param_fun=lambda name: True),
    "one second moment, groups": lambda p: OneSecondMoment(by_steps(), parameters=grouped(p)),
    "by kernel": lambda p: ByKernel(0.1, parameters=p, weight_decay=paddle.regularizer.L1Decay(0.1)),
}


def run() -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for i, (name, make) in enumerate(MAKERS.items()):
        dtype = "float16" if name.endswith("float16") else "float32"
        params = []
        for j, shape in enumerate(((3, 4), (4,))):
            x = paddle.create_parameter(shape, dtype, name=f"hooked{i}.{j}")
            x.set_value(normal(j, *shape).astype(dtype))
            params.append(x)
        optimizer = make(params)
        for step in range(STEPS):
            y = normal(10 + step, 2, 3) @ params[0].astype("float32") + params[1].astype("float32")
            (y * y).mean().backward()
            optimizer.step()
            optimizer.clear_grad()
            if isinstance(optimizer._learning_rate, paddle.optimizer.lr.LRScheduler):
                optimizer._learning_rate.step()
        states = optimizer.state_dict()
        states.pop("LR_Scheduler", None)
        copies = states.pop("master_weights", {})
        kept[name] = {
            "parameters": [x.astype("float32") for x in params],
            "states": {k: np.asarray(v.astype("float32").numpy()) for k, v in sorted(states.items())},
            "copies": {k: v.numpy() for k, v in sorted(copies.items())},
            "rate": float(optimizer._global_learning_rate()),
            "ended": getattr(optimizer, "ended", 0),
        }
    return kept
