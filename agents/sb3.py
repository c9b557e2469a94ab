"""Lets Stable-Baselines3 train on a native vector environment.

    envs = gymnasium.make_vec(
        "Klondike-Draw1-v0", 256, "vector_entry_point", autoreset_mode="SameStep"
    )
    model = sb3_contrib.MaskablePPO("MultiInputPolicy", SB3VecEnv(envs))

Any Gymnasium vector environment with `action_masks()` will do, `CandidatesVectorEnv` among them.
Nothing here loops over the environments, but for those whose game ended in this step.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

FINAL_FACTS = ("deal", "score", "foundation_cards", "outcome")
"""What the info of a game that ends says of it."""


class SB3VecEnv(VecEnv):  # type: ignore[misc]
    """A vector environment in the form that Stable-Baselines3 expects.

    The info of a game that ends holds `terminal_observation`, `TimeLimit.truncated`, `episode` (as
    `Monitor` gives it: return `r`, length `l`, seconds `t`), `is_success` and the game's
    `FINAL_FACTS`; all others are empty. Seeds and reset options reach each row as they would reach
    single environments in a `DummyVecEnv`.

    Args:
        envs: with `autoreset_mode` `SameStep`.

    Raises:
        ValueError: another autoreset mode.
    """

    def __init__(self, envs: gym.vector.VectorEnv[Any, Any, Any]) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise ValueError(
                f"Stable-Baselines3 needs autoreset_mode={AutoresetMode.SAME_STEP.value!r}, not"
                f" {getattr(mode, 'value', mode)!r}"
            )
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self._actions: np.ndarray = np.zeros(self.num_envs, dtype=np.int64)
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, dtype=np.int64)
        self._began = time.perf_counter()

    def reset(self) -> Any:
        """Start a game in every row, with the seeds and options last set."""
        seeds: Any = None if all(seed is None for seed in self._seeds) else self._seeds
        observations, _ = self.envs.reset(seed=seeds, options=self._reset_option())
        self._returns[:] = 0.0
        self._lengths[:] = 0
        self._reset_seeds()
        self._reset_options()
        return observations

    def _reset_option(self) -> dict[str, Any] | None:
        keys = self._options[0].keys()
        if any(option.keys() != keys for option in self._options):
            raise ValueError("set_options: every row needs the same options, with its own values")
        return {key: [option[key] for option in self._options] for key in keys} or None

    def step_async(self, actions: np.ndarray) -> None:
        """Take the actions of the next step, whole numbers [N]."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play them: observations, rewards float32[N], dones bool[N], infos."""
        observations, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        dones = terminated | truncated
        self._returns += rewards
        self._lengths += 1
        rows: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = np.flatnonzero(dones)
        if len(ended):
            seconds = round(time.perf_counter() - self._began, 6)
            final_obs, facts = infos["final_obs"], infos["final_info"]
            for row in ended.tolist():
                own = {name: facts[name][row] for name in FINAL_FACTS if name in facts}
                rows[row] = own | {
                    "terminal_observation": final_obs[row],
                    "TimeLimit.truncated": bool(truncated[row] and not terminated[row]),
                    "is_success": own.get("outcome") == "won",
                    "episode": {
                        "r": round(float(self._returns[row]), 6),
                        "l": int(self._lengths[row]),
                        "t": seconds,
                    },
                }
            self._returns[ended] = 0.0
            self._lengths[ended] = 0
        return observations, rewards.astype(np.float32), dones, rows

    def close(self) -> None:
        """Close the vector environment."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the vector environment, once for each row asked for."""
        return [getattr(self.envs, attr_name)] * len(self._rows(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: the rows share their attributes."""
        raise ValueError(f"{attr_name} cannot be set: rows of a native vector environment share it")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> Any:
        """Call a method that answers for all rows at once, such as `action_masks`.

        Returns:
            Its answer for the rows asked for, an array or a list with one entry a row.

        Raises:
            ValueError: it gives no array or list with one entry a row.
        """
        answers = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        if not isinstance(answers, np.ndarray | list) or len(answers) != self.num_envs:
            raise ValueError(f"{method_name} does not answer with one entry for each row")
        if indices is None:
            return answers
        return [answers[row] for row in self._rows(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Whether the rows do what a wrapper would: of all of them, episode statistics alone."""
        return [wrapper_class is Monitor] * len(self._rows(indices))

    def get_images(self) -> Sequence[np.ndarray | None]:
        """None: vector environments draw nothing."""
        return [None] * self.num_envs

    def _rows(self, indices: Any) -> Sequence[int]:
        rows: Iterable[int] = self._get_indices(indices)
        return list(rows)
