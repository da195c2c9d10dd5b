"""Operators of before 2.0 that programs of today have no names for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.static.formats.graph import Attribute
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import row, rows, rule
from umiak.ir.serialise import FormatError

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

rows("""
minus: subtract(X, Y) -> Out
fsp: fsp(X, Y) -> Out
spp: spp(X; pyramid_height pooling_type~"max") -> Out
soft_relu: soft_relu(X; threshold~40.0) -> Out
partial_concat: partial_concat(X*; start_index~0 length~-1) -> Out
partial_sum: partial_sum(X*; start_index~0 length~-1) -> Out
data_norm: data_norm(scale_w?, bias?, X, BatchSize, BatchSum, BatchSquareSum; slot_dim~-1
    enable_scale_and_shift~False) -> Y Means Scales
c_embedding: embedding_of_part(W, Ids; start_index~0) -> Out
cross_entropy: cross_entropy(X, Label; soft_label~False ignore_index~-100) -> Y
bpr_loss: bpr_loss(X, Label) -> Y
rank_loss: rank_loss(Label, Left, Right) -> Out
modified_huber_loss: modified_huber_loss(X, Y) -> IntermediateVal Out
teacher_student_sigmoid_loss: teacher_student_sigmoid_loss(X, Label) -> Y
unique_with_counts: unique(X; dtype@dtype is_sorted~False) -> Out _ Index Count
density_prior_box: density_prior_box(Input, Image; fixed_sizes~[] fixed_ratios~[] densities~[] variances~[]
    clip~True flatten_to_2d~True step_w~0.0 step_h~0.0 offset~0.5) -> Boxes Variances
iou_similarity: iou_similarity(X, Y; box_normalized~True) -> Out
polygon_box_transform: polygon_box_transform(Input) -> Output
box_decoder_and_assign: box_decoder_and_assign(PriorBox, PriorBoxVar?, TargetBox, BoxScore; box_clip) ->
    DecodeBox OutputAssignBox
""")


_LEAKY_RELU = row("leaky_relu: leaky_relu(X; negative_slope=alpha~0.02) -> Out")


@rule("leaky_relu")
def _leaky_relu(t: Translator, o: Operator) -> None:
    """Its first version, of before 2.0, was the larger one of both lines: above a slope of 1 another function."""
    version = t.program.versions.get("leaky_relu")
    first = 0 < t.program.version < 2_000_000 if version is None else version == 0
    x, slope = t.input(o, "X"), float(o.get("alpha", 0.02))
    if first and slope > 1:
        scale = {"bias": 0.0, "bias_after_scale": True}
        t.finish(o, "Out", t.call("maximum", x, t.call("scale", x, t.scalar(slope), like=x, **scale)))
    else:
        t.row(o, _LEAKY_RELU)


@rule("nop", "c_sync_calc_stream", "c_sync_comm_stream", "c_wait_comm", "c_wait_compute", "delete_var")
def _nothing(t: Translator, o: Operator) -> None:
    """Operators that wait, or give memory back, leave values as they are."""
    for x, y in zip(o.inputs.get("X", ()), o.outputs.get("Out", ()), strict=False):
        t.values[y] = t.value(x)


@rule("c_concat", "c_split")
def _parts(t: Translator, o: Operator) -> None:
    """Parts of all processes, which are the whole of one."""
    if o.get("nranks", 1) != 1:
        raise FormatError(f"a program of one process is required, got one of {o.get('nranks', 1)}")
    t.finish(o, "Out", t.call("assign", t.input(o, "X")))


@rule("cross_entropy2")
def _cross_entropy(t: Translator, o: Operator) -> None:
    """That of hard labels; what it gives beside is for gradients."""
    ignored = Attribute("i64", o.get("ignore_index", -100))
    t.finish(o, "Y", t.call("cross_entropy", t.input(o, "X"), t.input(o, "Label"), ignore_index=ignored))
