"""Calls of transforms on small images, and what the reference gives for them.

``python tests/support/transform_calls.py`` in an environment of the reference, from a folder without our ``paddle``,
writes ``tests/data/vision_transforms.npz``: a table of calls, and the bytes of all results.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
from PIL import Image

TABLE = Path(__file__).parents[1] / "data" / "vision_transforms.npz"
CORNERS = "[[0,0],[4,0],[4,5],[0,5]],[[1,0],[3,1],[4,5],[0,4]]"
WARPS = ("nearest", "bilinear", "bicubic")

FUNCTIONS = [
    "to_tensor(x)",
    "to_tensor(x,'HWC')",
    "resize(x,4)",
    "resize(x,6)",
    "resize(x,(7,3))",
    *(f"resize(x,(4,8),'{m}')" for m in ("nearest", "bilinear", "area", "bicubic", "lanczos", "box", "hamming")),
    "crop(x,1,2,3,2)",
    "crop(x,4,3,5,5)",
    "center_crop(x,4)",
    "center_crop(x,(4,3))",
    "hflip(x)",
    "vflip(x)",
    "pad(x,1)",
    "pad(x,(1,2),7)",
    "pad(x,(1,2,3,0),(1,2,3))",
    *(f"pad(x,(1,2),0,'{m}')" for m in ("edge", "reflect", "symmetric")),
    *(f"to_grayscale(x{n})" for n in ("", ",3")),
    *(f"adjust_{f}" for f in ("brightness(x,1.4)", "brightness(x,0.3)", "contrast(x,0.4)", "contrast(x,1.7)")),
    *(f"adjust_{f}" for f in ("saturation(x,0.3)", "saturation(x,1.6)", "hue(x,0.2)", "hue(x,-0.3)", "hue(x,0.5)")),
    "normalize(x,[.5,.4,.3],[.2,.3,.4],'HWC')",
    "normalize(x,[.5,.4,.3],[.2,.3,.4])",
    "normalize(x,[.5,.4,.3],[.2,.3,.4],'HWC',True)",
    "normalize(x,.5,.5)",
    "normalize(x,[127.5],[127.5],'HWC')",
    "erase(x,1,1,2,2,0)",
    "erase(x,0,2,3,3,9)",
    *(f"rotate(x,30,'{m}')" for m in WARPS),
    *(f"rotate(x,-45.5,'{m}',True,fill=9)" for m in WARPS),
    *(f"rotate(x,75,'{m}',False,(1,1),fill=(1,2,3))" for m in WARPS),
    *(f"affine(x,20,(1,2),1.3,(5,8),'{m}')" for m in WARPS),
    *(f"affine(x,-20,(1,0),0.7,10,'{m}')" for m in WARPS),
    *(f"perspective(x,{CORNERS},'{m}')" for m in WARPS),
]
CLASSES = [
    "Resize(4)",
    "CenterCrop((2,3))",
    "Transpose()",
    "Normalize(0.5,0.5,'HWC')",
    "Normalize([0.5]*3,[0.5]*3)",
    "Pad((1,2),0,'edge')",
    "Grayscale(3)",
    "ToTensor()",
    "Compose([T.Resize(4),T.RandomHorizontalFlip(),T.ToTensor()])",
]
RANDOM = [
    "RandomHorizontalFlip()",
    "RandomVerticalFlip(0.5)",
    "RandomResizedCrop(4)",
    "RandomResizedCrop((3,4),(0.3,0.9),(0.5,2.0),'nearest')",
    "RandomResizedCrop(4,(2.0,3.0))",
    "RandomCrop(3)",
    "RandomCrop((9,8),1,True,3)",
    "RandomCrop(4,(1,2),False,0,'reflect')",
    *(f"{n}Transform(0.4)" for n in ("Brightness", "Contrast", "Saturation", "Hue")),
    "ColorJitter(0.4,0.4,0.4,0.4)",
    "ColorJitter(0.5,0.2,0,0.1)",
    "RandomRotation(40)",
    "RandomRotation((10,20),'bilinear',True,None,3)",
    "RandomAffine(30)",
    "RandomAffine(15,(0.2,0.4),(0.5,1.5),10)",
    "RandomAffine((1,15),(0.2,0.4),None,(1,2,3,4),'bilinear')",
    "RandomPerspective()",
    "RandomPerspective(0.9,0.9,'bilinear')",
    "RandomErasing(1.0)",
    "RandomErasing(0.5,(0.02,0.5),(0.3,3.3),4)",
    "RandomErasing(1.0,value=[1,2,3])",
    "RandomErasing(1.0,value='random')",
]


def images() -> dict:
    """An image of each kind. ``gray`` is an array of one channel."""
    import paddle

    pixels = np.random.RandomState(7).randint(0, 256, (6, 5, 3)).astype("uint8")
    floats = pixels.astype("float32") / 255
    return {
        "PIL": Image.fromarray(pixels),
        "PIL L": Image.fromarray(pixels[..., 0]),
        "uint8": pixels,
        "gray": pixels[..., :1].copy(),
        "float32": floats,
        "tensor": paddle.to_tensor(floats.transpose(2, 0, 1).copy()),
        "uint8 tensor": paddle.to_tensor(pixels.transpose(2, 0, 1).copy()),
    }


def plan() -> list[tuple[str, str, int]]:
    """Calls, the image of each, and the seed."""
    kinds = list(images())
    calls = [(f"F.{c}", image, 0) for c in FUNCTIONS for image in kinds]
    calls += [(f"T.{c}(x)", image, 0) for c in CLASSES for image in kinds]
    return calls + [
        (f"T.{c}(x)", image, seed) for c in RANDOM for image in ("PIL", "uint8", "tensor") for seed in (0, 1)
    ]


def result(call: str, image: str, seed: int) -> tuple[str, np.ndarray, list[float]]:
    """Kind and values of a result, and the numbers that Python and NumPy draw next: were as many drawn before?"""
    from paddle.vision import transforms as T
    from paddle.vision.transforms import functional as F

    random.seed(seed)
    np.random.seed(seed)
    value = eval(call, {"F": F, "T": T, "x": images()[image]})
    drawn = [random.random(), float(np.random.rand())]
    if isinstance(value, Image.Image):
        return f"PIL {value.mode}", np.asarray(value), drawn
    if isinstance(value, np.ndarray):
        return "array", value, drawn
    return "tensor", value.numpy(), drawn


def read() -> list[tuple[str, str, int, str, np.ndarray, list[float]]]:
    """The table: call, image, seed, and what :func:`result` gives in the reference."""
    with np.load(TABLE) as table:
        rows, values, at = json.loads(str(table["rows"])), table["values"].tobytes(), 0
    out = []
    for call, image, seed, kind, dtype, shape, drawn in rows:
        count = int(np.prod(shape))
        out.append((call, image, seed, kind, np.frombuffer(values, dtype, count, at).reshape(shape), drawn))
        at += count * np.dtype(dtype).itemsize
    return out


def main() -> None:
    """Write the table."""
    rows, parts = [], []
    for call, image, seed in plan():
        try:
            kind, values, drawn = result(call, image, seed)
        except Exception as error:  # a call that the reference refuses has nothing to compare
            print(call, image, type(error).__name__)
            continue
        rows.append([call, image, seed, kind, values.dtype.name, values.shape, drawn])
        parts.append(np.ascontiguousarray(values).tobytes())
    np.savez_compressed(TABLE, rows=np.array(json.dumps(rows)), values=np.frombuffer(b"".join(parts), np.uint8))


if __name__ == "__main__":
    main()
