"""Klondike for learners: at each decision a list of candidate moves, each with its features.

The observation becomes a `Dict` of `Box`es,

    candidates  (32, F)  float32  features of each candidate move, 0 where none
    overview    (S,)     float32  what holds for the whole position (`agents.overview`)

with the features of `agents.features` and `agents.plan_features`; and an action is the place of a
candidate, `Discrete(32)`. `action_masks()` and the infos say which places hold a candidate. It is
the same game for the same player: nothing but observations and masks is read, so no hidden card can
leak. Spaces being interchangeable, moves to the second of two spaces are left out, and of more than
32 candidates those with the highest ids.

Three options make an agent's life shorter and are no rules of the game, so all are off by default:

- `no_repeat` bars every candidate that recreates a position seen since the last card was turned up
  or left the stock (`agents.repeats`). A game in which every move repeats ends as lost.
- `stall_limit` ends a game as lost after so many actions in a row that neither turn a card up nor
  play one from the stock.
- `no_dead_ends` ends a game as lost once the known cards allow no further card to be turned up.

Such an end sets `terminated`, and `info["given_up"]` tells it from an end by the rules. Without
them a policy that always plays its best move walks in circles until the step limit.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from agents.overview import OVERVIEW, overviews
from agents.plan_features import FEATURES, Candidates
from agents.repeats import SAME_TABLEAU, Positions
from klondike_env import IllegalMoveError
from klondike_env.checks import whole, whole_from
from klondike_env.compiled import entry_point

PLACES = 32
"""Candidates that a learner sees; twenty is the most met in 300,000 positions with `reach`."""

ACTION_SPACE = gym.spaces.Discrete(PLACES)
OBSERVATION_SPACE = gym.spaces.Dict(
    {
        "candidates": gym.spaces.Box(-np.inf, np.inf, (PLACES, len(FEATURES)), np.float32),
        "overview": gym.spaces.Box(-np.inf, np.inf, (len(OVERVIEW),), np.float32),
    }
)


@entry_point
def _pack(features, counts, repeats, no_repeat, candidates, used, masks):  # type: ignore[no-untyped-def]
    """Copy the candidates of every row and write its mask; all ones where nothing can be played.

    The places of `candidates` from `used` (int64[B], updated) on are zeros already.
    """
    for b in range(counts.shape[0]):
        count = min(counts[b], candidates.shape[1])
        candidates[b, :count] = features[b, :count]
        candidates[b, count : used[b]] = 0.0
        used[b] = count
        masks[b, :] = 1 if count == 0 else 0
        for c in range(count):
            masks[b, c] = 1 if not no_repeat or repeats[b, c] == 0 else 0


def _room(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Candidates to write to, float32[size, PLACES, F], and how many of them are not zeros."""
    candidates = np.zeros((size, PLACES, len(FEATURES)), dtype=np.float32)
    return candidates, np.zeros(size, dtype=np.int64)


class _View:
    """What a learner sees of `num_envs` games, and the options that end games early."""

    def __init__(
        self,
        env: Any,
        num_envs: int,
        no_repeat: bool,
        stall_limit: int | None,
        no_dead_ends: bool,
        copies: bool = True,
    ) -> None:
        if not isinstance(no_dead_ends, bool):
            raise ValueError(f"no_dead_ends is True or False, not {no_dead_ends!r}")
        if not isinstance(no_repeat, bool):
            raise ValueError(f"no_repeat is True or False, not {no_repeat!r}")
        if stall_limit is not None:
            stall_limit = whole_from("stall_limit", stall_limit, 1, " or None for no limit")
        setup = env.unwrapped.setup
        if setup.game.name != "Klondike" or setup.observation != "dict":
            raise ValueError("candidates need a Klondike environment with observation='dict'")
        self._rules = setup.rules
        self._no_repeat = no_repeat
        self._stall_limit = stall_limit
        self._no_dead_ends = no_dead_ends
        self._rooms = None if copies else [_room(num_envs), _room(num_envs)]
        self._positions = Positions(num_envs, setup.rules.draw_count)
        self._everyone = np.arange(num_envs)
        self._found = Candidates(setup.rules)
        self._found_of_some = Candidates(setup.rules)
        self._actions = np.zeros((num_envs, PLACES), dtype=np.int64)
        self._keys = np.zeros((num_envs, PLACES), dtype=np.uint64)
        self._stages = np.zeros(num_envs, dtype=np.int64)
        self._stalled = np.zeros(num_envs, dtype=np.int64)
        self.masks = np.ones((num_envs, PLACES), dtype=np.int8)

    def start_games(self, rows: np.ndarray) -> None:
        """New games begin in `rows` (int64[R])."""
        self._positions.start_games(rows)
        self._stalled[rows] = -1

    def look(
        self, observations: dict[str, np.ndarray], masks: np.ndarray, rows: np.ndarray | None = None
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Look at the games in `rows` (all by default), once after each reset and step.

        Returns:
            The learner's observations, and which of these games are to be given up (bool[R]).
        """
        everyone = rows is None
        rows = self._everyone if rows is None else rows
        found = self._found if everyone else self._found_of_some
        found.describe(observations, masks)
        repeats = self._positions.repeats(found, rows)
        if everyone and self._rooms:
            self._rooms.reverse()
            candidates, used = self._rooms[0]
        else:
            candidates, used = _room(len(rows))
            if self._rooms:
                self._rooms[0][1][rows] = PLACES  # where the caller copies these rows
        own_masks = np.empty((len(rows), PLACES), dtype=np.int8)
        _pack(found.features, found.counts, repeats, self._no_repeat, candidates, used, own_masks)
        is_new = self._stalled[rows] < 0
        is_same = (found.stages == self._stages[rows]) & ~is_new
        self._stalled[rows] = np.where(is_same, self._stalled[rows] + 1, 0)
        self._stages[rows] = found.stages
        given_up: np.ndarray = np.logical_not(own_masks.any(axis=1))
        if self._stall_limit is not None:
            given_up |= (found.counts > 0) & (self._stalled[rows] >= self._stall_limit)
        if self._no_dead_ends:
            given_up |= found.is_dead & ~is_new  # every game has a move at least
        own_masks[given_up] = 1
        self._actions[rows] = found.actions[:, :PLACES]
        self._actions[rows[found.counts == 0]] = 0
        self._keys[rows] = found.keys[:, :PLACES]
        self.masks = self.masks.copy()
        self.masks[rows] = own_masks
        return {"candidates": candidates, "overview": overviews(observations, found)}, given_up

    def play(self, places: np.ndarray) -> np.ndarray:
        """The environment's actions for chosen places (int64[N]), noted as played."""
        is_out = (places < 0) | (places >= PLACES)
        is_barred = is_out | (self.masks[self._everyone, np.where(is_out, 0, places)] == 0)
        if is_barred.any():
            row = int(np.flatnonzero(is_barred)[0])
            allowed = " ".join(map(str, np.flatnonzero(self.masks[row])))
            raise IllegalMoveError(
                f"row {row}: place {places[row]} holds no candidate that may be played; these do:"
                f" {allowed}"
            )
        idle = self._positions.idle
        draws = self._keys[self._everyone, places] == SAME_TABLEAU
        idle[:] = np.where(draws, idle + 1, 0)
        actions: np.ndarray = self._actions[self._everyone, places]
        return actions


class CandidatesEnv(gym.Wrapper[Any, Any, Any, Any]):
    """One game as choices among candidates; see the module.

    Args:
        env: a Klondike environment with dict observations, wrapped or not.
        no_repeat: bar moves that recreate a position.
        stall_limit: end a game after so many actions without an irreversible one; None for never.
        no_dead_ends: end a game once no further card can be turned up.

    Raises:
        ValueError: another environment, or a bad option.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        no_repeat: bool = False,
        stall_limit: int | None = None,
        no_dead_ends: bool = False,
    ) -> None:
        super().__init__(env)
        self._view = _View(env, 1, no_repeat, stall_limit, no_dead_ends)
        self._is_given_up = False
        self.observation_space = OBSERVATION_SPACE
        self.action_space = ACTION_SPACE

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a game."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._view.start_games(np.zeros(1, dtype=np.int64))
        return self._look(observation, info)[:2]

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Play the candidate in a place.

        Raises:
            IllegalMoveError: the place holds no candidate that may be played.
            gymnasium.error.ResetNeeded: the game has been given up.
        """
        if self._is_given_up:
            raise gym.error.ResetNeeded("the game has been given up: call reset() first")
        place = whole(action)
        if place is None:
            raise IllegalMoveError(f"an action is a whole number, not {action!r}")
        played = self._view.play(np.array([place], dtype=np.int64))
        observation, reward, terminated, truncated, info = self.env.step(int(played[0]))
        view, info, given_up = self._look(observation, info)
        return view, reward, terminated or given_up, truncated, info

    def _look(self, observation: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any], bool]:
        batch = {name: np.asarray(array)[None] for name, array in observation.items()}
        views, given_up = self._view.look(batch, info["action_mask"][None])
        self._is_given_up = bool(given_up[0])
        info = {**info, "action_mask": self._view.masks[0], "given_up": self._is_given_up}
        return {name: array[0] for name, array in views.items()}, info, self._is_given_up

    def action_masks(self) -> np.ndarray:
        """The places that hold a candidate, bool[32]; all true once the game has ended."""
        masks: np.ndarray = self._view.masks[0].astype(np.bool_)
        return masks


class CandidatesVectorEnv(gym.vector.VectorWrapper[Any, Any, Any]):
    """Many games as choices among candidates, described in one compiled call; see the module.

    The infos also hold `given_up` (bool[N]): the games that ended in this step by an option here.
    A game that the step limit truncates shows no candidates in its final observation.

    Args:
        env: `KlondikeVectorEnv` with dict observations and `autoreset_mode` `SameStep`.
        no_repeat: bar moves that recreate a position.
        stall_limit: end a game after so many actions without an irreversible one; None for never.
        no_dead_ends: end a game once no further card can be turned up.
        copies: False writes the candidates of all observations to two arrays in turn, so that they
            hold until the next step but one: no time goes into new memory.

    Raises:
        ValueError: another environment, or a bad option.
    """

    def __init__(
        self,
        env: gym.vector.VectorEnv[Any, Any, Any],
        *,
        no_repeat: bool = False,
        stall_limit: int | None = None,
        no_dead_ends: bool = False,
        copies: bool = True,
    ) -> None:
        super().__init__(env)
        mode = env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise ValueError(
                f"candidates need autoreset_mode={AutoresetMode.SAME_STEP.value!r}, not"
                f" {getattr(mode, 'value', mode)!r}"
            )
        self._view = _View(env, self.num_envs, no_repeat, stall_limit, no_dead_ends, copies)
        self.single_observation_space = OBSERVATION_SPACE
        self.observation_space = batch_space(OBSERVATION_SPACE, self.num_envs)
        self.single_action_space = ACTION_SPACE
        self.action_space = batch_space(ACTION_SPACE, self.num_envs)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a game in every row.

        Raises:
            ValueError: a bad seed or option; `reset_mask` is none here, as games restart alone.
        """
        if options is not None and "reset_mask" in options:
            raise ValueError("rows restart by themselves here: reset takes no reset_mask")
        observations, infos = self.env.reset(seed=seed, options=options)
        self._view.start_games(np.arange(self.num_envs))
        views, given_up = self._view.look(observations, infos["action_mask"])
        return views, self._infos(infos, given_up)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Play the candidate in a place in every row (whole numbers [N]).

        Raises:
            IllegalMoveError: a place holds no candidate that may be played; no row has moved.
        """
        places = np.asarray(actions)
        if places.dtype.kind not in "iu" or places.shape != (self.num_envs,):
            raise IllegalMoveError(
                f"actions are {self.num_envs} whole numbers in one row, not of type {places.dtype}"
                f" and shape {places.shape}"
            )
        played = self._view.play(places)
        observations, rewards, terminated, truncated, infos = self.env.step(played)
        ended = np.flatnonzero(terminated | truncated)
        if len(ended):
            self._view.start_games(ended)
            for row in ended:
                infos["final_obs"][row] = self._final(infos["final_obs"][row])
        views, given_up = self._view.look(observations, infos["action_mask"])
        given_up[ended] = False
        if given_up.any():
            infos = self._restart(np.flatnonzero(given_up), views, infos)
        return views, rewards, terminated | given_up, truncated, self._infos(infos, given_up)

    def _final(self, observation: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The learner's observation of a game that has ended: no candidates are left."""
        batch = {name: array[None] for name, array in observation.items()}
        candidates = np.zeros((PLACES, len(FEATURES)), dtype=np.float32)
        return {"candidates": candidates, "overview": overviews(batch, None)[0]}

    def _restart(
        self, rows: np.ndarray, views: dict[str, np.ndarray], infos: dict[str, Any]
    ) -> dict[str, Any]:
        """Start new games in rows that are given up; fills in `views` and returns new infos."""
        final_obs = infos.get("final_obs", np.full(self.num_envs, None, dtype=object))
        final_info = dict(infos.get("final_info", {}))
        chosen = np.zeros(self.num_envs, dtype=np.bool_)
        chosen[rows] = True
        for row in rows:
            final_obs[row] = {name: array[row].copy() for name, array in views.items()}
        for name in ("deal", "score", "foundation_cards", "outcome"):
            values = infos[name]
            before = final_info.get(
                name, np.full(self.num_envs, None if values.dtype == object else 0, values.dtype)
            )
            final_info[name] = np.where(chosen, values, before)
        is_final = chosen | infos.get("_final_obs", False)
        observations, fresh = self.env.reset(options={"reset_mask": chosen})
        self._view.start_games(rows)
        parts = {name: array[rows] for name, array in observations.items()}
        own, _ = self._view.look(parts, fresh["action_mask"][rows], rows)
        for name, array in views.items():
            array[rows] = own[name]
        return {
            **fresh,
            "final_obs": final_obs,
            "_final_obs": is_final,
            "final_info": final_info,
            "_final_info": is_final,
        }

    def _infos(self, infos: dict[str, Any], given_up: np.ndarray) -> dict[str, Any]:
        everyone = np.ones(self.num_envs, dtype=np.bool_)
        own = {"action_mask": self._view.masks, "given_up": given_up, "_given_up": everyone}
        return {**infos, **own}

    def action_masks(self) -> np.ndarray:
        """The places that hold a candidate, bool[N, 32]."""
        return self._view.masks.view(np.bool_)
