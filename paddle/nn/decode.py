"""Decoding step by step: beam search over a recurrent cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from paddle._public import public
from paddle.nn.functional.rnn import gather_tree, swapped
from paddle.tensor._args import create_on
from umiak import ops
from umiak.core import dtype as dt
from umiak.core.context import capture_of, place_guard
from umiak.core.tensor import Tensor
from umiak.util import pytree
from umiak.util.errors import op_error

IMPOSSIBLE = -1e9  # the log of a probability of 0 that may still be added up


class Decoder:
    """Base of decoders that :func:`dynamic_decode` drives: ``initialize``, ``step`` until all has finished,
    ``finalize``."""

    def initialize(self, inits: Any) -> tuple[Any, Any, Tensor]:
        """Make the first inputs and states.

        Args:
            inits: what ``dynamic_decode`` was given.

        Returns:
            Inputs, states, and bools that say which sequences have finished.
        """
        raise NotImplementedError(f"[{type(self).__name__}] requires initialize")

    def step(self, time: Tensor, inputs: Any, states: Any, **kwargs: Any) -> tuple[Any, Any, Any, Tensor]:
        """Make one step of all sequences.

        Args:
            time: the number of the step, int64 ``[1]``.
            inputs: the inputs of this step.
            states: the states before it.
            **kwargs: what ``dynamic_decode`` was given besides.

        Returns:
            Outputs, new states, the next inputs, and which sequences have finished.
        """
        raise NotImplementedError(f"[{type(self).__name__}] requires step")

    def finalize(self, outputs: Any, final_states: Any, sequence_lengths: Tensor) -> tuple[Any, Any]:
        """Make the result of all steps; where a decoder has no such method, it is what they gave.

        Args:
            outputs: those of all steps, ``[time, batch, *]``.
            final_states: the states after the last step.
            sequence_lengths: int64, how many steps each sequence had.

        Returns:
            The outputs and the states that ``dynamic_decode`` returns.
        """
        raise NotImplementedError(f"[{type(self).__name__}] requires finalize")

    @property
    def tracks_own_finished(self) -> bool:
        """Return whether ``step`` itself tracks which sequences have finished (beams change places)."""
        return False


@public("paddle.nn")
class BeamSearchDecoder(Decoder):
    """Decoder that keeps the ``beam_size`` likeliest sequences at each step.

    Args:
        cell: a cell of :class:`paddle.nn.RNNCellBase`'s kind, called with ``[batch * beam, *]``.
        start_token: the first input of each sequence.
        end_token: ends a sequence.
        beam_size: how many sequences are kept.
        embedding_fn: makes inputs of tokens, int64 ``[batch, beam]``; None: the tokens themselves are the inputs.
        output_fn: makes scores ``[batch * beam, vocabulary]`` of the cell's outputs; None: these are scores.

    Example:
        >>> import paddle
        >>> embed, out = paddle.nn.Embedding(5, 4), paddle.nn.Linear(4, 5)
        >>> cell = paddle.nn.GRUCell(4, 4)
        >>> decoder = paddle.nn.BeamSearchDecoder(cell, 0, 1, 3, embed, out)
        >>> tokens, states = paddle.nn.dynamic_decode(decoder, paddle.zeros([2, 4]), max_step_num=6)
        >>> tokens.shape[0], tokens.shape[2]
        (2, 3)
    """

    class OutputWrapper(NamedTuple):
        """Result of a step, ``[batch, beam]`` each: log-probabilities, tokens, and which beam each continues."""

        scores: Any
        predicted_ids: Any
        parent_ids: Any

    class StateWrapper(NamedTuple):
        """State of a search: those of the cell, log-probabilities, which beams have finished, and their lengths."""

        cell_states: Any
        log_probs: Any
        finished: Any
        lengths: Any

    def __init__(
        self,
        cell: Any,
        start_token: int,
        end_token: int,
        beam_size: int,
        embedding_fn: Callable[..., Any] | None = None,
        output_fn: Callable[..., Any] | None = None,
    ) -> None:
        self.cell = cell
        self.start_token = start_token
        self.end_token = end_token
        self.beam_size = beam_size
        self.embedding_fn = embedding_fn
        self.output_fn = output_fn

    @staticmethod
    def tile_beam_merge_with_batch(x: Tensor, beam_size: int) -> Tensor:
        """Repeat each row of a tensor ``beam_size`` times, as ``[batch * beam_size, *]``: for what the cell attends to.

        Args:
            x: ``[batch, *]``.
            beam_size: how often.

        Returns:
            A tensor ``[batch * beam_size, *]`` of x's dtype.

        Example:
            >>> import paddle
            >>> paddle.nn.BeamSearchDecoder.tile_beam_merge_with_batch(paddle.to_tensor([1, 2]), 2).tolist()
            [1, 1, 2, 2]
        """
        return _merged(_repeated(x, beam_size))

    @property
    def tracks_own_finished(self) -> bool:
        return True

    def initialize(self, initial_cell_states: Any) -> tuple[Any, StateWrapper, Tensor]:
        """Make the states of all beams; of the equal beams at first only one counts.

        Args:
            initial_cell_states: states of the cell, ``[batch, *]``.

        Returns:
            The inputs of the first step, a ``StateWrapper``, and which beams have finished: none.
        """
        states = pytree.map(lambda x: _repeated(x, self.beam_size), initial_cell_states)
        like = pytree.leaves(initial_cell_states)[0]
        batch, beams = like.shape[0], self.beam_size
        shape = (batch, beams)
        with place_guard(like.place):
            number = ops.iota(0, 1, dtype=dt.int64, size=beams)
            first = ops.where(ops.eq(number, 0), ops.full(0.0, dtype=dt.float32, shape=(beams,)), IMPOSSIBLE)
            tokens = ops.full(self.start_token, dtype=dt.int64, shape=shape)
            finished = ops.full(False, dtype=dt.bool, shape=shape)
            lengths = ops.full(0, dtype=dt.int64, shape=shape)
        wrapper = self.StateWrapper(states, ops.broadcast_to(first, shape=shape), finished, lengths)
        return self._inputs(tokens), wrapper, finished

    def _inputs(self, tokens: Tensor) -> Any:
        return tokens if self.embedding_fn is None else self.embedding_fn(tokens)

    def step(
        self, time: Tensor, inputs: Any, states: StateWrapper, **kwargs: Any
    ) -> tuple[Any, StateWrapper, Any, Tensor]:
        """Make one step of the cell for all beams, and keep the likeliest continuations of them.

        Args:
            time: the number of the step; it does not matter here.
            inputs: the inputs of this step, ``[batch, beam, *]``.
            states: a ``StateWrapper``.
            **kwargs: for the cell.

        Returns:
            An ``OutputWrapper``, a ``StateWrapper``, the next inputs, and which beams have finished.
        """
        outputs, cell_states = self.cell(pytree.map(_merged, inputs), pytree.map(_merged, states.cell_states), **kwargs)
        if self.output_fn is not None:
            outputs = self.output_fn(outputs)
        beams, vocabulary = self.beam_size, outputs.shape[1]

        def split(x: Tensor) -> Tensor:
            return ops.reshape(x, shape=(x.shape[0] // beams, beams, *x.shape[1:]))

        probs = ops.log_softmax(split(outputs), axis=2)
        # A beam that has finished goes on in one way, at no cost.
        with place_guard(probs.place):
            token = ops.iota(0, 1, dtype=dt.int64, size=vocabulary)
            zeros = ops.full(0.0, dtype=probs.dtype, shape=(vocabulary,))
        alone = ops.where(ops.eq(token, self.end_token), zeros, IMPOSSIBLE)
        probs = ops.where(ops.unsqueeze(states.finished, axes=(2,)), alone, probs)
        totals = ops.add(probs, ops.cast(ops.unsqueeze(states.log_probs, axes=(2,)), dtype=probs.dtype))
        flat = ops.reshape(totals, shape=(totals.shape[0], beams * vocabulary))
        scores, positions = ops.top_k(flat, axis=1, k=beams)
        parents, tokens = ops.floor_div(positions, vocabulary), ops.remainder(positions, vocabulary)

        def chosen(x: Tensor) -> Tensor:
            index = ops.reshape(parents, shape=(*parents.shape, *(1,) * (x.ndim - 2)))
            return ops.take_along(x, ops.broadcast_to(index, shape=(*parents.shape, *x.shape[2:])), axis=1)

        cell_states = pytree.map(lambda x: chosen(split(x)), cell_states)
        finished = chosen(states.finished)
        lengths = ops.add(chosen(states.lengths), ops.cast(ops.logical_not(finished), dtype=dt.int64))
        finished = ops.logical_or(finished, ops.eq(tokens, self.end_token))
        step_outputs = self.OutputWrapper(scores, tokens, parents)
        return step_outputs, self.StateWrapper(cell_states, scores, finished, lengths), self._inputs(tokens), finished

    def finalize(self, outputs: OutputWrapper, final_states: Any, sequence_lengths: Tensor) -> tuple[Tensor, Any]:
        """Follow each beam from its last token back to its first.

        Args:
            outputs: an ``OutputWrapper`` of all steps, ``[time, batch, beam]`` each.
            final_states: the states after the last step.
            sequence_lengths: the lengths of the beams; they do not matter here.

        Returns:
            The tokens of each beam, int64 ``[time, batch, beam]``, and the states.
        """
        return gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states


def _repeated(x: Tensor, count: int) -> Tensor:
    """``[batch, ...]`` as ``[batch, count, ...]``."""
    return ops.broadcast_to(ops.unsqueeze(x, axes=(1,)), shape=(x.shape[0], count, *x.shape[1:]))


def _merged(x: Tensor) -> Tensor:
    return ops.reshape(x, shape=(x.shape[0] * x.shape[1], *x.shape[2:]))


@public("paddle.nn")
def dynamic_decode(
    decoder: Any,
    inits: Any = None,
    max_step_num: int | Tensor | None = None,
    output_time_major: bool = False,
    impute_finished: bool = False,
    is_test: bool = False,
    return_length: bool = False,
    **kwargs: Any,
) -> Any:
    """Call ``decoder.step`` until all sequences have finished.

    In static programs, saved models and functions that are captured as one graph the steps are a loop on data: states
    and inputs keep their dtypes from step to step there.

    Args:
        decoder: a :class:`BeamSearchDecoder`, or anything with ``initialize``, ``step``, ``finalize`` and
            ``tracks_own_finished``.
        inits: what ``initialize`` takes.
        max_step_num: decoding ends after one step more than this, an int or a tensor of one integer; None: when all
            sequences have finished.
        output_time_major: outputs are ``[time, batch, *]`` instead of ``[batch, time, *]``.
        impute_finished: sequences that have finished keep their states. Decoders that track what has finished do this
            themselves.
        is_test: accepted, without effect.
        return_length: give the lengths of the sequences, too.
        **kwargs: for ``step``.

    Returns:
        Outputs and last states, as ``finalize`` makes them (where it raises NotImplementedError, the outputs as they
        are), and int64 lengths if asked for.

    Raises:
        TypeError: in a program, steps that leave other structures than the first.
        ValueError: all sequences have finished before the first step, or there is none.

    Example:
        >>> import paddle
        >>> cell = paddle.nn.GRUCell(4, 5)
        >>> decoder = paddle.nn.BeamSearchDecoder(cell, 0, 1, 2, paddle.nn.Embedding(5, 4))
        >>> h = paddle.zeros([3, 5])
        >>> tokens, states, lengths = paddle.nn.dynamic_decode(decoder, h, max_step_num=4, return_length=True)
        >>> lengths.shape, bool((lengths <= 5).all())
        (paddle.Size([3, 2]), True)
    """
    inputs, states, finished = decoder.initialize(inits)
    lengths = create_on(finished.place, ops.full, 0, dt.int64, tuple(finished.shape))
    now = _Search(inputs, states, finished, lengths)

    tracer = capture_of()
    in_one_program = tracer is not None and tracer.one_program
    # Of a function that is captured as a whole: the user's step may have branches on data.
    world = getattr(tracer, "world", None) if in_one_program else None
    stepping = decoder.step if world is None else world.traced(decoder.step)

    def step(time: Tensor, now: _Search) -> tuple[Any, _Search]:
        return _step(decoder, stepping, time, now, impute_finished, kwargs)

    stacked, now = (_recorded if in_one_program else _steps)(step, now, max_step_num)
    states, lengths = now.states, now.lengths
    try:
        result, states = decoder.finalize(stacked, states, lengths)
    except NotImplementedError:  # as in the reference: the default of Decoder, which leaves the outputs as they are
        result = stacked
    if not output_time_major:
        result = pytree.map(swapped, result)
    return (result, states, lengths) if return_length else (result, states)


class _Search(NamedTuple):
    """State between two steps."""

    inputs: Any
    states: Any
    finished: Tensor
    lengths: Tensor


_Stepping = Callable[[Tensor, _Search], "tuple[Any, _Search]"]
_UNFINISHED = "sequences of which one at least has not finished at the start"


def _step(
    decoder: Any,
    stepping: Callable[..., Any],
    time: Tensor,
    now: _Search,
    impute_finished: bool,
    kwargs: dict[str, Any],
) -> tuple[Any, _Search]:
    """The outputs of a step, and what it leaves."""
    outputs, states, inputs, finished = stepping(time, now.inputs, now.states, **kwargs)
    if decoder.tracks_own_finished:
        return outputs, _Search(inputs, states, finished, getattr(states, "lengths", now.lengths))
    lengths = ops.add(now.lengths, ops.cast(ops.logical_not(now.finished), dtype=dt.int64))
    if impute_finished:
        states = pytree.map(lambda old, x: ops.where(_beside(now.finished, x), old, x), now.states, states)
    return outputs, _Search(inputs, states, ops.logical_or(finished, now.finished), lengths)


def _steps(step: _Stepping, now: _Search, most: Any) -> tuple[Any, _Search]:
    """All steps one by one: their outputs, stacked, and what the last one leaves."""
    steps: list[Any] = []
    while not bool(now.finished.numpy().all()):
        outputs, now = step(create_on(now.finished.place, ops.full, len(steps), dt.int64, (1,)), now)
        steps.append(outputs)
        if most is not None and len(steps) > most:
            break
    if not steps:
        raise op_error(ValueError, "dynamic_decode", _UNFINISHED, f"finished of shape {list(now.finished.shape)}")
    return pytree.map(lambda *xs: ops.stack(xs, axis=0), *steps), now


def _recorded(step: _Stepping, now: _Search, most: Any) -> tuple[Any, _Search]:
    """The same as operations: the first step, whose outputs say what there is to stack, and a loop of the others."""
    from umiak.runtime import regions  # with all that captures functions

    def all_finished(now: _Search) -> Tensor:
        return ops.all(now.finished, axes=tuple(range(now.finished.ndim)))

    place = now.finished.place
    message = f"[dynamic_decode] requires {_UNFINISHED}, got all finished"
    ops.require(ops.logical_not(all_finished(now)), kind="ValueError", args=(message,))
    outputs, now = step(create_on(place, ops.full, 0, dt.int64, (1,)), now)
    stacked = pytree.map(lambda x: ops.unsqueeze(x, axes=(0,)), outputs)
    if isinstance(most, Tensor):
        most = ops.cast(ops.reshape(most, shape=()), dtype=dt.int64)
    elif type(most) is int and most < 1:
        return stacked, now
    first, structure = pytree.flatten((create_on(place, ops.full, 1, dt.int64, (1,)), now, stacked))

    def goes_on(xs: list[Any]) -> Tensor:
        time, now, _ = structure.unflatten(xs)
        more = ops.logical_not(all_finished(now))
        return more if most is None else ops.logical_and(more, ops.le(ops.reshape(time, shape=()), most))

    def body(xs: list[Any]) -> list[Any]:
        time, now, before = structure.unflatten(xs)
        outputs, now = step(time, now)
        joined = pytree.map(lambda all_, x: ops.concat([all_, ops.unsqueeze(x, axes=(0,))], axis=0), before, outputs)
        leaves, form = pytree.flatten((ops.add(time, 1), now, joined))
        if form != structure:
            required = f"steps that leave inputs, states and outputs of one structure ({structure})"
            raise op_error(TypeError, "dynamic_decode", required, form)
        return leaves

    _, now, stacked = structure.unflatten(regions.while_loop(goes_on, body, first))
    return stacked, now


def _beside(mask: Tensor, x: Tensor) -> Tensor:
    """``mask`` with as many dims as ``x``."""
    return ops.reshape(mask, shape=(*mask.shape, *(1,) * (x.ndim - mask.ndim)))
