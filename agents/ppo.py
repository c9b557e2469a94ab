"""`ppo`: a small network, trained by PPO, that scores each candidate move.

`agents.train` trains it; `agents/policies` holds the trained weights, each with a card that says
how it was made. Playing needs no PyTorch: the network is worked out in compiled code, one row after
the other, so that a game goes the same way alone and among thousands. `agents.chooser` keeps it
from going in circles, and it gives up games in which no further card can be turned up.

The weights of draw 1 play draw 1, those of draw 3 every other draw count.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.chooser import Chooser
from agents.features import MAX_CANDIDATES
from agents.overview import OVERVIEW, overviews
from agents.plan_features import FEATURES, Candidates
from klondike_env.compiled import entry_point, inlined
from klondike_env.games.klondike.rules import KlondikeRules

POLICIES = Path(__file__).parent / "policies"
TRAIN_AGAIN = "train it again with python -m agents.train, or install the version it was made with"


class Layout(NamedTuple):
    """What a network sees: names of a candidate's features and of the numbers of an overview."""

    features: tuple[str, ...]
    overview: tuple[str, ...]


MOVES = Layout(FEATURES, OVERVIEW)
"""The layout of a network whose candidates are moves."""


@dataclass(frozen=True)
class Weights:
    """The network of a policy, F features, S numbers in an overview, H hidden units.

    Attributes:
        linear: float32[F].
        of_candidate: float32[H, F].
        bias: float32[H].
        of_overview: float32[H, S].
        output: float32[H].
        made: how it was made: environment, action set, steps and so on.
        layout: what it sees.
    """

    linear: np.ndarray
    of_candidate: np.ndarray
    bias: np.ndarray
    of_overview: np.ndarray
    output: np.ndarray
    made: Mapping[str, Any]
    layout: Layout = MOVES

    def save(self, path: Path) -> None:
        """Write a file of plain arrays and text; loading it runs no code."""
        np.savez_compressed(
            path,
            layout=np.array(json.dumps(self.layout._asdict())),
            made=np.array(json.dumps(dict(self.made))),
            **{name: getattr(self, name) for name in _shapes(len(self.bias), self.layout)},
        )

    @staticmethod
    def load(path: Path, layout: Layout = MOVES) -> Weights:
        """Read a file that `save` wrote for a layout.

        Raises:
            ValueError: no such file, or one of another layout; says what to do.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                content = {name: file[name] for name in file.files}
            found = json.loads(str(content["layout"]))
            made = json.loads(str(content["made"]))
            arrays = {name: content[name] for name in _shapes(0, layout)}
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} holds no policy: {error}") from None
        for what, names in layout._asdict().items():
            if found.get(what) != list(names):
                changed = sorted(set(found.get(what, ())) ^ set(names))
                which = ", ".join(changed) or "their order"
                raise ValueError(
                    f"{path.name} was trained on other {what} ({which}): {TRAIN_AGAIN}"
                )
        for name, shape in _shapes(len(arrays["bias"]), layout).items():
            if arrays[name].shape != shape or arrays[name].dtype != np.float32:
                raise ValueError(
                    f"{path.name}: {name} is {arrays[name].dtype}{arrays[name].shape}, not"
                    f" float32{shape}: {TRAIN_AGAIN}"
                )
        return Weights(**arrays, made=made, layout=layout)

    def for_kernels(self) -> tuple[np.ndarray, ...]:
        """What `score_candidates` takes: the matrices turned so that it reads them in order."""
        return (
            self.linear,
            np.ascontiguousarray(self.of_candidate.T),
            self.bias,
            np.ascontiguousarray(self.of_overview.T),
            self.output,
        )


def _shapes(hidden: int, layout: Layout) -> dict[str, tuple[int, ...]]:
    return {
        "linear": (len(layout.features),),
        "of_candidate": (hidden, len(layout.features)),
        "bias": (hidden,),
        "of_overview": (hidden, len(layout.overview)),
        "output": (hidden,),
    }


@inlined
def score_candidates(features, overview, count, weights, base, hidden, scores):  # type: ignore[no-untyped-def]
    """Work out the network for the first `count` candidates of a position.

    Args:
        features: [C, F] or wider.
        overview: [S].
        count: candidates there are.
        weights: see `Weights.for_kernels`.
        base: float32[H], scratch.
        hidden: float32[H], scratch.
        scores: float32[C], written.
    """
    linear, of_candidate, bias, of_overview, output = weights
    size = bias.shape[0]
    for h in range(size):
        base[h] = bias[h]
    for s in range(of_overview.shape[0]):
        value = overview[s]
        if value != 0.0:
            for h in range(size):
                base[h] += value * of_overview[s, h]
    for c in range(count):
        for h in range(size):
            hidden[h] = base[h]
        score = np.float32(0.0)
        for f in range(linear.shape[0]):
            value = features[c, f]
            if value != 0.0:  # most are zero
                score += value * linear[f]
                for h in range(size):
                    hidden[h] += value * of_candidate[f, h]
        for h in range(size):
            score += max(hidden[h], np.float32(0.0)) * output[h]
        scores[c] = score


@entry_point
def score_rows(features, overview, counts, weights, scores):  # type: ignore[no-untyped-def]
    """float32[B, C, F], float32[B, S], int64[B] -> float32[B, C]."""
    size = weights[2].shape[0]
    base = np.empty(size, dtype=np.float32)
    hidden = np.empty(size, dtype=np.float32)
    for b in range(counts.shape[0]):
        if counts[b]:
            score_candidates(features[b], overview[b], counts[b], weights, base, hidden, scores[b])


class Ppo(Chooser):
    """The trained network.

    Args:
        rules: the rules of the game.
        weights: those of its policy by default.

    Raises:
        ValueError: rules under which going through the stock is not free; or the policy's file does
            not fit the features.
    """

    def __init__(
        self, rules: KlondikeRules | None = None, *, weights: Weights | None = None
    ) -> None:
        super().__init__(rules)
        if not self.rules.allows_reach:
            raise ValueError(
                "agent 'ppo' cannot play these rules: its policies are trained where going through"
                " the stock is free"
            )
        self.candidates: Candidates = Candidates(self.rules)
        if weights is None:
            weights = Weights.load(policy_file(self.rules))
        self._weights = weights.for_kernels()

    def given_up(self) -> np.ndarray:
        """The rows whose game is lost, since no further card can be turned up: bool[B]."""
        return self.candidates.is_dead

    def score(self, observations: Any) -> np.ndarray:
        """Scores of the present candidates."""
        found = self.candidates
        scores = np.zeros((len(found.counts), MAX_CANDIDATES), dtype=np.float32)
        score_rows(
            found.features, overviews(observations, found), found.counts, self._weights, scores
        )
        return scores


def policy_file(rules: KlondikeRules) -> Path:
    """The file of the shipped policy that plays these rules."""
    return POLICIES / f"ppo-draw{1 if rules.draw_count == 1 else 3}.npz"
