"""Training: masks reach every place, runs repeat and resume, mistakes are named, policies load."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import yaml

import klondike_env
from agents import make_agent, ppo_plan
from agents.plan_features import FEATURES, PLAN_FEATURES
from agents.ppo import MOVES, POLICIES, Ppo, Weights, policy_file
from agents.ppo_plan import PLANS
from agents.wrappers import PLACES, CandidatesEnv, CandidatesVectorEnv
from klondike_env.deals import suite
from klondike_env.games.klondike.rules import PRESETS

pytest.importorskip("sb3_contrib")

import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableDictRolloutBuffer
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from agents import ppo_plain
from agents.network import CandidateNetwork
from agents.sb3 import SB3VecEnv
from agents.sb3_buffer import CandidateRolloutBuffer
from agents.sb3_policy import CandidatePolicy
from agents.train import draw_curve, first_weights, main, make_model, train
from agents.train_config import ConfigError, TrainConfig

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:torch", "ignore::UserWarning:torch"
)
ROOT = Path(__file__).parent.parent
TRAINED = ["Klondike-Draw1-v0", "Klondike-Draw3-v0"]
SHIPPED = [(name, env_id) for name in ("ppo", "ppo-plan") for env_id in TRAINED]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def short(folder: Path, **options: Any) -> TrainConfig:
    values: dict[str, Any] = {
        "output": str(folder),
        "steps": 2048,
        "num_envs": 32,
        "steps_per_update": 32,
        "batch_size": 256,
        "hidden": 16,
        "validate_every": 1024,
        "validation_games": 20,
        "checkpoint_every": 1024,
        "threads": 1,
    }
    return TrainConfig(**{**values, **options})


def validations(folder: Path) -> list[dict[str, str]]:
    with (folder / "validation.csv").open() as file:
        return list(csv.DictReader(file))


def weights_in(model: MaskablePPO) -> list[np.ndarray]:
    return [p.detach().numpy().copy() for p in model.policy.parameters()]


def candidates(num_envs: int = 8, env_id: str = "Klondike-Draw1-v0") -> CandidatesVectorEnv:
    return CandidatesVectorEnv(
        gym.make_vec(
            env_id, num_envs, "vector_entry_point", actions="reach", autoreset_mode="SameStep"
        ),
        no_repeat=True,
        stall_limit=60,
    )


# --- Masks -------------------------------------------------------------------------------------


def test_barred_places_are_never_drawn() -> None:
    """R22: one candidate of 32, and scores that are all very low."""
    rng = np.random.default_rng(0)
    policy = CandidatePolicy(*spaces(), lambda _: 1e-3)
    legal = rng.integers(PLACES, size=20_000)
    masks = np.zeros((len(legal), PLACES), dtype=np.bool_)
    masks[np.arange(len(legal)), legal] = True
    observations = {
        "candidates": torch.zeros(len(legal), len(FEATURES)),  # only those that the masks let in
        "overview": torch.zeros(len(legal), policy.network.of_overview.in_features),
    }
    for _ in range(5):
        actions, _, log_probs = policy(observations, action_masks=masks)
        np.testing.assert_array_equal(actions.numpy(), legal)
        assert (log_probs == 0).all()
    with torch.no_grad():
        policy.network.linear.weight.fill_(-1e4)
    masks[:, 3] = masks[:, 7] = True
    observations["candidates"] = torch.ones(int(masks.sum()), len(FEATURES))
    chances = policy.get_distribution(observations, masks).distribution.probs.detach().numpy()
    assert (chances[~masks] == 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-5)


def spaces() -> tuple[Any, Any]:
    env = CandidatesEnv(gym.make("Klondike-Draw1-v0"))
    return env.observation_space, env.action_space


def test_the_ordinary_route_trains_too() -> None:
    """R01, R20: gym.make, Monitor and DummyVecEnv; masks are found behind all of them."""

    def make() -> Any:
        return Monitor(
            CandidatesEnv(
                gym.make("Klondike-Draw1-v0", actions="reach"), no_repeat=True, stall_limit=20
            )
        )

    model = MaskablePPO(
        CandidatePolicy, DummyVecEnv([make] * 2), n_steps=64, batch_size=64, n_epochs=1, seed=0
    )
    model.learn(256)
    assert len(model.ep_info_buffer) >= 1
    assert all(np.isfinite(array).all() for array in weights_in(model))


def test_training_without_masks_is_refused() -> None:
    """R04."""
    with pytest.raises(ValueError, match="has no use_sde: it is trained with MaskablePPO"):
        PPO(CandidatePolicy, SB3VecEnv(candidates()), n_steps=8, batch_size=8)
    model = MaskablePPO(CandidatePolicy, SB3VecEnv(candidates()), n_steps=8, batch_size=8)
    with pytest.raises(ValueError, match="needs action_masks: train it with MaskablePPO, and hand"):
        model.predict(model.env.reset())
    with pytest.raises(ValueError, match="plays environments wrapped in"):
        MaskablePPO(CandidatePolicy, make_vec_env("CartPole-v1"))


def test_the_lean_buffer_holds_what_the_full_one_does() -> None:
    envs = SB3VecEnv(candidates(6))
    spaces = (envs.observation_space, envs.action_space, "cpu", 0.98, 1.0, 6)
    buffers = [kind(10, *spaces) for kind in (CandidateRolloutBuffer, MaskableDictRolloutBuffer)]
    envs.seed(1)
    observations = envs.reset()
    rng = np.random.default_rng(0)
    for _ in range(10):
        masks = envs.env_method("action_masks")
        actions = klondike_env.sample_actions(masks.view(np.int8), rng)
        values, log_probs = torch.from_numpy(rng.random((2, 6), dtype=np.float32))
        for buffer in buffers:
            buffer.add(
                observations,
                actions,
                actions.astype(np.float32),
                np.zeros(6),
                values,
                log_probs,
                action_masks=masks,
            )
        observations, *_ = envs.step(actions)
    parts = []
    for buffer in buffers:
        buffer.compute_returns_and_advantage(values, np.zeros(6))
        lean, full = [], []
        for part in buffer.get(16):
            masks = part.action_masks.bool()
            found = part.observations["candidates"]
            found = found[masks] if found.dim() == 3 else found
            ends = masks.sum(1).cumsum(0).tolist()
            rows = np.split(found.numpy(), ends[:-1])
            full += list(zip(part.old_values.tolist(), rows, strict=True))
            lean.append(
                torch.cat(
                    [
                        part.old_values[:, None],
                        part.actions,
                        part.old_log_prob[:, None],
                        part.advantages[:, None],
                        part.returns[:, None],
                        part.observations["overview"],
                        masks,
                    ],
                    dim=1,
                )
            )
        table = torch.cat(lean).numpy()
        assert table.shape[0] == 60
        parts.append((table[table[:, 0].argsort()], sorted(full, key=lambda pair: pair[0])))
    np.testing.assert_array_equal(parts[0][0], parts[1][0])
    for (_, first), (_, second) in zip(parts[0][1], parts[1][1], strict=True):
        np.testing.assert_array_equal(first, second)


# --- Playing without PyTorch -------------------------------------------------------------------


def test_the_agent_scores_as_the_network_does(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = CandidateNetwork(16)
    torch.nn.init.normal_(network.output.weight)
    torch.nn.init.normal_(network.linear.weight)
    network.to_weights(env="Klondike-Draw1-v0", steps=0).save(tmp_path / "policy.npz")
    agent = Ppo(PRESETS["Klondike-Draw1-v0"], weights=Weights.load(tmp_path / "policy.npz"))
    envs = candidates(64)
    inner = envs.unwrapped
    observations, infos = envs.reset(seed=2)
    rng = np.random.default_rng(0)
    for _ in range(30):
        envs.step(klondike_env.sample_actions(envs.action_masks().view(np.int8), rng))
    state = inner.get_state()
    raw, infos = inner.set_state(state)
    view = CandidatesVectorEnv(inner)
    observations, _ = view._view.look(raw, infos["action_mask"])
    masks = torch.from_numpy(view._view.masks).bool()
    with torch.no_grad():
        expected = network.scores(*map(torch.from_numpy, observations.values()), masks).numpy()
    agent.reset(64)
    agent.act(raw, infos["action_mask"])
    found = agent.score(raw)[:, :PLACES]
    np.testing.assert_allclose(found[masks], expected[masks], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("env_id", TRAINED)
def test_a_network_that_starts_from_guide_plays_as_guide(env_id: str) -> None:
    linear = first_weights(TrainConfig(env=env_id, start="guide"))
    assert linear is not None
    assert linear[FEATURES.index("plan_best")] > 0
    linear[-len(PLAN_FEATURES) :] = 0
    network = CandidateNetwork(8, linear)
    agent = Ppo(PRESETS[env_id], weights=network.to_weights())
    runs = [
        klondike_env.evaluate(player, env_id, suite("validation", 40), max_episode_steps=200)
        for player in (agent, make_agent("guide", PRESETS[env_id]))
    ]
    won = [[game.outcome == "won" for game in run.records] for run in runs]
    alike = sum(first == second for first, second in zip(*won, strict=True))
    assert alike >= 38  # scores that tie but for rounding may go either way


@pytest.mark.parametrize(("name", "env_id"), SHIPPED)
def test_shipped_policies_play_legally_and_the_same_in_any_company(name: str, env_id: str) -> None:
    """R04, R18: an illegal action would raise; twice here, once in another process."""
    runs = []
    for num_envs in (200, 7):
        agent = make_agent(name, PRESETS[env_id])
        deals = suite("validation", 200 if num_envs == 200 else 30)
        run = klondike_env.evaluate(agent, env_id, deals, num_envs=num_envs, max_episode_steps=300)
        runs.append([replace(record, seconds=0.0) for record in run.records])
    assert runs[0][:30] == runs[1]
    program = (
        "import klondike_env, agents\n"
        "from klondike_env.games.klondike.rules import PRESETS\n"
        f"agent = agents.make_agent({name!r}, PRESETS[{env_id!r}])\n"
        "deals = klondike_env.deals.suite('validation', 30)\n"
        f"run = klondike_env.evaluate(agent, {env_id!r}, deals, max_episode_steps=300)\n"
        "print([(r.outcome, r.steps, r.foundation_cards) for r in run.records])\n"
        "import sys; assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    mine = [(r.outcome, r.steps, r.foundation_cards) for r in runs[1]]
    assert done.stdout.strip() == str(mine)


@pytest.mark.parametrize(("name", "env_id"), SHIPPED)
def test_shipped_policies_have_their_card_and_curve(name: str, env_id: str) -> None:
    layout, file_of = (MOVES, policy_file) if name == "ppo" else (PLANS, ppo_plan.policy_file)
    path = file_of(PRESETS[env_id])
    made = Weights.load(path, layout).made
    assert (path.stem.rpartition("-")[0], made["env"]) == (name, env_id)
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    for text in (env_id, path.with_suffix(".png").name, f"{made['steps']:,}"):
        assert text in card
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size < 200_000
    expected = {f"{name}-draw{draw}" for name in ("ppo", "ppo-plan") for draw in (1, 3)}
    assert {file.stem for file in POLICIES.iterdir()} == expected


def test_a_policy_of_another_layout_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    CandidateNetwork(4).to_weights().save(path)
    with np.load(path) as file:
        content = dict(file)
    for name, value, message in (
        ("layout", '{"features": ["reveal", "luck"]}', "trained on other features .*luck"),
        ("bias", np.zeros(9, dtype=np.float32), "of_candidate is float32.*train it again"),
        ("bias", np.array([print], dtype=object), "holds no policy: .*allow_pickle"),
    ):
        np.savez(path, **{**content, name: np.asarray(value)})
        with pytest.raises(ValueError, match=message):
            Weights.load(path)
    path.write_text("no archive")
    with pytest.raises(ValueError, match=r"policy.npz holds no policy"):
        Weights.load(path)
    with pytest.raises(ValueError, match=r"none.npz holds no policy"):
        Weights.load(tmp_path / "none.npz")


# --- Runs --------------------------------------------------------------------------------------


def test_a_run_leaves_what_it_says(tmp_path: Path, capsys: Any) -> None:
    config = short(tmp_path / "run")
    model = train(config)
    assert model.num_timesteps == 2048
    rows = validations(config.folder)
    assert [row["step"] for row in rows] == ["0", "1024", "2048"]
    assert all(row["games"] == "20" for row in rows)
    names = {path.name for path in config.folder.iterdir()}
    assert names == {
        "best.npz",
        "checkpoints",
        "config.yaml",
        "curve.png",
        "tensorboard",
        "validation.csv",
    }
    best = Weights.load(config.folder / "best.npz")
    assert best.made["env"] == config.env
    assert "step 2,048" in capsys.readouterr().out
    saved = yaml.safe_load((config.folder / "config.yaml").read_text())
    assert TrainConfig(**saved) == config


def test_the_same_seed_trains_the_same_weights(tmp_path: Path) -> None:
    runs = [
        weights_in(train(short(tmp_path / name, seed=seed)))
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    for first, again in zip(runs[0], runs[1], strict=True):
        np.testing.assert_array_equal(first, again)
    assert any((first != other).any() for first, other in zip(runs[0], runs[2], strict=True))


def test_a_run_resumes_where_it_stopped(tmp_path: Path) -> None:
    """R17: counter, table, weights, optimizer and random numbers go on; games are new ones."""
    config = short(tmp_path / "run")
    first = train(config)
    longer = replace(config, steps=4096)
    fresh = make_model(longer)
    assert any((a != b).any() for a, b in zip(weights_in(first), weights_in(fresh), strict=True))
    again = train(longer, resume=True)
    assert again.num_timesteps == 4096
    assert again._n_updates == 2 * first._n_updates
    assert [row["step"] for row in validations(config.folder)] == [
        "0",
        "1024",
        "2048",
        "3072",
        "4096",
    ]
    names = sorted(path.name for path in (config.folder / "checkpoints").iterdir())
    assert names == [f"step_{step}.pt" for step in (1024, 2048, 3072, 4096)]
    seconds = [float(row["seconds"]) for row in validations(config.folder)]
    assert seconds == sorted(seconds)
    done = train(longer, resume=True)  # nothing is left to do
    for one, other in zip(weights_in(done), weights_in(again), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--env", "Klondike-Vegas-v0"], "env must be one of Klondike-Draw3-v0, .*'Klondike-Vegas"),
        (["--batch_size", "100"], "batch_size must be a divisor of .* = 32768, not 100"),
        (["--learning_rate", "0"], "learning_rate must be above 0, at most 1, not 0.0"),
        (["--steps", "many"], "steps"),
        (["--start", "expert"], "start"),
        (["--leanring_rate", "1"], "leanring_rate"),
        (["no-such.yaml"], "no-such.yaml"),
        (["--device", "abacus"], "device 'abacus'"),
        (["--resume", "--output", "nowhere"], "nowhere holds no run to resume"),
    ],
)
def test_mistakes_are_named_before_training(
    arguments: list[str], message: str, capsys: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert re.search(message, line)
    assert not list(tmp_path.iterdir())


def test_unknown_keys_of_a_file_and_other_options_on_resume_are_named(
    tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("stepz: 5\n")
    assert main([str(file)]) == 2
    assert "stepz" in capsys.readouterr().err
    config = short(tmp_path / "run")
    config.folder.mkdir()
    config.save()
    with pytest.raises(ConfigError, match="began with hidden 16, not 32"):
        train(replace(config, hidden=32), resume=True)
    with pytest.raises(ConfigError, match="holds no checkpoint"):
        train(config, resume=True)
    with pytest.raises(ConfigError, match="holds a run: go on with it"):
        train(config)


@pytest.mark.parametrize("path", sorted((ROOT / "configs" / "train").glob("*.yaml")), ids=str)
def test_shipped_configurations_are_valid(path: Path, monkeypatch: Any) -> None:
    seen = []
    monkeypatch.setattr("agents.train.train", lambda config, resume: seen.append(config))
    assert main([str(path)]) == 0
    assert seen[0].env in TRAINED


def test_a_curve_of_one_point_can_be_drawn(tmp_path: Path) -> None:
    row = {"step": 0.0, "games": 10.0, "win_rate": 0.5, "low": 0.2, "high": 0.8}
    draw_curve([row], short(tmp_path), tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_plain_ppo_learns_and_repeats() -> None:
    lines: list[str] = []
    settings: dict[str, Any] = {
        "steps": 2048,
        "num_envs": 32,
        "num_steps": 32,
        "minibatch": 256,
        "hidden": 16,
        "progress": lines.append,
    }
    runs = [ppo_plain.train("Klondike-Draw1-v0", seed=seed, **settings) for seed in (1, 1, 2)]
    assert len(lines) == 6
    np.testing.assert_array_equal(runs[0].of_candidate, runs[1].of_candidate)
    assert (runs[0].of_candidate != runs[2].of_candidate).any()
    assert runs[0].output.any()


@pytest.mark.slow
def test_two_hundred_thousand_steps_repeat(tmp_path: Path) -> None:
    losses = []
    for name in ("a", "b"):
        config = short(
            tmp_path / name,
            steps=200_000,
            num_envs=256,
            steps_per_update=32,
            batch_size=2048,
            validate_every=100_000,
        )
        model = train(config)
        losses.append((weights_in(model), [row["wins"] for row in validations(config.folder)]))
    for first, again in zip(losses[0][0], losses[1][0], strict=True):
        np.testing.assert_array_equal(first, again)
    assert losses[0][1] == losses[1][1]
    assert int(losses[0][1][-1]) > int(losses[0][1][0])
