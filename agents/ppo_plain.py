"""PPO in one file, to be read and changed: ``python -m agents.ppo_plain --env Klondike-Draw1-v0``.

Plain PyTorch on the native vector environment, with the same candidates, masks and network as
`agents.train`, and nothing else between: no callbacks, no buffers, no resuming. It writes the
weights that agent `ppo` plays with.

    python -m agents.ppo_plain --start guide --steps 4000000 --output runs/plain.npz
    # then, in Python: Ppo(rules, weights=Weights.load(Path("runs/plain.npz")))
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from agents.guide import load_weights, weights_file
from agents.network import CandidateNetwork, running_mean
from agents.ppo import Ppo, Weights
from agents.wrappers import CandidatesVectorEnv
from klondike_env.deals import suite
from klondike_env.evaluation import evaluate
from klondike_env.games.klondike.rules import PRESETS


def train(
    env_id: str,
    *,
    steps: int,
    seed: int = 1,
    start: str = "zero",
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
        start: ``zero``, or ``guide`` for guide's weights as the linear part.
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
    envs = CandidatesVectorEnv(
        gym.make_vec(
            env_id, num_envs, "vector_entry_point", actions="reach", autoreset_mode="SameStep"
        ),
        no_repeat=True,
        stall_limit=60,
    )
    linear = load_weights(weights_file(PRESETS[env_id])) if start == "guide" else None
    network = CandidateNetwork(hidden, linear)
    mean = running_mean(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate, eps=1e-5)

    shape = (num_steps, num_envs)
    actions = torch.zeros(shape, dtype=torch.int64)
    log_probs, rewards, dones, values = (torch.zeros(shape) for _ in range(4))
    num_updates = max(steps // (num_steps * num_envs), 1)
    observations, infos = envs.reset(seed=seed)
    began = time.perf_counter()
    for update in range(num_updates):
        share_left = 1 - update / num_updates
        optimizer.param_groups[0]["lr"] = (
            last_learning_rate + (learning_rate - last_learning_rate) * share_left
        )

        # Play. Candidates are kept without the empty places, three quarters of all.
        kept, overviews, all_masks, won = [], [], [], []
        for step in range(num_steps):
            candidates, overview = map(torch.from_numpy, observations.values())
            masks = torch.from_numpy(infos["action_mask"]).bool()
            kept.append(candidates[masks])
            overviews.append(overview)
            all_masks.append(masks)
            with torch.no_grad():
                policy = Categorical(
                    logits=network.scores(kept[-1], overview, masks), validate_args=False
                )
                actions[step] = policy.sample()
                log_probs[step] = policy.log_prob(actions[step])
                values[step] = network.values(overview)[:, 0]
            observations, reward, terminated, truncated, infos = envs.step(actions[step].numpy())
            ended = terminated | truncated
            won += reward[ended].tolist()
            # A game that the step limit cut is worth what it was worth before its last move.
            reward += np.where(truncated & ~terminated, values[step].numpy(), 0.0)
            rewards[step] = torch.from_numpy(reward)
            dones[step] = torch.from_numpy(ended)

        # Advantages by generalized advantage estimation.
        advantages = torch.zeros(shape)
        with torch.no_grad():
            next_value = network.values(torch.from_numpy(observations["overview"]))[:, 0]
        carried = torch.zeros(num_envs)
        for step in reversed(range(num_steps)):
            goes_on = 1.0 - dones[step]
            delta = rewards[step] + goes_on * next_value - values[step]
            carried = delta + goes_on * gae_lambda * carried
            advantages[step] = carried
            next_value = values[step]
        returns = (advantages + values).flatten()

        # Learn.
        flat_candidates, flat_overviews = torch.cat(kept), torch.cat(overviews)
        flat_masks = torch.cat(all_masks)
        counts = flat_masks.sum(1)
        starts = counts.cumsum(0) - counts
        flat_actions, flat_log_probs = actions.flatten(), log_probs.flatten()
        flat_advantages = advantages.flatten()
        for _ in range(epochs):
            order = torch.from_numpy(rng.permutation(len(returns)))
            for chosen in order.split(minibatch):
                own = counts[chosen]
                firsts = starts[chosen] - (own.cumsum(0) - own)
                places = firsts.repeat_interleave(own) + torch.arange(int(own.sum()))
                overview = flat_overviews[chosen]
                scores = network.scores(flat_candidates[places], overview, flat_masks[chosen])
                policy = Categorical(logits=scores, validate_args=False)
                ratio = (policy.log_prob(flat_actions[chosen]) - flat_log_probs[chosen]).exp()
                advantage = flat_advantages[chosen]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                policy_loss = -torch.min(
                    advantage * ratio, advantage * ratio.clamp(1 - clip, 1 + clip)
                ).mean()
                value_loss = nn.functional.mse_loss(network.values(overview)[:, 0], returns[chosen])
                entropy = policy.entropy().mean()
                loss = policy_loss + value_weight * value_loss - entropy_weight * entropy
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), max_norm)
                optimizer.step()
        mean.update_parameters(network)
        done = (update + 1) * num_steps * num_envs
        seconds = time.perf_counter() - began
        progress(
            f"update {update + 1}/{num_updates}: won {np.mean(won or [0]):.3f} of {len(won)},"
            f" entropy {entropy.item():.3f}, {done / seconds:,.0f} decisions/s"
        )
    envs.close()
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
    parser.add_argument("--start", default="zero", choices=["zero", "guide"])
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
