"""Operators of before 2.0 that programs of today have no names for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.static.formats.graph import Attribute
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import rows, rule

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


@rule("cross_entropy2")
def _cross_entropy(t: Translator, o: Operator) -> None:
    """That of hard labels; what it gives beside is for gradients."""
    ignored = Attribute("i64", o.get("ignore_index", -100))
    t.finish(o, "Y", t.call("cross_entropy", t.input(o, "X"), t.input(o, "Label"), ignore_index=ignored))
