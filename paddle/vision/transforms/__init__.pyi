"""Made by ``tools/public_stubs.py``."""

from paddle.vision.transforms import functional as functional
from paddle.vision.transforms.base import BaseTransform as BaseTransform
from paddle.vision.transforms.base import Compose as Compose
from paddle.vision.transforms.fixed import CenterCrop as CenterCrop
from paddle.vision.transforms.fixed import Grayscale as Grayscale
from paddle.vision.transforms.fixed import Normalize as Normalize
from paddle.vision.transforms.fixed import Pad as Pad
from paddle.vision.transforms.fixed import Resize as Resize
from paddle.vision.transforms.fixed import ToTensor as ToTensor
from paddle.vision.transforms.fixed import Transpose as Transpose
from paddle.vision.transforms.functional.colors import adjust_brightness as adjust_brightness
from paddle.vision.transforms.functional.colors import adjust_contrast as adjust_contrast
from paddle.vision.transforms.functional.colors import adjust_hue as adjust_hue
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
from paddle.vision.transforms.jitter import BrightnessTransform as BrightnessTransform
from paddle.vision.transforms.jitter import ColorJitter as ColorJitter
from paddle.vision.transforms.jitter import ContrastTransform as ContrastTransform
from paddle.vision.transforms.jitter import HueTransform as HueTransform
from paddle.vision.transforms.jitter import SaturationTransform as SaturationTransform
from paddle.vision.transforms.randomized import RandomAffine as RandomAffine
from paddle.vision.transforms.randomized import RandomCrop as RandomCrop
from paddle.vision.transforms.randomized import RandomErasing as RandomErasing
from paddle.vision.transforms.randomized import RandomHorizontalFlip as RandomHorizontalFlip
from paddle.vision.transforms.randomized import RandomPerspective as RandomPerspective
from paddle.vision.transforms.randomized import RandomResizedCrop as RandomResizedCrop
from paddle.vision.transforms.randomized import RandomRotation as RandomRotation
from paddle.vision.transforms.randomized import RandomVerticalFlip as RandomVerticalFlip

__all__ = [
    "BaseTransform",
    "BrightnessTransform",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ContrastTransform",
    "Grayscale",
    "HueTransform",
    "Normalize",
    "Pad",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "SaturationTransform",
    "ToTensor",
    "Transpose",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "affine",
    "center_crop",
    "crop",
    "erase",
    "functional",
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
