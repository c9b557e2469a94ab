"""The network of learned agents, in PyTorch: scores each candidate and values the position.

A candidate is a move or a plan. One small network, the same for all of them, turns a candidate's
features and the overview of the position into a score; the softmax of the scores is the policy. To
it is added a linear score, the form that `guide` and `planner` have, so that learning may start
from their weights. The hidden layer begins without a say: its output weights are zero. A second
network values the overview.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from agents.ppo import MOVES, Layout, Weights

LATEST_SHARE = 0.1
"""Share of the latest weights in the running mean, once there are many."""

BARRED = -1e8
"""Score of a place that holds no candidate; its chance is exactly 0."""


class CandidateNetwork(nn.Module):
    """Scores of candidates and values of positions.

    Args:
        hidden: units of each hidden layer, H.
        linear: float32[F], weights that the linear score starts from; zeros by default.
        layout: what it sees.
        more_to_value: numbers that the critic alone sees, after the overview.
    """

    def __init__(
        self,
        hidden: int = 64,
        linear: np.ndarray | None = None,
        layout: Layout = MOVES,
        more_to_value: int = 0,
    ) -> None:
        super().__init__()
        self.layout = layout
        num_features, num_overview = len(layout.features), len(layout.overview)
        self.linear = nn.Linear(num_features, 1, bias=False)
        self.of_candidate = nn.Linear(num_features, hidden)
        self.of_overview = nn.Linear(num_overview, hidden, bias=False)
        self.output = nn.Linear(hidden, 1, bias=False)
        self.critic = nn.Sequential(
            nn.Linear(num_overview + more_to_value, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, 1),
        )
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.linear.weight)
        if linear is not None:
            with torch.no_grad():
                self.linear.weight[0] = torch.from_numpy(linear)

    def scores(
        self, candidates: torch.Tensor, overview: torch.Tensor, masks: torch.Tensor
    ) -> torch.Tensor:
        """Scores of every place, `BARRED` where the mask is 0.

        Args:
            candidates: float32[B, K, F]; or float32[M, F], only those that the masks let in.
            overview: float32[B, S].
            masks: bool[B, K].

        Returns:
            float32[B, K].
        """
        # Few places hold a candidate: only those are worked out.
        places = masks.flatten().nonzero()[:, 0]
        features = candidates
        if candidates.dim() == 3:
            features = candidates.flatten(0, 1).index_select(0, places)
        rows = places.div(masks.shape[1], rounding_mode="floor")
        hidden = self.of_candidate(features) + self.of_overview(overview).index_select(0, rows)
        scores = self.linear(features) + self.output(torch.relu(hidden))
        barred = torch.full((masks.numel(),), BARRED, device=scores.device)
        return barred.index_put((places,), scores[:, 0]).view(masks.shape)

    def values(self, overview: torch.Tensor, *more: torch.Tensor) -> torch.Tensor:
        """Values of positions: float32[B, S], and more that the critic sees -> float32[B, 1]."""
        values: torch.Tensor = self.critic(torch.cat([overview, *more], dim=1))
        return values

    def to_weights(self, **made: Any) -> Weights:
        """What an agent plays with; `made` says how it was made."""
        state = {name: tensor.cpu().numpy().copy() for name, tensor in self.state_dict().items()}
        return Weights(
            linear=state["linear.weight"][0],
            of_candidate=state["of_candidate.weight"],
            bias=state["of_candidate.bias"],
            of_overview=state["of_overview.weight"],
            output=state["output.weight"][0],
            made=made,
            layout=self.layout,
        )


def running_mean(network: CandidateNetwork) -> AveragedModel:
    """A mean of the network's weights over updates, the late ones counting most.

    It plays better than the weights of any single update, since the noise of the steps averages
    out. Call its `update_parameters(network)` after each update; its `module` is a network.
    """

    def blend(mean: torch.Tensor, latest: torch.Tensor, count: torch.Tensor | int) -> torch.Tensor:
        return mean + (latest - mean) * max(LATEST_SHARE, 2 / (int(count) + 2))

    return AveragedModel(network, avg_fn=blend)
