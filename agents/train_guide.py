"""Trains the weights of `guide` by playing: natural policy gradient on a softmax over candidates.

Each update plays a batch of training deals, several games a deal, drawing moves from the softmax of
their scores. A game's return is compared with the mean of the other games of its deal, which takes
most of the luck of the deal out of the gradient. The step is the natural one: the gradient divided
by the Fisher information of the policy, scaled to a fixed change of the policy a game. A game is
given up as lost when every move repeats a position. Deals come from the range that
`reset(seed=...)` draws on; the weights kept are those that play the `validation` suite best,
without randomness.

    python -m agents.train_guide --env Klondike-Draw3-v0 --updates 60 --seed 1
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from agents.chooser import LinearChooser
from agents.features import FEATURES
from agents.guide import weights_file
from agents.policy_gradient import leave_one_out, natural_step, running_mean, write_weights
from klondike_env.compiled import entry_point
from klondike_env.deals import FIRST_STREAM_NUMBER, suite
from klondike_env.games.klondike.rules import PRESETS, KlondikeRules

Progress = Callable[[str], None]

START = {
    "reveal": 4.0,
    "pile_to_foundation": 2.0,
    "pile_to_foundation_early": -1.0,
    "stock_to_foundation": 2.0,
    "stock_to_foundation_early": -1.0,
    "take_back": -2.0,
    "split_run": -0.5,
    "reveals_0": 2.0,
    "reveals_0_depth": 1.0,
    "reveals_1": 1.0,
    "reveals_1_depth": 0.5,
    "draw": -1.0,
    "redeal": -1.5,
    "later_draws": -1.0,
    "later_redeal": -1.0,
}
"""Where training starts: a softened version of common sense."""


FISHER_SHARE = 4


@entry_point
def accumulate(  # type: ignore[no-untyped-def]
    features,  # float32[B, C, F]
    counts,  # int64[B]
    repeats,  # int64[B, C]
    choices,  # int64[B]
    weights,  # float32[F]
    is_playing,  # bool[B]
    gradients,  # float64[B, F]: sums over the game so far, added to
    fisher,  # float64[F, F], upper triangle, added to
):
    """Add the gradient of the log probability of each row's choice; returns the choices counted."""
    size = weights.shape[0]
    probabilities = np.empty(counts.shape[0] + features.shape[1], dtype=np.float64)
    gradient = np.empty(size, dtype=np.float64)
    counted = 0
    for b in range(counts.shape[0]):
        if not is_playing[b] or counts[b] == 0:
            continue
        highest = -1e30
        allowed = 0
        for c in range(counts[b]):
            if repeats[b, c] == 0:
                score = 0.0
                for f in range(size):
                    score += np.float64(weights[f] * features[b, c, f])
                probabilities[c] = score
                highest = max(highest, score)
                allowed += 1
        counted += 1
        # A part of the decisions will do for the Fisher information, the costly part.
        is_sampled = (b + counts[b]) % FISHER_SHARE == 0
        if allowed < 2:
            continue
        total = 0.0
        for c in range(counts[b]):
            if repeats[b, c] == 0:
                probabilities[c] = np.exp(probabilities[c] - highest)
                total += probabilities[c]
        for f in range(size):
            gradient[f] = np.float64(features[b, choices[b], f])
        for c in range(counts[b]):
            if repeats[b, c] == 0:
                share = probabilities[c] / total
                for f in range(size):
                    gradient[f] -= share * np.float64(features[b, c, f])
        for f in range(size):
            value = gradient[f]
            gradients[b, f] += value
            if value != 0.0 and is_sampled:
                for g in range(f, size):
                    fisher[f, g] += value * gradient[g]
    return counted


class Games:
    """Plays lists of deals in a vector environment, refilling rows as their games end."""

    def __init__(self, env_id: str, num_envs: int, actions: str) -> None:
        self.num_envs = num_envs
        self.env = gym.make_vec(
            env_id,
            num_envs=num_envs,
            vectorization_mode="vector_entry_point",
            actions=actions,
            autoreset_mode=AutoresetMode.DISABLED,
        )

    def play(
        self,
        agent: LinearChooser,
        deals: np.ndarray,
        seed: int,
        after_act: Callable[[np.ndarray, np.ndarray], None] | None = None,
        on_end: Callable[[int, int], None] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Play each deal once, giving a game up when every move repeats a position.

        Args:
            agent: who plays.
            deals: int64[M].
            seed: of the agent's random numbers.
            after_act: called with (playing rows bool[N], given-up rows bool[N]) at each decision.
            on_end: called with (row, place in `deals`) as a game ends.

        Returns:
            Whether each was won (bool[M]) and its foundation cards at the end (int64[M]).
        """
        size = self.num_envs
        won = np.zeros(len(deals), dtype=np.bool_)
        cards = np.zeros(len(deals), dtype=np.int64)
        games = np.full(size, -1)
        seeds = np.random.default_rng(seed).integers(2**64, size=len(deals), dtype=np.uint64)
        agent.reset(size, seed)
        first = np.arange(size) % len(deals)
        observations, infos = self.env.reset(options={"deal": deals[first]})
        started = min(size, len(deals))
        games[:started] = np.arange(started)
        agent.start_games(np.arange(started), seeds[:started])
        is_over = np.zeros(size, dtype=np.bool_)
        while (games >= 0).any():
            played = agent.act(observations, infos["action_mask"])
            rows = np.arange(size)
            is_given_up = (agent.choices >= 0) & (agent.repeats[rows, agent.choices] > 0)
            if after_act:
                after_act(games >= 0, is_given_up)
            observations, _, terminated, truncated, infos = self.env.step(played)
            is_over = terminated | truncated | is_given_up | (games < 0)
            ended = np.flatnonzero((games >= 0) & is_over)
            for row in ended:
                game = games[row]
                won[game] = infos["outcome"][row] == "won"
                cards[game] = infos["foundation_cards"][row]
                if on_end:
                    on_end(int(row), int(game))
            games[ended] = -1
            free = ended[: len(deals) - started]
            if len(free):
                games[free] = np.arange(started, started + len(free))
                agent.start_games(free, seeds[started : started + len(free)])
                started += len(free)
                mask = np.zeros(size, dtype=np.bool_)
                mask[free] = True
                numbers = np.where(mask, deals[np.maximum(games, 0)], deals[0])
                observations, infos = self.env.reset(options={"reset_mask": mask, "deal": numbers})
        return won, cards


class Record:
    """What an update needs of its games: the gradient of each and the Fisher information of all."""

    def __init__(self, agent: LinearChooser, num_envs: int, num_games: int) -> None:
        size = len(agent.weights)
        self.agent = agent
        self.running = np.zeros((num_envs, size))
        self.per_game = np.zeros((num_games, size))
        self.fisher = np.zeros((size, size))
        self.decisions = 0

    def after_act(self, is_playing: np.ndarray, is_given_up: np.ndarray) -> None:
        """Add the decisions just made."""
        agent = self.agent
        self.decisions += accumulate(
            agent.candidates.features,
            agent.candidates.counts,
            agent.repeats,
            agent.choices,
            agent.weights,
            is_playing & ~is_given_up,
            self.running,
            self.fisher,
        )

    def on_end(self, row: int, game: int) -> None:
        """Keep the gradient of a game that has ended."""
        self.per_game[game] = self.running[row]
        self.running[row] = 0.0


def train(
    env_id: str,
    *,
    rules: KlondikeRules,
    updates: int,
    deals_per_update: int,
    games_per_deal: int,
    step_size: float,
    cards_weight: float,
    validation_games: int,
    validate_every: int,
    seed: int,
    num_envs: int = 512,
    progress: Progress = print,
) -> tuple[np.ndarray, dict[str, Any]]:
    """Train weights for an environment.

    Args:
        env_id: its id.
        rules: its rules.
        updates: steps of the weights.
        deals_per_update: training deals played for each.
        games_per_deal: games of each of these deals, at least 2.
        step_size: change of the policy a game and update (Kullback-Leibler divergence, nats), which
            falls linearly to a tenth.
        cards_weight: return of a lost game with all but one card up; a won game returns 1.
        validation_games: deals of the `validation` suite that each check plays.
        validate_every: updates between checks.
        seed: of deals and moves.
        num_envs: rows of the vector environment.
        progress: called with a line of text after every update.

    Returns:
        The best weights, float32[F], and their validation result.
    """
    weights = np.array([START.get(name, 0.0) for name in FEATURES], dtype=np.float64)
    rng = np.random.default_rng(seed)
    agent = LinearChooser(weights.astype(np.float32), rules, is_random=True)
    player = LinearChooser(weights.astype(np.float32), rules)
    games = Games(env_id, num_envs, agent.actions)
    validation = np.array(suite("validation", validation_games))
    best, best_value, best_result = weights.copy(), -1.0, {}
    begun = time.perf_counter()
    average = weights.copy()
    for update in range(1, updates + 1):
        numbers = rng.integers(FIRST_STREAM_NUMBER, 2**63, size=deals_per_update)
        deals = np.repeat(numbers, games_per_deal)
        agent.weights = weights.astype(np.float32)

        record = Record(agent, num_envs, len(deals))
        won, cards = games.play(
            agent, deals, int(rng.integers(2**32)), record.after_act, record.on_end
        )
        returns = np.where(won, 1.0, cards_weight * cards / 51)
        gradient = leave_one_out(returns, games_per_deal) @ record.per_game / len(deals)
        now = step_size * (1 - 0.9 * (update - 1) / max(updates - 1, 1))
        weights = weights + natural_step(gradient, record.fisher * (FISHER_SHARE / len(deals)), now)
        average = running_mean(average, weights, update)
        line = (
            f"update {update}/{updates}: return {returns.mean():.4f}, won {won.mean():.4f} of"
            f" {len(deals)}, {record.decisions / len(deals):.0f} moves a game,"
            f" {time.perf_counter() - begun:.0f} s"
        )
        if update % validate_every == 0 or update == updates:
            player.weights = average.astype(np.float32)
            won, cards = games.play(player, validation, 0)
            value = float(np.where(won, 1.0, cards_weight * cards / 51).mean())
            line += f"; validation return {value:.4f}, won {won.mean():.4f} of {validation_games}"
            if value > best_value:
                best, best_value = average.copy(), value
                best_result = {
                    "suite": "validation",
                    "games": validation_games,
                    "win_rate": float(won.mean()),
                    "mean_foundation_cards": float(cards.mean()),
                    "update": update,
                }
        progress(line)
    return best.astype(np.float32), best_result


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="Klondike-Draw3-v0", choices=list(PRESETS))
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--deals-per-update", type=int, default=512)
    parser.add_argument("--games-per-deal", type=int, default=8)
    parser.add_argument("--step-size", type=float, default=0.3, help="nats a game")
    parser.add_argument("--cards-weight", type=float, default=0.0)
    parser.add_argument("--validation-games", type=int, default=4000)
    parser.add_argument("--validate-every", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="default: the file that guide reads")
    options = parser.parse_args(arguments)
    rules = PRESETS[options.env]
    weights, result = train(
        options.env,
        rules=rules,
        updates=options.updates,
        deals_per_update=options.deals_per_update,
        games_per_deal=options.games_per_deal,
        step_size=options.step_size,
        cards_weight=options.cards_weight,
        validation_games=options.validation_games,
        validate_every=options.validate_every,
        seed=options.seed,
        progress=lambda line: print(line, flush=True),
    )
    output = options.output or weights_file(rules)
    given = sys.argv[1:] if arguments is None else arguments
    facts = {
        "env": options.env,
        "seed": options.seed,
        "deals": f"{options.updates * options.deals_per_update} drawn from 2^32 on",
        "validation": result,
    }
    named = dict(zip(FEATURES, weights, strict=True))
    write_weights(output, "agents.train_guide", given, facts, named)
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
