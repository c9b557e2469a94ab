"""The options of a training run: one frozen dataclass is YAML file and command line at once."""

from __future__ import annotations

import dataclasses
from argparse import ArgumentError
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from jsonargparse import ArgumentParser

from agents.plan_agent import check_free
from klondike_env.games.klondike.rules import PRESETS, KlondikeRules

FREE_TO_CHANGE = ("steps", "threads", "device", "output", "validate_every", "checkpoint_every")
"""Options that a resumed run may have otherwise than it began with."""


class ConfigError(ValueError):
    """A mistake in what was asked for: the message names it and says what is allowed."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Train a policy for an environment with MaskablePPO.

    Attributes:
        env: environment id, one where going through the stock is free.
        choices: `moves`, as agent `ppo` makes them, or `plans`, as `ppo-plan` does.
        output: folder of the run.
        steps: decisions to train on, of all games together.
        seed: of deals, first weights and choices.
        start: `zero`, or the agent from whose weights the linear part starts: `guide` of moves,
            `planner` of plans. Of moves also `plan`: no more than a score for beginning the best
            plan, which `guide` has as well.
        heat: what the first weights of the linear part are divided by; above 1, choices begin more
            even and more is tried.
        hidden: units of each hidden layer.
        num_envs: games side by side.
        steps_per_update: decisions of each game between updates.
        batch_size: decisions of a minibatch.
        epochs: passes over the decisions of an update.
        learning_rate: at the start; it falls linearly to `last_learning_rate`.
        last_learning_rate: at the end.
        clip: range of PPO's ratio, 1 - clip to 1 + clip.
        gae_lambda: of the advantage estimate; the discount is 1.
        entropy: weight of the entropy bonus.
        quota: of plans: how many a pile, in training; in play as `planner` has it.
        more: of plans: positions looked at for them after the first, in training.
        games_per_deal: of plans: games played of each deal in a row.
        reward: of moves: the environment's reward; of plans it is `win`.
        no_repeat: of moves: bar those that recreate a position, in training; in play always.
        stall_limit: of moves: so many without an irreversible one lose a game; 0 for no limit.
        no_dead_ends: of moves: end a game once no further card can be turned up, in training; in
            play always.
        max_episode_steps: of moves: so many end a game.
        validate_every: decisions between validations.
        validation_games: deals of the suite `validation` that each validation plays.
        checkpoint_every: decisions between checkpoints.
        threads: of PyTorch; 0 for one a core, which pays only where no other job runs.
        device: of PyTorch; `auto` takes a GPU where there is one.
    """

    env: str = "Klondike-Draw1-v0"
    choices: Literal["moves", "plans"] = "moves"
    output: str = "runs/train"
    steps: int = 1_000_000
    seed: int = 1
    start: Literal["zero", "plan", "guide", "planner"] = "zero"
    heat: float = 1.0
    hidden: int = 64
    num_envs: int = 512
    steps_per_update: int = 64
    batch_size: int = 4096
    epochs: int = 2
    learning_rate: float = 1e-3
    last_learning_rate: float = 1e-4
    clip: float = 0.2
    gae_lambda: float = 0.98
    entropy: float = 0.003
    quota: int = 4
    more: int = 150
    games_per_deal: int = 8
    reward: Literal["win", "score", "cards", "progress"] = "win"
    no_repeat: bool = True
    stall_limit: int = 60
    no_dead_ends: bool = True
    max_episode_steps: int = 2000
    validate_every: int = 500_000
    validation_games: int = 1000
    checkpoint_every: int = 1_000_000
    threads: int = 1
    device: str = "auto"

    def __post_init__(self) -> None:
        """Refuse values that no run can have.

        Raises:
            ConfigError: naming the option and what is allowed.
        """
        plans = self.choices == "plans"
        free = [
            name
            for name, rules in PRESETS.items()
            if (_has_free_plans(rules) if plans else rules.allows_reach)
        ]
        if self.env not in free:
            raise ConfigError(f"env must be one of {', '.join(free)}, not {self.env!r}")
        starts = ("zero", "planner") if plans else ("zero", "plan", "guide")
        _check(
            "start", self.start in starts, self.start, f"{' or '.join(starts)} for {self.choices}"
        )
        _check("reward", self.reward == "win" or not plans, self.reward, "win for plans")
        for name in (
            "steps",
            "hidden",
            "num_envs",
            "steps_per_update",
            "batch_size",
            "epochs",
            "quota",
            "more",
            "games_per_deal",
            "max_episode_steps",
            "validate_every",
            "validation_games",
            "checkpoint_every",
        ):
            _check(name, getattr(self, name) >= 1, getattr(self, name), "1 or more")
        for name in ("seed", "stall_limit", "threads"):
            _check(name, getattr(self, name) >= 0, getattr(self, name), "0 or more")
        for name in ("learning_rate", "last_learning_rate", "clip"):
            _check(name, 0 < getattr(self, name) <= 1, getattr(self, name), "above 0, at most 1")
        _check("gae_lambda", 0 <= self.gae_lambda <= 1, self.gae_lambda, "from 0 to 1")
        _check("heat", self.heat > 0, self.heat, "above 0")
        _check("entropy", self.entropy >= 0, self.entropy, "0 or more")
        size = self.num_envs * self.steps_per_update
        _check(
            "batch_size",
            size % self.batch_size == 0,
            self.batch_size,
            f"a divisor of num_envs x steps_per_update = {size}",
        )

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return Path(self.output)

    def save(self) -> None:
        """Write every option into the run's folder."""
        text = yaml.safe_dump(dataclasses.asdict(self), sort_keys=False)
        (self.folder / "config.yaml").write_text(text, encoding="utf-8")

    def check_resumes(self) -> None:
        """Refuse to go on with a run that began with other options.

        Raises:
            ConfigError: there is no such run, or it began otherwise.
        """
        path = self.folder / "config.yaml"
        if not path.exists():
            raise ConfigError(f"{self.output} holds no run to resume")
        began: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        for name, value in dataclasses.asdict(self).items():
            if name not in FREE_TO_CHANGE and began.get(name) != value:
                raise ConfigError(
                    f"the run in {self.output} began with {name} {began.get(name)!r}, not {value!r}"
                )


def _has_free_plans(rules: KlondikeRules) -> bool:
    try:
        check_free(rules)
    except ValueError:
        return False
    return True


def _check(name: str, is_right: bool, value: object, allowed: str) -> None:
    if not is_right:
        raise ConfigError(f"{name} must be {allowed}, not {value!r}")


def parse(argv: Sequence[str]) -> tuple[TrainConfig, bool]:
    """The configuration that a command line asks for, and whether it resumes a run.

    Raises:
        ConfigError: for an unknown option or key, a wrong value, an unreadable file.
    """
    parser = ArgumentParser(
        prog="python -m agents.train",
        usage="%(prog)s FILE [--resume] [--OPTION VALUE ...]",
        description="FILE is YAML with options as keys; options given here win over it.",
        exit_on_error=False,
        allow_abbrev=False,
    )
    parser.add_argument("--config", action="config", help="the same as FILE")
    parser.add_argument("--resume", action="store_true", help="go on with the run in the folder")
    parser.add_class_arguments(TrainConfig, as_group=False)
    if argv and not argv[0].startswith("-"):
        argv = ["--config", *argv]
    try:
        values = parser.parse_args(list(argv)).as_dict()
    except ArgumentError as error:
        raise ConfigError(" ".join(str(error).split())) from None
    del values["config"]
    resume = values.pop("resume")
    return TrainConfig(**values), resume
