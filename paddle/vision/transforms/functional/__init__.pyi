"""Made by ``tools/public_stubs.py``."""

from paddle.vision.transforms.functional.colors import adjust_brightness as adjust_brightness
from paddle.vision.transforms.functional.colors import adjust_contrast as adjust_contrast
from paddle.vision.transforms.functional.colors import adjust_hue as adjust_hue
from paddle.vision.transforms.functional.colors import adjust_saturation as adjust_saturation
from paddle.vision.transforms.functional.colors import to_grayscale as to_grayscale
from paddle.vision.transforms.functional.conversions import erase as erase
from paddle.vision.transforms.functional.conversions import normalize as normalize
from paddle.vision.transforms.functional.conversions import to_tensor as to_tensor
from paddle.vision.transforms.functional.geometry import center_crop as center_crop
from paddle.vision.transforms.functional.geometry import crop as crop
from paddle.vision.transforms.functional.geometry import hflip as hflip
from paddle.vision.transforms.functional.geometry import pad as pad
from paddle.vision.transforms.functional.geometry import resize as resize
from paddle.vision.transforms.functional.geometry import vflip as vflip
from paddle.vision.transforms.functional.warps import affine as affine
from paddle.vision.transforms.functional.warps import perspective as perspective
from paddle.vision.transforms.functional.warps import rotate as rotate

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "adjust_saturation",
    "affine",
    "center_crop",
    "crop",
    "erase",
    "hflip",
    "normalize",
    "pad",
    "perspective",
    "resize",
    "rotate",
    "to_grayscale",
    "to_tensor",
    "vflip",
]
