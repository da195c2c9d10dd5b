"""Transforms of images, each against what torchvision does with PIL images: Pillow's own functions, then PyTorch's.

There is no torchvision here: its side is written out. Both sides draw parameters of the same distributions.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from measure import Settings, Side
from rows import Pair, add_section, faster

VISION = add_section("vision", "Transforms of images")
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
JITTER = 0.4, 0.4, 0.4, 0.1


def photograph() -> Any:
    """A smooth picture of 320 by 256 pixels."""
    from PIL import Image

    coarse = np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8)
    return Image.fromarray(coarse).resize((320, 256), Image.Resampling.BICUBIC)


class PillowAndTorch:
    """The pipeline of torchvision's users: resize, random crop, flip, colour jitter, tensor, normalise."""

    def __init__(self) -> None:
        import torch
        from PIL import Image, ImageEnhance

        self.torch, self.Image = torch, Image
        self.enhancers = (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color)

    def hue(self, image: Any, factor: float) -> Any:
        h, s, v = image.convert("HSV").split()
        shifted = np.array(h, dtype=np.uint8)
        shifted += np.array(factor * 255).astype(np.int32).astype(np.uint8)
        return self.Image.merge("HSV", (self.Image.fromarray(shifted), s, v)).convert("RGB")

    def jitter(self, image: Any) -> Any:
        torch = self.torch
        order = torch.randperm(4)
        factors = [float(torch.empty(1).uniform_(max(0, 1 - j), 1 + j)) for j in JITTER[:3]]
        turn = float(torch.empty(1).uniform_(-JITTER[3], JITTER[3]))
        for k in order:
            image = self.hue(image, turn) if k == 3 else self.enhancers[k](image).enhance(factors[k])
        return image

    def __call__(self, image: Any) -> Any:
        torch = self.torch
        image = image.resize((280, 240), self.Image.Resampling.BILINEAR)
        top, left = int(torch.randint(0, 240 - 224 + 1, (1,))), int(torch.randint(0, 280 - 224 + 1, (1,)))
        image = image.crop((left, top, left + 224, top + 224))
        if torch.rand(1) < 0.5:
            image = image.transpose(self.Image.Transpose.FLIP_LEFT_RIGHT)
        image = self.jitter(image)
        x = torch.from_numpy(np.array(image, np.uint8, copy=True)).view(224, 224, 3)
        x = x.permute((2, 0, 1)).contiguous().to(dtype=torch.get_default_dtype()).div(255)
        mean, deviation = (torch.as_tensor(v, dtype=x.dtype).view(-1, 1, 1) for v in (MEAN, DEVIATION))
        return x.clone().sub_(mean).div_(deviation)


def sides(image: Any) -> Pair:
    """Ours, of PIL images or arrays, and the other side, of PIL images."""
    from paddle.vision import transforms as T

    ours = T.Compose(
        [
            T.Resize((240, 280)),
            T.RandomCrop(224),
            T.RandomHorizontalFlip(),
            T.ColorJitter(*JITTER),
            T.ToTensor(),
            T.Normalize(MEAN, DEVIATION),
        ]
    )
    other = PillowAndTorch()
    random.seed(0)
    other.torch.manual_seed(0)
    for value in (ours(image).numpy(), other(photograph()).numpy()):
        if value.shape != (3, 224, 224) or value.dtype != np.float32 or not np.isfinite(value).all():
            raise RuntimeError(f"[vision] requires float32 [3, 224, 224], got {value.dtype} {value.shape}")
    return Side("f(x)", {"f": ours, "x": image}), Side("f(x)", {"f": other, "x": photograph()})


WHAT = "resize, crop, flip, colour jitter, tensor, normalise: {} to 3 × 224 × 224"


@faster("transforms-arrays", WHAT.format("an array"), 1.5, section=VISION, peer="Pillow and PyTorch")
def _arrays(settings: Settings) -> Pair:
    return sides(np.array(photograph()))


@faster("transforms-pil", WHAT.format("a PIL image"), 1.5, section=VISION, peer="Pillow and PyTorch")
def _pil(settings: Settings) -> Pair:
    return sides(photograph())
