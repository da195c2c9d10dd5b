"""Viterbi decoding: the best path through tags, as of a linear-chain conditional random field.

References:
    A. J. Viterbi, "Error bounds for convolutional codes and an asymptotically optimum decoding algorithm", 1967.
"""

from __future__ import annotations

from paddle._public import public
from paddle.nn.layer.layers import Layer
from paddle.tensor._args import cast, integer, need_tensor
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.text")
def viterbi_decode(
    potentials: Tensor,
    transition_params: Tensor,
    lengths: Tensor,
    include_bos_eos_tag: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Highest score of a path of tags through each sequence, and that path. There is no gradient.

    Args:
        potentials: floating tensor ``[batch, time, tags]`` of the scores of each tag at each step.
        transition_params: tensor ``[tags, tags]`` of the same dtype: the score of going from one tag to the next.
        lengths: integer tensor ``[batch]``: how many steps of a sequence count.
        include_bos_eos_tag: whether the last tag stands for the begin of a sequence and the last but one for its end,
            so that the last row of the transitions is added to the first step, and the last row but one to the last.

    Returns:
        Scores ``[batch]`` of potentials' dtype, and int64 paths ``[batch, longest]``, where longest is the largest
        length, 0 of no sequences; beyond the length of a sequence they are 0. Of equal scores the first tag counts.

    Raises:
        TypeError: an operand is no tensor or of another dtype.
        ValueError: shapes that do not fit, or no step.
        IndexError: a length above the number of steps.

    Example:
        >>> import paddle
        >>> potentials = paddle.to_tensor([[[1.0, 0.0], [0.0, 0.5], [1.0, 0.0]]])
        >>> stay = paddle.to_tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> scores, paths = paddle.text.viterbi_decode(potentials, stay, paddle.to_tensor([3]), False)
        >>> scores.tolist(), paths.tolist()
        ([4.0], [[0, 0, 0]])
    """
    op = "viterbi_decode"
    for value, arg_name in ((potentials, "potentials"), (transition_params, "transition_params"), (lengths, "lengths")):
        need_tensor(value, op, arg_name)
    if lengths.dtype.is_floating or lengths.dtype is dt.bool:
        raise op_error(ValueError, op, "lengths that are integers", lengths.dtype.name)
    lengths = cast(lengths, dt.int64)
    scores, paths = F.viterbi_decode(potentials, transition_params, lengths, with_ends=bool(include_bos_eos_tag))
    time = potentials.shape[1]
    most = F.max(F.minimum(lengths, time), (0,), empty=True)
    longest = integer(F.maximum(most, 0), op, "lengths")
    return scores, F.slice(paths, (1,), (0,), (longest,), (1,))


@public("paddle.text")
class ViterbiDecoder(Layer):
    """Layer of :func:`viterbi_decode` for one matrix of transitions.

    Args:
        transitions: floating tensor ``[tags, tags]``: the score of going from one tag to the next.
        include_bos_eos_tag: whether the last two tags stand for begin and end of a sequence.

    Shape:
        potentials: ``[batch, time, tags]`` of the dtype of the transitions.
        lengths: ``[batch]``, integers.
        output: scores ``[batch]`` and int64 paths ``[batch, longest]``.

    Raises:
        TypeError: in a call, an operand that is no tensor or of another dtype.
        ValueError: in a call, shapes that do not fit.

    Example:
        >>> import paddle
        >>> decoder = paddle.text.ViterbiDecoder(paddle.zeros([3, 3]), include_bos_eos_tag=False)
        >>> scores, paths = decoder(paddle.ones([2, 4, 3]), paddle.to_tensor([4, 2]))
        >>> scores.tolist(), paths.shape
        ([4.0, 2.0], paddle.Size([2, 4]))
    """

    def __init__(self, transitions: Tensor, include_bos_eos_tag: bool = True, name: str | None = None) -> None:
        super().__init__()
        self.transitions = transitions
        self.include_bos_eos_tag = include_bos_eos_tag
        self.name = name

    def forward(self, potentials: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Decode."""
        return viterbi_decode(potentials, self.transitions, lengths, self.include_bos_eos_tag)
