"""REINFORCE on a walk along a line, whose actions are drawn by NumPy from the policy's probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill

import paddle
import paddle.nn.functional as F
from paddle import nn

PLACES, GOAL, LONGEST = 9, 8, 24


def walk(policy: Any, rng: Any) -> tuple[list[int], list[int], list[float]]:
    place, states, actions, rewards = 3, [], [], []
    while place != GOAL and len(states) < LONGEST:
        chance = F.softmax(policy(paddle.to_tensor([place])), axis=1).numpy()[0, 1]
        # A number that is far from every probability of either framework.
        action = int(round(float(chance), 3) + 5e-4 > rng.randint(0, 1000) / 1000)
        states.append(place)
        actions.append(action)
        place = min(max(place + 2 * action - 1, 0), PLACES - 1)
        rewards.append(1.0 if place == GOAL else -0.05)
    return states, actions, rewards


def run(case: str = "") -> dict[str, Any]:
    rng = np.random.RandomState(0)
    policy = fill(nn.Sequential(nn.Embedding(PLACES, 8), nn.Tanh(), nn.Linear(8, 2)))
    optimizer = paddle.optimizer.RMSProp(0.01, parameters=policy.parameters())
    losses, lengths = [], []
    for _ in range(10):
        states, actions, rewards = walk(policy, rng)
        returns = np.cumsum(rewards[::-1])[::-1].astype("float32")
        chosen = F.one_hot(paddle.to_tensor(actions), 2)
        logs = (F.log_softmax(policy(paddle.to_tensor(states)), axis=1) * chosen).sum(1)
        loss = -(logs * paddle.to_tensor(returns - returns.mean())).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
        lengths.append(len(states))
    return {"losses": losses, "lengths": lengths, "logits": policy(paddle.arange(PLACES)).detach()}
