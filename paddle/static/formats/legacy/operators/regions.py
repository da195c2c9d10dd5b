"""Regions of several images: which image each is of, newer operators say by counts, those of before 2.0 by offsets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from paddle.static.formats.graph import TensorType
from paddle.static.formats.legacy.packed import OFFSETS
from paddle.static.formats.legacy.program import Operator
from paddle.static.formats.legacy.table import row, rule

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

_COUNTS = TensorType("int32", (-1,))
_UNSAID = "locality_aware_nms", "retinanet_detection_output"  # whose files do not declare that results are packed


def _counted(t: Translator, o: Operator, of: str, counts: str) -> Operator:
    """The operator with counts of the regions in slot ``of`` as another operand, where offsets say them."""
    given = [t.value(n) for n in o.inputs.get(of, ())]
    if o.inputs.get(counts) or not given or not all(map(t.packed.has, given)):
        return o
    names = []
    for n in given:
        names.append(f"{of}@COUNTS@{n}")
        (t.values[names[-1]],) = t.call_for("sequence_lengths", [t.packed.innermost(n, of)], [_COUNTS])
    return replace(o, inputs={**o.inputs, counts: names})


def _packed(t: Translator, o: Operator, counts: str, *slots: str) -> None:
    """Let results in slots be packed as those in another say, where the file declares that they are."""
    names = [o.into(slot) for slot in slots if o.outputs.get(slot)]
    names = [n for n in names if o.type in _UNSAID or ((v := t.variable(n)) is not None and v.levels > 0)]
    if names:
        (offsets,) = t.call_for("sequence_offsets", [t.value(o.into(counts))], [OFFSETS])
        for name in names:
            t.packed.give(t.value(name), offsets)


def _hidden(o: Operator, slot: str, count: int = 1) -> Operator:
    """The operator with results in a slot, also where the file does not have them."""
    if o.outputs.get(slot):
        return o
    first = next((n for names in o.outputs.values() for n in names), o.type)
    return replace(o, outputs={**o.outputs, slot: [f"{first}@COUNTS@{i}" for i in range(count)]})


_ROI_ALIGN = row("""
roi_align: roi_align(X, ROIs, RoisNum?; aligned~False pooled_width~1 sampling_ratio~-1 spatial_scale~1.0
    pooled_height~1) -> Out
""")
_POOLS = {
    "roi_align": _ROI_ALIGN,
    "roi_pool": row("""
roi_pool: roi_pool(X, ROIs, RoisNum?; pooled_width~1 spatial_scale~1.0 pooled_height~1) -> Out Argmax
"""),
    "psroi_pool": row("""
psroi_pool: psroi_pool(X, ROIs, RoisNum?; output_channels~1 pooled_width~1 spatial_scale~1.0 pooled_height~1) -> Out
"""),
}  # fmt: skip


@rule(*_POOLS)
def _pool(t: Translator, o: Operator) -> None:
    t.row(_counted(t, o, "ROIs", "RoisNum"), _POOLS[o.type])


_SUPPRESSIONS = {
    name: row(f"""
{name}: {target}(BBoxes, Scores, RoisNum?; background_label~0 keep_top_k normalized~True nms_threshold~0.3
    nms_top_k nms_eta~1.0 score_threshold) -> {results}
""")
    for name, target, results in (
        ("multiclass_nms", "multiclass_nms", "Out NmsRoisNum"),
        ("multiclass_nms2", "multiclass_nms3", "Out Index NmsRoisNum"),
        ("multiclass_nms3", "multiclass_nms3", "Out Index NmsRoisNum"),
    )
}
_SUPPRESSIONS["locality_aware_nms"] = row("""
locality_aware_nms: locality_aware_nms(BBoxes, Scores; background_label~-1 keep_top_k normalized~True nms_threshold~0.3
    nms_top_k nms_eta~1.0 score_threshold) -> Out NmsRoisNum
""")
_SUPPRESSIONS["retinanet_detection_output"] = row("""
retinanet_detection_output: retinanet_detection_output(BBoxes*, Scores*, Anchors*, ImInfo; score_threshold nms_top_k
    nms_threshold keep_top_k nms_eta~1.0) -> Out NmsRoisNum
""")


@rule(*_SUPPRESSIONS)
def _suppress(t: Translator, o: Operator) -> None:
    """Boxes that are left: rows of all images, those of each a sequence."""
    known = _hidden(_counted(t, o, "BBoxes", "RoisNum") if "BBoxes" in o.inputs else o, "NmsRoisNum")
    t.row(known, _SUPPRESSIONS[o.type])
    _packed(t, known, "NmsRoisNum", "Out", "Index")


_BY_SCALE = row("""
generate_proposals: generate_proposals_by_scale(Scores, BboxDeltas, ImInfo, Anchors, Variances; eta min_size nms_thresh
    post_nms_top_n=post_nms_topN pre_nms_top_n=pre_nms_topN) -> RpnRois RpnRoiProbs RpnRoisNum
""")


@rule("generate_proposals")
def _propose(t: Translator, o: Operator) -> None:
    known = _hidden(o, "RpnRoisNum")
    t.row(known, _BY_SCALE)
    _packed(t, known, "RpnRoisNum", "RpnRois", "RpnRoiProbs")


_BY_LEVEL = row("""
distribute_fpn_proposals: distribute_fpn_proposals(FpnRois, RoisNum?; pixel_offset~True refer_scale refer_level
    max_level min_level) -> MultiFpnRois* MultiLevelRoIsNum* RestoreIndex
""")


@rule("distribute_fpn_proposals")
def _distribute(t: Translator, o: Operator) -> None:
    levels = o.outputs.get("MultiFpnRois", [])
    known = _hidden(_counted(t, o, "FpnRois", "RoisNum"), "MultiLevelRoIsNum", len(levels))
    t.row(known, _BY_LEVEL)
    for rois, counts in zip(levels, known.outputs["MultiLevelRoIsNum"], strict=False):
        _packed(t, replace(o, outputs={"Rois": [rois], "Counts": [counts]}), "Counts", "Rois")


_TOGETHER = row("""
collect_fpn_proposals: collect_fpn_proposals(MultiLevelRois*, MultiLevelScores*, MultiLevelRoIsNum*?;
    post_nms_topn=post_nms_topN) -> FpnRois RoisNum
""")


@rule("collect_fpn_proposals")
def _collect(t: Translator, o: Operator) -> None:
    known = _hidden(_counted(t, o, "MultiLevelRois", "MultiLevelRoIsNum"), "RoisNum")
    t.row(known, _TOGETHER)
    _packed(t, known, "RoisNum", "FpnRois")


_CLIP = row("box_clip: box_clip(Input, ImInfo) -> Output")


@rule("box_clip")
def _clip(t: Translator, o: Operator) -> None:
    """Each box is clipped by the size of its image."""
    x, sizes = t.input(o, "Input"), t.input(o, "ImInfo")
    if not t.packed.has(x) or t.rank(x) != 2:
        t.row(o, _CLIP)
        return
    (owners,) = t.call_for("sequence_owners", [x, t.packed.innermost(x, "Input")], [OFFSETS])
    own = t.call("gather", sizes, owners, t.scalar(0))
    (made,) = t.call_for("box_clip", [x, own], [t.result_type(o, "Output")])
    t.define(o, "Output", made)
    t.packed.share(x, made)
