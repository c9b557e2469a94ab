"""One game of solitaire as a Gymnasium environment."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from klondike_env.checks import whole
from klondike_env.deals import stream_of_seed
from klondike_env.envs.rendered import Rendered
from klondike_env.envs.setup import (
    METADATA,
    Observation,
    Setup,
    Views,
    seed_number,
    single,
    start_games,
    start_option,
)
from klondike_env.games.base import OUTCOMES, Game, IllegalMoveError


class SolitaireEnv(Rendered, gym.Env[Any, Any]):
    """A solitaire game, one action at a time. Subclasses name the game.

    See the subclass for spaces and options.
    """

    metadata: ClassVar[dict[str, Any]] = {**METADATA}  # type: ignore[misc]
    game: ClassVar[Game]
    default_rules: ClassVar[str]

    def __init__(
        self,
        rules: Any = None,
        *,
        reward: str = "win",
        actions: str = "turn",
        observation: str = "dict",
        illegal: str = "raise",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
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
        self.render_mode = setup.check_render_mode(render_mode)
        self.action_space = gym.spaces.Discrete(setup.num_actions)
        self.observation_space = setup.observation_space()
        self._rules = setup.encode_rules()
        self._views = Views(setup, 1)
        self._state = setup.new_states(1)
        self._is_seeded = False
        self._is_running = False
        self._step_options = (0, False, setup.reward_code, illegal == "raise", 0, 1)
        # Filled by each step and read at once; never handed out.
        self._action = np.zeros(1, dtype=np.int64)
        self._reward = np.zeros(1)
        self._terminated = np.zeros(1, dtype=np.bool_)
        self._truncated = np.zeros(1, dtype=np.bool_)
        self._facts = np.zeros((4, 1), dtype=np.int64)

    @property
    def rules(self) -> Any:
        """The rules that are played."""
        return self.setup.rules

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a game.

        Args:
            seed: starts a new stream of deals; without it the stream goes on.
            options: `deal` (a deal number), `deck` (52 card numbers in deal order) or `position`
                (the readable form); without them the stream's next deal is played.

        Raises:
            ValueError: a bad seed or option; the game in progress is unchanged.
        """
        kind, value = start_option(options)
        state = self._state.copy()
        if seed is not None:
            seed = seed_number(seed)
            state["stream"] = stream_of_seed(seed)
            state["score"] = 0  # a bank that carries over is empty again
        elif not self._is_seeded:
            state["stream"] = self.np_random.integers(2**64, dtype=np.uint64)
        start_games(self.setup, self._rules, state, np.zeros(1, dtype=np.int64), kind, [value])
        super().reset(seed=seed)
        self._state = state
        self._is_seeded = self._is_running = True
        self._forget_frame()
        return self.observe()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play an action.

        Raises:
            IllegalMoveError: the action is illegal and the environment does not ignore such
                actions, or it is no whole number.
            gymnasium.error.ResetNeeded: no game is running.
        """
        if not self._is_running:
            raise gym.error.ResetNeeded("no game is running: call reset() first")
        number = whole(action)
        if number is None:
            raise IllegalMoveError(f"an action is a whole number, not {action!r}")
        try:
            self._action[0] = number
        except OverflowError:
            self._action[0] = -1
        self._remember_frame()
        observation, views, mask = self._views.new()
        illegal = self.game.kernels.step(
            self._state,
            self._action,
            self._rules,
            *self._step_options,
            views,
            mask,
            self._reward,
            self._terminated,
            self._truncated,
            self._facts,
        )
        if illegal >= 0:
            raise IllegalMoveError(
                self.game.explain_illegal(self._state, number, self.setup.actions)
            )
        terminated = self._terminated.item()
        self._is_running = not terminated
        self._show_frame()
        return single(observation), self._reward.item(), terminated, False, self._info(mask)

    def observe(self) -> tuple[Observation, dict[str, Any]]:
        """Observation and info of the present state, as `reset` returns them."""
        observation, views, mask = self._views.new()
        self.game.kernels.observe(self._state, views, mask, self._facts)
        return single(observation), self._info(mask)

    def action_masks(self) -> np.ndarray:
        """The legal actions, bool[actions]; all true once the game has ended."""
        mask = self._views.new_masks()
        self.game.kernels.write_masks(self._state, mask)
        legal: np.ndarray = mask[0].view(np.bool_)
        return legal

    def _info(self, mask: np.ndarray) -> dict[str, Any]:
        deal, score, foundation_cards, outcome = self._facts[:, 0].tolist()
        return {
            "action_mask": mask[0],
            "deal": deal,
            "score": score,
            "foundation_cards": foundation_cards,
            "outcome": OUTCOMES[outcome],
        }

    def position(self) -> dict[str, Any]:
        """The present state as a readable position, hidden cards included: not for players."""
        return self.game.format_position(self._state, self.setup.rules)

    def get_state(self) -> np.ndarray:
        """A copy of all that determines how the game goes on, its stream of deals included.

        The steps that a `TimeLimit` wrapper has counted are the wrapper's own.
        """
        return self._state.copy()

    def set_state(self, state: np.ndarray) -> tuple[Observation, dict[str, Any]]:
        """Go back to a state of `get_state`, of this or a like environment; returns as `observe`.

        Raises:
            ValueError: not a state of this game.
        """
        self._state = self.setup.check_states(state, 1)
        self._is_seeded = True
        self._is_running = not state["has_ended"][0]
        self._forget_frame()
        return self.observe()

    def render(self) -> Any:
        """The board as its player sees it.

        Returns:
            In mode `ansi` text, coloured where standard output is a terminal with colours; in mode
            `rgb_array` a picture, uint8[height, width, 3], the last move marked; None in mode
            `human`, which shows it in a window on every reset and step, and, with a warning,
            without a render mode.
        """
        frames = self._frames()
        return None if frames is None else frames[0]

    def close(self) -> None:
        """Close the window of mode `human`; may be called again."""
        self._close_screen()
