"""L-BFGS against the peer and the reference framework, and minimisers of functions."""

import numpy as np
import pytest
import torch

import paddle
from paddle import optimizer as O
from paddle.incubate.optimizer import LBFGS
from paddle.incubate.optimizer.functional import minimize_bfgs, minimize_lbfgs


def parameter(values):
    values = np.asarray(values)
    return paddle.create_parameter(
        list(values.shape), str(values.dtype), default_initializer=paddle.nn.initializer.Assign(values)
    )


def rosenbrock(x):
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def quartic(x):
    return ((x - 1.0) ** 4).sum() + (x[0] * x[1] - 0.3) ** 2


def closing(opt, loss_of, *params):
    def closure():
        opt.clear_grad() if hasattr(opt, "clear_grad") else opt.zero_grad()
        loss = loss_of(*params)
        loss.backward()
        return loss

    return closure


@pytest.mark.parametrize("loss_of", [rosenbrock, quartic])
@pytest.mark.parametrize(
    "options",
    [
        {"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 3},
        {"line_search_fn": "strong_wolfe", "max_iter": 20, "learning_rate": 0.5},
        {"learning_rate": 1e-3, "max_iter": 4, "history_size": 3},
        {"line_search_fn": "strong_wolfe", "max_iter": 10, "max_eval": 5},
    ],
)
def test_as_the_peer(loss_of, options):
    start = np.array([-1.2, 1.0, 0.4])
    p, q = parameter(start), torch.nn.Parameter(torch.from_numpy(start.copy()))
    ours = LBFGS(**options, parameters=[p])
    theirs = torch.optim.LBFGS([q], **{"lr" if k == "learning_rate" else k: v for k, v in options.items()})
    for _ in range(6):
        a = ours.step(closing(ours, loss_of, p))
        b = theirs.step(closing(theirs, loss_of, q))
        assert a.item() == pytest.approx(b.item(), rel=1e-8)
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-7, atol=1e-9)
    counts = theirs.state[theirs._params[0]]
    assert ours.state_dict()["state"]["func_evals"] == counts["func_evals"]
    assert ours.state_dict()["state"]["n_iter"] == counts["n_iter"]


# What the reference framework gives, step by step.
RECORDED = [
    [-1.0288795348319695, 1.0655029516848564],
    [-0.9349818277934963, 0.8364521175565001],
    [-0.5378302256216594, 0.29610990173221047],
    [-0.18402624497874628, 0.019098033654992908],
    [0.18358423860257259, 0.030527571732855037],
]


def test_as_the_reference_framework():
    p = parameter([-1.2, 1.0])
    opt = O.LBFGS(max_iter=4, history_size=3, line_search_fn="strong_wolfe", parameters=[p])
    for expected in RECORDED:
        opt.step(closing(opt, rosenbrock, p))
        np.testing.assert_allclose(p.numpy(), expected, rtol=1e-7)
    state = opt.state_dict()["state"]
    assert (state["func_evals"], state["n_iter"], len(state["old_sk"])) == (26, 18, 3)
    assert set(state) == {
        "func_evals", "n_iter", "al", "d", "alpha", "old_yk", "old_sk", "ro", "H_diag", "prev_flat_grad", "prev_loss",
    }  # fmt: skip


def test_captured_functions_count_evaluations_once():
    """A step runs between graphs, from its beginning; one graph refuses it."""

    def trained(capture):
        p = parameter([-1.2, 1.0])
        opt = O.LBFGS(max_iter=4, history_size=3, line_search_fn="strong_wolfe", parameters=[p])
        step = capture(lambda: opt.step(closing(opt, rosenbrock, p)))
        losses = [step().item() for _ in range(5)]
        return losses, p.tolist(), opt.state_dict()["state"]["func_evals"]

    assert trained(paddle.jit.to_static) == trained(lambda f: f)
    with pytest.raises(RuntimeError, match=r"\[LBFGS\.step\] requires a call outside of graphs"):
        trained(lambda f: paddle.jit.to_static(f, full_graph=True))


def test_several_parameters_and_decay():
    def loss_of(a, b):
        return ((a - 1.0) ** 2).sum() + ((b * a.sum() - 2.0) ** 2).sum()

    starts = [np.linspace(-1, 1, 6).reshape(2, 3), np.array(0.5)]
    ours = [parameter(s) for s in starts]
    theirs = [torch.nn.Parameter(torch.from_numpy(s.copy())) for s in starts]
    opt = O.LBFGS(line_search_fn="strong_wolfe", parameters=ours, weight_decay=0.1)
    peer = torch.optim.LBFGS(theirs, line_search_fn="strong_wolfe")
    opt.step(closing(opt, loss_of, *ours))

    def closure():
        peer.zero_grad()
        loss = loss_of(*theirs)
        loss.backward()
        for q in theirs:  # the penalty is in the gradient alone
            q.grad += 0.1 * q.detach()
        return loss

    peer.step(closure)
    for p, q in zip(ours, theirs):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_clipping_is_told_to_do_nothing(search):
    """Of clipped gradients, whose differences are no curvature, parameters went to 1e18."""

    def loss_of(a):
        return (a.sum() ** 2).mean()

    p, q = parameter([1.0, 1.0]), parameter([1.0, 1.0])
    plain = O.LBFGS(0.1 if search is None else 1.0, line_search_fn=search, parameters=[p])
    clip = paddle.nn.ClipGradByGlobalNorm(0.1)
    with pytest.warns(UserWarning, match=r"^\[LBFGS\] requires gradients as they are, got a grad_clip"):
        clipped = O.LBFGS(plain.get_lr(), line_search_fn=search, parameters=[q], grad_clip=clip)
    for _ in range(3):
        plain.step(closing(plain, loss_of, p))
        clipped.step(closing(clipped, loss_of, q))
    np.testing.assert_array_equal(p.numpy(), q.numpy())


def test_a_state_goes_on():
    p, q = parameter([-1.2, 1.0]), parameter([-1.2, 1.0])
    opt = O.LBFGS(max_iter=3, line_search_fn="strong_wolfe", parameters=[p])
    for _ in range(2):
        opt.step(closing(opt, rosenbrock, p))
    other = O.LBFGS(max_iter=3, line_search_fn="strong_wolfe", parameters=[q])
    other.set_state_dict(opt.state_dict())
    q.set_value(p.detach())
    for o, x in ((opt, p), (other, q)):
        o.step(closing(o, rosenbrock, x))
    np.testing.assert_array_equal(p.numpy(), q.numpy())


def test_refused():
    p = parameter([1.0])
    with pytest.raises(ValueError, match="line_search_fn"):
        O.LBFGS(line_search_fn="armijo", parameters=[p])
    with pytest.raises(ValueError, match="one group"):
        O.LBFGS(parameters=[{"params": [p]}, {"params": [parameter([1.0])]}])
    with pytest.raises(NotImplementedError, match="closure"):
        O.LBFGS(parameters=[p]).minimize(None)


@pytest.mark.parametrize("minimize", [minimize_bfgs, minimize_lbfgs])
def test_minimisers(minimize):
    start = paddle.to_tensor([-1.2, 1.0, 0.5], dtype="float64")
    done, calls, x, value, grad, *inverse = minimize(rosenbrock, start, max_iters=200, dtype="float64")
    assert done.item() and done.shape == [1] and calls.item() > 10 and value.shape == []
    np.testing.assert_allclose(x.numpy(), 1.0, rtol=1e-6)
    assert abs(grad.numpy()).max() < 1e-5 and value.item() < 1e-12
    if inverse:
        hessian = np.array([[802.0, -400.0, 0.0], [-400.0, 1002.0, -400.0], [0.0, -400.0, 200.0]])
        np.testing.assert_allclose(inverse[0].numpy() @ hessian, np.eye(3), atol=0.5)
    early, *_ = minimize(rosenbrock, start, max_iters=2, dtype="float64")
    assert not early.item()
    guess = paddle.to_tensor([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]], dtype="float64")
    found = minimize(lambda x: ((x - 2) ** 2).sum(), start, initial_inverse_hessian_estimate=guess, dtype="float64")
    assert found[1].item() == 2 and found[0].item()  # the exact curvature: one step
    for bad in ({"dtype": "float16"}, {"initial_inverse_hessian_estimate": -guess}):
        with pytest.raises(ValueError, match="minimize"):
            minimize(rosenbrock, start, **{"dtype": "float64", **bad})
    with pytest.raises(NotImplementedError, match="strong_wolfe"):
        minimize(rosenbrock, start, line_search_fn="x")
