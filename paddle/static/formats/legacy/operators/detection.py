"""Boxes of objects in images."""

from paddle.static.formats.legacy.table import rows

rows("""
anchor_generator: anchor_generator(Input; offset~0.5 stride~[16.0,16.0] variances aspect_ratios anchor_sizes) ->
    Anchors Variances
bipartite_match: bipartite_match(DistMat; dist_threshold~0.5 match_type~"bipartite") -> ColToRowMatchIndices
    ColToRowMatchDist
box_coder: box_coder(PriorBox, PriorBoxVar?, TargetBox; variance~[] axis~0 box_normalized~True
    code_type~"encode_center_size") -> OutputBox
correlation: correlation(Input1, Input2; corr_type_multiply~1 stride1 max_displacement kernel_size stride2
    pad_size) -> Output
decode_jpeg: decode_jpeg(X; mode~"unchanged") -> Out
generate_proposals_v2: generate_proposals(Scores, BboxDeltas, ImShape, Anchors, Variances; pixel_offset~True eta
    min_size nms_thresh post_nms_top_n=post_nms_topN pre_nms_top_n=pre_nms_topN) -> RpnRois RpnRoiProbs
    RpnRoisNum
matrix_nms: matrix_nms(BBoxes, Scores; gaussian_sigma~2.0 post_threshold~0.0 background_label~0 keep_top_k
    normalized~True nms_top_k use_gaussian~False score_threshold) -> Out Index RoisNum
nms: nms(Boxes; threshold=iou_threshold~1.0) -> KeepBoxesIdxs
prior_box: prior_box(Input, Image; offset~0.5 step_w~0.0 clip~True variances~[] max_sizes~[]
    min_max_aspect_ratios_order~False step_h~0.0 flip~True aspect_ratios~[] min_sizes) -> Boxes Variances
yolo_box: yolo_box(X, ImgSize; iou_aware~False scale_x_y~1.0 clip_bbox~True downsample_ratio~32 class_num~1
    iou_aware_factor~0.5 conf_thresh~0.01 anchors~[]) -> Boxes Scores
yolo_box_head: yolo_box_head(X; class_num anchors) -> Out
yolo_box_post: yolo_box_post(Boxes0, Boxes1, Boxes2, ImageShape, ImageScale; nms_threshold scale_x_y clip_bbox
    downsample_ratio2 downsample_ratio1 downsample_ratio0 class_num anchors2 anchors1 conf_thresh anchors0) ->
    Out NmsRoisNum
yolov3_loss: yolo_loss(X, GTBox, GTLabel, GTScore?; use_label_smooth~True downsample_ratio~32 scale_x_y~1.0
    ignore_thresh~0.7 class_num~1 anchor_mask~[] anchors~[]) -> Loss ObjectnessMask GTMatchMask
""")
