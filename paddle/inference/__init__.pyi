"""Made by ``tools/public_stubs.py``."""

from paddle.inference.config import Config as Config
from paddle.inference.handle import Tensor as Tensor
from paddle.inference.kinds import DataType as DataType
from paddle.inference.kinds import PlaceType as PlaceType
from paddle.inference.kinds import PrecisionType as PrecisionType
from paddle.inference.kinds import _get_phi_kernel_name as _get_phi_kernel_name
from paddle.inference.kinds import get_num_bytes_of_data_type as get_num_bytes_of_data_type
from paddle.inference.kinds import get_trt_compile_version as get_trt_compile_version
from paddle.inference.kinds import get_trt_runtime_version as get_trt_runtime_version
from paddle.inference.kinds import get_version as get_version
from paddle.inference.mixed import convert_to_mixed_precision as convert_to_mixed_precision
from paddle.inference.predictor import Predictor as Predictor
from paddle.inference.predictor import PredictorPool as PredictorPool
from paddle.inference.predictor import create_predictor as create_predictor
from paddle.inference.xpu_config import XpuConfig as XpuConfig

__all__ = [
    "Config",
    "DataType",
    "PlaceType",
    "PrecisionType",
    "Predictor",
    "PredictorPool",
    "Tensor",
    "XpuConfig",
    "_get_phi_kernel_name",
    "convert_to_mixed_precision",
    "create_predictor",
    "get_num_bytes_of_data_type",
    "get_trt_compile_version",
    "get_trt_runtime_version",
    "get_version",
]
