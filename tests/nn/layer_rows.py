"""Every layer with its counterpart in PyTorch: what ``test_layers_torch`` compares, as data.

A row says how our layer is made, how the peer's is made (a module, or a function of the inputs and, by name, of our
parameters), and the inputs: a shape of floats that get gradients, or an array as it is.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as T

from paddle import nn


@dataclass
class Row:
    layer: str
    make: Callable[[], nn.Layer]
    peer: Callable
    inputs: tuple
    train: bool = True
    low: float = -2.0  # floats are drawn from here to `high`
    high: float = 2.0
    rtol: float = 1e-5
    atol: float = 1e-5
    prepare: Callable[[dict], dict] | None = None  # changes our parameters before the comparison

    def __str__(self) -> str:
        return self.layer


ROWS: dict[str, list[Row]] = defaultdict(list)


def add(layer: str, make: Callable, peer: Callable, *inputs: Any, **options: Any) -> None:
    ROWS[layer].append(Row(layer, make, peer, inputs, **options))


def both(
    layer: str, words: dict, *inputs: Any, peer: str | None = None, theirs: dict | None = None, **options: Any
) -> None:
    """The same words for both, with those of the peer changed by ``theirs`` (None: left out)."""
    made = {k: v for k, v in {**words, **(theirs or {})}.items() if not (k in (theirs or {}) and v is None)}
    add(
        layer,
        partial(getattr(nn, layer), **words),
        partial(getattr(torch.nn, peer or layer), **made),
        *inputs,
        **options,
    )


def first(x: torch.Tensor) -> torch.Tensor:
    """Channels last to first."""
    return x.movedim(-1, 1)


def last(x: torch.Tensor) -> torch.Tensor:
    return x.movedim(1, -1)


class Last(torch.nn.Module):
    """A peer's module for channels that are last; its parameters keep their names."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.inner = module

    def forward(self, x: torch.Tensor, *more: Any) -> torch.Tensor:
        return last(self.inner(first(x), *more))


# --- linear maps, tables, similarities -------------------------------------------------------------------------------

for shape in ((3,), (2, 3), (2, 4, 3), (0, 3)):
    add("Linear", lambda: nn.Linear(3, 5), lambda: torch.nn.Linear(3, 5), shape)
add("Linear", lambda: nn.Linear(3, 5, bias_attr=False), lambda: torch.nn.Linear(3, 5, bias=False), (2, 3))
add("Identity", lambda: nn.Identity(7, unused=1), torch.nn.Identity, (2, 3))
add("Bilinear", lambda: nn.Bilinear(2, 3, 4), lambda: torch.nn.Bilinear(2, 3, 4), (5, 2), (5, 3))
add(
    "Bilinear",
    lambda: nn.Bilinear(2, 3, 4, bias_attr=False),
    lambda: torch.nn.Bilinear(2, 3, 4, bias=False),
    (1, 2),
    (1, 3),
)
INDEX = np.array([[1, 5, 0, 1], [2, 2, 1, 4]])
add("Embedding", lambda: nn.Embedding(6, 3), lambda: torch.nn.Embedding(6, 3), INDEX)
for padding in (2, -5):

    def without_row(values: dict) -> dict:
        values["weight"][1] = 0  # the row of the padding starts as zeros
        return values

    add(
        "Embedding",
        lambda at=padding if padding < 0 else 1: nn.Embedding(6, 3, padding_idx=at),
        lambda: torch.nn.Embedding(6, 3, padding_idx=1),
        INDEX,
        prepare=without_row,
    )
for p in (2.0, 1.0):
    add(
        "Embedding",
        lambda p=p: nn.Embedding(6, 3, max_norm=1.5, norm_type=p),
        lambda p=p: torch.nn.Embedding(6, 3, max_norm=1.5, norm_type=p),
        INDEX,
    )
add(
    "Embedding",
    lambda: nn.Embedding(6, 3, scale_grad_by_freq=True),
    lambda: torch.nn.Embedding(6, 3, scale_grad_by_freq=True),
    INDEX,
)
for axis, shapes in ((1, ((4, 5), (4, 5))), (-1, ((2, 3, 4), (2, 1, 4))), (0, ((5,), (5,)))):
    both("CosineSimilarity", {"axis": axis, "eps": 1e-6}, *shapes, theirs={"axis": None, "dim": axis})
for p, keepdim in ((2.0, False), (1.0, True), (3.0, False), (math.inf, False)):
    words = {"p": p, "epsilon": 1e-4, "keepdim": keepdim}
    both("PairwiseDistance", words, (3, 4), (3, 4), theirs={"epsilon": None, "eps": 1e-4}, rtol=1e-4)

# --- convolutions ----------------------------------------------------------------------------------------------------

SPACE = {1: (9,), 2: (7, 6), 3: (5, 4, 5)}
LAST = {1: "NLC", 2: "NHWC", 3: "NDHWC"}
MODES = {"reflect": "reflect", "replicate": "replicate", "circular": "circular"}

for n, space in SPACE.items():
    each = (1, 2, 1)[:n]  # a number for each dim
    for words in (
        {},
        {"stride": 2, "padding": 1},
        {"dilation": 2, "padding": 2, "groups": 2},
        {"stride": tuple(s + 1 for s in each), "padding": each, "dilation": 1, "groups": 4},
        {"bias": False, "padding": "same"},
        {"padding": "valid", "groups": 2},
        *({"padding": 1, "padding_mode": mode, "stride": 2} for mode in MODES),
        {"padding": each, "padding_mode": "reflect"},
    ):
        args = {"in_channels": 4, "out_channels": 8, "kernel_size": 3 if n < 3 else 2, **words}
        ours = {**args, "padding": words.get("padding", 0)}
        if isinstance(ours["padding"], str):
            ours["padding"] = ours["padding"].upper()
        if n == 3 and words.get("padding") == "same":  # pads of an even kernel are no business of the peer's
            args["kernel_size"] = ours["kernel_size"] = 3
        add(
            f"Conv{n}D",
            partial(getattr(nn, f"Conv{n}D"), **ours),
            partial(getattr(torch.nn, f"Conv{n}d"), **args),
            (2, 4, *space),
        )
    add(
        f"Conv{n}D",
        lambda n=n: getattr(nn, f"Conv{n}D")(2, 3, 2, padding=1, data_format=LAST[n]),
        lambda n=n: Last(getattr(torch.nn, f"Conv{n}d")(2, 3, 2, padding=1)),
        (2, *space, 2),
    )
    # Two numbers for each dim: the peer pads first.
    add(
        f"Conv{n}D",
        lambda n=n: getattr(nn, f"Conv{n}D")(2, 3, 2, padding=list(range(2 * n))),
        lambda n=n: torch.nn.Sequential(
            torch.nn.ConstantPad3d([i + j for i in range(2 * n - 2, -1, -2) for j in (0, 1)], 0.0)
            if n == 3
            else getattr(torch.nn, f"ConstantPad{n}d")([i + j for i in range(2 * n - 2, -1, -2) for j in (0, 1)], 0.0),
            getattr(torch.nn, f"Conv{n}d")(2, 3, 2),
        ),
        (1, 2, *space),
    )
    for words in (
        {},
        {"stride": 2, "padding": 1, "output_padding": 1},
        {"stride": 3, "padding": each, "output_padding": each, "groups": 2},
        {"dilation": 2, "groups": 4, "stride": 2},
        {"bias": False, "stride": tuple(s + 1 for s in each)},
    ):
        args = {"in_channels": 4, "out_channels": 8, "kernel_size": 3 if n < 3 else 2, **words}
        ours = {k: v for k, v in args.items() if k != "bias"}
        if not args.get("bias", True):
            ours["bias_attr"] = False
        add(
            f"Conv{n}DTranspose",
            partial(getattr(nn, f"Conv{n}DTranspose"), **ours),
            partial(getattr(torch.nn, f"ConvTranspose{n}d"), **args),
            (2, 4, *(m // 2 for m in space)),
        )
    for extra in (0, 1):
        size = [(m // 2 - 1) * 2 + 3 + extra for m in space]
        add(
            f"Conv{n}DTranspose",
            lambda n=n: getattr(nn, f"Conv{n}DTranspose")(2, 3, 3, stride=2),
            lambda n=n: getattr(torch.nn, f"ConvTranspose{n}d")(2, 3, 3, stride=2),
            (2, 2, *(m // 2 for m in space)),
            size,
        )
    add(
        f"Conv{n}DTranspose",
        lambda n=n: getattr(nn, f"Conv{n}DTranspose")(2, 3, 2, stride=2, data_format=LAST[n]),
        lambda n=n: Last(getattr(torch.nn, f"ConvTranspose{n}d")(2, 3, 2, stride=2)),
        (2, *(m // 2 for m in space), 2),
    )

# --- pooling ---------------------------------------------------------------------------------------------------------

for n, space in SPACE.items():
    each = (1, 0, 1)[:n]
    kernel = (3, 2, 3)[:n]
    shape = (2, 3, *space)
    for words in (
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": kernel, "stride": (2, 1, 2)[:n], "padding": each, "ceil_mode": True},
    ):
        both(f"MaxPool{n}D", words, shape, peer=f"MaxPool{n}d")
        for exclusive in (True, False):
            both(
                f"AvgPool{n}D",
                {**words, "exclusive": exclusive},
                shape,
                peer=f"AvgPool{n}d",
                theirs={"exclusive": None, "count_include_pad": not exclusive},
            )
    masked = {"kernel_size": 2, "stride": 2, "return_mask": True}
    both(f"MaxPool{n}D", masked, shape, peer=f"MaxPool{n}d", theirs={"return_mask": None, "return_indices": True})
    if n > 1:
        both(f"AvgPool{n}D", {"kernel_size": 2, "divisor_override": 3}, shape, peer=f"AvgPool{n}d")
        for kind in ("Max", "Avg"):
            add(
                f"{kind}Pool{n}D",
                lambda kind=kind, n=n: getattr(nn, f"{kind}Pool{n}D")(2, 2, data_format=LAST[n]),
                lambda kind=kind, n=n: Last(getattr(torch.nn, f"{kind}Pool{n}d")(2, 2)),
                (2, *space, 3),
            )
    for size in (1, 3, (2, None, 3)[:n], (4, 4, 1)[:n]):
        size = size[0] if n == 1 and isinstance(size, tuple) else size
        for kind in ("Max", "Avg"):
            both(f"Adaptive{kind}Pool{n}D", {"output_size": size}, shape, peer=f"Adaptive{kind}Pool{n}d")
        both(
            f"AdaptiveMaxPool{n}D",
            {"output_size": size, "return_mask": True},
            shape,
            peer=f"AdaptiveMaxPool{n}d",
            theirs={"return_mask": None, "return_indices": True},
        )
    if n < 3:
        # Without partial windows, whose sums the peer scales up as if they were whole.
        for p, words in ((2.0, {"kernel_size": 2}), (3.0, {"kernel_size": 3, "stride": 2}), (1.0, {"kernel_size": 2})):
            words = {"norm_type": p, **words}
            both(f"LPPool{n}D", words, shape, peer=f"LPPool{n}d", low=0.5)
    # The places: distinct, as those of a max pooling.
    half = tuple(m // 2 for m in space)
    order = np.random.default_rng(0).permutation(math.prod(half) * 2**n)[: math.prod(half)]
    places = np.broadcast_to(np.sort(order).reshape(half), (2, 3, *half)).astype(np.int32)
    both(f"MaxUnPool{n}D", {"kernel_size": 2}, (2, 3, *half), places, peer=f"MaxUnpool{n}d")
    add(
        f"MaxUnPool{n}D",
        lambda n=n, size=[2 * m + 1 for m in half]: getattr(nn, f"MaxUnPool{n}D")(2, 2, output_size=size),
        lambda n=n, size=[2 * m + 1 for m in half]: (
            lambda x, i: getattr(torch.nn, f"MaxUnpool{n}d")(2, 2)(x, i, output_size=size)
        ),
        (2, 3, *half),
        places,
    )
for n in (2, 3):
    # With one element a region at the border drawn at 1/2, the windows are those of a max pooling.
    add(
        f"FractionalMaxPool{n}D",
        lambda n=n: getattr(nn, f"FractionalMaxPool{n}D")(2, kernel_size=2, random_u=0.5, return_mask=True),
        lambda n=n: getattr(torch.nn, f"MaxPool{n}d")(2, 2, return_indices=True),
        (2, 3, *(4,) * n),
    )

# --- norms -----------------------------------------------------------------------------------------------------------


class BiasedVariance(torch.nn.Module):
    """A batch norm whose running variance follows the biased one of the batch, as ours does, once it is settled."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.inner = module
        self.excess: Any = 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            v = x.detach().transpose(0, 1).flatten(1)
            self.excess = self.inner.momentum * (v.var(1, unbiased=True) - v.var(1, unbiased=False))
        return self.inner(x)

    def settle(self) -> None:
        """After the gradient, which needs the old values where they are."""
        self.inner.running_var -= self.excess


BATCHES = {1: ((6, 4), (3, 4, 5)), 2: ((3, 4, 5, 2),), 3: ((2, 4, 3, 2, 2),)}
for n, shapes in BATCHES.items():
    for shape in shapes:
        for training in (True, False):
            for name in (f"BatchNorm{n}D", "BatchNorm", "SyncBatchNorm"):
                add(
                    name,
                    lambda name=name: getattr(nn, name)(4, momentum=0.7, epsilon=1e-3),
                    lambda n=n: BiasedVariance(getattr(torch.nn, f"BatchNorm{n}d")(4, momentum=0.3, eps=1e-3)),
                    shape,
                    train=training,
                    rtol=1e-4,
                )
    add(
        f"BatchNorm{n}D",
        lambda n=n: getattr(nn, f"BatchNorm{n}D")(4, weight_attr=False, bias_attr=False, data_format=LAST[n]),
        lambda n=n: Last(BiasedVariance(getattr(torch.nn, f"BatchNorm{n}d")(4, affine=False))),
        (*shapes[-1][:1], *shapes[-1][2:], 4),
        rtol=1e-4,
    )
    add(
        f"BatchNorm{n}D",
        lambda n=n: getattr(nn, f"BatchNorm{n}D")(4, use_global_stats=True),
        lambda n=n: getattr(torch.nn, f"BatchNorm{n}d")(4).eval(),
        shapes[-1],
    )
    for affine in (True, False):
        attr = None if affine else False
        shape = shapes[-1]
        add(
            f"InstanceNorm{n}D",
            lambda n=n, attr=attr: getattr(nn, f"InstanceNorm{n}D")(4, 1e-3, weight_attr=attr, bias_attr=attr),
            lambda n=n, affine=affine: getattr(torch.nn, f"InstanceNorm{n}d")(4, 1e-3, affine=affine),
            shape,
            train=affine,
            rtol=1e-4,
        )
for shape in ((3, 4), (2, 4, 5), (2, 4, 3, 3), (1, 4, 2, 2, 3)):
    for groups in (1, 2, 4) if len(shape) > 2 else (2,):
        both(
            "GroupNorm",
            {"num_groups": groups, "num_channels": 4, "epsilon": 1e-3},
            shape,
            theirs={"epsilon": None, "eps": 1e-3},
            rtol=1e-4,
        )
add(
    "GroupNorm",
    lambda: nn.GroupNorm(2, 4, data_format="NHWC"),
    lambda: Last(torch.nn.GroupNorm(2, 4)),
    (2, 3, 3, 4),
    rtol=1e-4,
)
both("GroupNorm", {"num_groups": 2, "num_channels": 4, "affine": False}, (2, 4, 5), rtol=1e-4)
for shape in (4, [4], [3, 4]):
    words = {"normalized_shape": shape, "epsilon": 1e-3}
    both("LayerNorm", words, (2, 3, 4), theirs={"epsilon": None, "eps": 1e-3}, rtol=1e-4)
    both("RMSNorm", words, (2, 3, 4), theirs={"epsilon": None, "eps": 1e-3}, rtol=1e-4)
both("LayerNorm", {"normalized_shape": 4, "bias": False}, (2, 4), rtol=1e-4)
both("LayerNorm", {"normalized_shape": 4, "elementwise_affine": False}, (2, 4), rtol=1e-4)
for size, shape in ((3, (2, 5, 4)), (2, (2, 5, 3, 3)), (5, (1, 3, 2, 2, 2))):
    both("LocalResponseNorm", {"size": size, "alpha": 0.5, "beta": 0.6, "k": 1.5}, shape)
add(
    "LocalResponseNorm",
    lambda: nn.LocalResponseNorm(3, 0.3, data_format="NHWC"),
    lambda: Last(torch.nn.LocalResponseNorm(3, 0.3)),
    (2, 3, 3, 5),
)


def spectral(w: torch.Tensor, weight_u: torch.Tensor, weight_v: torch.Tensor, dim: int, steps: int) -> torch.Tensor:
    """By the peer's normalisation of vectors."""
    matrix = w.movedim(dim, 0).flatten(1)
    u, v = weight_u, weight_v
    with torch.no_grad():
        for _ in range(steps):
            v = T.normalize(matrix.T @ u, dim=0, eps=1e-12)
            u = T.normalize(matrix @ v, dim=0, eps=1e-12)
    return w / (u @ matrix @ v)


for dim, steps in ((0, 1), (1, 3), (2, 0)):
    add(
        "SpectralNorm",
        lambda dim=dim, steps=steps: nn.SpectralNorm([3, 4, 2], dim, steps),
        lambda dim=dim, steps=steps: partial(spectral, dim=dim, steps=steps),
        (3, 4, 2),
        rtol=1e-4,
    )

# --- padding, rearranging, resampling --------------------------------------------------------------------------------

PADS = {1: [[2, 1], 2], 2: [[1, 2, 0, 3], 1], 3: [[1, 0, 2, 1, 0, 1], 1]}
for n, pads in PADS.items():
    shape = (2, 3, *SPACE[n])
    for pad in pads:
        for ours, theirs in (("Reflection", "Reflection"), ("Replication", "Replication"), ("Circular", "Circular")):
            both(f"{ours}Pad{n}D", {"padding": pad}, shape, peer=f"{theirs}Pad{n}d")
        both(f"ZeroPad{n}D", {"padding": pad}, shape, peer=f"ZeroPad{n}d")
        both(f"ConstantPad{n}D", {"padding": pad, "value": 1.5}, shape, peer=f"ConstantPad{n}d")
        flat = [pad] * (2 * n) if isinstance(pad, int) else pad
        for mode in ("constant", *MODES):
            add(
                f"Pad{n}D",
                lambda n=n, pad=pad, mode=mode: getattr(nn, f"Pad{n}D")(pad, mode),
                lambda flat=flat, mode=mode: partial(T.pad, pad=flat, mode=mode),
                shape,
            )
    add(
        f"Pad{n}D",
        lambda n=n: getattr(nn, f"Pad{n}D")(PADS[n][0], value=0.5, data_format=LAST[n]),
        lambda n=n: lambda x: last(T.pad(first(x), PADS[n][0], value=0.5)),
        (2, *SPACE[n], 3),
    )
    add(
        f"ConstantPad{n}D",
        lambda n=n: getattr(nn, f"ConstantPad{n}D")([-1, 1] + [0] * (2 * n - 2), 2.0),
        lambda n=n: getattr(torch.nn, f"ConstantPad{n}d")([-1, 1] + [0] * (2 * n - 2), 2.0),
        shape,
    )
both("PixelShuffle", {"upscale_factor": 2}, (2, 8, 3, 2))
both("PixelShuffle", {"upscale_factor": 3}, (1, 9, 2, 2))
both("PixelUnshuffle", {"downscale_factor": 2}, (2, 3, 4, 6))
both("ChannelShuffle", {"groups": 3}, (2, 6, 3, 2))
add("PixelShuffle", lambda: nn.PixelShuffle(2, "NHWC"), lambda: Last(torch.nn.PixelShuffle(2)), (2, 3, 2, 8))
add("PixelUnshuffle", lambda: nn.PixelUnshuffle(2, "NHWC"), lambda: Last(torch.nn.PixelUnshuffle(2)), (2, 4, 2, 3))
add("ChannelShuffle", lambda: nn.ChannelShuffle(2, "NHWC"), lambda: Last(torch.nn.ChannelShuffle(2)), (2, 3, 2, 4))
for words in (
    {"kernel_sizes": 2},
    {"kernel_sizes": [2, 3], "strides": 2, "paddings": [1, 2], "dilations": [2, 1]},
    {"kernel_sizes": 3, "paddings": 1, "strides": [1, 2]},
):
    theirs = {k.removesuffix("s"): v for k, v in words.items()}
    add("Unfold", partial(nn.Unfold, **words), partial(torch.nn.Unfold, **theirs), (2, 3, 6, 7))
    columns = T.unfold(torch.zeros(2, 3, 6, 7), **theirs).shape
    add(
        "Fold",
        partial(nn.Fold, [6, 7], **words),
        partial(torch.nn.Fold, [6, 7], **theirs),
        tuple(columns),
    )
both("Flatten", {}, (2, 3, 4))
add("Flatten", lambda: nn.Flatten(0, 1), lambda: torch.nn.Flatten(0, 1), (2, 3, 4))
add("Unflatten", lambda: nn.Unflatten(1, [2, 3]), lambda: torch.nn.Unflatten(1, (2, 3)), (2, 6, 4))
add("Unflatten", lambda: nn.Unflatten(-1, [2, -1]), lambda: torch.nn.Unflatten(-1, (2, -1)), (2, 6))

RESAMPLED = {3: ("linear",), 4: ("nearest", "bilinear", "bicubic"), 5: ("nearest", "trilinear")}
for rank, modes in RESAMPLED.items():
    shape = (2, 3, *SPACE[rank - 2])
    for mode in modes:
        for how in (
            {"scale_factor": 2.0},
            {"scale_factor": 1.7},
            {"size": [2 * m - 3 for m in SPACE[rank - 2]]},
            {"size": [max(m // 2, 1) for m in SPACE[rank - 2]]},
        ):
            for align in (False, True) if mode != "nearest" else (False,):
                words = {**how, "mode": mode, "align_corners": align}
                theirs = {"align_corners": None if mode == "nearest" else align, "size": how.get("size")}
                theirs["size"] = tuple(how["size"]) if "size" in how else None
                both("Upsample", words, shape, theirs=theirs, rtol=1e-4)
add(
    "Upsample",
    lambda: nn.Upsample(size=[3, 4], mode="area"),
    lambda: lambda x: T.interpolate(x, [3, 4], mode="area"),
    (2, 3, 7, 6),
)
add(
    "Upsample",
    lambda: nn.Upsample(scale_factor=1.6, mode="bilinear", recompute_scale_factor=True),
    lambda: torch.nn.Upsample(scale_factor=1.6, mode="bilinear", recompute_scale_factor=True),
    (2, 3, 7, 6),
    rtol=1e-4,
)
add(
    "Upsample",
    lambda: nn.Upsample(scale_factor=2.0, mode="bilinear", data_format="NHWC"),
    lambda: Last(torch.nn.Upsample(scale_factor=2.0, mode="bilinear")),
    (2, 3, 4, 2),
    rtol=1e-4,
)
for how in ({"scale_factor": 2}, {"size": [5, 9]}, {"size": [3, 3]}):
    both("UpsamplingNearest2D", how, (2, 3, 4, 5), peer="UpsamplingNearest2d")
    both("UpsamplingBilinear2D", how, (2, 3, 4, 5), peer="UpsamplingBilinear2d", rtol=1e-4)

# --- activations -----------------------------------------------------------------------------------------------------

ELEMENTS: dict[str, list[tuple[dict, dict | Callable]]] = {
    "CELU": [({}, {}), ({"alpha": 0.7}, {"alpha": 0.7})],
    "ELU": [({}, {}), ({"alpha": 0.7}, {"alpha": 0.7})],
    "GELU": [({}, {}), ({"approximate": True}, {"approximate": "tanh"})],
    "GLU": [({}, {}), ({"axis": 0}, {"dim": 0})],
    "Hardshrink": [({}, {}), ({"threshold": 0.3}, {"lambd": 0.3})],
    "Hardsigmoid": [({}, {})],
    "Hardswish": [({}, {})],
    "Hardtanh": [({}, {}), ({"min": -0.5, "max": 1.5}, {"min_val": -0.5, "max_val": 1.5})],
    "LeakyReLU": [({}, {}), ({"negative_slope": 0.3}, {"negative_slope": 0.3})],
    "LogSigmoid": [({}, {})],
    "LogSoftmax": [({}, {"dim": -1}), ({"axis": 1}, {"dim": 1})],
    "Mish": [({}, {})],
    "ReLU": [({}, {})],
    "ReLU6": [({}, {})],
    "SELU": [({}, {}), ({"scale": 1.5, "alpha": 2.0}, lambda x: 1.5 * torch.where(x > 0, x, 2.0 * (x.exp() - 1)))],
    "Sigmoid": [({}, {})],
    "Silu": [({}, torch.nn.SiLU())],
    "Softmax": [({}, {"dim": -1}), ({"axis": 0}, {"dim": 0})],
    "Softplus": [({}, {}), ({"beta": 2, "threshold": 3}, {"beta": 2, "threshold": 3})],
    "Softshrink": [({}, {}), ({"threshold": 0.3}, {"lambd": 0.3})],
    "Softsign": [({}, {})],
    "Swish": [({}, torch.nn.SiLU())],
    "Tanh": [({}, {})],
    "Tanhshrink": [({}, {})],
    "ThresholdedReLU": [
        ({}, torch.nn.Threshold(1.0, 0.0)),
        ({"threshold": 0.5, "value": 0.1}, torch.nn.Threshold(0.5, 0.1)),
    ],
}
for name, settings in ELEMENTS.items():
    for words, theirs in settings:
        peer = partial(getattr(torch.nn, name), **theirs) if isinstance(theirs, dict) else lambda f=theirs: f
        add(name, partial(getattr(nn, name), **words), peer, (4, 6, 4), low=-4.0, high=4.0)
add("Maxout", lambda: nn.Maxout(2), lambda: lambda x: x.reshape(4, 3, 2, 4, 2).amax(2), (4, 6, 4, 2))
add("Maxout", lambda: nn.Maxout(4, -1), lambda: lambda x: x.reshape(2, 3, 2, 2, 4).amax(4), (2, 3, 2, 8))
for shape in ((2, 3, 4, 2), (3, 4, 2)):
    both("Softmax2D", {}, shape, peer="Softmax2d")
for count, shape in ((1, (2, 3, 4)), (3, (2, 3, 4)), (3, (2, 3))):
    both("PReLU", {"num_parameters": count}, shape)
add("PReLU", lambda: nn.PReLU(3, data_format="NHWC"), lambda: Last(torch.nn.PReLU(3)), (2, 2, 2, 3))
both("RReLU", {"lower": 0.1, "upper": 0.3}, (3, 4), train=False)

# In evaluation; what they do in training is tested by expectation.
for name, theirs, shape in (
    ("Dropout", "Dropout", (3, 4)),
    ("Dropout2D", "Dropout2d", (2, 3, 4, 4)),
    ("Dropout3D", "Dropout3d", (2, 3, 2, 2, 2)),
    ("AlphaDropout", "AlphaDropout", (3, 4)),
    ("FeatureAlphaDropout", "FeatureAlphaDropout", (2, 3, 4)),
):
    both(name, {"p": 0.4}, shape, peer=theirs, train=False)
    both(name, {"p": 0.0}, shape, peer=theirs)

# --- attention -------------------------------------------------------------------------------------------------------


class Attention(torch.nn.Module):
    """The peer's attention with our order of arguments and our masks."""

    def __init__(self, weights: bool = False, **words: Any) -> None:
        super().__init__()
        self.inner = torch.nn.MultiheadAttention(batch_first=True, **words)
        self.weights = weights

    def forward(self, q: Any, k: Any = None, v: Any = None, mask: Any = None) -> Any:
        k, v = q if k is None else k, q if v is None else v
        if mask is not None and not mask.is_floating_point():
            mask = mask == 0
        if mask is not None and mask.ndim > 2:
            heads = self.inner.num_heads
            mask = mask.expand(q.shape[0], heads, q.shape[1], k.shape[1]).flatten(0, 1)
        out = self.inner(q, k, v, attn_mask=mask, need_weights=self.weights, average_attn_weights=False)
        return out if self.weights else out[0]


CAUSAL = np.tri(5, dtype=bool)
KEYS = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]], bool)[:, None, None, :]
for words, inputs in (
    ({}, ((2, 5, 8),)),
    ({}, ((2, 3, 8), (2, 5, 8), (2, 5, 8))),
    ({"kdim": 6, "vdim": 4}, ((2, 3, 8), (2, 5, 6), (2, 5, 4))),
    ({}, ((2, 5, 8), (2, 5, 8), (2, 5, 8), CAUSAL)),
    ({}, ((2, 5, 8), (2, 5, 8), (2, 5, 8), CAUSAL.astype(np.int64))),
    ({}, ((2, 5, 8), (2, 5, 8), (2, 5, 8), KEYS)),
    ({}, ((2, 3, 8), (2, 5, 8), (2, 5, 8), (3, 5))),
    ({}, ((2, 3, 8), (2, 5, 8), (2, 5, 8), (2, 2, 3, 5))),
    ({"bias": False}, ((2, 5, 8),)),
):
    ours = {k: v for k, v in words.items() if k != "bias"} | ({} if words.get("bias", True) else {"bias_attr": False})
    for weights in (False, True):
        add(
            "MultiHeadAttention",
            partial(nn.MultiHeadAttention, 8, 2, need_weights=weights, **ours),
            partial(Attention, weights, embed_dim=8, num_heads=2, **words),
            *inputs,
            rtol=1e-4,
        )


def transformer(**words: Any) -> torch.nn.Module:
    """The peer's warns of a fast path that it does not take."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nn.Transformer(8, 2, 2, 1, 16, **words)


SQUARE = np.triu(np.full((5, 5), -np.inf, np.float32), 1)
for activation in ("relu", "gelu"):
    for before in (False, True):
        ours = {"dropout": 0.0, "activation": activation, "normalize_before": before}
        theirs = {"dropout": 0.0, "activation": activation, "norm_first": before, "batch_first": True}
        for name in ("TransformerEncoderLayer", "TransformerDecoderLayer"):
            inputs = ((2, 5, 8),) if "Encoder" in name else ((2, 5, 8), (2, 4, 8))
            add(
                name,
                partial(getattr(nn, name), 8, 2, 16, **ours),
                partial(getattr(torch.nn, name), 8, 2, 16, **theirs),
                *inputs,
                rtol=1e-4,
            )
        add(
            "Transformer",
            partial(nn.Transformer, 8, 2, 2, 1, 16, **ours),
            partial(transformer, **theirs),
            (2, 4, 8),
            (2, 5, 8),
            rtol=1e-4,
            atol=1e-4,
        )


def stack(kind: str, peer: bool) -> Any:
    """Two layers and a norm, of ours or of the peer's."""
    library: Any = torch.nn if peer else nn
    words: dict = {"batch_first": True} if peer else {}
    layer = getattr(library, f"Transformer{kind}Layer")(8, 2, 16, dropout=0.0, **words)
    more = {"enable_nested_tensor": False} if peer and kind == "Encoder" else {}
    return getattr(library, f"Transformer{kind}")(layer, 2, norm=library.LayerNorm(8), **more)


for mask in (None, SQUARE):
    for kind in ("Encoder", "Decoder"):
        inputs = ((2, 5, 8),) if kind == "Encoder" else ((2, 5, 8), (2, 4, 8))
        for training in (True, False):
            add(
                f"Transformer{kind}",
                partial(stack, kind, False),
                partial(stack, kind, True),
                *inputs,
                mask,
                train=training,
                rtol=1e-4,
            )

# --- containers ------------------------------------------------------------------------------------------------------


class Holder(nn.Layer):
    """Two linear maps or two weights in a container of layers or parameters."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        layers = [nn.Linear(3, 4), nn.Linear(4, 3)]
        named = {"a": layers[0], "b": layers[1]}
        self.kind = kind
        if kind.startswith("Parameter"):
            weights = {key: layer.weight for key, layer in named.items()}
            self.held = nn.ParameterDict(weights) if kind == "ParameterDict" else nn.ParameterList(weights.values())
        else:
            self.held = nn.LayerDict(named) if kind == "LayerDict" else nn.LayerList(layers)

    def forward(self, x: Any) -> Any:
        parts = [self.held["a"], self.held["b"]] if "Dict" in self.kind else list(self.held)
        for part in parts:
            x = x @ part if self.kind.startswith("Parameter") else part(x)
        return x


class TheirHolder(torch.nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        layers = [torch.nn.Linear(3, 4), torch.nn.Linear(4, 3)]
        named = {"a": layers[0], "b": layers[1]}
        self.kind = kind
        if kind.startswith("Parameter"):
            weights = {key: torch.nn.Parameter(layer.weight.detach().T.clone()) for key, layer in named.items()}
            held = torch.nn.ParameterDict(weights) if "Dict" in kind else torch.nn.ParameterList(weights.values())
            self.held = held
        else:
            self.held = torch.nn.ModuleDict(named) if kind == "LayerDict" else torch.nn.ModuleList(layers)

    def forward(self, x: Any) -> Any:
        parts = [self.held["a"], self.held["b"]] if "Dict" in self.kind else list(self.held)
        for part in parts:
            x = x @ part if self.kind.startswith("Parameter") else part(x)
        return x


for kind in ("LayerList", "LayerDict", "ParameterList", "ParameterDict"):
    add(kind, partial(Holder, kind), partial(TheirHolder, kind), (2, 3))
add(
    "Sequential",
    lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)),
    lambda: torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)),
    (5, 3),
)


# --- names of parameters ---------------------------------------------------------------------------------------------

BUFFERS = {"_mean": "running_mean", "_variance": "running_var"}


def parts(layer: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The layers below, with the names of the peer's modules, but not those within attention."""
    yield prefix, layer
    if isinstance(layer, nn.MultiHeadAttention):
        return
    for name, inner in layer._sub_layers.items():
        yield from parts(inner, f"{prefix}{'multihead_attn' if name == 'cross_attn' else name}.")


def renamed(layer: Any, values: Callable[[Any], np.ndarray | None]) -> dict[str, np.ndarray]:
    """``values`` of our parameters (themselves, or gradients) under the peer's names, and as it lays them out."""
    made: dict[str, Any] = {}
    for prefix, part in parts(layer):
        own = {name: values(p) for name, p in part._parameters.items() if p is not None}
        if isinstance(part, nn.MultiHeadAttention):
            made |= {prefix + name: v for name, v in _attention(part, values).items()}
            continue
        for name, value in own.items():
            if isinstance(part, nn.Linear) and name == "weight" and value is not None:
                value = value.T
            if isinstance(part, (nn.InstanceNorm1D, nn.InstanceNorm2D, nn.InstanceNorm3D)) and name == "scale":
                name = "weight"
            made[prefix + BUFFERS.get(name, name).removeprefix("_")] = value
    return made


def _attention(layer: Any, values: Callable) -> dict[str, Any]:
    three = [layer.q_proj, layer.k_proj, layer.v_proj]
    made = {"out_proj.weight": values(layer.out_proj.weight).T}
    if layer.kdim == layer.vdim == layer.embed_dim:
        made["in_proj_weight"] = np.concatenate([values(p.weight).T for p in three])
    else:
        for name, p in zip("qkv", three, strict=True):
            made[f"{name}_proj_weight"] = values(p.weight).T
    if layer.out_proj.bias is not None:
        made["out_proj.bias"] = values(layer.out_proj.bias)
        made["in_proj_bias"] = np.concatenate([values(p.bias) for p in three])
    return made
