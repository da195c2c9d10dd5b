"""Errors are of the kinds that programs catch: the reference framework's and those that Python or NumPy would raise."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F


def full(shape, dtype="float32", value=0.5):
    return paddle.full(shape, value, dtype)


def leaf(*shape):
    return paddle.create_parameter(list(shape), "float32")


def write_element(x):
    x[0] = 1.0


CASES = {
    # operands of two dtypes, or of one that the function does not take
    "linear": (lambda: F.linear(full([2, 3]), full([3, 4], "float64")), (TypeError, ValueError)),
    "conv2d": (lambda: F.conv2d(full([1, 1, 3, 3]), full([1, 1, 2, 2], "float64")), (TypeError, ValueError)),
    "kl_div of integers": (lambda: F.kl_div(full([2]), full([2], "int64", 1)), (TypeError, ValueError)),
    "kl_div of float16": (lambda: F.kl_div(full([2]), full([2], "float16")), (TypeError, ValueError)),
    "batch_norm": (lambda: F.batch_norm(full([4, 3], "float64"), *[full([3])] * 4), (TypeError, ValueError)),
    "layer_norm": (lambda: F.layer_norm(full([2, 3], "float64"), 3, full([3])), (TypeError, ValueError)),
    "no tensor": (lambda: F.binary_cross_entropy(full([2, 3]), 1), (TypeError, ValueError)),
    # indices
    "gather_nd": (lambda: paddle.gather_nd(full([3, 4]), paddle.to_tensor([[5, 5]])), (IndexError, ValueError)),
    "take": (lambda: paddle.take(full([3, 4]), paddle.to_tensor([12])), (IndexError, ValueError)),
    "nll_loss": (lambda: F.nll_loss(full([2, 3]), paddle.to_tensor([0, 5])), (IndexError, ValueError)),
    "an index that is a word": (lambda: full([3, 4])["a"], (IndexError, ValueError)),
    "an index that is a float": (lambda: full([3, 4])[1.5], (IndexError, ValueError)),
    # writes to leaves
    "zero_": (lambda: leaf(2).zero_(), (RuntimeError, ValueError)),
    "setitem": (lambda: write_element(leaf(2)), (RuntimeError, ValueError)),
    # shapes
    "cholesky": (lambda: paddle.linalg.cholesky(full([3])), (AssertionError, ValueError)),
    "ormqr": (lambda: paddle.linalg.ormqr(full([4, 3]), full([3]), full([4, 2])), (AssertionError, ValueError)),
    "dice_loss": (lambda: F.dice_loss(full([2, 3]), paddle.to_tensor([0, 2])), (AssertionError, ValueError)),
    "unfold": (lambda: F.unfold(full([2, 3, 5]), 2), (AssertionError, ValueError)),
    "dropout1d": (lambda: F.dropout1d(full([2, 3, 4, 5])), (RuntimeError,)),
    "put_along_axis": (
        lambda: paddle.put_along_axis(full([2, 3]), paddle.to_tensor([[0, 1], [1, 0]]), 2.0, 0),
        (ValueError,),
    ),
    "maxout": (lambda: F.maxout(full([2, 4, 4]), 2), (ValueError,)),
    "normalize": (lambda: F.normalize(full([3])), (ValueError,)),
    "masked_scatter": (lambda: paddle.masked_scatter(full([3]), full([3]) > 0, full([2])), (ValueError,)),
    # arguments
    "diff": (lambda: paddle.diff(full([3]), 0), (ValueError,)),
    "split_with_sizes": (lambda: full([5]).split_with_sizes([2, -1]), (ValueError,)),
    "words for a circular padding": (
        lambda: paddle.nn.Conv1D(2, 4, 3, padding="same", padding_mode="circular"),
        (TypeError,),
    ),
    "pow of a number": (lambda: paddle.pow(2, full([3])), (TypeError, ValueError)),
    "median of two axes": (lambda: paddle.median(full([2, 3]), axis=[0, 1]), (ValueError,)),
    "kl_div of an unknown reduction": (lambda: F.kl_div(full([2]), full([2]), reduction="wrong"), (ValueError,)),
    "argmax of another dtype": (lambda: paddle.argmax(full([2]), dtype="float32"), (TypeError, ValueError)),
    "cummax of another dtype": (lambda: paddle.cummax(full([2]), dtype="float32"), (TypeError, ValueError)),
    "eye of a negative size": (lambda: paddle.eye(-1), (TypeError, ValueError)),
    "combinations of a matrix": (lambda: paddle.combinations(full([2, 2])), (TypeError, ValueError)),
    "cosine_embedding_loss of integers": (
        lambda: F.cosine_embedding_loss(*[full([2, 3], "int64", 1)] * 2, full([2])),
        (TypeError, ValueError),
    ),
    "cosine_embedding_loss with bools": (
        lambda: F.cosine_embedding_loss(*[full([2, 3])] * 2, full([2], "bool", True)),
        (TypeError, ValueError),
    ),
    "output_size as a word": (
        lambda: F.conv2d_transpose(full([1, 2, 5, 5]), full([2, 3, 3, 3]), output_size="12"),
        (TypeError, ValueError),
    ),
    "fill_ with several": (lambda: full([2]).fill_(full([2])), (TypeError, ValueError)),
    "a slope as a word": (lambda: F.leaky_relu(full([2]), "0.5"), (TypeError, ValueError)),
    "a power as a word": (lambda: paddle.dist(full([2]), full([2]), "a"), (TypeError, ValueError)),
    "glu beyond the rank": (lambda: F.glu(full([2, 4]), 2), (IndexError, ValueError)),
    "group_norm of a vector": (lambda: F.group_norm(full([4]), 2), (IndexError, ValueError)),
    "householder_product of two batches": (
        lambda: paddle.linalg.householder_product(full([2, 4, 3]), full([3, 3])),
        (AssertionError, ValueError),
    ),
    "affine_grid of a number": (lambda: F.affine_grid(full([1, 2, 3]), 4), (ValueError,)),
    "where_ without values": (lambda: (full([2]) > 0).where_(), (ValueError,)),
    "where_ of a number": (lambda: (full([2]) > 0).where_(1.0, 0.0), (ValueError,)),
}


@pytest.mark.parametrize("name", CASES)
def test_kinds(name):
    call, kinds = CASES[name]
    for kind in kinds:
        with pytest.raises(kind, match="requires"):
            call()


LOSSES = [
    F.smooth_l1_loss, F.kl_div, F.poisson_nll_loss, F.log_loss, F.binary_cross_entropy, F.soft_margin_loss,
    F.binary_cross_entropy_with_logits, F.multi_label_soft_margin_loss, F.sigmoid_focal_loss,
]  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", [[3], [2, 1], [1, 3], [4, 3]])
def test_labels_of_another_shape_are_refused(loss, shape):
    with pytest.raises(ValueError, match="label of input's shape"):
        loss(full([2, 3]), full(shape))


@pytest.mark.parametrize("loss", [F.l1_loss, F.mse_loss, F.square_error_cost, F.hinge_embedding_loss])
def test_labels_that_broadcast(loss):
    x = paddle.to_tensor(np.linspace(-1, 1, 6).reshape(2, 3))
    label = paddle.to_tensor([1.0, -1.0, 1.0], "float64")
    assert float(loss(x, label).sum()) == pytest.approx(float(loss(x, label.expand([2, 3])).sum()))


def test_a_leaf_is_copied_to_and_stays_one():
    x, value = leaf(2, 2), full([2, 2])
    value.stop_gradient = False
    assert x.copy_(value) is x and x.is_leaf and not x.stop_gradient
    (x * 3.0).sum().backward()
    np.testing.assert_array_equal(x.numpy(), value.numpy())
    np.testing.assert_array_equal(x.grad.numpy(), np.full([2, 2], 3, "float32"))
    assert value.grad is None


@pytest.mark.parametrize(
    ("shape", "wanted", "found"),
    [
        ([2, 0], [0, 5], [0, 5]),
        ([0, 3], [5, 0], [5, 0]),
        ([2, 0], [0, -1], [0, 2]),
        ([0, 3], [0, 5], [0, 5]),
        ([2, 3], [0, 3], [2, 3]),
    ],
)
def test_zeros_in_a_shape(shape, wanted, found):
    assert paddle.zeros(shape).reshape(wanted).shape == found


@pytest.mark.parametrize("f", [F.glu, lambda x, axis: F.maxout(x, 2, axis)], ids=["glu", "maxout"])
def test_axes_are_named_as_they_were_given(f):
    x = full([2, 2, 2, 2])
    assert f(x, np.int64(1)).shape == f(x, -3).shape == [2, 1, 2, 2]
    for axis in (4, -5, -9):
        with pytest.raises(IndexError, match=f"requires an axis from -4 to 3, got {axis}$"):
            f(x, axis)
    for axis in (1.5, "1", None, True, [1]):
        with pytest.raises(TypeError, match="requires an integer for axis"):
            f(x, axis)


def test_contains():
    x = paddle.to_tensor([[1, 2]])
    assert 1 in x and 3 not in x
    assert [1, 2] not in x and None not in x and "a" not in x


def test_parts_of_lu_that_are_not_wanted():
    factors = paddle.linalg.lu(paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], "float64"))
    p, *rest = paddle.linalg.lu_unpack(*factors, unpack_ludata=False)
    assert p.dtype is paddle.float64
    assert [(x.shape, x.dtype) for x in rest] == [([0], paddle.float32)] * 2


def test_solving_with_the_conjugate_transpose():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    b = rng.normal(size=(3, 2)) + 0j
    factors = paddle.linalg.lu(paddle.to_tensor(a))
    for trans, matrix in (("N", a), ("T", a.T), ("H", a.conj().T), ("C", a.conj().T)):
        x = paddle.linalg.lu_solve(paddle.to_tensor(b), *factors, trans=trans)
        np.testing.assert_allclose(matrix @ x.numpy(), b, atol=1e-12)


def test_cholesky_inverse_reads_one_triangle():
    low = np.tril(np.arange(1.0, 10).reshape(3, 3))
    for upper in (False, True):
        factor = low.T if upper else low
        other = np.tril(np.full((3, 3), 7.0), -1) if upper else np.triu(np.full((3, 3), 7.0), 1)
        found = paddle.linalg.cholesky_inverse(paddle.to_tensor(factor + other), upper)
        np.testing.assert_allclose(found.numpy(), np.linalg.inv(low @ low.T), rtol=1e-9)
