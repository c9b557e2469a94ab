"""Klondike for learners whose actions are plans: a batch of games in one compiled call.

A plan is all moves up to the next card turned up. The observation is a `Dict` of `Box`es,

    candidates  (48, F)  float32  features of each plan (`FEATURES` of `agents.ppo_plan`), 0 if none
    overview    (S,)     float32  what holds for the whole position and all plans (`OVERVIEW`)
    past        (2,)     float32  how games of this deal went before, for the critic alone

and an action is the place of a plan, `Discrete(48)`; `action_masks()` says which places hold one.
The reward is 1 for a win. Games are played in the solver's compact states, as `planner` plays them:
where there is one plan it is played without asking, a game is over when there is none, and with at
most one card face down, when all cards are known, a search says whether it is won. Plans and their
features depend on nothing that the player has not seen.

Deals are those of `reset(seed=...)`, from 2^32 on, never those of a suite. A row plays each deal
several times: what the critic learns from `past`, (games / 8, (wins + 1) / (games + 2)), takes much
of the luck of the deal out of the advantages. A policy must not look at it. A deal that has nothing
to decide is passed over.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from agents.plan_agent import check_free
from agents.planner import MORE, QUOTA
from agents.ppo_plan import FEATURES, OVERVIEW, oversee
from klondike_env import IllegalMoveError
from klondike_env.compiled import entry_point
from klondike_env.deals import advance_stream, stream_number, stream_of_seed, streams_of_seed
from klondike_env.games.klondike.rules import PRESETS
from klondike_env.solvers.klondike import search
from klondike_env.solvers.klondike.choice import SECOND_NODES, list_choices, room
from klondike_env.solvers.klondike.compact import (
    DEAL,
    ONE,
    STATE,
    every_table,
    is_surely_won,
    play,
)
from klondike_env.solvers.klondike.lookahead import verdict
from klondike_env.solvers.klondike.planning import MAX_NODES, room_to_search
from klondike_env.solvers.klondike.plans import MAX_PLANS
from klondike_env.solvers.klondike.worlds import deal_state, room_to_deal

EXACT_STATES = 20_000
PAST = 2
"""Numbers in `past`."""

PLAN_ACTION_SPACE = gym.spaces.Discrete(MAX_PLANS)
_SHAPES = {
    "candidates": (MAX_PLANS, len(FEATURES)),
    "overview": (len(OVERVIEW),),
    "past": (PAST,),
}
PLAN_OBSERVATION_SPACE = gym.spaces.Dict(
    {name: gym.spaces.Box(-np.inf, np.inf, shape, np.float32) for name, shape in _SHAPES.items()}
)


@entry_point
def _play_on(  # type: ignore[no-untyped-def]
    actions,  # int64[N], read where a row has plans
    effort,  # plans a pile, positions after the first plan, games of each deal
    every,  # `every_table`
    tools,  # a `room`
    exact,  # a `room_to_search`
    dealer,  # a `room_to_deal`
    now,  # STATE[1], scratch
    streams,  # uint64[N]: of deal numbers
    numbers,  # int64[N]: deals being played
    plays,  # int64[N]: games begun of this deal
    wins,  # int64[N]: of these
    deals,  # DEAL[N]
    results,  # STATE[N, MAX_PLANS]: the position after each plan
    counts,  # int64[N]: plans; 0 for a row that has not begun
    candidates,  # out float32[N, MAX_PLANS, F], zeros
    overviews,  # out float32[N, S], zeros
    pasts,  # out float32[N, 2]
    rewards,  # out float64[N]
    dones,  # out bool[N]
):
    """Play a plan in every row and go on to the next decision, of a new game where one ends."""
    work, features = tools[0], tools[3]
    for b in range(counts.shape[0]):
        deal = deals[b : b + 1]
        rewards[b], dones[b] = 0.0, False
        is_asked = counts[b] > 0
        is_over = not is_asked
        if is_asked:
            now[0] = results[b][actions[b]]
        count = 0
        while count < 2:
            if is_over:
                if plays[b] == 0 or plays[b] == effort[2]:
                    streams[b] = advance_stream(streams[b])
                    numbers[b] = stream_number(streams[b])
                    plays[b], wins[b] = 0, 0
                plays[b] += 1
                deal_state(numbers[b : b + 1], dealer, now, deal)
            is_won = is_surely_won(now[0], deal[0])
            count = 0
            if not is_won and now[0].face_down <= ONE:
                is_won = verdict(now, deal, every, exact, EXACT_STATES) == search.WON
            elif not is_won:
                count = list_choices(now, deal, every, True, False, tools, effort[0], effort[1])
            is_over = count == 0
            if is_over and is_asked:
                rewards[b], dones[b] = 1.0 if is_won else 0.0, True
                wins[b] += is_won
                is_asked = False
            elif is_over:
                plays[b] = 0  # nothing was to be decided: on to another deal
            for k in range(count):
                plan = work[5][k]
                results[b][k] = work[0][np.int64(plan.node)]
                play(results[b][k], deal[0], every, np.int64(plan.kind), plan.card)
            if count == 1:
                now[0] = results[b][0]
        counts[b] = count
        for k in range(count):
            for f in range(candidates.shape[2]):
                candidates[b, k, f] = features[k, f]
        oversee(now[0], features, count, overviews[b])
        before = plays[b] - 1
        pasts[b, 0], pasts[b, 1] = before / 8, (wins[b] + 1) / (before + 2)


class PlanVectorEnv(gym.vector.VectorEnv[Any, Any, Any]):
    """Many games as choices among plans; see the module.

    Games end and begin anew in the same step. `final_obs` is all zeros, since nothing is left to
    choose; `final_info` says `deal` and `outcome`, won or lost. The games of a row depend on its
    seed alone.

    Args:
        env_id: whose rules are played; the stock must be free to look through.
        num_envs: games side by side, N.
        quota: plans a pile, the cheapest.
        more: positions looked at for plans after the first one is found.
        games_per_deal: games that a row plays of each deal.

    Raises:
        ValueError: rules that plans do not fit.
    """

    def __init__(
        self,
        env_id: str,
        num_envs: int,
        quota: int = QUOTA,
        more: int = MORE,
        games_per_deal: int = 1,
    ) -> None:
        rules = PRESETS[env_id]
        check_free(rules)
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self.single_observation_space = PLAN_OBSERVATION_SPACE
        self.observation_space = batch_space(PLAN_OBSERVATION_SPACE, num_envs)
        self.single_action_space = PLAN_ACTION_SPACE
        self.action_space = batch_space(PLAN_ACTION_SPACE, num_envs)
        self._tools: tuple[Any, ...] = (
            (quota, more, games_per_deal),
            every_table(rules.draw_count),
            room(MAX_NODES, SECOND_NODES),
            room_to_search(1 << 15),
            room_to_deal(rules),
            np.zeros(1, dtype=STATE),
        )
        self._streams: np.ndarray | None = None
        self._numbers, self._plays, self._wins = np.zeros((3, num_envs), dtype=np.int64)
        self._deals = np.zeros(num_envs, dtype=DEAL)
        self._results = np.zeros((num_envs, MAX_PLANS), dtype=STATE)
        self._counts = np.zeros(num_envs, dtype=np.int64)
        self._no_plans = {
            name: np.zeros(shape, dtype=np.float32) for name, shape in _SHAPES.items()
        }

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a game in every row.

        Args:
            seed: a whole number; one for each row; or None to go on with the deals.
            options: there are none.
        """
        if options:
            raise ValueError(f"reset has no options here, not {', '.join(options)}")
        if seed is None and self._streams is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        if isinstance(seed, int | np.integer):
            self._streams = streams_of_seed(int(seed), self.num_envs)
        elif seed is not None:
            self._streams = np.array([stream_of_seed(int(s)) for s in seed], dtype=np.uint64)
        self._counts[:] = 0
        self._plays[:] = 0
        observations, *_ = self._play_on(np.zeros(self.num_envs, dtype=np.int64))
        return observations, {"action_mask": self.action_masks()}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Play the plan in a place in every row (whole numbers [N]).

        Raises:
            IllegalMoveError: a place holds no plan; no row has moved.
        """
        places = np.asarray(actions, dtype=np.int64)
        bad = np.flatnonzero((places < 0) | (places >= self._counts))
        if len(bad):
            raise IllegalMoveError(f"row {bad[0]}: place {places[bad[0]]} holds no plan")
        played = self._numbers.copy()
        observations, rewards, dones = self._play_on(places)
        infos: dict[str, Any] = {"action_mask": self.action_masks()}
        if dones.any():
            final_obs = np.full(self.num_envs, None, dtype=object)
            final_obs[dones] = self._no_plans
            outcome = np.where(rewards > 0, "won", "lost").astype(object)
            infos |= {
                "final_obs": final_obs,
                "_final_obs": dones,
                "final_info": {"deal": played, "outcome": outcome},
                "_final_info": dones,
            }
        return observations, rewards, dones, np.zeros_like(dones), infos

    def _play_on(self, places: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        size = self.num_envs
        observations = {
            name: np.zeros((size, *shape), dtype=np.float32) for name, shape in _SHAPES.items()
        }
        rewards, dones = np.zeros(size), np.zeros(size, dtype=np.bool_)
        deals = (self._streams, self._numbers, self._plays, self._wins, self._deals)
        rows: tuple[Any, ...] = (*deals, self._results)
        shown = (self._counts, *observations.values(), rewards, dones)
        _play_on(places, *self._tools, *rows, *shown)
        return observations, rewards, dones

    def action_masks(self) -> np.ndarray:
        """The places that hold a plan, bool[N, 48]."""
        masks: np.ndarray = np.arange(MAX_PLANS) < self._counts[:, None]
        return masks
