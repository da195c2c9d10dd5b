"""Kernels in C of regions of interest, of the columns of deformable convolutions, and of suppression."""

from __future__ import annotations

from typing import Any

import numpy as np

from umiak.backends.base import Kernel
from umiak.backends.cpu import detection
from umiak.backends.cpu.registry import serves
from umiak.ops import boxes as boxes_ops
from umiak.ops import deformable as deformable_ops
from umiak.ops import roi as ops


def _dense(x: np.ndarray, dtype: Any) -> np.ndarray:
    return np.ascontiguousarray(x, dtype)


def _compute(x: np.ndarray) -> Any:
    """The type that low precision is computed in."""
    return np.float64 if x.dtype == np.float64 else np.float32


def _target(out: np.ndarray, dtype: Any, zeros: bool = False) -> np.ndarray:
    """Dense memory for a result: its own where that serves."""
    if out.dtype != dtype or not out.flags.c_contiguous:
        return np.zeros(out.shape, dtype) if zeros else np.empty(out.shape, dtype)
    if zeros:
        out[...] = 0
    return out


def _deliver(out: np.ndarray, target: np.ndarray) -> None:
    if target is not out:
        out[...] = target


_KINDS = {
    ops.RoiAlign: "align",
    ops.RoiAlignSpread: "align",
    ops.PsroiPool: "sensitive",
    ops.PsroiPoolSpread: "sensitive",
    ops.RoiMaxIndex: "max_index",
}


@serves(*_KINDS)
def regions(call: Any) -> Kernel:
    """The kernel of a pooling of regions, on NumPy arrays."""
    kind, spread = _KINDS[type(call.op)], isinstance(call.op, ops.RegionSpread)
    aligned = isinstance(call.op, ops.RoiAlignment) and call.op.aligned

    def run(op: Any, outs: list[np.ndarray], ins: list[np.ndarray], params: tuple) -> None:
        values, boxes, counts = ins
        bins, scale, *rest = params
        ratio = rest[-1] if kind == "align" else 0
        dtype, out = _compute(values), outs[0]
        boxes = _dense(boxes, dtype)
        images = op.images_of(boxes, counts, ratio) if kind == "align" else ops.images_of(op, boxes, counts)
        images = _dense(images, np.int64)
        values = _dense(values, dtype)
        target = _target(out, np.int64 if kind == "max_index" else dtype, spread)
        shape, results = (out, values) if spread else (values, out)
        detection.regions(
            kind,
            dtype is np.float64,
            spread,
            aligned,
            values.ctypes.data,
            boxes.ctypes.data,
            images.ctypes.data,
            target.ctypes.data,
            tuple(shape.shape),
            len(boxes),
            tuple(bins),
            results.shape[1],
            scale,
            ratio,
        )
        _deliver(out, target)

    return Kernel(run=run)


_COLUMNS = {
    deformable_ops.DeformableColumns: "columns",
    deformable_ops.DeformableSpread: "spread",
    deformable_ops.DeformableSlopes: "slopes",
}


@serves(*_COLUMNS, opaque=True)
def deformable(call: Any) -> Kernel:
    """The kernel of columns of a deformable convolution and of their transposes, on NumPy arrays."""
    kind = _COLUMNS[type(call.op)]

    def run(op: Any, outs: list[np.ndarray], ins: list[np.ndarray], params: tuple) -> None:
        dtype = _compute(ins[0])
        *values, offset, mask = [None if x is None else _dense(x, dtype) for x in ins]
        kernel, groups, strides, pads, dilations = params[:5]
        targets = [_target(out, dtype, kind == "spread") for out in outs]
        x, g = {"columns": (values[0], None), "spread": (None, values[0]), "slopes": tuple(values)}[kind]
        images = targets[0] if x is None else x
        detection.deformable(
            kind,
            dtype is np.float64,
            _address(x),
            _address(offset),
            _address(mask),
            _address(g),
            _address(targets[0]),
            _address(targets[1]) if len(targets) > 1 else 0,
            tuple(images.shape),
            tuple(kernel),
            tuple(offset.shape[2:]),
            groups,
            tuple(strides),
            tuple(pads),
            tuple(dilations),
        )
        for out, target in zip(outs, targets, strict=True):
            _deliver(out, target)

    return Kernel(run=run)


def _address(x: np.ndarray | None) -> int:
    return 0 if x is None else x.ctypes.data


@serves(boxes_ops.SuppressBoxes)
def suppress(call: Any) -> Kernel:
    """The kernel of suppression, on NumPy arrays."""

    def run(op: Any, outs: list[np.ndarray], ins: list[np.ndarray], params: tuple) -> None:
        boxes, group, valid = ins
        dtype = _compute(boxes)
        boxes = _dense(boxes, dtype)
        op.check_boxes(boxes)
        if group is not None:  # numbers below their count, which fit the width of the kernel's lanes
            group = _dense(np.unique(group, return_inverse=True)[1].reshape(-1), np.int64)
        valid = None if valid is None else _dense(valid, np.bool_)
        target = _target(outs[0], np.bool_)
        threshold, eta, offset = params
        detection.suppress(
            dtype is np.float64,
            _address(boxes),
            _address(group),
            _address(valid),
            _address(target),
            len(boxes),
            threshold,
            eta,
            offset,
        )
        _deliver(outs[0], target)

    return Kernel(run=run)
