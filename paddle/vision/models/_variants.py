"""Functions that build a published variant of a family, and its published weights."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import TypeVar

import paddle
from paddle.nn.layer.layers import Layer
from paddle.utils import download
from umiak.util.errors import op_error

Urls = Mapping[str, tuple[str, str]]  # of a variant: the address of its weights, and their md5
M = TypeVar("M", bound=Layer)
F = TypeVar("F", bound=Callable[..., Layer])

_SECTIONS = """

Args:
    pretrained: load the published weights, which are downloaded into ``~/.cache/paddle/hapi/weights`` once.
{args}    **kwargs: what the constructor of ``{model}`` takes besides.

Returns:
    The model, a ``{model}``.

Raises:
    ValueError: ``pretrained`` for a variant without published weights.
    RuntimeError: the weights are not there and could not be downloaded.
    TypeError: an argument that the constructor does not take.

Example:
    >>> import paddle
"""
_CALL = """\
    >>> model = paddle.vision.models.{name}({example})
    >>> model(paddle.zeros({size})).shape
    paddle.Size({shape})
"""
_HEAD = """\
    >>> with paddle.LazyGuard():  # no weights yet
    ...     model = paddle.vision.models.{name}(num_classes=4)
    >>> model.{head[0]}
    Linear(in_features={head[1]}, out_features=4, dtype=float32)
"""


def variant(
    example: str = "num_classes=4",
    size: tuple[int, ...] = (1, 3, 32, 32),
    shape: tuple[int, ...] = (1, 4),
    head: tuple[str, int] | None = None,
    **args: str,
) -> Callable[[F], F]:
    """Decorator of a function that builds a variant: it adds the sections of the docstring that all of them share.

    ``example`` are arguments that make images of ``size`` scores of ``shape``. Of large models the example shows the
    ``head`` instead: the linear layer and its input features. ``args`` are further parameters, with what they mean.
    """

    def documented(function: F) -> F:
        function.__doc__ = (function.__doc__ or "") + (_SECTIONS + (_HEAD if head else _CALL)).format(
            args="".join(f"    {name}: {meaning}\n" for name, meaning in args.items()),
            model=inspect.get_annotations(function)["return"],
            name=function.__name__,
            example=example,
            size=list(size),
            shape=list(shape),
            head=head,
        )
        return function

    return documented


def pretrained_if(wanted: bool, model: M, name: str, urls: Urls) -> M:
    """``model``, with its published weights if they are ``wanted``."""
    if not wanted:
        return model
    if name not in urls:
        raise op_error(ValueError, name, f"pretrained=False, as no weights of {name} are published", wanted)
    url, md5sum = urls[name]
    try:
        path = download.get_weights_path_from_url(url, md5sum)
    except RuntimeError as failure:
        place = os.path.join(download.WEIGHTS_HOME, url.rpartition("/")[2])
        raise RuntimeError(
            f"[{name}] requires its published weights, got no file: {failure}. "
            f"Place the file at {place}, or call with pretrained=False and model.set_state_dict(paddle.load(path))"
        ) from failure
    model.set_state_dict(paddle.load(path))
    return model
