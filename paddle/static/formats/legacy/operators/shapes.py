"""Shapes, places and parts of tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import row, rows, rule

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

rows("""
argsort: argsort(X; stable~False descending~False axis~-1) -> Out Indices
as_strided: as_strided(input; offset~0 stride~[] dims~[]) -> out
broadcast_tensors: broadcast_tensors(X*) -> Out*
concat: concat(X*, AxisTensor|@axis~0) -> Out
crop_tensor: crop(X, ShapeTensor*|Shape|@shape~[], OffsetsTensor*|Offsets|@offsets~[]) -> Out
diag_embed: diag_embed(Input; dim2~-1 dim1~-2 offset~0) -> Out
diag_v2: diag(X; padding_value~0.0 offset~0) -> Out
diagonal: diagonal(Input; axis1~0 axis2~1 offset~0) -> Out
expand_as_v2: expand_as(X, Y?; target_shape~[]) -> Out
expand_v2: expand(X, expand_shapes_tensor*|Shape|@shape~[]) -> Out
fill_diagonal: fill_diagonal(X; wrap~False offset~0 value~0.0) -> Out
fill_diagonal_tensor: fill_diagonal_tensor(X, Y; dim2~1 dim1~0 offset~0) -> Out
flatten_contiguous_range: flatten(X; stop_axis start_axis) -> Out
flip: flip(X; axis=axis|dims) -> Out
frame: frame(X; axis~-1 hop_length frame_length) -> Out
gather: gather(X, Index, Axis|@axis~0) -> Out
gather_nd: gather_nd(X, Index) -> Out
index_add: index_add(X, Index, AddValue; axis~0) -> Out
index_put: index_put(x, indices*, value; accumulate~False) -> out
index_sample: index_sample(X, Index) -> Out
index_select: index_select(X, Index; axis=dim~0) -> Out
kthvalue: kthvalue(X; keepdim~False axis~-1 k~1) -> Out Indices
masked_select: masked_select(X, Mask) -> Y
meshgrid: meshgrid(X*) -> Out*
mode: mode(X; keepdim~False axis~-1) -> Out Indices
multiplex: multiplex(X*, Ids) -> Out
one_hot_v2: one_hot(X, depth_tensor|@depth~-1) -> Out
overlap_add: overlap_add(X; axis~-1 hop_length) -> Out
put_along_axis: put_along_axis(Input, Index, Value; include_self=Include_self~True reduce=Reduce~"assign"
    axis=Axis) -> Result
reshape2: reshape(X, ShapeTensor*|Shape|@shape~[]) -> Out
reverse: flip(X; axis) -> Out
roll: roll(X, ShiftsTensor|@shifts~[]; axis=axis|dims~[]) -> Out
scatter: scatter(X, Ids, Updates; overwrite~True) -> Out
scatter_nd_add: scatter_nd_add(X, Index, Updates) -> Out
searchsorted: searchsorted(SortedSequence, Values; right~False out_int32~False) -> Out
shape: shape(Input) -> Out
shape64: shape64(input) -> out
shard_index: shard_index(X; ignore_value~-1 shard_id nshards index_num) -> Out
size: numel(Input) -> Out
slice: slice(Input, StartsTensorList*|StartsTensor|@starts~[], EndsTensorList*|EndsTensor|@ends~[];
    decrease_axis~[] infer_flags~[] axes) -> Out
squeeze2: squeeze(X, @axes~[]) -> Out
stack: stack(X*; axis~0) -> Y
take_along_axis: take_along_axis(Input, Index; axis=Axis) -> Result
tile: tile(X, repeat_times_tensor*|RepeatTimes|@repeat_times~[]) -> Out
top_k_v2: topk(X, K|@k~1; sorted~True largest~True axis~-1) -> Out Indices
transpose2: transpose(X; perm=axis) -> Out
unbind: unbind(X; axis~0) -> Out*
unique: unique(X; is_sorted~False dtype@dtype~3 axis~[] return_counts~False return_inverse~False
    return_index~False) -> Out Indices Index Counts
unique_consecutive: unique_consecutive(X; dtype@dtype~5 axis~[] return_counts~False return_inverse~False) -> Out
    Index Counts
unsqueeze2: unsqueeze(X, AxesTensorList*|AxesTensor|@axes~[]) -> Out
unstack: unstack(X; num~0 axis~0) -> Y*
where_index: nonzero(Condition) -> Out
bincount: bincount(X, Weights?, @minlength~0) -> Out
histogram: histogram(X, Weight?; density~False max~0.0 min~0.0 bins~100) -> Out
trace: trace(Input; axis1=axis1|dim1~0 axis2=axis2|dim2~1 offset~0) -> Out
""")

_STRIDED_SLICE = row("""
strided_slice: strided_slice(Input, StartsTensorList*|StartsTensor|@starts~[],
    EndsTensorList*|EndsTensor|@ends~[], StridesTensorList*|StridesTensor|@strides~[]; axes) -> Out
""")
_BEFORE_ALL = -(1 << 31)  # an end that is before each axis


def _integers(x: Any) -> TypeGuard[list[int]]:
    return isinstance(x, list) and all(type(n) is int for n in x)


@rule("strided_slice")
def _strided_slice(t: Translator, o: Operator) -> None:
    """Before 3.0 an end of -1 behind a negative stride was that of the whole axis: so ``x[::-1]`` was saved."""
    ends, strides = o.attributes.get("ends"), o.attributes.get("strides")
    if t.program.version < 3_000_000 and _integers(ends) and _integers(strides) and len(ends) == len(strides):
        given = [_BEFORE_ALL if end == -1 and stride < 0 else end for end, stride in zip(ends, strides, strict=True)]
        o = replace(o, attributes={**o.attributes, "ends": given})
    t.row(o, _STRIDED_SLICE)
