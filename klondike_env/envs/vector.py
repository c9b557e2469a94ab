"""Many games of solitaire as one Gymnasium vector environment, stepped in one compiled call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from klondike_env.checks import whole_from
from klondike_env.compiled import specialised
from klondike_env.deals import stream_of_seed, streams_of_seed
from klondike_env.envs.rendered import Rendered
from klondike_env.envs.setup import (
    METADATA,
    Observation,
    Setup,
    Views,
    outcome_texts,
    seed_number,
    start_games,
    start_option,
)
from klondike_env.games.base import Game, IllegalMoveError
from klondike_env.threads import share_rows

MAX_STEP_LIMIT = 2**31 - 1  # a state counts its steps in 32 bits
_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)
INFO_KEYS = ("action_mask", "deal", "score", "foundation_cards", "outcome")


class SolitaireVectorEnv(Rendered, gym.vector.VectorEnv[Any, Any, Any]):
    """Many games of one kind. Subclasses name the game; see there for spaces and options."""

    metadata: dict[str, Any] = {**METADATA}  # noqa: RUF012  (each instance has its own)
    game: ClassVar[Game]
    default_rules: ClassVar[str]

    def __init__(
        self,
        num_envs: int = 1,
        rules: Any = None,
        *,
        reward: str = "win",
        actions: str = "turn",
        observation: str = "dict",
        illegal: str = "raise",
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        num_threads: int = 1,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Make `num_envs` games.

        Args:
            num_envs: number of sub-environments, N.
            rules, reward, actions, observation, illegal, options: as for the single environment.
            max_episode_steps: a game is truncated after so many steps; None for no limit.
            autoreset_mode: when a row that has ended starts its next game.
            num_threads: threads that share the rows of a step; pays from some thousand rows on.
            render_mode: `ansi`, `rgb_array`, `human` (the first games in one window) or None.

        Raises:
            ValueError: naming what was wrong and what is allowed.
        """
        num_envs = whole_from("num_envs", num_envs, 1)
        num_threads = whole_from("num_threads", num_threads, 1)
        limit = _step_limit(max_episode_steps)
        setup = Setup.of(
            self.game,
            self.default_rules if rules is None else rules,
            options,
            actions=actions,
            reward=reward,
            observation=observation,
            illegal=illegal,
        )
        self.setup = setup
        self.num_envs = num_envs
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = setup.check_render_mode(render_mode)
        self.single_action_space = gym.spaces.Discrete(setup.num_actions)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.single_observation_space = setup.observation_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._rules = setup.encode_rules()
        self._views = Views(setup, self.num_envs)
        self._state = setup.new_states(self.num_envs)
        self.step_limit = limit or None
        self._step_options = (
            self._rules,
            limit,
            self.autoreset_mode == AutoresetMode.NEXT_STEP,
            setup.reward_code,
            setup.illegal == "raise",
            0,
            num_envs,
        )
        self._resets_in_same_step = self.autoreset_mode == AutoresetMode.SAME_STEP
        self._num_threads = min(num_threads, num_envs)
        self._is_seeded = False
        self._is_started = False
        self._row_shape = (num_envs,)
        self._everyone = np.ones(self.num_envs, dtype=np.bool_)
        self._everyone.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles keep: all but machine code."""
        return {name: value for name, value in self.__dict__.items() if name != "_step_kernel"}

    @functools.cached_property
    def _step_kernel(self) -> Callable[..., int]:
        """The kernel `step` for arguments of the types that `step` gives it."""
        count = self.num_envs
        _, views, masks = self._views.new()
        flags, actions = np.ones(count, _BOOL), np.zeros(count, _INT64)
        facts = np.zeros((4, count), _INT64)
        outputs = (views, masks, np.zeros(count), flags, flags, facts)
        step = self.game.kernels.step
        return specialised(step, self._state, actions, *self._step_options, *outputs)

    @property
    def rules(self) -> Any:
        """The rules that are played."""
        return self.setup.rules

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a game in every row, or in those of `options["reset_mask"]`.

        Args:
            seed: an int is spread over the rows by hashing; a list seeds each row as a single
                environment (None leaves that row's stream as it is).
            options: `deal`, `deck` or `position`, one for all rows or a list or array with one for
                each of the N rows (those not reset are not read); `reset_mask`, bool[N].

        Raises:
            ValueError: a bad seed or option; the games in progress are unchanged.
        """
        kind, value = start_option(options, ("reset_mask",))
        rows = self._rows_to_reset(options)
        states = self._state.copy()
        if not self._is_seeded:
            states["stream"] = self.np_random.integers(2**64, size=self.num_envs, dtype=np.uint64)
        self._seed_rows(states, rows, seed)
        values = self._start_values(kind, value, rows)
        start_games(self.setup, self._rules, states, rows, kind, values)
        super().reset(seed=seed_number(seed) if _is_number(seed) else None)
        self._state = states
        self._is_seeded = self._is_started = True
        self._forget_frame()
        return self._observe()

    def _rows_to_reset(self, options: dict[str, Any] | None) -> np.ndarray:
        mask = None if options is None else options.get("reset_mask")
        if mask is None:
            return np.arange(self.num_envs)
        if (
            not isinstance(mask, np.ndarray)
            or mask.dtype != np.bool_
            or mask.shape != (self.num_envs,)
        ):
            raise ValueError(f"reset_mask is a bool array of shape ({self.num_envs},)")
        if not mask.any():
            raise ValueError("reset_mask chooses no row")
        if not self._is_started and not mask.all():
            raise ValueError(
                "the first reset starts every row: reset_mask must be all true or left out"
            )
        return np.flatnonzero(mask)

    def _seed_rows(self, states: np.ndarray, rows: np.ndarray, seed: Any) -> None:
        if seed is None:
            return
        if _is_number(seed):
            streams = streams_of_seed(seed_number(seed), self.num_envs)
            states["stream"][rows] = streams[rows]
            states["score"][rows] = 0
            return
        if len(seed) != self.num_envs:
            raise ValueError(
                f"a list of seeds has one for each of the {self.num_envs} rows, not {len(seed)}"
            )
        for row in rows:
            if seed[row] is not None:
                states["stream"][row] = stream_of_seed(seed_number(seed[row]))
                states["score"][row] = 0

    def _start_values(self, kind: str, value: Any, rows: np.ndarray) -> Sequence[Any]:
        if kind == "position":
            is_single = not isinstance(value, (list, tuple))
        else:
            is_single = _depth(value) < (1 if kind == "deal" else 2)
        if is_single:
            return [value] * len(rows)
        if len(value) != self.num_envs:
            raise ValueError(
                f"options[{kind!r}] has one for each of the {self.num_envs} rows, not {len(value)}"
            )
        return [value[row] for row in rows]

    def step(
        self, actions: Any
    ) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play an action in every row.

        Args:
            actions: whole numbers [N]. Rows that have ended ignore theirs.

        Returns:
            observation, rewards float64[N], terminated bool[N], truncated bool[N], infos; all fresh
            arrays.

        Raises:
            IllegalMoveError: an action is illegal and the environment does not ignore such actions;
                no row has moved.
            gymnasium.error.ResetNeeded: before the first reset.
        """
        if not self._is_started:
            raise gym.error.ResetNeeded("no game is running: call reset() first")
        actions = self._check_actions(actions)
        count = self.num_envs
        observation, views, masks = self._views.new()
        rewards = np.empty(count)
        terminated, truncated = np.empty(count, _BOOL), np.empty(count, _BOOL)
        facts = np.empty((4, count), _INT64)
        outputs = (views, masks, rewards, terminated, truncated, facts)
        if self.render_mode is not None:
            self._remember_frame()
        if self._num_threads == 1:
            illegal = self._step_kernel(self._state, actions, *self._step_options, *outputs)
        else:
            illegal = self._step_in_threads(actions, outputs)
        if illegal >= 0:
            self._refuse(illegal, actions)
        if self._resets_in_same_step and (ended := terminated | truncated).any():
            final = self._final_infos(ended, observation, masks, facts)
            start_games(self.setup, self._rules, self._state, np.flatnonzero(ended), "", ())
            self.game.kernels.observe(self._state, views, masks, facts)
            infos = {**self._infos(masks, facts), **final}
        else:
            infos = self._infos(masks, facts)
        if self.render_mode is not None:
            self._show_frame()
        return observation, rewards, terminated, truncated, infos

    def _check_actions(self, actions: Any) -> np.ndarray:
        if (
            type(actions) is np.ndarray
            and actions.dtype is _INT64
            and actions.shape == self._row_shape
            and actions.flags.carray
        ):
            return actions
        array = _as_array(actions)
        if array.dtype.kind not in "iu" or array.shape != self._row_shape:
            raise IllegalMoveError(
                f"actions are {self.num_envs} whole numbers in one row, not of type {array.dtype}"
                f" and shape {array.shape}"
            )
        # A plain copy: read-only or strided arrays would have the kernel compiled anew.
        return np.array(array, dtype=np.int64)

    def _step_in_threads(self, actions: np.ndarray, outputs: tuple[Any, ...]) -> int:
        kernels, state, count = self.game.kernels, self._state, self.num_envs
        *options, is_strict, _, _ = self._step_options
        if is_strict:  # before any thread moves anything; too short to be shared
            illegal = kernels.find_illegal(state, actions, self.setup.num_actions, 0, count)
            if illegal >= 0:
                return illegal

        step = self._step_kernel
        return share_rows(
            lambda first, last: step(state, actions, *options, False, first, last, *outputs),
            count,
            self._num_threads,
        )

    def _refuse(self, row: int, actions: np.ndarray) -> None:
        why = self.game.explain_illegal(
            self._state[row : row + 1], int(actions[row]), self.setup.actions
        )
        raise IllegalMoveError(f"row {row}: {why}")

    def _observe(self) -> tuple[Observation, dict[str, Any]]:
        observation, views, masks = self._views.new()
        facts = np.empty((4, self.num_envs), _INT64)
        self.game.kernels.observe(self._state, views, masks, facts)
        return observation, self._infos(masks, facts)

    def _infos(self, masks: np.ndarray, facts: np.ndarray) -> dict[str, Any]:
        everyone = self._everyone
        return {
            "action_mask": masks,
            "_action_mask": everyone,
            "deal": facts[0],
            "_deal": everyone,
            "score": facts[1],
            "_score": everyone,
            "foundation_cards": facts[2],
            "_foundation_cards": everyone,
            "outcome": outcome_texts(facts[3]),
            "_outcome": everyone,
        }

    def _final_infos(
        self, ended: np.ndarray, observation: Observation, masks: np.ndarray, facts: np.ndarray
    ) -> dict[str, Any]:
        """`final_obs` and `final_info` of the rows that ended, in the form Gymnasium gives them."""
        final_obs = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended):
            if isinstance(observation, dict):
                final_obs[row] = {name: array[row].copy() for name, array in observation.items()}
            else:
                final_obs[row] = observation[row].copy()
        final_info: dict[str, Any] = {}
        for key, values in zip(
            INFO_KEYS, (masks, *facts[:3], outcome_texts(facts[3])), strict=True
        ):
            kept = (
                np.full(values.shape, None, dtype=object)
                if values.dtype == object
                else np.zeros_like(values)
            )
            kept[ended] = values[ended]
            final_info[key], final_info[f"_{key}"] = kept, ended.copy()
        return {
            "final_obs": final_obs,
            "_final_obs": ended.copy(),
            "final_info": final_info,
            "_final_info": ended.copy(),
        }

    def action_masks(self) -> np.ndarray:
        """The legal actions, bool[N, actions]; all true in rows that have ended."""
        masks = self._views.new_masks()
        self.game.kernels.write_masks(self._state, masks)
        return masks.view(np.bool_)

    def get_state(self) -> np.ndarray:
        """A copy of all that determines how the N games go on, their streams of deals included."""
        return self._state.copy()

    def set_state(self, state: np.ndarray) -> tuple[Observation, dict[str, Any]]:
        """Go back to a state of `get_state`; returns observation and infos as `reset`.

        Raises:
            ValueError: not a state of so many games of this kind.
        """
        self._state = self.setup.check_states(state, self.num_envs)
        self._is_seeded = self._is_started = True
        self._forget_frame()
        return self._observe()

    def render(self) -> tuple[Any, ...] | None:
        """One frame for each row, each as `SolitaireEnv.render` returns it."""
        return self._frames()

    def close_extras(self, **_: Any) -> None:
        """Close the window of mode `human`."""
        self._close_screen()


def _is_number(seed: Any) -> bool:
    return seed is not None and _depth(seed) == 0


def _as_array(values: Any) -> np.ndarray:
    """Values as an array; an array of objects where rows differ in length."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.array([*values, None], dtype=object)[:-1]


def _depth(value: Any) -> int:
    """Dimensions of nested lists, 2 where rows differ in length."""
    try:
        return np.ndim(value)
    except ValueError:
        return 2


def _step_limit(limit: int | None) -> int:
    """A limit as the kernels take it: 0 for none."""
    if limit is None:
        return 0
    number = whole_from("max_episode_steps", limit, 1, " or None for no limit")
    if number > MAX_STEP_LIMIT:
        raise ValueError(f"max_episode_steps is at most {MAX_STEP_LIMIT}, not {number}")
    return number


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        names = ", ".join(known.value for known in AutoresetMode)
        raise ValueError(f"autoreset_mode is one of {names}, not {mode!r}") from None
