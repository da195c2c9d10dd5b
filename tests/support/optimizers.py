"""Runs of optimizers described as data, made by nothing but the public API: the reference framework runs this file
too, and what it gives stands in ``tests/data/optimizers.json`` (``python tests/support/optimizers.py FILE`` with its
Python).
"""

import importlib
import itertools
import json
import sys

import numpy as np

import paddle

FRESH = itertools.count()
STEPS = 10
SHAPES = [(3, 2), (4,), (2, 1, 2)]

# Arguments of each optimizer, next to its defaults. What takes no weight_decay says so.
OPTIMIZERS = {
    "SGD": [{}],
    "Momentum": [{}, {"use_nesterov": True, "momentum": 0.8}, {"rescale_grad": 0.5}],
    "Adam": [{}, {"beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3}, {"amsgrad": True}],
    "AdamW": [{}, {"weight_decay": 0.3}, {"amsgrad": True, "weight_decay": 0.1}, {"lr_ratio": 0.5},
              {"apply_decay_param_fun": "p1", "weight_decay": 0.5}],
    "Adamax": [{}, {"beta1": 0.5, "beta2": 0.9}],
    "NAdam": [{}, {"momentum_decay": 0.1}],
    "RAdam": [{}, {"beta2": 0.9}],
    "Adagrad": [{}, {"initial_accumulator_value": 0.2, "epsilon": 1e-3}],
    "Adadelta": [{}, {"rho": 0.8, "epsilon": 1e-3}],
    "RMSProp": [{}, {"centered": True, "momentum": 0.5}, {"rho": 0.8, "momentum": 0.9}],
    "Lamb": [{}, {"lamb_weight_decay": 0.2}, {"exclude_from_weight_decay_fn": "p1"},
             {"exclude_from_weight_decay_fn": "p1", "always_adapt": True}],
    "ASGD": [{}, {"batch_num": 3}],
    "Rprop": [{}, {"etas": (0.3, 1.5), "learning_rate_range": (0.01, 0.2)}],
    "LarsMomentumOptimizer": [{"momentum": 0.9},
                              {"momentum": 0.5, "lars_coeff": 0.1, "lars_weight_decay": 0.2, "epsilon": 1e-3},
                              {"momentum": 0.9, "exclude_from_weight_decay": ["p1"]}],
}  # fmt: skip
PRECISE = {"SGD", "Momentum", "Adam", "AdamW", "Lamb", "ASGD", "Rprop", "LarsMomentumOptimizer"}  # take multi_precision
UNDECAYED = {"AdamW", "Lamb", "Rprop", "LarsMomentumOptimizer"}  # take no penalty as weight_decay

SETTINGS = {
    "plain": {},
    "float64": {"dtype": "float64"},
    "bfloat16": {"dtype": "bfloat16"},
    "float16": {"dtype": "float16"},
    "decay": {"decay": 0.3},
    "l1": {"decay": ["L1Decay", 0.2]},
    "l2": {"decay": ["L2Decay", 0.2]},
    "value": {"clip": ["ClipGradByValue", 0.4]},
    "norm": {"clip": ["ClipGradByNorm", 0.6]},
    "global": {"clip": ["ClipGradByGlobalNorm", 0.8]},
    "attributes": {
        "attrs": [{"learning_rate": 0.5}, {"regularizer": ["L1Decay", 0.3]}, {"need_clip": False}],
        "clip": ["ClipGradByGlobalNorm", 0.5],
        "decay": 0.1,
    },
    "groups": {
        "groups": [
            {"params": [0], "learning_rate": 0.3},
            {"params": [1], "weight_decay": 0.4},
            {"params": [2], "grad_clip": ["ClipGradByValue", 0.3]},
        ],
        "clip": ["ClipGradByNorm", 0.7],
        "decay": 0.1,
    },
    "schedule": {"schedule": True},
    "sparse steps": {"missing": True},
}


def cases():
    """Names and descriptions."""
    for name, every in OPTIMIZERS.items():
        for i, (args, setting) in enumerate(itertools.product(every, SETTINGS)):
            if args is not every[0] and setting not in ("plain", "groups"):
                continue
            case = {"args": args, **SETTINGS[setting]}
            if name in UNDECAYED:
                case.pop("decay", None)
                if setting in ("decay", "l1", "l2"):
                    continue
                if name != "AdamW" and "groups" in case:
                    case["groups"] = [dict(g) for g in case["groups"]]
                    case["groups"][1].pop("weight_decay")
            if setting in ("bfloat16", "float16") and name not in PRECISE:
                continue
            if name == "LarsMomentumOptimizer" and "groups" in case:
                continue
            yield f"{name} {setting} {i}", name, case


def made(kind, *args):
    space = paddle.regularizer if kind.endswith("Decay") else paddle.nn
    return getattr(space, kind)(*args)


def clip_of(pair):
    return None if pair is None else made(*pair)


def run(name, case, seed=1, steps=STEPS):
    """The optimizer, its parameters and their values after some steps."""
    rng = np.random.RandomState(seed)
    params = parameters(case.get("dtype", "float32"), case.get("attrs", [{}] * 3), rng)
    opt = optimizer(name, case, params)
    descend(opt, params, case, rng, steps)
    return opt, params, rng


def parameters(dtype, attrs=({}, {}, {}), rng=None):
    """Three of them, with random values."""
    rng = rng or np.random.RandomState(0)
    params = []
    for i, (shape, attr) in enumerate(zip(SHAPES, attrs)):
        attr = dict(attr)
        if "regularizer" in attr:
            attr["regularizer"] = made(*attr["regularizer"])
        attr = paddle.ParamAttr(name=f"p{i}_{next(FRESH)}", **attr)
        p = paddle.create_parameter(
            list(shape), dtype, attr=attr, default_initializer=paddle.nn.initializer.Constant(1.0)
        )
        p.set_value(paddle.to_tensor(rng.standard_normal(shape).astype("float32")).astype(dtype))
        params.append(p)
    return params


def descend(opt, params, case, rng, steps):
    for step in range(steps):
        for i, p in enumerate(params):
            g = rng.standard_normal(tuple(p.shape)).astype("float32")
            if not (case.get("missing") and (step + i) % 3 == 0):
                (p.astype("float32") * paddle.to_tensor(g)).sum().backward()
        opt.step()
        opt.clear_grad(set_to_zero=False)
        if case.get("schedule"):
            opt._learning_rate.step()


def optimizer(name, case, params):
    args = dict(case["args"])
    rate = 0.1
    if case.get("schedule"):
        rate = paddle.optimizer.lr.ExponentialDecay(rate, 0.8)
    if "lr_ratio" in args:
        ratio = args["lr_ratio"]
        args["lr_ratio"] = lambda p: ratio if p.name.startswith("p1") else 1.0
    if "apply_decay_param_fun" in args:
        args["apply_decay_param_fun"] = lambda n: n.startswith("p1")
    if "exclude_from_weight_decay_fn" in args:
        args["exclude_from_weight_decay_fn"] = lambda p: p.name.startswith("p1")
    if case.get("dtype") in ("bfloat16", "float16"):
        args["multi_precision"] = True
    decay = case.get("decay")
    if decay is not None:
        args["regularization" if name.startswith("Lars") else "weight_decay"] = (
            made(*decay) if isinstance(decay, list) else decay
        )
    given = params
    if "groups" in case:
        given = []
        for group in case["groups"]:
            group = dict(group, params=[params[i] for i in group["params"]])
            if "grad_clip" in group:
                group["grad_clip"] = clip_of(group["grad_clip"])
            given.append(group)
    args["parameter_list" if name.startswith("Lars") else "parameters"] = given
    kind = getattr(paddle.optimizer, name, None)
    if kind is None:
        kind = getattr(importlib.import_module("paddle.incubate.optimizer"), name)
    return kind(learning_rate=rate, grad_clip=clip_of(case.get("clip")), **args)


def values(params):
    return [[float(f"{v:.8g}") for v in p.astype("float64").numpy().ravel()] for p in params]


if __name__ == "__main__":
    found = {}
    for name, kind, case in cases():
        try:
            _, params, _ = run(kind, case)
            found[name] = values(params)
        except Exception as error:
            print(name, type(error).__name__, str(error).strip().splitlines()[-1][:150])
    with open(sys.argv[1], "w") as out:
        out.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")
    print(len(found))
