"""Made by ``tools/public_stubs.py``."""

from paddle.compat import nn as nn
from paddle.compat.functions import MedianRetType as MedianRetType
from paddle.compat.functions import MinMaxRetType as MinMaxRetType
from paddle.compat.functions import SlogdetResult as SlogdetResult
from paddle.compat.functions import SortRetType as SortRetType
from paddle.compat.functions import equal as equal
from paddle.compat.functions import max as max
from paddle.compat.functions import median as median
from paddle.compat.functions import min as min
from paddle.compat.functions import nanmedian as nanmedian
from paddle.compat.functions import seed as seed
from paddle.compat.functions import slogdet as slogdet
from paddle.compat.functions import sort as sort
from paddle.compat.functions import split as split
from paddle.compat.functions import unique as unique
from paddle.compat.proxy import disable_torch_proxy as disable_torch_proxy
from paddle.compat.proxy import enable_torch_proxy as enable_torch_proxy
from paddle.compat.proxy import extend_torch_proxy_blocked_modules as extend_torch_proxy_blocked_modules
from paddle.compat.proxy import use_torch_proxy_guard as use_torch_proxy_guard
from paddle.compat.triton_package import paddle_triton_fun as paddle_triton_fun

__all__ = [
    "MedianRetType",
    "MinMaxRetType",
    "SlogdetResult",
    "SortRetType",
    "disable_torch_proxy",
    "enable_torch_proxy",
    "equal",
    "extend_torch_proxy_blocked_modules",
    "max",
    "median",
    "min",
    "nanmedian",
    "nn",
    "paddle_triton_fun",
    "seed",
    "slogdet",
    "sort",
    "split",
    "unique",
    "use_torch_proxy_guard",
]
