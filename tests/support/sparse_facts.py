"""Calls whose results the reference gave, in ``tests/data/sparse_calls.jsonl``: what a call and its result are.

A call is an expression over the names of :func:`names`; its result a sparse tensor, or the values of its gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def names(paddle: Any) -> dict[str, Any]:
    """The tensors that calls use."""
    S = paddle.sparse
    i, v = [[0, 1, 2], [1, 2, 0]], [0.5, -0.25, 0.75]
    j, w = [[0, 1, 2], [1, 1, 2]], [0.125, 0.5, -0.5]
    hybrid = np.arange(6, dtype=np.float64).reshape(3, 2) - 2
    cube = S.sparse_coo_tensor([[0, 0, 1], [0, 1, 0], [1, 0, 2]], v, [2, 2, 3])
    points = S.sparse_coo_tensor(
        [[0, 0, 0, 0], [0, 1, 1, 2], [0, 0, 2, 3], [1, 2, 0, 3]],
        np.arange(8, dtype=np.float32).reshape(4, 2) - 3,
        [1, 3, 4, 5, 2],
    )
    flat = S.sparse_coo_tensor(
        [[0, 0, 0], [0, 1, 2], [1, 0, 3]], np.arange(6, dtype=np.float32).reshape(3, 2) + 1, [1, 3, 4, 2]
    )

    def leaf(x: Any) -> Any:
        y = x.detach()
        y.stop_gradient = False
        return y

    def grad(f: Any, *xs: Any) -> list:
        leaves = [leaf(x) for x in xs]
        out = f(*leaves)
        out.backward(out)
        return [x.grad for x in leaves]

    return {
        "S": S,
        "SF": S.nn.functional,
        "paddle": paddle,
        "np": np,
        "x": S.sparse_coo_tensor(i, v, [3, 3]),
        "y": S.sparse_coo_tensor(j, w, [3, 3]),
        "cx": S.sparse_csr_tensor([0, 1, 2, 3], [1, 2, 0], v, [3, 3]),
        "cy": S.sparse_csr_tensor([0, 1, 2, 3], [1, 1, 2], w, [3, 3]),
        "h": S.sparse_coo_tensor(i, hybrid, [3, 3, 2]),
        "cube": cube,
        "bcx": S.sparse_csr_tensor([0, 1, 2, 0, 1, 1], [1, 0, 1], v, [2, 2, 3]),
        "points": points,
        "flat": flat,
        "dense": paddle.arange(9, dtype="float32").reshape([3, 3]),
        "k3": paddle.to_tensor((np.arange(162, dtype=np.float32).reshape(3, 3, 3, 2, 3) % 7 - 3) / 4),
        "k2": paddle.to_tensor((np.arange(54, dtype=np.float32).reshape(3, 3, 2, 3) % 5 - 2) / 4),
        "grad": grad,
    }


def shown(x: Any) -> Any:
    """A result as data: kind, dtype, shape, positions and values."""
    if isinstance(x, (list, tuple)):
        return [shown(part) for part in x]
    if not hasattr(x, "dtype"):
        return x
    dtype = str(x.dtype).rpartition(".")[2]

    def numbers(t: Any) -> Any:
        a = t.detach().numpy()
        return a.astype(np.float64).tolist() if a.dtype.kind == "f" else a.tolist()

    if not x.is_sparse():
        return {"kind": "dense", "dtype": dtype, "shape": list(x.shape), "values": numbers(x)}
    found = {"dtype": dtype, "shape": list(x.shape), "values": numbers(x.values())}
    if x.is_sparse_coo():
        return {"kind": "coo", "indices": x.indices().tolist(), **found}
    return {"kind": "csr", "crows": x.crows().tolist(), "cols": x.cols().tolist(), **found}


def calls() -> list[str]:
    """Expressions, by family."""
    found = []
    for x in ("x", "cx"):
        for f in ("sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "square", "abs", "neg", "expm1",
                  "log1p", "rad2deg", "deg2rad", "isnan"):  # fmt: skip
            found.append(f"S.{f}({x})")
            if f != "isnan":
                found.append(f"grad(S.{f}, {x})")
        found += [f"S.pow({x}, {p})" for p in (2, 3.0, 0, -1)]
        found += [f"S.sqrt(S.abs({x}))", f"grad(lambda a: S.pow(a, 3.0), {x})"]
        found += [f"S.cast({x}, {a})" for a in ("'int32', 'float64'", "None, 'int32'", "'int32'")]
        found += [f"S.transpose({x}, {p})" for p in ([1, 0], [0, 1])] + [f"grad(lambda a: S.transpose(a, [1, 0]), {x})"]
        found += [f"S.reshape({x}, {p})" for p in ([1, 9], [-1, 3], [0, 3], [9, 1], [1, 3, 3], [3, 3, 1])]
        found += [f"grad(lambda a: S.reshape(a, [9, 1]), {x})"]
        found += [
            f"S.slice({x}, {c})"
            for c in ("[0], [0], [2]", "[1], [1], [3]", "[0, 1], [1, 0], [3, 2]", "[-1], [0], [2]", "[0], [-2], [100]",
                      "[0], [0], [-1]")
        ]  # fmt: skip
        found += [f"S.sum({x}, -1)", f"S.sum({x}, dtype='float64').to_dense()", f"grad(S.sum, {x})"]
        found += [f"SF.relu({x})", f"SF.relu6({x})", f"SF.leaky_relu({x}, 0.1)", f"SF.softmax({x})"]
        found += [f"grad(SF.{f}, {x})" for f in ("relu", "relu6", "leaky_relu", "softmax")]
        found += [f"S.mask_as(dense, {x})", f"{x}.to_dense()", f"{x}.to_sparse_csr()", f"{x}.to_sparse_coo(2)"]
        found += [f"[{x}.nnz(), {x}.sparse_dim(), {x}.dense_dim(), len({x}), {x}.ndim]", f"S.multiply({x}, 3.0)"]
        found += [f"S.divide({x}, 2.0)", f"S.is_same_shape({x}, dense)"]
    for x, y in (("x", "y"), ("cx", "cy"), ("bcx", "bcx"), ("h", "h"), ("cube", "cube")):
        for f in ("add", "subtract", "multiply"):
            found += [f"S.{f}({x}, {y})"]
            # The reference's gradients of the others are wrong.
            if (f, x) not in (("subtract", "x"), ("subtract", "cx"), ("add", "bcx"), ("multiply", "bcx")):
                found += [f"grad(S.{f}, {x}, {y})"]
    found += ["S.add(h, paddle.to_tensor([1.0, 2.0], dtype='float64'))", "S.add(x, S.cast(y, None, 'float64'))"]
    found += [f"S.sum(x, {a}, keepdim={k})" for a in (0, 1, (0,)) for k in (False, True)]
    found += [f"S.sum(cube, {a})" for a in (0, 1, 2)] + [f"S.sum(h, {a})" for a in (0, 1)]
    found += ["S.sum(h).to_dense()", "S.sum(S.cast(x, None, 'int32'), 0)", "S.reshape(h, [9, 2])"]
    found += ["cube.to_sparse_csr()", "cube.to_dense()", "bcx.to_dense()", "bcx.to_sparse_coo(3)", "SF.softmax(bcx)"]
    found += ["SF.softmax(cube)", "h.to_dense()", "h.coalesce()"]
    found += [f"S.transpose(bcx, {p})" for p in ([0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1])]
    found += [f"S.reshape(bcx, {p})" for p in ([2, 3, 2], [4, 3], [3, 4], [12, 1])]
    found += ["S.sparse_coo_tensor([[1, 0, 0], [1, 1, 1]], [1.0, 2.0, 3.0], [3, 3]).coalesce()"]
    found += [f"dense.reshape([1, 3, 3]).to_sparse_coo({n})" for n in (1, 2, 3)] + ["dense.to_sparse_csr()"]
    for s in ("", ", padding=1", ", stride=2, padding=1"):
        found += [f"SF.conv3d(points, k3{s})", f"SF.conv2d(flat, k2{s})"]
        found += [f"grad(lambda a, b: SF.conv3d(a, b{s}), points, k3)"]
    found += ["SF.conv3d(points, k3, paddle.ones([3]))", "SF.subm_conv3d(points, k3)", "SF.subm_conv2d(flat, k2)"]
    found += ["grad(SF.subm_conv3d, points, k3)", "grad(SF.subm_conv2d, flat, k2)"]
    found += ["SF.max_pool3d(points, 2, 2)", "SF.max_pool3d(points, 3, 1, 1)", "SF.max_pool3d(S.neg(points), 2)"]
    found += ["grad(lambda a: SF.max_pool3d(a, 2, 2), points)", "S.nn.BatchNorm(2)(points)", "S.nn.BatchNorm(2)(flat)"]
    return found
