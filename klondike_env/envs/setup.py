"""What a single and a vector environment have in common: options, spaces, arrays, new games."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from klondike_env import deals
from klondike_env.cards import NUM_CARDS, check_deck
from klondike_env.checks import check_choice, whole
from klondike_env.games.base import NEXT_DEAL, OUTCOMES, OWN_DECK, REWARDS, Game

OBSERVATIONS = ("dict", "flat")
ILLEGAL = ("raise", "ignore")
RENDER_MODES = ("ansi", "rgb_array", "human")
METADATA: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}
START_OPTIONS = ("deal", "deck", "position")

Observation = dict[str, np.ndarray] | np.ndarray

_INT8, _INT16 = np.dtype(np.int8), np.dtype(np.int16)
_OUTCOME_TEXTS = np.array(OUTCOMES, dtype=object)


@dataclasses.dataclass(frozen=True)
class Setup:
    """A game with its rules and the environment options, checked.

    Attributes:
        game: what is played.
        rules: its rules.
        actions: action set.
        reward: name in `games.base.REWARDS`.
        observation: `dict` or `flat`.
        illegal: what an illegal action does, `raise` or `ignore`.
    """

    game: Game
    rules: Any
    actions: str
    reward: str
    observation: str
    illegal: str

    @classmethod
    def of(
        cls,
        game: Game,
        rules: Any,
        options: Mapping[str, Any],
        *,
        actions: str,
        reward: str,
        observation: str,
        illegal: str,
    ) -> Setup:
        """Check the arguments of an environment; `options` replace fields of `rules`.

        Raises:
            ValueError: naming what was wrong and what is allowed.
        """
        if isinstance(rules, str):
            if rules not in game.presets:
                raise ValueError(f"no rule set {rules!r}: choose from {', '.join(game.presets)}")
            rules = game.presets[rules]
        if not isinstance(rules, game.rules_type):
            raise ValueError(
                f"rules is a {game.rules_type.__name__} or the id of one, not {rules!r}"
            )
        names = [field.name for field in dataclasses.fields(game.rules_type)]
        for name in options:
            if name not in names:
                raise ValueError(f"no option {name!r}: the rules have {', '.join(names)}")
        for what, value, allowed in (
            ("actions", actions, game.action_sets),
            ("reward", reward, REWARDS),
            ("observation", observation, OBSERVATIONS),
            ("illegal", illegal, ILLEGAL),
        ):
            check_choice(what, value, tuple(allowed))
        setup = cls(
            game, dataclasses.replace(rules, **options), actions, reward, observation, illegal
        )
        setup.encode_rules()
        return setup

    def encode_rules(self) -> np.ndarray:
        """The rules as the kernels take them."""
        return self.game.encode_rules(self.rules, self.actions)

    @property
    def key(self) -> int:
        """A number (64 bits) for game, rules and action set: states carry it."""
        text = f"{self.game.name} {self.rules} {self.actions}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")

    def new_states(self, num_envs: int) -> np.ndarray:
        """States [N] before their first game."""
        states = np.zeros(num_envs, dtype=self.game.state_dtype)
        states["setup"] = self.key
        return states

    def check_states(self, states: object, num_envs: int) -> np.ndarray:
        """A copy of states that `get_state` of a like environment gave.

        Raises:
            ValueError: states of another game, number, rule set or action set.
        """
        dtype = self.game.state_dtype
        if not isinstance(states, np.ndarray) or states.dtype != dtype:
            raise ValueError(f"not a state of {self.game.name}: take one from get_state()")
        if states.shape != (num_envs,):
            raise ValueError(f"a state of {states.size} games does not fit {num_envs}")
        if (states["setup"] != self.key).any():
            raise ValueError("a state of an environment with other rules or another action set")
        return states.copy()

    @property
    def num_actions(self) -> int:
        return self.game.action_sets[self.actions]

    @property
    def reward_code(self) -> int:
        return list(REWARDS).index(self.reward)

    def observation_space(self) -> gym.spaces.Dict | gym.spaces.Box:
        fields = self.game.observation_fields(self.rules)
        if self.observation == "dict":
            return gym.spaces.Dict(
                {
                    field.name: gym.spaces.Box(field.low, field.high, field.shape, field.dtype)
                    for field in fields
                }
            )
        low = np.concatenate([np.full(field.shape, field.low).ravel() for field in fields])
        high = np.concatenate([np.full(field.shape, field.high).ravel() for field in fields])
        return gym.spaces.Box(low.astype(np.int16), high.astype(np.int16), dtype=np.int16)

    def check_render_mode(self, render_mode: str | None) -> str | None:
        if render_mode is not None and (
            not isinstance(render_mode, str) or render_mode not in RENDER_MODES
        ):
            # TypeError is what Stable-Baselines3 takes as "this mode is not supported".
            raise TypeError(
                f"render_mode is None or one of {', '.join(RENDER_MODES)}, not {render_mode!r}"
            )
        return render_mode


class Views:
    """Makes what a kernel fills, fresh each time, so that nothing handed out ever changes.

    Small batches are mostly this: shapes and types are prepared, which halves the time it takes.
    """

    def __init__(self, setup: Setup, num_envs: int) -> None:
        fields = setup.game.observation_fields(setup.rules)
        self._is_flat = setup.observation == "flat"
        self._flat_shape = (num_envs, sum(math.prod(field.shape) for field in fields))
        self._fields = [
            (field.name, (num_envs, *field.shape), np.dtype(field.dtype)) for field in fields
        ]
        self._mask_shape = (num_envs, setup.num_actions)

    def new(self) -> tuple[Observation, tuple[np.ndarray, ...], np.ndarray]:
        """An observation [N, ...], its arrays as the kernels take them, and masks."""
        masks = self.new_masks()
        if self._is_flat:
            array = np.empty(self._flat_shape, _INT16)
            return array, (array,), masks
        observation: dict[str, np.ndarray] = {}
        for name, shape, dtype in self._fields:
            observation[name] = np.empty(shape, dtype)
        return observation, tuple(observation.values()), masks

    def new_masks(self) -> np.ndarray:
        """Legal actions, int8[N, actions]."""
        return np.empty(self._mask_shape, _INT8)


def single(observation: Observation) -> Observation:
    """The first row of an observation [N, ...]."""
    if isinstance(observation, dict):
        return {name: array[0] for name, array in observation.items()}
    row: np.ndarray = observation[0]
    return row


def outcome_texts(codes: np.ndarray) -> np.ndarray:
    """Outcome codes int64[N] -> texts, object[N]."""
    texts: np.ndarray = _OUTCOME_TEXTS[codes]
    return texts


def seed_number(seed: object) -> int:
    """A seed as int: a whole number >= 0, of Python or NumPy.

    Raises:
        ValueError: any other value.
    """
    number = whole(seed)
    if number is None or number < 0:
        raise ValueError(f"a seed is a whole number >= 0, not {seed!r}")
    return number


def start_option(options: Mapping[str, Any] | None, extra: Sequence[str] = ()) -> tuple[str, Any]:
    """Name and value of what `reset(options=...)` starts from; ("", None) without one.

    Raises:
        ValueError: no dict, an unknown key, or more than one start.
    """
    known = ", ".join((*START_OPTIONS, *extra))
    if options is None:
        options = {}
    if not isinstance(options, Mapping):
        raise ValueError(f"reset options are a dict with keys of {known}, not {options!r}")
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in START_OPTIONS and key not in extra:
            raise ValueError(f"no reset option {key!r}: choose from {known}")
    starts = [key for key in START_OPTIONS if key in given]
    if len(starts) > 1:
        raise ValueError(f"reset options {' and '.join(starts)} exclude each other")
    return (starts[0], given[starts[0]]) if starts else ("", None)


def start_games(
    setup: Setup,
    encoded_rules: np.ndarray,
    states: np.ndarray,
    rows: np.ndarray,
    kind: str,
    values: Sequence[Any],
) -> None:
    """Begin a game in some rows, checking everything before changing anything.

    Args:
        states: states[N], changed in place.
        rows: int64[B].
        kind: `deal`, `deck` or `position`, or empty for the next deal of each row's stream.
        values: B numbers, decks or positions; not used for an empty `kind`.

    Raises:
        ValueError: a bad number, deck or position.
    """
    if kind == "position":
        parsed = [
            setup.game.parse_position(
                position, setup.rules, setup.actions, int(states["score"][row])
            )
            for row, position in zip(rows, values, strict=True)
        ]
        for row, new in zip(rows, parsed, strict=True):
            new["stream"], new["setup"] = states["stream"][row], setup.key
            states[row] = new[0]
        return
    decks = np.empty((0, NUM_CARDS), dtype=np.uint8)
    if kind == "deck":
        decks = np.array([check_deck(deck) for deck in values]).reshape(len(rows), -1)
        numbers = np.full(len(rows), OWN_DECK, dtype=np.int64)
    elif kind == "deal":
        numbers = np.array([deals.check_number(number) for number in values], dtype=np.int64)
    else:
        numbers = np.full(len(rows), NEXT_DEAL, dtype=np.int64)
    setup.game.kernels.start(states, rows, numbers, decks, encoded_rules)
