"""Rollouts without the empty places: a quarter of the memory, and of the copying.

MaskablePPO's own buffer keeps all places of every decision, 32 of moves or 48 of plans, though
about ten hold a candidate. This one keeps those alone, and hands minibatches to `agents.sb3_policy`
in that form.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from sb3_contrib.common.maskable.buffers import (
    MaskableDictRolloutBuffer,
    MaskableDictRolloutBufferSamples,
)


class CandidateRolloutBuffer(MaskableDictRolloutBuffer):  # type: ignore[misc]
    """Rollouts of `agents.wrappers` or `agents.plan_env`, T steps of N games.

    The `candidates` of a minibatch are float32[M, F], those of its masks in order.
    """

    def reset(self) -> None:
        """Forget the last rollout."""
        self._steps: list[np.ndarray] = []
        super().reset()
        self.observations["candidates"] = np.zeros(0, dtype=np.float32)
        self._others = [name for name in self.observations if name != "candidates"]

    def add(
        self,
        obs: dict[str, np.ndarray],
        action: np.ndarray,
        reward: np.ndarray,
        episode_start: np.ndarray,
        value: torch.Tensor,
        log_prob: torch.Tensor,
        action_masks: np.ndarray | None = None,
    ) -> None:
        """Keep one step of all games; arrays [N, ...]."""
        if action_masks is None:
            raise ValueError("rollouts of candidates need action masks")
        step = self.pos
        masks = action_masks.reshape(self.n_envs, self.mask_dims)
        candidates = obs["candidates"]
        self._steps.append(
            candidates.reshape(-1, candidates.shape[-1]).take(np.flatnonzero(masks), axis=0)
        )
        for name in self._others:
            self.observations[name][step] = obs[name]
        self.action_masks[step] = masks
        self.actions[step] = action.reshape(self.n_envs, self.action_dim)
        self.rewards[step] = reward
        self.episode_starts[step] = episode_start
        self.values[step] = value.cpu().numpy().ravel()
        self.log_probs[step] = log_prob.cpu().numpy()
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def get(self, batch_size: int | None = None) -> Iterator[MaskableDictRolloutBufferSamples]:
        """The decisions in minibatches, in random order (NumPy's global generator)."""
        total = self.buffer_size * self.n_envs
        size = batch_size or total
        masks = self.action_masks.reshape(total, self.mask_dims).astype(np.bool_)
        counts = masks.sum(axis=1)
        starts = np.cumsum(counts) - counts
        candidates = np.concatenate(self._steps)
        columns = [
            array.reshape(total, -1)
            for array in (self.actions, self.values, self.log_probs, self.advantages, self.returns)
        ]
        others = {name: self.observations[name].reshape(total, -1) for name in self._others}
        order = np.random.permutation(total)  # noqa: NPY002  (seeded with the model)
        for first in range(0, total, size):
            chosen = order[first : first + size]
            own = counts[chosen]
            places = np.repeat(starts[chosen] - (np.cumsum(own) - own), own) + np.arange(own.sum())
            actions, *rest = (self._tensor(column[chosen]) for column in columns)
            yield MaskableDictRolloutBufferSamples(
                {
                    "candidates": self._tensor(candidates[places]),
                    **{name: self._tensor(array[chosen]) for name, array in others.items()},
                },
                actions,
                *(column.flatten() for column in rest),
                self._tensor(masks[chosen]),
            )

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device)
