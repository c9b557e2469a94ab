"""The registered ids."""

from __future__ import annotations

import gymnasium as gym

from klondike_env.games.klondike.rules import PRESETS

STEP_LIMIT = 2_000


def register_all() -> None:
    """Register every named rule set with Gymnasium; loads no environment code yet."""
    for env_id in PRESETS:
        if env_id not in gym.registry:
            gym.register(
                env_id,
                entry_point="klondike_env.envs.klondike:KlondikeEnv",
                vector_entry_point="klondike_env.envs.klondike:KlondikeVectorEnv",
                max_episode_steps=STEP_LIMIT,
                kwargs={"rules": env_id},
            )
