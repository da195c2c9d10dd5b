"""A physics-informed network by deepxde; fails when it is far from the solution. ``python pinn_program.py EQUATION``"""

from __future__ import annotations

import sys

import deepxde as dde
import numpy as np

import paddle


def trained(data, net, iterations, **options):
    model = dde.Model(data, net)
    model.compile("adam", lr=0.01, metrics=["l2 relative error"] if data.soln is not None else None, **options)
    model.train(iterations=iterations, display_every=iterations, verbose=0)
    return model


def poisson():
    """-u'' = π² sin(πx) on [-1, 1], u(±1) = 0."""

    def pde(x, u):
        return -dde.grad.hessian(u, x) - np.pi**2 * paddle.sin(np.pi * x)

    geometry = dde.geometry.Interval(-1, 1)
    boundary = dde.icbc.DirichletBC(geometry, lambda x: 0, lambda x, on: on)
    data = dde.data.PDE(geometry, pde, boundary, 16, 2, solution=lambda x: np.sin(np.pi * x), num_test=50)
    model = trained(data, dde.nn.FNN([1, 20, 20, 1], "tanh", "Glorot uniform"), 600)
    x = np.linspace(-1, 1, 21)[:, None].astype("float32")
    return np.abs(model.predict(x) - np.sin(np.pi * x)).max(), 0.05


def heat():
    """u_t = 0.4 u_xx on [0, 1]², u(x, 0) = sin(πx), u(0, t) = u(1, t) = 0."""

    def pde(x, u):
        return dde.grad.jacobian(u, x, i=0, j=1) - 0.4 * dde.grad.hessian(u, x, i=0, j=0)

    def exact(x):
        return np.exp(-0.4 * np.pi**2 * x[:, 1:]) * np.sin(np.pi * x[:, :1])

    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(0, 1), dde.geometry.TimeDomain(0, 1))
    boundary = dde.icbc.DirichletBC(domain, lambda x: 0, lambda _, on: on)
    start = dde.icbc.IC(domain, lambda x: np.sin(np.pi * x[:, :1]), lambda _, on: on)
    data = dde.data.TimePDE(domain, pde, [boundary, start], num_domain=100, num_boundary=40, num_initial=40)
    model = trained(data, dde.nn.FNN([2, 20, 20, 1], "tanh", "Glorot normal"), 1000)
    x = np.random.default_rng(0).random((100, 2), "float32")
    return np.abs(model.predict(x) - exact(x)).max(), 0.1


def inverse():
    """u' = -k u from values of exp(-2 t): finds k = 2."""
    k = dde.Variable(1.0)

    def ode(t, u):
        return dde.grad.jacobian(u, t) + k * u

    times = np.linspace(0, 1, 11)[:, None]
    domain = dde.geometry.TimeDomain(0, 1)
    seen = dde.icbc.PointSetBC(times, np.exp(-2 * times))
    data = dde.data.PDE(domain, ode, seen, num_domain=20, num_boundary=2)
    trained(data, dde.nn.FNN([1, 20, 1], "tanh", "Glorot uniform"), 1000, external_trainable_variables=[k])
    return abs(float(k) - 2), 0.1


if __name__ == "__main__":
    dde.config.set_random_seed(0)
    error, bound = {"poisson": poisson, "heat": heat, "inverse": inverse}[sys.argv[1]]()
    print(f"error {error:.4g}, at most {bound}")
    sys.exit(not error < bound)
