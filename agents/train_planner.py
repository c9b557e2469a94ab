"""Trains the choice among plans, of `planner` and of the play within worlds of `search`.

Natural policy gradient on a softmax over the plans of each decision, as `agents.train_guide` does
it over moves. Games are played in the solver's compact states; the player's choice sees no more
than it would at the table. Training starts from the rule of `plan`.

    python -m agents.train_planner --env Klondike-Draw3-v0 --kind planner
"""

from __future__ import annotations

import argparse
import queue
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from agents.plan_agent import WEIGHTS, weights_name
from agents.policy_gradient import leave_one_out, natural_step, running_mean, write_weights
from klondike_env.cards import NUM_CARDS
from klondike_env.compiled import entry_point
from klondike_env.deals import FIRST_STREAM_NUMBER, mix, suite
from klondike_env.games.klondike.rules import PRESETS, KlondikeRules
from klondike_env.solvers.klondike import search
from klondike_env.solvers.klondike.choice import (
    FEATURES,
    NUM_FREE,
    NUM_SHALLOW,
    SECOND_NODES,
    list_choices,
    room,
    take_choice,
    unseen_places,
)
from klondike_env.solvers.klondike.compact import (
    ONE,
    STATE,
    ZERO,
    U,
    every_table,
    is_surely_won,
)
from klondike_env.solvers.klondike.lookahead import play_all_up, verdict
from klondike_env.solvers.klondike.planning import MAX_NODES, PlanPlayer, room_to_search
from klondike_env.solvers.klondike.plans import MAX_PLANS
from klondike_env.solvers.klondike.worlds import GAMMA, deal_states

KINDS = ("planner", "rollout")
FISHER_SHARE = 4
EXACT_STATES = 20_000
PART = 256  # games that a thread plays at a time
START = {
    "value": 5.0,
    "ends_up": 3.0,
    "ends_draw": -30.0,
    "ends_draw_last": 39.0,
    "uses_redeal": -3.0,
    "passed_last": -4.0,
}
"""Where training starts: the rule of `plan`, and playing stock cards that might not come back."""


@entry_point
def play_games(  # type: ignore[no-untyped-def]
    starts,  # STATE[M]
    deals,  # DEAL[M]
    every,
    weights,  # float64[F]
    is_random,  # draw from the softmax instead of playing the best
    seeds,  # uint64[M]
    tools,
    exact,
    now,  # STATE[1]
    node,  # NODE[1]
    is_free,  # the stock is free to look through
    for_money,  # cards on the foundations count, and not wins
    quota,
    more,
    scores,  # float64[MAX_PLANS]
    gradients,  # float64[M, F], added to
    fisher,  # float64[F, F], upper triangle, added to
    worth,  # float64[M], out: 1 for a win, or the share of the cards that come up
):
    """Play games to their ends and add up the gradients of the log probabilities of their plans."""
    features = tools[3]
    size = weights.shape[0]
    gradient = np.empty(size, dtype=np.float64)
    for b in range(starts.shape[0]):
        now[0] = starts[b]
        deal = deals[b : b + 1]
        seed, decisions = seeds[b], 0
        is_first, worth[b] = not is_free, 0.0
        while True:
            if is_surely_won(now[0], deal[0]):
                worth[b] = 1.0
                break
            is_first = is_first and unseen_places(now[0], True) != ZERO
            if now[0].face_down <= ONE and not is_first:
                if verdict(now, deal, every, exact, EXACT_STATES) == search.WON:
                    worth[b] = 1.0
                    break
                if not for_money:
                    break
            count = list_choices(now, deal, every, is_free, is_first, tools, quota, more)
            if count == 0:
                if for_money:
                    worth[b] = play_all_up(now[0], deal[0], every, node[0]) / NUM_CARDS
                break
            chosen = 0
            for k in range(count):
                scores[k] = 0.0
                for f in range(size):
                    scores[k] += weights[f] * features[k, f]
                if scores[k] > scores[chosen]:
                    chosen = k
            if is_random and count > 1:
                highest, total = scores[chosen], 0.0
                for k in range(count):
                    scores[k] = np.exp(scores[k] - highest)
                    total += scores[k]
                seed += GAMMA
                left = total * (np.float64(mix(seed) >> U(11)) / 2.0**53)
                for k in range(count):
                    chosen = k
                    left -= scores[k]
                    if left < 0:
                        break
                for f in range(size):
                    mean = 0.0
                    for k in range(count):
                        mean += scores[k] * features[k, f]
                    gradient[f] = features[chosen, f] - mean / total
                    gradients[b, f] += gradient[f]
                if (b + decisions) % FISHER_SHARE == 0:
                    for f in range(size):
                        if gradient[f] != 0.0:
                            for g in range(f, size):
                                fisher[f, g] += gradient[f] * gradient[g]
            decisions += 1
            take_choice(now[0], deal[0], every, tools, chosen)


class Player:
    """Plays deals in compact states, on some threads; the games do not depend on how many."""

    def __init__(
        self, rules: KlondikeRules, kind: str, quota: int, more: int, threads: int
    ) -> None:
        self.rules, self.quota, self.more = rules, quota, more
        self.every = every_table(rules.draw_count)
        # What a training does not use keeps the weight 0.
        self.used = np.ones(len(FEATURES), dtype=np.bool_)
        looks_further = kind == "planner" and rules.passes is None
        if not looks_further:
            self.used[NUM_SHALLOW:NUM_FREE] = False
        if rules.passes is None:
            self.used[NUM_FREE:] = False
        second = SECOND_NODES if looks_further else 1
        self.free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(threads):
            tools = (
                room(MAX_NODES, second),
                room_to_search(1 << 15),
                np.zeros(1, dtype=STATE),
                np.zeros(1, dtype=search.NODE),
                np.zeros(MAX_PLANS),
            )
            self.free.put(tools)
        self.pool = ThreadPoolExecutor(threads)

    def play(
        self, loaded: tuple[np.ndarray, np.ndarray], weights: np.ndarray, seeds: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Play games, at random if there are seeds.

        Returns:
            What each is worth (float64[M]), the gradients (float64[M, F]) and the Fisher
            information of all games (float64[F, F]).
        """
        states, deals = loaded
        size = len(states)
        worth, gradients = np.zeros(size), np.zeros((size, len(weights)))
        drawn = np.zeros(size, dtype=np.uint64) if seeds is None else seeds

        def part(first: int) -> np.ndarray:
            rows = slice(first, first + PART)
            fisher = np.zeros((len(weights), len(weights)))
            tools = self.free.get()
            room_of_plans, exact, now, node, scores = tools
            play_games(
                states[rows],
                deals[rows],
                self.every,
                weights,
                seeds is not None,
                drawn[rows],
                room_of_plans,
                exact,
                now,
                node,
                self.rules.passes is None,
                self.rules.scoring == "vegas",
                self.quota,
                self.more,
                scores,
                gradients[rows],
                fisher,
                worth[rows],
            )
            self.free.put(tools)
            return fisher

        # Parts of one size, added up in order: the sums do not depend on the number of threads.
        fishers = self.pool.map(part, range(0, size, PART))
        return worth, gradients, sum(fishers, np.zeros((len(weights), len(weights))))


def train(
    player: Player,
    *,
    updates: int,
    deals_per_update: int,
    games_per_deal: int,
    step_size: float,
    validation_games: int,
    validate_every: int,
    seed: int,
    progress: Callable[[str], None] = print,
) -> tuple[np.ndarray, dict[str, Any]]:
    """Train weights.

    Args:
        player: plays the games.
        updates: steps of the weights.
        deals_per_update: training deals played for each.
        games_per_deal: games of each of these deals, at least 2.
        step_size: nats a game and update, which falls linearly to a tenth.
        validation_games: deals of the `validation` suite that each check plays.
        validate_every: updates between checks.
        seed: of deals and choices.
        progress: called with a line of text after every update.

    Returns:
        The best weights, float64[F], and their validation result.
    """
    rng = np.random.default_rng(seed)
    weights = np.array([START.get(name, 0.0) for name in FEATURES]) * player.used
    average = weights
    validation = deal_states(suite("validation", validation_games), player.rules)
    best, best_value = weights, -1.0
    best_result: dict[str, Any] = {}
    begun = time.perf_counter()
    for update in range(1, updates + 1):
        numbers = rng.integers(FIRST_STREAM_NUMBER, 2**63, size=deals_per_update)
        states, deals = deal_states(numbers.tolist(), player.rules)
        loaded = np.repeat(states, games_per_deal), np.repeat(deals, games_per_deal)
        seeds = rng.integers(2**64, size=len(loaded[0]), dtype=np.uint64)
        worth, gradients, fisher = player.play(loaded, weights, seeds)
        gradient = leave_one_out(worth, games_per_deal) @ gradients / len(worth)
        now = step_size * (1 - 0.9 * (update - 1) / max(updates - 1, 1))
        weights = weights + natural_step(gradient, fisher * (FISHER_SHARE / len(worth)), now)
        weights[~player.used] = 0.0
        average = running_mean(average, weights, update)
        line = (
            f"update {update}/{updates}: worth {worth.mean():.4f} a game, {len(worth)} games,"
            f" {time.perf_counter() - begun:.0f} s"
        )
        if update % validate_every == 0 or update == updates:
            value = float(player.play(validation, average, None)[0].mean())
            line += f"; validation {value:.4f}, {validation_games} games"
            if value > best_value:
                best, best_value = average, value
                best_result = {
                    "suite": "validation",
                    "games": validation_games,
                    "worth": value,
                    "update": update,
                }
        progress(line)
    return best, best_result


def _is_played(rules: KlondikeRules) -> bool:
    try:
        PlanPlayer.check(rules)
    except ValueError:
        return False
    return True


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    envs = [name for name in PRESETS if _is_played(PRESETS[name])]
    parser.add_argument("--env", default="Klondike-Draw3-v0", choices=envs)
    parser.add_argument(
        "--kind", default="planner", choices=KINDS, help="one and the same where passes are limited"
    )
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--deals-per-update", type=int, default=800)
    parser.add_argument("--games-per-deal", type=int, default=8)
    parser.add_argument("--step-size", type=float, default=0.15, help="nats a game")
    parser.add_argument("--quota", type=int, default=4, help="plans a pile")
    parser.add_argument("--more", type=int, default=150, help="positions after the first plan")
    parser.add_argument("--validation-games", type=int, default=4000)
    parser.add_argument("--validate-every", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="default: the file that the agent reads")
    options = parser.parse_args(arguments)
    rules = PRESETS[options.env]
    weights, result = train(
        Player(rules, options.kind, options.quota, options.more, options.threads),
        updates=options.updates,
        deals_per_update=options.deals_per_update,
        games_per_deal=options.games_per_deal,
        step_size=options.step_size,
        validation_games=options.validation_games,
        validate_every=options.validate_every,
        seed=options.seed,
        progress=lambda line: print(line, flush=True),
    )
    output = options.output or WEIGHTS / f"{weights_name(options.kind, rules)}.json"
    facts = {
        "env": options.env,
        "seed": options.seed,
        "deals": f"{options.updates * options.deals_per_update} drawn from 2^32 on",
        "validation": result,
    }
    given = sys.argv[1:] if arguments is None else arguments
    named = dict(zip(FEATURES, weights, strict=True))
    write_weights(output, "agents.train_planner", given, facts, named)
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
