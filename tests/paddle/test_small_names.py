"""Names that the reference has outside of its documents, which programs use."""

import numpy as np
import pytest

import paddle
from paddle.nn import initializer as I
from paddle.nn.attention import SDPBackend, sdpa, sdpa_kernel


def test_names_of_the_top_are_those_of_the_parts():
    for name in ("norm", "cholesky", "eigvalsh"):
        assert getattr(paddle, name) is getattr(paddle.linalg, name)
    assert paddle.inverse is paddle.tensor.inverse and paddle.sigmoid is paddle.nn.functional.sigmoid
    for name in "asin_ cosh_ acosh_ asinh_ atanh_ log1p_ logical_xor_ not_equal_".split():
        assert getattr(paddle, name) is getattr(paddle.tensor, name)
    assert paddle.nn.spectral_norm is paddle.nn.utils.spectral_norm
    assert paddle.nn.functional.diag_embed is paddle.diag_embed


def filled(init, *shape):
    return paddle.create_parameter(list(shape), "float32", default_initializer=init).numpy()


def test_initializers_under_older_names():
    assert filled(I.ConstantInitializer(2.0), 2).tolist() == [2.0, 2.0]
    assert filled(I.NumpyArrayInitializer(np.array([1.0, 2.0])), 2).tolist() == [1.0, 2.0]
    assert filled(I.NormalInitializer(5.0, 0.0), 2).tolist() == [5.0, 5.0]
    for init, older in [
        (I.Uniform(0.0, 2.0), I.UniformInitializer(0.0, 2.0)),
        (I.TruncatedNormal(0.0, 1.0, -1.0, 1.0), I.TruncatedNormalInitializer(a=-1.0, b=1.0)),
        (I.XavierNormal(gain=2.0), I.XavierInitializer(uniform=False, gain=2.0)),
        (I.XavierUniform(), I.XavierInitializer()),
        (I.KaimingNormal(mode="fan_out"), I.MSRAInitializer(uniform=False, mode="fan_out")),
        (I.KaimingUniform(), I.MSRAInitializer()),
    ]:
        paddle.seed(3)
        expected = filled(init, 3, 4)
        paddle.seed(3)
        np.testing.assert_array_equal(filled(older, 3, 4), expected)
    with pytest.raises(ValueError, match="requires seed=0"):
        I.XavierInitializer(seed=1)
    with pytest.raises(ValueError, match="requires diag_num=0"):
        I.UniformInitializer(diag_num=2)
    with pytest.raises(TypeError, match="requires an array, got list"):
        I.NumpyArrayInitializer([1.0])


def test_backends_of_attention():
    x = paddle.randn([1, 3, 2, 4])
    attend = paddle.nn.functional.scaled_dot_product_attention
    expected = attend(x, x, x).tolist()
    now = sdpa._cur_sdpa_kernel_backends
    flash, plain = SDPBackend.FLASH_ATTENTION, SDPBackend.MATH
    assert now() == [plain]
    with sdpa_kernel([flash, plain], set_priority=True):
        assert now() == [plain, flash] and now(True) == [flash, plain] and attend(x, x, x).tolist() == expected
        with sdpa_kernel(flash):
            assert now() == [flash]
        with paddle.nn.functional.sdp_kernel(enable_math=True, enable_flash=False):
            assert now() == [plain, SDPBackend.EFFICIENT_ATTENTION]
    assert now() == [plain]
    for wrong, error in ((3, TypeError), ([], ValueError), (["MATH"], TypeError), (SDPBackend.ERROR, RuntimeError)):
        with pytest.raises(error, match="sdpa_kernel"), sdpa_kernel(wrong):
            pass
    with (
        pytest.raises(ValueError, match="at least one backend"),
        paddle.nn.functional.sdp_kernel(enable_flash=False, enable_mem_efficient=False),
    ):
        pass


def test_lists_of_mixed_precision_are_what_auto_cast_does():
    white, black = paddle.amp.white_list(), paddle.amp.black_list()
    assert white.keys() == black.keys() == {"float16", "bfloat16"}
    for dtype in white:
        assert white[dtype].keys() == black[dtype].keys() == {"OD", "O1", "O2"}
        assert {"matmul", "conv"} & white[dtype]["O1"] and "exp" in black[dtype]["O1"]
        assert not white[dtype]["O1"] & black[dtype]["O1"]
    x = paddle.ones([2, 2])
    with paddle.amp.auto_cast(dtype="bfloat16"):
        assert paddle.matmul(x, x).dtype is paddle.bfloat16 and paddle.exp(x).dtype is paddle.float32
    white["float16"]["O1"].clear()
    assert paddle.amp.white_list()["float16"]["O1"]
    assert [state.name for state in paddle.amp.OptimizerState] == ["INIT", "UNSCALED", "STEPPED"]


def test_ops_that_are_checked_for_infinity():
    one = paddle.ones([1])
    paddle.set_flags({"FLAGS_check_nan_inf": True})
    try:
        paddle.amp.debugging.set_skipped_op_list(["div"])
        assert paddle.isinf(one / 0.0)
        paddle.amp.debugging.set_skipped_op_list(None)
        paddle.amp.debugging.set_checked_op_list(["log"])
        assert paddle.isinf(one / 0.0)
        with pytest.raises(RuntimeError):
            paddle.log(one - 1)
    finally:
        paddle.amp.debugging.set_checked_op_list(None)
        paddle.set_flags({"FLAGS_check_nan_inf": False})
    with pytest.raises(ValueError, match="requires a list or tuple of names"):
        paddle.amp.debugging.set_checked_op_list("log")


def test_kinds_of_ranges():
    kinds = paddle.profiler.TracerEventType
    assert [int(kind) for kind in kinds] == list(range(17)) and kinds.Communication.value == 12
    with paddle.profiler.Profiler(timer_only=False) as profiler, paddle.profiler.RecordEvent("load", kinds.Dataloader):
        paddle.ones([1]) + 1
    assert profiler is not None


def test_sizes_and_gains_that_are_integers():
    assert type(paddle.tensor.array_length([paddle.ones([1])])) is int
    assert type(I.calculate_gain("linear")) is int


def test_names_that_packages_ask_of_models_and_reductions():
    from paddle.distributed.communication.reduce import ReduceOp, _get_reduce_op

    assert [_get_reduce_op(op, "all_reduce") for op in (ReduceOp.SUM, ReduceOp.AVG)] == [ReduceOp.SUM, ReduceOp.AVG]
    with pytest.raises(ValueError, match=r"\[all_reduce\] requires an op of paddle.distributed.ReduceOp, got 9"):
        _get_reduce_op(9, "all_reduce")
    model = paddle.Model(paddle.nn.Linear(2, 2))
    metric = paddle.metric.Accuracy()
    model.prepare(metrics=metric)
    metric.update(metric.compute(paddle.eye(2), paddle.to_tensor([[0], [0]])))
    assert metric.accumulate() == 0.5
    model._reset_metrics()
    assert metric.accumulate() == 0.0


def test_private_names_of_parts():
    from paddle.framework.io import _to_LodTensor, _transformed_from_lodtensor
    from paddle.io import reader
    from paddle.tensor.search import _restrict_nonzero

    schedules = paddle.optimizer.lr.__all__
    assert len(schedules) == len(set(schedules)) == 18 and {"LRScheduler", "OneCycleLR"} < set(schedules)
    assert _restrict_nonzero(paddle.to_tensor([[0, 1], [2, 0]]), 2).tolist() == [[0, 1], [1, 0]]
    memory = _to_LodTensor(np.array([1.0, 2.0], "float32"))
    assert memory.shape() == [2] and _transformed_from_lodtensor(memory).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match="a DenseTensor, got list"):
        _transformed_from_lodtensor([1.0])
    before = reader.use_pinned_memory()
    try:
        assert reader.use_pinned_memory(not before) is None and reader.use_pinned_memory() is not before
        with pytest.raises(TypeError, match="no argument, or a bool"):
            reader.use_pinned_memory(1)
    finally:
        reader.use_pinned_memory(before)
