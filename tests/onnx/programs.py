"""Functions whose programs are exported, which no one expression says. They run with the reference's ``paddle`` too."""

import paddle
import paddle.nn.functional as F


def set_rows(x):
    y = x + 0
    y[1:3] = 2.0
    return y


def set_tensor(x, value):
    y = x + 0
    y[1:3] = value
    return y


def set_step(x):
    y = x + 0
    y[::2, 1:] = 7.0
    return y


def set_place(x, value):
    y = x + 0
    y[-1] = value
    return y


def set_mask(x):
    y = x + 0
    y[y > 0] = 0.0
    return y


def set_index(x, i, value):
    y = x + 0
    y[i] = value
    return y


def branch(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x * 2
    return y


def branch_outside(x, y):
    """What a branch gives was made before it."""
    if x.sum() > 100:
        z = x
    else:
        z = y
    return z * 2


def branch_in_branch(x):
    if x.sum() > 0:
        y = x + 1
    elif x.max() > 0:
        y = x - 1
    else:
        y = x * 3
    return y


def loop(x, n):
    i = paddle.zeros([], "int64")
    while i < n:
        x = x * 1.5 + i.astype("float32")
        i = i + 1
    return x, i


def loop_over_rows(x):
    total = paddle.zeros([x.shape[1]])
    for i in range(x.shape[0]):
        total = total + x[i] * (i + 1)
    return total


def branch_in_loop(x):
    i = paddle.zeros([1], "int64")
    while i < 4:
        if (i % 2) == 0:
            x = x + 1
        else:
            x = x * 2
        i += 1
    return x


def loop_in_loop(x):
    i = paddle.zeros([1], "int64")
    while i < 3:
        j = paddle.zeros([1], "int64")
        while j < i:
            x = x + j.astype("float32") + 1
            j = j + 1
        i = i + 1
    return x


def stopping_loop(x):
    """A loop that breaks."""
    i = paddle.zeros([1], "int64")
    while i < 10:
        x = x * 2
        if x.max() > 20:
            break
        i = i + 1
    return x, i


def collected(x):
    """A list that grows in a loop."""
    rows = []
    i = paddle.zeros([1], "int64")
    while i < x.shape[0]:
        rows.append(x[i[0]] * 2)
        i = i + 1
    return paddle.stack(rows)


def case(x, i):
    return paddle.static.nn.switch_case(i, {0: lambda: x + 1, 1: lambda: x * 2, 2: lambda: x - 5})


def recurrent(x, h, c, *weights, layers=1, both=False, mode="LSTM", lengths=None):
    """``rnn`` over weights that are inputs."""
    states = [h, c] if mode == "LSTM" else [h]
    state, sizes = paddle.full([1], 0, "uint8"), (x.shape[-1], h.shape[-1])
    y = paddle._C_ops.rnn(x, states, list(weights), lengths, state, 0.0, both, *sizes, layers, mode, 0, True)
    return y[0], y[2]


def yolo(x, body, head, bias, sizes):
    """A detector as PP-YOLO: a head of anchors, decoded, the best boxes by Matrix NMS."""
    y = F.mish(F.conv2d(x, body, stride=2, padding=1))
    y = F.interpolate(F.mish(F.conv2d(y, body[:, :1].expand([-1, 6, -1, -1]), stride=2, padding=1)), scale_factor=2) + y
    boxes, scores = paddle.vision.ops.yolo_box(F.conv2d(y, head, bias) * 0.05, sizes, [4, 6, 9, 8], 3, 0.1, 2)
    return paddle.vision.ops.matrix_nms(
        boxes, scores.transpose([0, 2, 1]), 0.05, 0.02, 20, 10, background_label=-1, return_index=True
    )


def rcnn(x, body, score, delta, anchors, variances, fc, classes, regress):
    """A detector of two stages: proposals, their levels in a pyramid, features of regions, NMS per class."""
    y = F.relu(F.conv2d(x, body, stride=2, padding=1))
    size = paddle.to_tensor([[32.0, 32.0]])
    rois, _, count = paddle.vision.ops.generate_proposals(
        F.sigmoid(F.conv2d(y, score)), F.conv2d(y, delta) * 0.1, size, anchors, variances, 60, 12, 0.7, 0.5,
        return_rois_num=True,
    )  # fmt: skip
    levels, back, counts = paddle.vision.ops.distribute_fpn_proposals(rois, 2, 3, 2, 12, rois_num=count)
    small = F.max_pool2d(y, 2, 2)
    parts = [
        paddle.vision.ops.roi_align(f, r, n, 3, scale)
        for f, r, n, scale in zip((y, small), levels, counts, (0.5, 0.25))
    ]
    hidden = F.relu(paddle.matmul(paddle.gather(paddle.concat(parts), back).flatten(1), fc))
    scores = F.softmax(paddle.matmul(hidden, classes))
    moved = paddle.matmul(hidden, regress).reshape([-1, 3, 4])
    boxes = paddle.unsqueeze(rois, 1) + moved
    best, index, number = paddle._C_ops.multiclass_nms3(
        boxes.transpose([1, 0, 2])[:1], scores.transpose([1, 0]).unsqueeze(0), None, 0.1, 20, 8, 0.5, False, 1.0, -1
    )
    return rois, scores, best, number
