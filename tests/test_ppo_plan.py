"""PPO among plans: its environment plays the real game, its agent scores as its network does."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import klondike_env
from agents import make_agent
from agents.plan_agent import load_weights
from agents.plan_env import PlanVectorEnv, _play_on
from agents.ppo import Weights
from agents.ppo_plan import FEATURES, OVERVIEW, PLANS, PpoPlan
from klondike_env import IllegalMoveError
from klondike_env.deals import FIRST_STREAM_NUMBER, suite
from klondike_env.games.klondike.rules import PRESETS

pytest.importorskip("sb3_contrib")

import torch

from agents.network import CandidateNetwork
from agents.sb3_policy import CandidatePolicy
from agents.train import main, train
from agents.train_config import TrainConfig

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:torch", "ignore::UserWarning:torch"
)
TRAINED = ["Klondike-Draw1-v0", "Klondike-Draw3-v0"]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def planner_weights(env_id: str) -> np.ndarray:
    return load_weights("planner", PRESETS[env_id])[: len(FEATURES)].astype(np.float32)


def scores_of(network: CandidateNetwork, observations: Any, masks: np.ndarray) -> np.ndarray:
    shown = (torch.from_numpy(observations[name]) for name in ("candidates", "overview"))
    with torch.no_grad():
        return network.scores(*shown, torch.from_numpy(masks)).numpy()


@pytest.mark.parametrize("env_id", TRAINED)
def test_the_agent_wins_the_games_that_its_network_wins_in_training(env_id: str) -> None:
    """There in compact states of known deals, here from observations, in compiled code."""
    torch.manual_seed(0)
    network = CandidateNetwork(16, planner_weights(env_id), PLANS)
    torch.nn.init.normal_(network.output.weight)
    envs = PlanVectorEnv(env_id, 64)
    observations, infos = envs.reset(seed=3)
    outcomes: dict[int, str] = {}
    for _ in range(30):
        places = scores_of(network, observations, infos["action_mask"]).argmax(axis=1)
        observations, _, dones, _, infos = envs.step(places)
        for row in np.flatnonzero(dones):
            facts = infos["final_info"]
            outcomes[int(facts["deal"][row])] = facts["outcome"][row]
    assert len(outcomes) > 60
    assert min(outcomes) >= FIRST_STREAM_NUMBER
    agent = PpoPlan(PRESETS[env_id], weights=network.to_weights())
    run = klondike_env.evaluate(agent, env_id, outcomes, max_episode_steps=500)
    won = [outcome == "won" for outcome in outcomes.values()]
    again = [record.outcome == "won" for record in run.records]
    assert np.equal(won, again).sum() >= len(won) - 1  # scores that tie but for rounding
    assert 10 < sum(won) < len(won)


@pytest.mark.parametrize("env_id", TRAINED)
def test_a_network_that_starts_from_planner_plays_as_planner(env_id: str) -> None:
    network = CandidateNetwork(8, planner_weights(env_id), PLANS)
    agent = PpoPlan(PRESETS[env_id], weights=network.to_weights())
    runs = [
        klondike_env.evaluate(player, env_id, suite("validation", 40), max_episode_steps=300)
        for player in (agent, make_agent("planner", PRESETS[env_id]))
    ]
    ends = [[(game.outcome, game.foundation_cards) for game in run.records] for run in runs]
    assert sum(first == second for first, second in zip(*ends, strict=True)) >= 38


def play_at_random(num_envs: int, steps: int, **options: Any) -> list[tuple[Any, ...]]:
    envs = PlanVectorEnv("Klondike-Draw3-v0", num_envs, 4, 150, **options)
    observations, infos = envs.reset(seed=7)
    shown = []
    for step in range(steps):
        counts = infos["action_mask"].sum(axis=1)
        places = np.array([(step + row) % counts[row] for row in range(num_envs)])
        deals = envs._numbers.copy()
        found, rewards, dones, _, infos = envs.step(places)
        shown.append((observations, counts, deals, rewards, dones))
        observations = found
    return shown


def test_a_row_plays_the_same_games_in_any_company() -> None:
    few, many = play_at_random(2, 40), play_at_random(5, 40)
    for one, other in zip(few, many, strict=True):
        for name, array in one[0].items():
            np.testing.assert_array_equal(array, other[0][name][:2])
        for array, longer in zip(one[1:], other[1:], strict=True):
            np.testing.assert_array_equal(array, longer[:2])
    assert any(one[4].any() for one in few)
    assert len(_play_on.signatures) == 1  # type: ignore[attr-defined]


def test_what_is_shown_fits_the_plans_that_there_are() -> None:
    ended = 0
    for observations, counts, _, rewards, dones in play_at_random(6, 60):
        assert (counts >= 2).all()  # one plan is played without asking
        for row, count in enumerate(counts):
            shown = observations["candidates"][row]
            assert shown[:count].any(axis=1).all()
            assert not shown[count:].any()
            own, most, mean = np.split(observations["overview"][row], [16, 16 + len(FEATURES)])
            assert own[OVERVIEW.index("plans")] == count / 16
            assert own[OVERVIEW.index("face_down")] == pytest.approx(own[:7].sum() * 6 / 21)
            np.testing.assert_allclose(most, shown[:count].max(axis=0), rtol=1e-6)
            np.testing.assert_allclose(mean, shown[:count].mean(axis=0), rtol=1e-4, atol=1e-6)
        assert not rewards[~dones].any()
        ended += int(dones.sum())
    assert ended > 10


def test_each_deal_is_played_so_many_times_and_the_critic_is_told_how_it_went() -> None:
    shown = play_at_random(3, 150, games_per_deal=4)
    assert len({int(deal) for step in shown for deal in step[2]}) > 6
    for row in range(3):
        deal, games, wins = -1, 0, 0
        for observations, _, deals, rewards, dones in shown:
            if deals[row] != deal:
                assert deal == -1 or games == 4
                deal, games, wins = int(deals[row]), 0, 0
            expected = [games / 8, (wins + 1) / (games + 2)]
            np.testing.assert_allclose(observations["past"][row], expected, rtol=1e-6)
            games += int(dones[row])
            wins += int(rewards[row])


def test_places_without_a_plan_are_refused_and_no_row_moves() -> None:
    envs = PlanVectorEnv("Klondike-Draw1-v0", 3, 4, 150)
    _, infos = envs.reset(seed=1)
    count = int(infos["action_mask"][1].sum())
    with pytest.raises(IllegalMoveError, match=f"row 1: place {count} holds no plan"):
        envs.step(np.array([0, count, 0]))
    np.testing.assert_array_equal(envs.action_masks(), infos["action_mask"])
    with pytest.raises(ValueError, match="reset has no options here"):
        envs.reset(options={"deal": 1})
    with pytest.raises(ValueError, match="it needs unlimited passes"):
        PlanVectorEnv("Klondike-Vegas-v0", 1)


def test_the_policy_never_sees_what_only_the_critic_may() -> None:
    envs = PlanVectorEnv("Klondike-Draw1-v0", 4, 4, 150)
    observations, infos = envs.reset(seed=1)
    policy = CandidatePolicy(
        envs.single_observation_space, envs.single_action_space, lambda _: 1e-3, hidden=8
    )
    torch.nn.init.normal_(policy.network.output.weight)
    chances, values = [], []
    for past in (0.0, 1.0):
        shown = {name: torch.from_numpy(array) for name, array in observations.items()}
        shown["past"] = torch.full_like(shown["past"], past)
        distribution = policy.get_distribution(shown, infos["action_mask"]).distribution
        chances.append(distribution.probs.detach())
        values.append(policy.predict_values(shown).detach())
    assert (chances[0] == chances[1]).all()
    assert (values[0] != values[1]).any()
    assert (chances[0][~torch.from_numpy(infos["action_mask"])] == 0).all()


def test_a_policy_of_moves_is_no_policy_of_plans(tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    CandidateNetwork(4).to_weights().save(path)
    with pytest.raises(ValueError, match=r"trained on other features \(.*: train it again"):
        Weights.load(path, PLANS)
    CandidateNetwork(4, layout=PLANS).to_weights().save(path)
    assert Weights.load(path, PLANS).layout == PLANS
    with pytest.raises(ValueError, match=r"trained on other features \(.*: train it again"):
        Weights.load(path)


def short(folder: Path, **options: Any) -> TrainConfig:
    values: dict[str, Any] = {
        "choices": "plans",
        "output": str(folder),
        "start": "planner",
        "steps": 1024,
        "num_envs": 16,
        "steps_per_update": 32,
        "batch_size": 256,
        "hidden": 8,
        "validate_every": 512,
        "validation_games": 20,
        "checkpoint_every": 512,
    }
    return TrainConfig(**{**values, **options})


def test_a_run_repeats_and_resumes(tmp_path: Path) -> None:
    """The route is that of moves, which is tested in full."""
    runs = [train(short(tmp_path / name)) for name in "ab"]
    for one, other in zip(*(run.policy.parameters() for run in runs), strict=True):
        assert (one == other).all()
    longer = replace(short(tmp_path / "a"), steps=1536)
    assert train(longer, resume=True).num_timesteps == 1536
    with (longer.folder / "validation.csv").open() as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["0", "512", "1024", "1536"]
    best = Weights.load(longer.folder / "best.npz", PLANS)
    assert (best.made["env"], best.made["actions"]) == (longer.env, "plans")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--env", "Klondike-Vegas-v0"], "env must be one of Klondike-Draw3-v0, .*'Klondike-Vegas"),
        (["--env", "Klondike-Strict-v0"], "env must be one of"),
        (["--start", "guide"], "start must be zero or planner for plans, not 'guide'"),
        (["--reward", "score"], "reward must be win for plans, not 'score'"),
        (["--games_per_deal", "0"], "games_per_deal must be 1 or more, not 0"),
    ],
)
def test_mistakes_are_named_before_training(
    arguments: list[str], message: str, capsys: Any
) -> None:
    assert main(["--choices", "plans", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(message, line)
