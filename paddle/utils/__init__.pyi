"""Made by ``tools/public_stubs.py``."""

from paddle.framework import unique_name as unique_name
from paddle.utils import cpp_extension as cpp_extension
from paddle.utils import dlpack as dlpack
from paddle.utils import download as download
from paddle.utils import image_util as image_util
from paddle.utils.deprecated import deprecated as deprecated
from paddle.utils.environment import require_version as require_version
from paddle.utils.environment import run_check as run_check
from paddle.utils.environment import strtobool as strtobool
from paddle.utils.environment import try_import as try_import
from paddle.utils.nested import assert_same_structure as assert_same_structure
from paddle.utils.nested import convert_shape_to_list as convert_shape_to_list
from paddle.utils.nested import flatten as flatten
from paddle.utils.nested import is_same_shape as is_same_shape
from paddle.utils.nested import is_sequence as is_sequence
from paddle.utils.nested import map_structure as map_structure
from paddle.utils.nested import pack_sequence_as as pack_sequence_as
from paddle.utils.nested import to_sequence as to_sequence

__all__ = [
    "assert_same_structure",
    "convert_shape_to_list",
    "cpp_extension",
    "deprecated",
    "dlpack",
    "download",
    "flatten",
    "image_util",
    "is_same_shape",
    "is_sequence",
    "map_structure",
    "pack_sequence_as",
    "require_version",
    "run_check",
    "strtobool",
    "to_sequence",
    "try_import",
    "unique_name",
]
