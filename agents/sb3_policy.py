"""The policy that MaskablePPO trains: `agents.network` behind Stable-Baselines3's interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.distributions import (
    MaskableCategoricalDistribution,
    MaskableDistribution,
)
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import CombinedExtractor
from stable_baselines3.common.type_aliases import Schedule

from agents.network import CandidateNetwork
from agents.plan_env import PAST, PLAN_OBSERVATION_SPACE
from agents.ppo import MOVES
from agents.ppo_plan import PLANS
from agents.wrappers import OBSERVATION_SPACE

Observations = dict[str, torch.Tensor]


class CandidatePolicy(MaskableActorCriticPolicy):  # type: ignore[misc]
    """Chooses among moves of `agents.wrappers` or plans of `agents.plan_env`, by action masks.

    Args:
        hidden: units of each hidden layer.
        linear: float32[F], weights that the linear score starts from.

    Raises:
        ValueError: the environment does not show candidates, or the algorithm is not MaskablePPO.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        *,
        hidden: int = 64,
        linear: np.ndarray | None = None,
        **others: Any,
    ) -> None:
        if others:  # PPO asks for `use_sde`
            raise ValueError(
                f"CandidatePolicy has no {', '.join(others)}: it is trained with MaskablePPO,"
                " since it needs action masks"
            )
        if observation_space not in (OBSERVATION_SPACE, PLAN_OBSERVATION_SPACE):
            raise ValueError(
                "CandidatePolicy plays environments wrapped in agents.wrappers.CandidatesEnv or"
                " CandidatesVectorEnv, and agents.plan_env.PlanVectorEnv"
            )
        self._network_options: dict[str, Any] = {"hidden": hidden, "linear": linear}
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            features_extractor_class=CombinedExtractor,
        )

    def _build(self, lr_schedule: Schedule) -> None:
        of_plans = "past" in self.observation_space.spaces
        layout, more = (PLANS, PAST) if of_plans else (MOVES, 0)
        self.network = CandidateNetwork(**self._network_options, layout=layout, more_to_value=more)
        self.optimizer = self.optimizer_class(
            self.network.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {
            "observation_space": self.observation_space,
            "action_space": self.action_space,
            "lr_schedule": self._dummy_schedule,
            **self._network_options,
        }

    def forward(
        self, obs: Observations, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Actions int64[B], values [B, 1] and log probabilities [B]."""
        distribution = self.get_distribution(obs, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, self.predict_values(obs), distribution.log_prob(actions)

    def evaluate_actions(
        self, obs: Observations, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Values [B, 1], log probabilities [B] and entropies [B]."""
        distribution = self.get_distribution(obs, action_masks)
        return self.predict_values(obs), distribution.log_prob(actions), distribution.entropy()

    def get_distribution(self, obs: Observations, action_masks: Any = None) -> MaskableDistribution:
        """The policy's distribution over places.

        Raises:
            ValueError: without masks, empty places could be chosen.
        """
        if action_masks is None:
            raise ValueError(
                "this policy needs action_masks: train it with MaskablePPO, and hand"
                " env.action_masks() to predict"
            )
        candidates = obs["candidates"]
        masks = torch.as_tensor(action_masks, device=candidates.device).bool()
        places = int(self.action_space.n)
        masks = masks.reshape(-1, places)
        scores = self.network.scores(candidates, obs["overview"], masks)
        distribution = MaskableCategoricalDistribution(places)
        distribution.proba_distribution(action_logits=scores)
        distribution.apply_masking(masks)
        return distribution

    def predict_values(self, obs: Observations) -> torch.Tensor:
        """Values of positions, [B, 1]."""
        return self.network.values(*(obs[name] for name in ("overview", "past") if name in obs))
