"""Rotary position embedding: pairs of features rotated by angles that grow with the position."""

from __future__ import annotations

from paddle._public import need_tensor, public
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import place_guard
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_OP = "fused_rotary_position_embedding"


@public("paddle.incubate.nn.functional", usual=False)
def fused_rotary_position_embedding(
    q: Tensor,
    k: Tensor | None = None,
    v: Tensor | None = None,
    sin: Tensor | None = None,
    cos: Tensor | None = None,
    position_ids: Tensor | None = None,
    use_neox_rotary_style: bool = True,
    time_major: bool = False,
    rotary_emb_base: float = 10000.0,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Rotary position embedding of query, key and value: each pair ``(a, b)`` of a head's features becomes
    ``(a * cos - b * sin, b * cos + a * sin)`` of the position's angle.

    Args:
        q: floating tensor ``[batch, sequence, heads, head_dim]``, or ``[sequence, batch, heads, head_dim]`` with
            ``time_major``; head_dim is even.
        k: tensor of that layout and head_dim, perhaps of fewer heads; None for none.
        v: the same.
        sin: floating table ``[positions, head_dim]`` or ``[1, positions, 1, head_dim]``, with a number for each
            feature; None for the sine of ``position * rotary_emb_base ** (-2 * i / head_dim)`` for pair i.
        cos: a table of sin's shape, given if sin is.
        position_ids: integer tensor ``[batch, sequence]`` of rows of the tables, which then may have more positions
            than the sequence; by default 0, 1, ….
        use_neox_rotary_style: True pairs neighbours, features 2 i and 2 i + 1; False pairs features i and
            i + head_dim / 2.
        time_major: whether the sequence comes before the batch in q, k and v.
        rotary_emb_base: the base of the angles where there are no tables.

    Returns:
        The rotated q, k and v, of their shapes and dtypes; None for one that was not given. Computed in float32 where
        they are of float16 or bfloat16.

    Raises:
        TypeError: an operand is not floating, or position_ids are no integers.
        ValueError: sin without cos, an odd head_dim, or sizes that do not fit.
        IndexError: a position that the tables do not have.

    Note:
        The reference refuses positions and halves without tables; here they are computed.

    References:
        Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021.

    Example:
        >>> import math
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_rotary_position_embedding
        >>> q = paddle.ones([1, 2, 1, 2])
        >>> y, _, _ = fused_rotary_position_embedding(q)
        >>> y[0, 0, 0].tolist(), math.isclose(y[0, 1, 0, 0].item(), math.cos(1) - math.sin(1), rel_tol=1e-5)
        ([1.0, 1.0], True)
    """
    _check_layout("q", q, q, time_major)
    for name, x in (("k", k), ("v", v)):
        if x is not None:
            _check_layout(name, x, q, time_major)
    sequence, batch = (q.shape[0], q.shape[1]) if time_major else (q.shape[1], q.shape[0])
    if position_ids is not None:
        _check_positions(position_ids, batch, sequence)
    wide = q.dtype.compute
    if sin is None and cos is None:
        with place_guard(q.place):
            angles = _angles(position_ids, sequence, q.shape[3], use_neox_rotary_style, rotary_emb_base, wide)
        tables = F.sin(angles), F.cos(angles)
    else:
        tables = _given_tables(sin, cos, position_ids, sequence, q.shape[3])
    sines, cosines = (_beside_heads(cast(table, wide), time_major) for table in tables)

    def rotated(x: Tensor) -> Tensor:
        features = cast(x, x.dtype.compute)
        partners = _partners(features, use_neox_rotary_style)
        return cast(F.add(F.mul(features, cosines), F.mul(partners, sines)), x.dtype)

    return rotated(q), None if k is None else rotated(k), None if v is None else rotated(v)


def _check_layout(arg_name: str, x: Tensor, q: Tensor, time_major: bool) -> None:
    if not need_tensor(x, _OP, arg_name).dtype.is_floating:
        raise op_error(TypeError, _OP, f"a floating {arg_name}", x.dtype.name)
    if x.ndim != 4:
        layout = "[sequence, batch, heads, head_dim]" if time_major else "[batch, sequence, heads, head_dim]"
        raise op_error(ValueError, _OP, f"{arg_name} of shape {layout}", list(x.shape))
    if not dim.eq(x.shape[3] % 2, 0):
        raise op_error(ValueError, _OP, "an even head_dim", x.shape[3])
    if not all(dim.eq(x.shape[i], q.shape[i]) for i in (0, 1, 3)):
        required = f"{arg_name} of q's batch, sequence and head_dim"
        raise op_error(ValueError, _OP, required, f"{list(x.shape)} and {list(q.shape)}")


def _check_positions(position_ids: Tensor, batch: int, sequence: int) -> None:
    if not need_tensor(position_ids, _OP, "position_ids").dtype.is_integer:
        raise op_error(TypeError, _OP, "integers for position_ids", position_ids.dtype.name)
    shape = position_ids.shape
    if len(shape) != 2 or not (dim.eq(shape[0], batch) and dim.eq(shape[1], sequence)):
        raise op_error(ValueError, _OP, f"position_ids of shape {[batch, sequence]}", list(shape))


def _angles(
    position_ids: Tensor | None, sequence: int, size: int, neighbours: bool, base: float, wide: dt.DType
) -> Tensor:
    """The angle of each feature at each position."""
    feature = F.iota(0, 1, dtype=dt.int64, size=size)
    half = size // 2
    pair = F.floor_div(feature, 2) if neighbours else F.remainder(feature, half)
    frequencies = F.pow(float(base), F.mul(F.cast(pair, dtype=wide), -2.0 / size))
    position = F.iota(0, 1, dtype=dt.int64, size=sequence) if position_ids is None else position_ids
    return F.mul(F.unsqueeze(F.cast(position, dtype=wide), axes=(position.ndim,)), frequencies)


def _given_tables(
    sin: Tensor | None, cos: Tensor | None, position_ids: Tensor | None, sequence: int, size: int
) -> tuple[Tensor, Tensor]:
    """The rows of both tables at the positions: ``[sequence, d]``, or ``[batch, sequence, d]`` at given ones."""
    if sin is None or cos is None:
        raise op_error(ValueError, _OP, "both of sin and cos or neither", "one")
    tables = []
    for name, table in (("sin", sin), ("cos", cos)):
        if not need_tensor(table, _OP, name).dtype.is_floating:
            raise op_error(TypeError, _OP, f"a floating {name}", table.dtype.name)
        shape = table.shape
        ones = (shape[0], shape[2]) if table.ndim == 4 else ()
        fits = table.ndim in (2, 4) and all(dim.eq(n, 1) for n in ones)
        if fits and ones:
            table = F.squeeze(table, axes=(0, 2))
        fits = fits and dim.eq(table.shape[1], size)
        if fits and position_ids is None:
            fits = dim.eq(table.shape[0], sequence)
        if not fits:
            positions = sequence if position_ids is None else "positions"
            required = f"{name} of shape [{positions}, {size}] or [1, {positions}, 1, {size}]"
            raise op_error(ValueError, _OP, required, list(shape))
        tables.append(table if position_ids is None else F.take(table, position_ids, axis=0))
    if not all(map(dim.eq, tables[0].shape, tables[1].shape)):
        raise op_error(ValueError, _OP, "sin and cos of one shape", f"{list(sin.shape)} and {list(cos.shape)}")
    return tables[0], tables[1]


def _beside_heads(table: Tensor, time_major: bool) -> Tensor:
    """A table as it broadcasts to query, key and value."""
    if table.ndim == 2:
        return F.unsqueeze(table, axes=(1, 2) if time_major else (0, 2))
    if time_major:
        table = F.permute(table, perm=(1, 0, 2))
    return F.unsqueeze(table, axes=(2,))


def _partners(x: Tensor, neighbours: bool) -> Tensor:
    """The other feature of each pair: of the first the second, negated, and of the second the first."""
    size = x.shape[3]
    if not neighbours:
        half = size // 2
        return F.concat([F.neg(_part(x, half, half)), _part(x, 0, half)], axis=3)
    # Shifted by one feature, and chosen: neighbouring elements are read together, every second one would not be.
    after = F.concat([_part(x, 1, size - 1), _part(x, 0, 1)], axis=3)
    before = F.concat([_part(x, size - 1, 1), _part(x, 0, size - 1)], axis=3)
    feature = create_on(x.place, F.iota, 0, 1, dt.int64, size)
    return F.where(F.eq(F.remainder(feature, 2), 0), F.neg(after), before)


def _part(x: Tensor, start: int, size: int) -> Tensor:
    return F.slice(x, axes=(3,), starts=(start,), sizes=(size,), steps=(1,))
