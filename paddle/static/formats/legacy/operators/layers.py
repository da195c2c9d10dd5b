"""Layers of networks: windows, norms, embeddings, resizing, recurrence."""

from paddle.static.formats.legacy.table import rows

rows("""
affine_grid: affine_grid(Theta, OutputShape|@output_shape~[]; align_corners~True) -> Output
batch_norm: batch_norm(X, Mean, Variance, Scale?, Bias?; trainable_statistics~False use_global_stats~False
    data_format=data_layout~"NCHW" epsilon~1e-05 momentum~0.9 is_test~False) -> Y MeanOut VarianceOut SavedMean
    SavedVariance ReserveSpace
bicubic_interp_v2: bicubic_interp(X, OutSize?, SizeTensor*?, Scale?; align_mode~1 align_corners~True
    interp_method~"bicubic" scale~[] out_w~0 out_h~0 out_d~0 data_format=data_layout~"NCHW") -> Out
bilinear_interp_v2: bilinear_interp(X, OutSize?, SizeTensor*?, Scale?; align_mode~1 align_corners~True
    interp_method~"bilinear" scale~[] out_w~0 out_h~0 out_d~0 data_format=data_layout~"NCHW") -> Out
bilinear_tensor_product: bilinear(X, Y, Weight, Bias?) -> Out
conv3d: conv3d(Input, Filter; data_format~"NCDHW" groups~1 padding_algorithm~"EXPLICIT" dilations~[1,1,1]
    paddings~[0,0,0] strides~[1,1,1]) -> Output
conv3d_transpose: conv3d_transpose(Input, Filter; data_format~"NCHW" groups~1 padding_algorithm~"EXPLICIT"
    output_size~[] output_padding~[] dilations~[1,1,1] paddings~[0,0,0] strides~[1,1,1]) -> Output
cudnn_lstm: cudnn_lstm(Input, InitH, InitC, W?, WeightList*?, SequenceLength?; seed~0 is_test~False num_layers~1
    hidden_size~100 is_bidirec~False dropout_prob~0.0) -> Out LastH LastC Reserve StateOut
deformable_conv: deformable_conv(Input, Offset, Filter, Mask; im2col_step~64 groups~1 deformable_groups~1
    dilations~[1,1] paddings~[0,0] strides~[1,1]) -> Output
deformable_conv_v1: deformable_conv(Input, Offset, Filter, Mask?; im2col_step~64 groups~1 deformable_groups~1
    dilations~[1,1] paddings~[0,0] strides~[1,1]) -> Output
fold: fold(X; dilations paddings strides kernel_sizes output_sizes) -> Y
grid_sampler: grid_sample(X, Grid; align_corners~True padding_mode~"zeros" mode~"bilinear") -> Output
group_norm: group_norm(X, Scale?, Bias?; data_format=data_layout~"NCHW" groups~-1 epsilon~1e-05) -> Y Mean Variance
instance_norm: instance_norm(X, Scale?, Bias?; epsilon~1e-05) -> Y SavedMean SavedVariance
label_smooth: label_smooth(X, PriorDist?; epsilon~0.0) -> Out
layer_norm: layer_norm(X, Scale?, Bias?; begin_norm_axis~1 epsilon~1e-05) -> Y Mean Variance
linear_interp_v2: linear_interp(X, OutSize?, SizeTensor*?, Scale?; align_mode~1 align_corners~True
    interp_method~"linear" scale~[] out_w~0 out_h~0 out_d~0 data_format=data_layout~"NCHW") -> Out
lookup_table_v2: embedding(Ids, W; sparse=is_sparse~False padding_idx~-1) -> Out
lp_pool2d: lp_pool2d(x; norm_type~0.0 padding_algorithm~"EXPLICIT" adaptive~False global_pooling~False
    data_format~"NCHW" exclusive~True ceil_mode~False paddings~[0,0] pooling_type~"" strides~[1,1] kernel_size)
    -> out
lrn: lrn(X; data_format~"AnyLayout" beta~0.75 alpha~0.0001 k~2.0 n~5) -> Out MidOut
max_pool2d_with_index: max_pool2d_with_index(X; adaptive~False global_pooling~False ceil_mode~False
    paddings~[0,0] strides~[1,1] kernel_size=ksize) -> Out Mask
max_pool3d_with_index: max_pool3d_with_index(X; adaptive~False global_pooling~False ceil_mode~False
    paddings~[0,0,0] strides~[1,1,1] kernel_size=ksize) -> Out Mask
nearest_interp_v2: nearest_interp(X, OutSize?, SizeTensor*?, Scale?; align_mode~1 align_corners~True
    interp_method~"nearest" scale~[] out_w~0 out_h~0 out_d~0 data_format=data_layout~"NCHW") -> Out
norm: norm(X; is_test~False epsilon~1e-10 axis) -> Out Norm
pad: pad(X, @pad_value~0.0; paddings) -> Out
pad3d: pad3d(X, Paddings|@paddings; data_format~"NCDHW" pad_value=value~0.0 mode~"constant") -> Out
pixel_shuffle: pixel_shuffle(X; data_format~"NCHW" upscale_factor~1) -> Out
pixel_unshuffle: pixel_unshuffle(X; data_format~"NCHW" downscale_factor~1) -> Out
pool2d: pool2d(X, @ksize; padding_algorithm~"EXPLICIT" adaptive~False global_pooling~False data_format~"NCHW"
    exclusive~True ceil_mode~False paddings~[0,0] pooling_type~"" strides~[1,1]) -> Out
pool3d: pool3d(X; padding_algorithm~"EXPLICIT" adaptive~False global_pooling~False data_format~"NCDHW"
    exclusive~True ceil_mode~False paddings~[0,0,0] pooling_type~"" strides~[1,1,1] kernel_size=ksize) -> Out
rnn: rnn(Input, PreState*, WeightList*, SequenceLength?; is_test~False seed~0 num_layers~1 hidden_size~100
    input_size~10 mode~"RNN_TANH" is_bidirec~False dropout_prob~0.0) -> Out DropoutState State* Reserve
shuffle_channel: shuffle_channel(X; group~1) -> Out
channel_shuffle: channel_shuffle(X; data_format~"NCHW" groups) -> Out
spectral_norm: spectral_norm(Weight, U, V; eps~1e-12 power_iters~1 dim~0) -> Out
temporal_shift: temporal_shift(X; data_format~"NCHW" shift_ratio~0.25 seg_num) -> Out
trilinear_interp_v2: trilinear_interp(X, OutSize?, SizeTensor*?, Scale?; align_mode~1 align_corners~True
    interp_method~"trilinear" scale~[] out_w~0 out_h~0 out_d~0 data_format=data_layout~"NCHW") -> Out
unfold: unfold(X; dilations paddings strides kernel_sizes) -> Y
unpool: unpool(X, Indices, @output_size~[0,0]; data_format~"NCHW" padding=paddings~[0,0] strides~[1,1] ksize) -> Out
unpool3d: unpool3d(X, Indices; data_format~"NCDHW" output_size~[0,0,0] paddings~[0,0,0] strides~[1,1,1] ksize)
    -> Out
fractional_max_pool2d: fractional_max_pool2d(x; return_mask~True random_u~0.0 kernel_size~[0,0] output_size) ->
    out mask
fractional_max_pool3d: fractional_max_pool3d(x; return_mask~True random_u~0.0 kernel_size~[0,0,0] output_size)
    -> out mask
bce_loss: bce_loss(X, Label) -> Out
huber_loss: huber_loss(X, Y; delta) -> Out Residual
kldiv_loss: kldiv_loss(X, Target; log_target~False reduction~"mean") -> Loss
log_loss: log_loss(Predicted, Labels; epsilon) -> Loss
nll_loss: nll_loss(X, Label, Weight?; reduction~"mean" ignore_index~-100) -> Out Total_weight
sigmoid_cross_entropy_with_logits: sigmoid_cross_entropy_with_logits(X, Label, pos_weight?; ignore_index~-100
    normalize~False) -> Out
softmax_with_cross_entropy: cross_entropy_with_softmax(Logits, Label; axis~-1 ignore_index~-100
    numeric_stable_mode~True use_softmax~True soft_label~False) -> Softmax Loss
hinge_loss: hinge_loss(Logits, Labels) -> Loss
identity_loss: identity_loss(X; reduction~1) -> Out
warpctc: warpctc(Logits, Label, LogitsLength?, LabelLength?; norm_by_times~False blank~0) -> Loss WarpCTCGrad
warprnnt: warprnnt(input, label, input_lengths, label_lengths; fastemit_lambda~0.0 blank~0) -> loss warprnntgrad
hierarchical_sigmoid: hsigmoid_loss(X, Label, W, Bias?, PathTable?, PathCode?; is_sparse~False num_classes~2) ->
    Out PreOut W_Out
margin_cross_entropy: margin_cross_entropy(Logits, Label; margin3~0.0 scale~64.0 margin2~0.5 margin1~1.0 rank~0
    nranks~1 ring_id~0 return_softmax~False) -> Softmax Loss
accuracy: accuracy(Out, Indices, Label) -> Accuracy Correct Total
auc: auc(Predict, Label, StatPos, StatNeg, InsTagWeight?; slide_steps~1 num_thresholds~8191 curve~"ROC") -> AUC
    StatPosOut StatNegOut
sequence_mask: sequence_mask(X, MaxLenTensor|@maxlen~-1; out_dtype@dtype) -> Y
viterbi_decode: viterbi_decode(Input, Transition, Length; include_bos_eos_tag~True) -> Scores Path
gather_tree: gather_tree(Ids, Parents) -> Out
segment_pool: segment_pool(X, SegmentIds; pooltype~"SUM") -> Out SummedIds
graph_send_recv: send_u_recv(X, Src_index, Dst_index, Out_size|@out_size~[0]; reduce_op~"SUM") -> Out Dst_count
graph_send_ue_recv: send_ue_recv(X, Y, Src_index, Dst_index, Out_size|@out_size~[0]; reduce_op~"SUM"
    message_op~"ADD") -> Out Dst_count
graph_send_uv: send_uv(x, y, src_index, dst_index; message_op~"ADD") -> out
add_position_encoding: add_position_encoding(X; beta~1.0 alpha~1.0) -> Out
""")
