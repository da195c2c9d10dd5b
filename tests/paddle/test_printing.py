"""How tensors print."""

import pytest

import paddle


@pytest.fixture(autouse=True)
def options():
    yield
    paddle.set_printoptions(precision=8, threshold=1000, edgeitems=3, sci_mode=False, linewidth=80)


def body(x):
    return str(x).split("\n", 1)[1]


def test_head():
    x = paddle.ones([2])
    assert str(x).startswith("Tensor(shape=[2], dtype=float32, place=Place(cpu), stop_gradient=True,\n       [1., 1.])")
    x.stop_gradient = False
    assert "stop_gradient=False" in repr(x)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (3, "       3)"),
        (True, "       True)"),
        (3.14159, "       3.14159012)"),
        ([1.5, 2, 1e-8], "       [1.50000000, 2.        , 0.00000001])"),
        ([1e10, 2.0], "       [10000000000., 2.          ])"),
        ([[1, -20], [300, 4]], "       [[ 1 , -20],\n        [300,  4 ]])"),
        ([True, False], "       [True , False])"),
        ([float("nan"), float("inf"), 1.0], "       [nan , inf., 1.  ])"),
        ([1 + 2j, 3 - 4.5j], "       [(1.00000000+2.00000000j), (3.00000000-4.50000000j)])"),
        ([], "       [])"),
    ],
)
def test_elements(data, text):
    assert body(paddle.to_tensor(data)) == text


def test_shapes():
    assert body(paddle.zeros([2, 0])) == "       [[],\n        []])"
    assert body(paddle.arange(8).reshape([2, 2, 2])) == (
        "       [[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])"
    )
    assert body(paddle.ones([2], dtype="bfloat16")) == "       [1., 1.])"


def test_lines_are_broken():
    lines = body(paddle.arange(100.0)).split("\n")
    assert len(lines) == 8
    assert lines[0] == "       [0. , 1. , 2. , 3. , 4. , 5. , 6. , 7. , 8. , 9. , 10., 11., 12., 13.,"
    assert lines[-1] == "        98., 99.])"


def test_the_middle_is_left_out():
    assert body(paddle.arange(2000)) == "       [0   , 1   , 2   , ..., 1997, 1998, 1999])"
    text = body(paddle.arange(4000).reshape([20, 20, 10]))
    assert text.startswith("       [[[0   , 1   , 2   , ..., 7   , 8   , 9   ],\n")
    assert text.count("...,\n") == 7


def test_options():
    paddle.set_printoptions(precision=3, threshold=5, edgeitems=2, linewidth=60)
    assert body(paddle.arange(30.0)) == "       [0. , 1. , ..., 28., 29.])"
    paddle.set_printoptions(sci_mode=True, threshold=1000)
    assert body(paddle.arange(5.0)) == ("       [0.000e+00, 1.000e+00, 2.000e+00, 3.000e+00,\n        4.000e+00])")
    with pytest.raises(TypeError, match="precision"):
        paddle.set_printoptions(precision="3")


def test_without_data():
    with paddle.device.device_guard("null"):
        x = paddle.ones([2, 3])
    expected = (
        "Tensor(shape=[2, 3], dtype=float32, place=Place(null:0), stop_gradient=True,\n       no data on this device)"
    )
    assert repr(x) == str(x) == expected
    with pytest.raises(RuntimeError, match="keeps none"):
        x.numpy()


def test_format():
    assert f"{paddle.to_tensor(2.5):.3f}" == "2.500"
    assert f"{paddle.to_tensor([1])}" == str(paddle.to_tensor([1]))
    with pytest.raises(TypeError, match="0-d"):
        format(paddle.ones([2]), ".2f")
