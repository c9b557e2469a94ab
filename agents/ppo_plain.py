"""PPO in one file, to be read and changed: ``python -m agents.ppo_plain --env Klondike-Draw1-v0``.

Plain PyTorch on the native vector environment, with the same candidates, masks and network as
`agents.train`, and nothing else between: no callbacks, no buffers, no resuming. It writes the
weights that agent `ppo` plays with.

    python -m agents.ppo_plain --start guide --steps 4000000 --output runs/plain.npz
    # then, in Python: Ppo(rules, weights=Weights.load(Path("runs/plain.npz")))

Two threads play half of the games each, with the agent's compiled network, and each finds the
gradients of what its half played. So they hardly wait for each other, where PyTorch's own threads
wait in every operation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from agents.network import CandidateNetwork, running_mean
from agents.overview import OVERVIEW
from agents.plan_features import FEATURES, guided_weights, planning_weights
from agents.ppo import Ppo, Weights, score_rows
from agents.wrappers import PLACES, CandidatesVectorEnv
from klondike_env.deals import suite
from klondike_env.evaluation import evaluate
from klondike_env.games.klondike.rules import PRESETS

HALVES = 2


class Decisions(NamedTuple):
    """B decisions to learn from."""

    candidates: torch.Tensor  # float32[M, F]: of all, without the empty places
    starts: torch.Tensor  # int64[B]: where each decision's begin
    masks: torch.Tensor  # bool[B, K]
    overviews: torch.Tensor  # float32[B, S]
    actions: torch.Tensor  # int64[B]
    log_probs: torch.Tensor  # float32[B], as they were made
    advantages: torch.Tensor  # float32[B]
    returns: torch.Tensor  # float32[B]
    won: list[float]  # of the games that ended


class Games:
    """Games side by side, played by the present network.

    Args:
        env_id: one where going through the stock is free.
        num_envs: how many, N.
        seed: of deals and choices.
    """

    def __init__(self, env_id: str, num_envs: int, seed: np.random.SeedSequence) -> None:
        envs = gym.make_vec(
            env_id, num_envs, "vector_entry_point", actions="reach", autoreset_mode="SameStep"
        )
        self.envs = CandidatesVectorEnv(
            envs, no_repeat=True, stall_limit=60, no_dead_ends=True, copies=False
        )
        self.rng = np.random.default_rng(seed)
        self.observations, self.infos = self.envs.reset(seed=int(seed.generate_state(1)[0]))

    def play(self, network: CandidateNetwork, num_steps: int, gae_lambda: float) -> Decisions:
        """Play T steps, every choice a draw from the softmax of the scores."""
        size = self.envs.num_envs
        shape = (num_steps, size)
        weights = network.to_weights().for_kernels()
        scores = np.zeros((size, PLACES), dtype=np.float32)
        rows = np.arange(size)
        kept = []
        overviews = np.empty((num_steps + 1, size, len(OVERVIEW)), dtype=np.float32)
        masks = np.empty((*shape, PLACES), dtype=np.bool_)
        actions = np.empty(shape, dtype=np.int64)
        log_probs, rewards = np.empty((2, *shape), dtype=np.float32)
        dones, cuts = np.empty((2, *shape), dtype=np.bool_)
        for step in range(num_steps):
            candidates, overviews[step] = self.observations.values()
            masks[step] = self.infos["action_mask"]
            counts = PLACES - masks[step][:, ::-1].argmax(1)
            score_rows(candidates, overviews[step], counts, weights, scores)
            logits = np.where(masks[step], scores, -np.inf)
            # The highest score with Gumbel noise added is a draw from the softmax.
            actions[step] = (logits + self.rng.gumbel(size=logits.shape)).argmax(1)
            highest = logits.max(1)
            total = np.exp(logits - highest[:, None]).sum(1)
            log_probs[step] = logits[rows, actions[step]] - highest - np.log(total)
            places = np.flatnonzero(masks[step])
            kept.append(candidates.reshape(-1, len(FEATURES)).take(places, axis=0))
            self.observations, reward, terminated, truncated, self.infos = self.envs.step(
                actions[step]
            )
            rewards[step] = reward
            dones[step] = terminated | truncated
            cuts[step] = truncated & ~terminated
        overviews[num_steps] = self.observations["overview"]
        won = rewards[dones].tolist()

        # Advantages by generalized advantage estimation.
        with torch.no_grad():
            flat = torch.from_numpy(overviews).flatten(0, 1)
            values = network.values(flat).view(num_steps + 1, size).numpy()
        # A game that the step limit cut is worth what it was worth before its last move.
        rewards += cuts * values[:-1]
        advantages = np.empty(shape, dtype=np.float32)
        carried = np.zeros(size, dtype=np.float32)
        for step in reversed(range(num_steps)):
            goes_on = ~dones[step]
            delta = rewards[step] + goes_on * values[step + 1] - values[step]
            carried = delta + goes_on * np.float32(gae_lambda) * carried
            advantages[step] = carried
        returns = advantages + values[:-1]

        width = int(np.flatnonzero(masks.any(axis=(0, 1)))[-1]) + 1  # no more places are needed
        flat_masks = masks[..., :width].reshape(-1, width)
        counts = flat_masks.sum(axis=1)
        return Decisions(
            torch.from_numpy(np.concatenate(kept)),
            torch.from_numpy(counts.cumsum() - counts),
            torch.from_numpy(flat_masks),
            flat[: num_steps * size],
            torch.from_numpy(actions).flatten(),
            torch.from_numpy(log_probs).flatten(),
            torch.from_numpy(advantages).flatten(),
            torch.from_numpy(returns).flatten(),
            won,
        )


def gradients(
    network: CandidateNetwork,
    decisions: Decisions,
    chosen: torch.Tensor,
    advantages: torch.Tensor,
    *,
    clip: float,
    value_weight: float,
    entropy_weight: float,
) -> tuple[torch.Tensor, ...]:
    """The gradients of PPO's loss, one for each of the network's parameters.

    Args:
        network: it.
        decisions: of a rollout.
        chosen: int64[C], which of them.
        advantages: float32[C], theirs.
        clip: and so on, see `train`.
    """
    masks, overviews = decisions.masks[chosen], decisions.overviews[chosen]
    counts = masks.sum(1)
    firsts = decisions.starts[chosen] - (counts.cumsum(0) - counts)
    places = firsts.repeat_interleave(counts) + torch.arange(int(counts.sum()))
    scores = network.scores(decisions.candidates[places], overviews, masks)
    logs = scores.log_softmax(1)
    log_probs = logs.gather(1, decisions.actions[chosen, None])[:, 0]
    ratio = (log_probs - decisions.log_probs[chosen]).exp()
    policy_loss = -torch.min(
        advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip)
    ).mean()
    values = network.values(overviews)[:, 0]
    value_loss = nn.functional.mse_loss(values, decisions.returns[chosen])
    entropy = -(logs.exp() * logs).sum(1).mean()
    loss = policy_loss + value_weight * value_loss - entropy_weight * entropy
    return torch.autograd.grad(loss, list(network.parameters()))


def train(
    env_id: str,
    *,
    steps: int,
    seed: int = 1,
    start: str = "plan",
    hidden: int = 64,
    num_envs: int = 1024,
    num_steps: int = 64,
    minibatch: int = 4096,
    epochs: int = 2,
    learning_rate: float = 1e-3,
    last_learning_rate: float = 1e-4,
    clip: float = 0.2,
    gae_lambda: float = 0.98,
    entropy_weight: float = 0.003,
    value_weight: float = 0.5,
    max_norm: float = 0.5,
    progress: Callable[[str], None] = print,
) -> Weights:
    """Train weights for an environment; the reward is 1 for a win and the discount 1.

    Args:
        env_id: one where going through the stock is free.
        steps: decisions of all games together.
        seed: of deals, first weights and choices.
        start: ``zero``, ``plan`` or ``guide``: the linear part is zeros, `planning_weights` or
            `guided_weights`.
        hidden: units of each hidden layer.
        num_envs: games side by side, N.
        num_steps: decisions of each game between updates, T.
        minibatch: decisions of a minibatch.
        epochs: passes over the decisions of an update.
        learning_rate: at the start; falls linearly to `last_learning_rate`.
        last_learning_rate: at the end.
        clip: range of the ratio.
        gae_lambda: of the advantage estimate.
        entropy_weight: of the entropy bonus.
        value_weight: of the value loss.
        max_norm: of the gradient.
        progress: called with a line of text after every update.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    linear = planning_weights() if start == "plan" else None
    if start == "guide":
        linear = guided_weights(PRESETS[env_id])
    network = CandidateNetwork(hidden, linear)
    mean = running_mean(network)
    parameters = list(network.parameters())
    optimizer = torch.optim.Adam(parameters, lr=learning_rate, eps=1e-5)
    learn = partial(
        gradients,
        network,
        clip=clip,
        value_weight=value_weight,
        entropy_weight=entropy_weight,
    )
    seeds = np.random.SeedSequence(seed).spawn(HALVES)
    halves = [Games(env_id, num_envs // HALVES, own) for own in seeds]
    pool = ThreadPoolExecutor(HALVES)
    num_updates = max(steps // (num_steps * num_envs), 1)
    began = time.perf_counter()
    for update in range(num_updates):
        share_left = 1 - update / num_updates
        optimizer.param_groups[0]["lr"] = (
            last_learning_rate + (learning_rate - last_learning_rate) * share_left
        )

        played = list(
            pool.map(Games.play, halves, repeat(network), repeat(num_steps), repeat(gae_lambda))
        )
        for _ in range(epochs):
            orders = [torch.from_numpy(rng.permutation(len(half.actions))) for half in played]
            for chosen in zip(*(order.split(minibatch // HALVES) for order in orders), strict=True):
                advantages = [
                    half.advantages[own] for half, own in zip(played, chosen, strict=True)
                ]
                both = torch.cat(advantages)
                advantages = [(own - both.mean()) / (both.std() + 1e-8) for own in advantages]
                of_halves = pool.map(learn, played, chosen, advantages)
                for parameter, *parts in zip(parameters, *of_halves, strict=True):
                    parameter.grad = torch.stack(parts).mean(0)
                nn.utils.clip_grad_norm_(parameters, max_norm)
                optimizer.step()
        mean.update_parameters(network)
        done = (update + 1) * num_steps * num_envs
        seconds = time.perf_counter() - began
        won = [result for half in played for result in half.won]
        progress(
            f"update {update + 1}/{num_updates}: won {np.mean(won or [0]):.3f} of {len(won)},"
            f" {done / seconds:,.0f} decisions/s"
        )
    pool.shutdown()
    best: Any = mean.module
    weights: Weights = best.to_weights(env=env_id, actions="reach", seed=seed, steps=done)
    return weights


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    free = [name for name, rules in PRESETS.items() if rules.allows_reach]
    parser.add_argument("--env", default="Klondike-Draw1-v0", choices=free)
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", default="plan", choices=["zero", "plan", "guide"])
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--validation-games", type=int, default=2000)
    parser.add_argument("--output", type=Path, default=Path("runs/plain.npz"))
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # so small a network gains little from more
    options.output.parent.mkdir(parents=True, exist_ok=True)
    weights = train(
        options.env,
        steps=options.steps,
        seed=options.seed,
        start=options.start,
        num_envs=options.num_envs,
        progress=lambda line: print(line, flush=True),
    )
    weights.save(options.output)
    agent = Ppo(PRESETS[options.env], weights=weights)
    print(evaluate(agent, options.env, suite("validation", options.validation_games)))
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
