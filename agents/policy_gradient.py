"""The step of natural policy gradient that the training commands share, and the file of weights."""

from __future__ import annotations

import datetime
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np


def leave_one_out(returns: np.ndarray, games_per_deal: int) -> np.ndarray:
    """Each game's return less the mean of the other games of its deal: float64[M] -> float64[M].

    That takes most of the luck of the deal out of the gradient.
    """
    by_deal = returns.reshape(-1, games_per_deal)
    others = (by_deal.sum(1, keepdims=True) - by_deal) / (games_per_deal - 1)
    advantage: np.ndarray = (by_deal - others).reshape(-1)
    return advantage


def natural_step(gradient: np.ndarray, fisher: np.ndarray, nats: float) -> np.ndarray:
    """The step along the natural gradient that changes the policy by `nats` a game.

    Args:
        gradient: float64[F], of the mean return.
        fisher: float64[F, F], its upper triangle, of a game.
        nats: Kullback-Leibler divergence.
    """
    size = len(gradient)
    fisher = np.triu(fisher) + np.triu(fisher, 1).T
    fisher = fisher + np.eye(size) * (1e-3 * np.trace(fisher) / size + 1e-8)
    direction = np.linalg.solve(fisher, gradient)
    length = float(gradient @ direction)
    step: np.ndarray = direction * np.sqrt(2 * nats / max(length, 1e-12))
    return step


def running_mean(average: np.ndarray, weights: np.ndarray, update: int) -> np.ndarray:
    """The mean of the late weights plays better than any: the noise of the steps averages out."""
    return weights if update < 10 else average + (weights - average) * max(0.1, 1 / update)


def write_weights(
    path: Path, module: str, given: list[str], facts: dict[str, Any], weights: dict[str, float]
) -> None:
    """Write weights with the command and the facts of their training."""
    record = {
        "command": shlex.join(["python", "-m", module, *given]),
        "date": datetime.date.today().isoformat(),
        **facts,
        "weights": {name: round(float(weight), 4) for name, weight in weights.items()},
    }
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
