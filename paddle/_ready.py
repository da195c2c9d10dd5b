"""The last steps of ``import paddle``: import hooks and switches of the environment."""

import sys

from paddle import _absent, _path_finder
from paddle.framework.flags import obey_environment

sys.meta_path += [_path_finder.Finder(), _absent.Finder()]
obey_environment()
