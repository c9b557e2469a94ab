"""Trains a policy with MaskablePPO: ``python -m agents.train configs/train/draw1.yaml``.

What it chooses among is moves, for agent `ppo`, or plans, for `ppo-plan`: option `choices`.

Whatever a run makes is in its folder: `config.yaml`, every option; `validation.csv` and
`curve.png`, how well it played deals of the suite `validation` on the way; `best.npz`, the weights
that won the most of them; `tensorboard/`; and `checkpoints/`, from which `--resume` goes on: with
the same weights, optimizer, counters and random numbers, on new deals. Deals come from the range
that `reset(seed=...)` draws on. No file here runs code when it is loaded.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

try:
    import torch
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import configure
    from torch.optim.swa_utils import AveragedModel

    from agents.train_config import ConfigError, TrainConfig, parse
except ModuleNotFoundError as error:
    sys.exit(f"error: {error.name} is not installed: pip install --editable '.[train]'")

from agents import plan_agent
from agents.network import running_mean
from agents.plan_env import PlanVectorEnv
from agents.plan_features import guided_weights, planning_weights
from agents.ppo import Ppo, Weights
from agents.ppo_plan import FEATURES as PLAN_FEATURES
from agents.ppo_plan import PpoPlan
from agents.sb3 import SB3VecEnv
from agents.sb3_buffer import CandidateRolloutBuffer
from agents.sb3_policy import CandidatePolicy
from agents.wrappers import CandidatesVectorEnv
from klondike_env import __version__
from klondike_env.deals import suite
from klondike_env.evaluation import Evaluation, evaluate
from klondike_env.games.klondike.rules import PRESETS

VALIDATION_STEP_LIMIT = 500
"""Games that take longer are hardly ever won, and most of the time would go into them."""


def make_envs(config: TrainConfig) -> SB3VecEnv:
    """The games to train on."""
    if config.choices == "plans":
        return SB3VecEnv(
            PlanVectorEnv(
                config.env, config.num_envs, config.quota, config.more, config.games_per_deal
            )
        )
    envs = gym.make_vec(
        config.env,
        config.num_envs,
        "vector_entry_point",
        actions="reach",
        reward=config.reward,
        autoreset_mode="SameStep",
        max_episode_steps=config.max_episode_steps,
    )
    return SB3VecEnv(
        CandidatesVectorEnv(
            envs,
            no_repeat=config.no_repeat,
            stall_limit=config.stall_limit or None,
            no_dead_ends=config.no_dead_ends,
            copies=False,  # a rollout keeps what it needs of them
        )
    )


def first_weights(config: TrainConfig) -> np.ndarray | None:
    """Where the linear part starts, float32[F]; None for zeros."""
    rules = PRESETS[config.env]
    if config.start == "guide":
        weights = guided_weights(rules)
    elif config.start == "plan":
        weights = planning_weights()
    elif config.start == "planner":
        weights = plan_agent.load_weights("planner", rules)[: len(PLAN_FEATURES)]
    else:
        return None
    return (weights / config.heat).astype(np.float32)


def make_model(config: TrainConfig) -> MaskablePPO:
    """An untrained model."""
    first, last = config.learning_rate, config.last_learning_rate
    return MaskablePPO(
        CandidatePolicy,
        make_envs(config),
        learning_rate=lambda remaining: last + (first - last) * remaining,
        n_steps=config.steps_per_update,
        batch_size=config.batch_size,
        n_epochs=config.epochs,
        gamma=1.0,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip,
        ent_coef=config.entropy,
        rollout_buffer_class=CandidateRolloutBuffer,
        policy_kwargs={"hidden": config.hidden, "linear": first_weights(config)},
        stats_window_size=1000,
        seed=config.seed,
        device=config.device,
    )


def save_checkpoint(model: MaskablePPO, mean: AveragedModel, folder: Path) -> None:
    """Write all that a resumed run needs; a half-written file never has the right name."""
    name, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002  (what MaskablePPO draws on)
    path = folder / f"step_{model.num_timesteps}.pt"
    content = {
        "policy": model.policy.state_dict(),
        "mean": mean.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "steps": model.num_timesteps,
        "updates": model._n_updates,
        "torch_random": torch.get_rng_state(),
        "numpy_random": [name, torch.from_numpy(np.array(keys, dtype=np.int64)), *rest],
    }
    torch.save(content, path.with_suffix(".part"))
    path.with_suffix(".part").replace(path)


def load_checkpoint(model: MaskablePPO, mean: AveragedModel, folder: Path) -> None:
    """Go back to the latest checkpoint of a folder.

    Raises:
        ConfigError: there is none.
    """
    paths = sorted(folder.glob("step_*.pt"), key=lambda path: int(path.stem.partition("_")[2]))
    if not paths:
        raise ConfigError(f"{folder} holds no checkpoint to resume from")
    content = torch.load(paths[-1], weights_only=True)
    model.policy.load_state_dict(content["policy"])
    mean.load_state_dict(content["mean"])
    model.policy.optimizer.load_state_dict(content["optimizer"])
    model.num_timesteps = content["steps"]
    model._n_updates = content["updates"]
    torch.set_rng_state(content["torch_random"])
    name, keys, *rest = content["numpy_random"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))  # noqa: NPY002


class Watch(BaseCallback):  # type: ignore[misc]
    """Keeps the running mean of the weights, validates it, saves checkpoints, shows progress."""

    FIELDS = ("step", "seconds", "games", "wins", "win_rate", "low", "high")
    REAL = ("seconds", "win_rate", "low", "high")

    def __init__(self, config: TrainConfig, mean: AveragedModel, progress: Progress) -> None:
        super().__init__()
        self.config = config
        self.mean = mean
        self.progress = progress
        self.task = progress.add_task(config.env, total=config.steps, note="")
        self.rows = self._read()
        self._began = time.perf_counter() - (self.rows[-1]["seconds"] if self.rows else 0.0)

    @property
    def path(self) -> Path:
        """The table of validations."""
        return self.config.folder / "validation.csv"

    def _read(self) -> list[dict[str, float]]:
        if not self.path.exists():
            return []
        with self.path.open(encoding="utf-8", newline="") as file:
            return [
                {name: float(v) if name in self.REAL else int(v) for name, v in row.items()}
                for row in csv.DictReader(file)
            ]

    def _init_callback(self) -> None:
        # Rows after the checkpoint that a run goes on from are played again.
        steps = self.model.num_timesteps
        self.rows = [row for row in self.rows if row["step"] <= steps]
        self._next_checkpoint = steps + self.config.checkpoint_every
        self._next_validation = steps + self.config.validate_every if self.rows else 0

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        steps = self.model.num_timesteps
        self.progress.update(self.task, completed=steps)
        self.mean.update_parameters(self.model.policy.network)
        if steps >= self._next_validation:
            self._next_validation = steps + self.config.validate_every
            self._validate()
        if steps >= self._next_checkpoint:
            self._next_checkpoint = steps + self.config.checkpoint_every
            save_checkpoint(self.model, self.mean, self.config.folder / "checkpoints")

    def _on_training_end(self) -> None:
        self.mean.update_parameters(self.model.policy.network)
        if not self.rows or self.rows[-1]["step"] < self.model.num_timesteps:
            self._validate()
        self.progress.update(self.task, completed=self.model.num_timesteps)

    def _validate(self) -> None:
        steps, config = self.model.num_timesteps, self.config
        network: Any = self.mean.module
        weights = network.to_weights(
            env=config.env,
            actions="plans" if config.choices == "plans" else "reach",
            seed=config.seed,
            steps=steps,
            version=__version__,
        )
        result = validate(weights, config)
        best = max((row["win_rate"] for row in self.rows), default=-1.0)
        if result.win_rate > best:
            weights.save(config.folder / "best.npz")
        low, high = result.interval
        seconds = round(time.perf_counter() - self._began, 1)
        values = (steps, seconds, result.games, result.wins, result.win_rate, low, high)
        self.rows.append(dict(zip(self.FIELDS, values, strict=True)))
        self._write()
        self.logger.record("validation/win_rate", result.win_rate)
        note = f"won {result.win_rate:.1%} of {result.games:,} validation deals"
        self.progress.update(self.task, note=note)
        if self.progress.disable:  # no terminal to draw a bar on
            print(f"step {steps:,}, {seconds:,.0f} s: {note}", flush=True)

    def _write(self) -> None:
        with self.path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, self.FIELDS)
            writer.writeheader()
            writer.writerows(self.rows)


def validate(weights: Weights, config: TrainConfig) -> Evaluation:
    """Play validation deals with weights as the agent plays: always the best move or plan."""
    agent = (PpoPlan if config.choices == "plans" else Ppo)(PRESETS[config.env], weights=weights)
    deals = suite("validation", config.validation_games)
    return evaluate(agent, config.env, deals, num_envs=512, max_episode_steps=VALIDATION_STEP_LIMIT)


def draw_curve(rows: Sequence[dict[str, float]], config: TrainConfig, path: Path) -> None:
    """Draw win rate by steps, with intervals, into a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    steps = [row["step"] / 1e6 for row in rows]
    axes.plot(steps, [100 * row["win_rate"] for row in rows], color="tab:blue")
    low, high = ([100 * row[name] for row in rows] for name in ("low", "high"))
    axes.fill_between(steps, low, high, color="tab:blue", alpha=0.2, linewidth=0)
    axes.set_xlabel("million decisions")
    axes.set_ylabel(f"won of {rows[-1]['games']:,.0f} validation deals, %")
    axes.set_title(f"{config.env}, seed {config.seed}")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def train(config: TrainConfig, *, resume: bool = False) -> MaskablePPO:
    """Run a training to its end.

    Raises:
        ConfigError: the folder or the device will not do; nothing has been trained.
        KeyboardInterrupt: after saving a checkpoint.
    """
    checkpoints = config.folder / "checkpoints"
    if resume:
        config.check_resumes()
    elif (config.folder / "config.yaml").exists():
        raise ConfigError(
            f"{config.output} holds a run: go on with it (--resume) or choose another --output"
        )
    torch.set_num_threads(config.threads or len(os.sched_getaffinity(0)))
    try:
        model = make_model(config)
    except (RuntimeError, AssertionError) as error:  # no such device
        raise ConfigError(f"device {config.device!r}: {str(error).splitlines()[0]}") from None
    try:
        checkpoints.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"output {config.output!r}: {error.strerror}") from None
    mean = running_mean(model.policy.network)
    if resume:
        load_checkpoint(model, mean, checkpoints)
    config.save()
    # New games at every start, never those that a run began with.
    sequence = np.random.SeedSequence([config.seed, model.num_timesteps])
    model.env.seed(int(sequence.generate_state(1)[0]))
    model.set_logger(configure(str(config.folder / "tensorboard"), ["tensorboard"]))
    with _progress() as progress:
        watch = Watch(config, mean, progress)
        try:
            model.learn(
                max(config.steps - model.num_timesteps, 0), watch, reset_num_timesteps=not resume
            )
        except KeyboardInterrupt:
            raise KeyboardInterrupt("--resume goes on from the last checkpoint") from None
    save_checkpoint(model, mean, checkpoints)
    draw_curve(watch.rows, config, config.folder / "curve.png")
    return model


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} decisions"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 0 done, 2 a mistake, 130 interrupted."""
    try:
        config, resume = parse(sys.argv[1:] if argv is None else argv)
        train(config, resume=resume)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"interrupted: {interrupt}", file=sys.stderr)
        return 130
    print(f"the best weights are in {config.folder / 'best.npz'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
