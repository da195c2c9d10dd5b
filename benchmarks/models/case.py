"""One model on both sides: equal weights, equal data, a training step (AdamW) or an inference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import paddle


@dataclass
class Case:
    """``eager``, ``compiled``, ``peer`` and ``peer_compiled`` run one step and give a number to compare."""

    name: str
    eager: Callable[[], float]
    compiled: Callable[[], float]
    peer: Callable[[], float]
    peer_compiled: Callable[[], float]

    @classmethod
    def training(
        cls, name: str, ours: Callable, theirs: Callable, data: tuple[np.ndarray, ...], weight_decay: float = 0.01
    ) -> Case:
        """Models whose call on ``data`` gives the loss."""
        given = [paddle.to_tensor(x) for x in data]
        peer_given = [torch.from_numpy(x) for x in data]

        def own(wrap: Callable) -> Callable[[], float]:
            paddle.seed(0)
            model = ours()
            optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters(), weight_decay=weight_decay)

            def step(*data: paddle.Tensor) -> paddle.Tensor:
                loss = model(*data)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad(set_to_zero=False)
                return loss

            step = wrap(step)
            return lambda: float(step(*given))

        def peer(wrap: Callable) -> Callable[[], float]:
            paddle.seed(0)
            model = transferred(ours(), theirs())
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=weight_decay, fused=True)
            forward = wrap(model)

            def step() -> float:
                loss = forward(*peer_given)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                return loss.item()

            return step

        return cls(
            name,
            own(lambda f: f),
            own(paddle.jit.to_static),
            peer(lambda f: f),
            lambda made=[]: (made or made.append(peer(torch.compile)) or made)[0](),
        )

    @classmethod
    def inference(cls, name: str, ours: Callable, theirs: Callable, data: tuple[np.ndarray, ...]) -> Case:
        given = [paddle.to_tensor(x) for x in data]
        peer_given = [torch.from_numpy(x) for x in data]
        paddle.seed(0)
        model = ours()
        module = transferred(model, theirs()).eval()
        model.eval()
        static = paddle.jit.to_static(model.__call__)

        def run(f: Callable) -> Callable[[], float]:
            def call() -> float:
                with paddle.no_grad():
                    return float(f(*given).numpy().ravel()[0])

            return call

        def peer(f: Callable) -> Callable[[], float]:
            def call() -> float:
                with torch.inference_mode():
                    return float(f(*peer_given).numpy().ravel()[0])

            return call

        return cls(
            name,
            run(model),
            run(static),
            peer(module),
            lambda made=[]: (made or made.append(peer(torch.compile(module))) or made)[0](),
        )


def transferred(source: Any, target: torch.nn.Module) -> torch.nn.Module:
    """``target`` with the weights of ``source``, whose names are the same; matrices of Linear are transposed there."""
    theirs = dict(target.named_parameters())
    linear = {f"{n}.weight" for n, m in target.named_modules() if isinstance(m, torch.nn.Linear)}
    for name, p in source.named_parameters():
        value = torch.from_numpy(p.numpy().copy())
        with torch.no_grad():
            theirs.pop(name).copy_(value.T if name in linear else value)
    if theirs:
        raise ValueError(f"no weights for {sorted(theirs)}")
    return target
