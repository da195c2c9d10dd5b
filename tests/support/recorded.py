"""Results of calls as they are recorded: dtype, shape and values of a tensor, or a Python value."""

import math

import numpy as np

import paddle


def number(v):
    if isinstance(v, list):
        return [number(a) for a in v]
    if isinstance(v, complex):
        return {"re": number(v.real), "im": number(v.imag)}
    if isinstance(v, float) and not math.isfinite(v):
        return str(v)
    return v


def described(v):
    if isinstance(v, paddle.Tensor):
        a = v.astype("float32") if v.dtype is paddle.bfloat16 else v
        return {"dtype": v.dtype.name, "shape": list(v.shape), "values": number(a.numpy().tolist())}
    if isinstance(v, (list, tuple)):
        return [described(a) for a in v]
    if isinstance(v, np.ndarray):
        return number(v.tolist())
    return number(v) if isinstance(v, (bool, int, float, complex, type(None))) else {"repr": str(v)}


def agree(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(agree(a[k], b[k]) for k in a)
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return a == b
    return math.isclose(a, b, rel_tol=2e-5, abs_tol=1e-5)
