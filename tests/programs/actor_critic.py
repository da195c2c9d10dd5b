"""A cart is kept on a track: Q-learning with a replay buffer and a target network, and an actor with its critic."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

import numpy as np
from common import fill

import paddle
import paddle.nn.functional as F
from paddle import nn

CASES = ("q learning", "actor critic")
TOLERANCE = 1e-3
ACTIONS = 3


class Track:
    """A cart with a place and a speed is pushed left or right, or left alone; far out the episode ends."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.RandomState(seed)

    def reset(self) -> np.ndarray:
        self.state, self.steps = self.rng.uniform(-0.5, 0.5, 2), 0
        return self.state.astype("float32")

    def step(self, action: int) -> tuple[np.ndarray, float, bool]:
        place, speed = self.state
        speed = 0.95 * speed + 0.2 * (action - 1) + 0.05 * place
        self.state = np.array([place + 0.3 * speed, speed])
        self.steps += 1
        done = bool(abs(self.state[0]) > 1.5 or self.steps == 20)
        return self.state.astype("float32"), float(1 - self.state[0] ** 2), done


class Replay:
    """The last transitions, of which batches are drawn."""

    def __init__(self, size: int, seed: int) -> None:
        self.kept: deque[Any] = deque(maxlen=size)
        self.rng = np.random.RandomState(seed)

    def add(self, *transition: Any) -> None:
        self.kept.append(transition)

    def sample(self, count: int) -> list[Any]:
        picked = [self.kept[i] for i in self.rng.choice(len(self.kept), count, replace=False)]
        return [paddle.to_tensor(np.stack(column)) for column in zip(*picked, strict=True)]


class Dueling(nn.Layer):
    """The worth of a state, and of each action beside the others."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 24), nn.Mish())
        self.worth, self.actions = nn.Linear(24, 1), nn.Linear(24, ACTIONS)

    def forward(self, states: Any) -> Any:
        hidden = self.body(states)
        actions = self.actions(hidden)
        return self.worth(hidden) + actions - actions.mean(axis=-1, keepdim=True)


def q_learning() -> dict[str, Any]:
    online = fill(Dueling())
    target = copy.deepcopy(online)
    target.eval()
    optimizer = paddle.optimizer.RMSProp(0.002, rho=0.95, parameters=online.parameters(), centered=True)
    track, replay, rng = Track(0), Replay(128, 1), np.random.RandomState(2)
    criterion = nn.SmoothL1Loss()
    losses: list[float] = []
    for episode in range(8):
        state, done = track.reset(), False
        while not done:
            if rng.uniform() < 0.5 * 0.9**episode:
                action = int(rng.randint(ACTIONS))
            else:
                with paddle.no_grad():
                    action = int(paddle.argmax(online(paddle.to_tensor(state))).item())
            following, reward, done = track.step(action)
            replay.add(state, np.int64(action), np.float32(reward), following, np.float32(done))
            state = following
            if len(replay.kept) < 24:
                continue
            states, actions, rewards, next_states, ends = replay.sample(16)
            with paddle.no_grad():
                best = online(next_states).argmax(axis=1, keepdim=True)
                worth = paddle.take_along_axis(target(next_states), best, axis=1).squeeze(1)
            index = paddle.stack([paddle.arange(16), actions], axis=1)
            loss = criterion(paddle.gather_nd(online(states), index), rewards + 0.9 * (1 - ends) * worth)
            loss.backward()
            optimizer.step()
            optimizer.clear_gradients()
            losses.append(float(loss))
            with paddle.no_grad():
                for mine, theirs in zip(target.parameters(), online.parameters(), strict=True):
                    mine.set_value(paddle.lerp(mine, theirs, 0.05))
    grid = paddle.stack(paddle.meshgrid(paddle.linspace(-1, 1, 3), paddle.linspace(-1, 1, 3)), axis=-1).reshape([-1, 2])
    return {"losses": losses, "values": online(grid), "targets": target(grid), "kept": len(replay.kept)}


class ActorCritic(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 24), nn.Tanh())
        self.policy, self.value = nn.Linear(24, ACTIONS), nn.Linear(24, 1)

    def forward(self, states: Any) -> tuple[Any, Any]:
        hidden = self.body(states)
        return F.softmax(self.policy(hidden), axis=-1), self.value(hidden).squeeze(-1)


def advantages(rewards: list[float], values: np.ndarray, last: float) -> tuple[np.ndarray, np.ndarray]:
    """Generalised advantages and the returns that the critic learns."""
    found, following, ahead = [], last, 0.0
    for reward, value in zip(rewards[::-1], values[::-1], strict=True):
        ahead = reward + 0.9 * following - value + 0.9 * 0.8 * ahead
        found.append(ahead)
        following = value
    gains = np.array(found[::-1], "float32")
    return gains, gains + values


def actor_critic() -> dict[str, Any]:
    model = fill(ActorCritic())
    optimizer = paddle.optimizer.Adamax(0.01, parameters=model.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))
    track, rng = Track(3), np.random.RandomState(4)
    losses, entropies, totals = [], [], []
    for _ in range(12):
        state, done = track.reset(), False
        states, actions, rewards = [], [], []
        while not done:
            with paddle.no_grad():
                chances, _ = model(paddle.to_tensor(state))
            # Three digits, and draws between them: rounding of the two frameworks makes no other action.
            steps = np.cumsum(chances.numpy().astype("float64").round(3))
            action = min(int((steps < rng.randint(0, 1000) / 1000 + 5e-4).sum()), ACTIONS - 1)
            states.append(state)
            actions.append(action)
            state, reward, done = track.step(action)
            rewards.append(reward)
        chances, values = model(paddle.to_tensor(np.stack(states)))
        gains, returns = advantages(rewards, values.detach().numpy(), 0.0)
        policy = paddle.distribution.Categorical(chances)
        logs = paddle.log(policy.probs(paddle.to_tensor(actions).unsqueeze(-1)).squeeze(-1))
        entropy = policy.entropy().mean()
        loss = -(logs * paddle.to_tensor(gains)).mean() + 0.5 * F.mse_loss(values, paddle.to_tensor(returns))
        (loss - 0.02 * entropy).backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
        entropies.append(float(entropy))
        totals.append(round(sum(rewards), 3))
    return {"losses": losses, "entropies": entropies, "totals": totals}


def run(case: str) -> dict[str, Any]:
    return q_learning() if case == "q learning" else actor_critic()
