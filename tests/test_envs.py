"""Single environments: Gymnasium's contract, options, endings, copies, starts, rendering."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import klondike_env
from klondike_env import IllegalMoveError, KlondikeRules, sampling
from klondike_env.games.base import REWARDS
from klondike_env.games.klondike import kernels
from klondike_env.games.klondike.rules import PRESETS
from tests.reference.building import easy_deck, whole_position

ROOT = Path(__file__).parent.parent
ALL_UP = {"C": 13, "D": 13, "H": 13}


@pytest.mark.parametrize("env_id", klondike_env.ENV_IDS)
def test_gymnasium_s_checker_is_silent(env_id: str) -> None:
    """Warnings are errors here. The checker samples without masks, so illegal actions pass."""
    check_env(gym.make(env_id, illegal="ignore").unwrapped)
    check_env(gym.make(env_id, illegal="ignore", observation="flat", reward="score").unwrapped)
    if PRESETS[env_id].allows_reach:
        check_env(gym.make(env_id, illegal="ignore", actions="reach").unwrapped)


@pytest.mark.parametrize(
    ("env_id", "actions"),
    [
        (env_id, actions)
        for env_id, rules in PRESETS.items()
        for actions in (("turn", "reach") if rules.allows_reach else ("turn",))
    ],
)
@pytest.mark.parametrize("form", ["dict", "flat"])
def test_masks_sample_and_observations_stay_in_their_space(
    env_id: str, actions: str, form: str
) -> None:
    env = gym.make(env_id, observation=form, actions=actions)
    observation, info = env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(300):
        assert env.observation_space.contains(observation)
        mask = info["action_mask"]
        assert mask.dtype == np.int8
        np.testing.assert_array_equal(mask, env.unwrapped.action_masks())
        assert mask.any()
        action = env.action_space.sample(mask)
        assert mask[action]
        assert mask.shape == ((87,) if actions == "turn" else (269,))
        assert mask[env.action_space.sample(env.unwrapped.action_masks().astype(np.int8))]
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            assert info["action_mask"].all()
            observation, info = env.reset()


class TestEndings:
    def test_limit_alone_truncates(self) -> None:
        env = gym.make("Klondike-Draw3-v0", max_episode_steps=5)
        env.reset(seed=1)
        flags = [env.step(0)[2:4] for _ in range(5)]
        assert flags == [(False, False)] * 4 + [(False, True)]

    def test_registered_limit_is_2000_and_can_be_changed(self) -> None:
        assert gym.spec("Klondike-Draw3-v0").max_episode_steps == 2_000
        env = gym.make("Klondike-Draw3-v0", max_episode_steps=10_000)
        env.reset(seed=1)
        for step in range(2_100):
            _, _, terminated, truncated, info = env.step(int(step % 9 == 8))  # 8 draws, a redeal
            assert not terminated, info
            assert not truncated

    def test_win_and_limit_in_one_step(self) -> None:
        deck = easy_deck()
        rules = KlondikeRules(draw_count=1)

        def play(limit: int) -> tuple[int, bool, bool, dict[str, Any]]:
            env = gym.make("Klondike-Draw1-v0", rules=rules, max_episode_steps=limit)
            _, info = env.reset(options={"deck": deck})
            for step in range(1, limit + 1):
                mask = info["action_mask"]
                ups = [action for action in (2, *range(10, 17)) if mask[action]]
                _, _, terminated, truncated, info = env.step(ups[0] if ups else 0)
                if terminated or truncated:
                    return step, terminated, truncated, info
            raise AssertionError("no end")

        steps, terminated, truncated, info = play(500)
        assert (terminated, truncated, info["outcome"]) == (True, False, "won")
        assert play(steps)[1:3] == (True, True)  # TimeLimit's own reading: both
        assert play(steps - 1)[1:3] == (False, True)

    def test_stuck_terminates(self) -> None:
        position = {
            "tableau": [
                "6C", "(AC) 8C", "(AD)(5D) 8S", "(7D)(9D)(JD) TC", "(KD)(AH)(2H)(3H) TS",
                "(4H)(5H)(6H)(7H)(8H) QC", "(9H)(TH)(JH)(QH)(KH)(AS) QS",
            ],
            "rest": "stock",
        }  # fmt: skip
        for draw_count in (1, 3):
            for actions in ("turn", "reach"):
                env = gym.make("Klondike-Draw3-v0", draw_count=draw_count, actions=actions)
                _, info = env.reset(options={"position": position})
                assert info["action_mask"].all() == (actions == "reach")
                before = env.unwrapped.position()
                _, reward, terminated, truncated, info = env.step(0)
                assert (reward, terminated, truncated) == (0, True, False)
                assert info["outcome"] == "stuck"
                assert info["action_mask"].all()
                if actions == "reach":
                    assert env.unwrapped.position() == before
                with pytest.raises(gym.error.ResetNeeded):
                    env.step(0)

    def test_a_win_pays_once_and_is_no_loss(self) -> None:
        position = whole_position([""] * 7, {**ALL_UP, "S": 12}, waste="KS", redeals_left=0)
        for reward in REWARDS:
            env = gym.make("Klondike-Draw3-Pass3-v0", reward=reward)
            env.reset(options={"position": position})
            _, paid, terminated, truncated, info = env.step(2)
            assert (terminated, truncated, info["outcome"]) == (True, False, "won")
            assert paid == pytest.approx(1 / 73 if reward == "progress" else 1)


@pytest.mark.parametrize("action", [-1, 87, 10**30, 1, 58])
def test_illegal_actions_are_refused_or_counted(action: int) -> None:
    env = gym.make("Klondike-Draw3-Pass3-v0")
    env.reset(options={"deal": 3})
    before = env.unwrapped.get_state()
    with pytest.raises(IllegalMoveError, match=r"illegal: \w|out of range"):
        env.step(action)
    assert (env.unwrapped.get_state() == before).all()
    lenient = gym.make("Klondike-Draw3-Pass3-v0", illegal="ignore", max_episode_steps=500)
    seen, info = lenient.reset(options={"deal": 3})
    for step in range(1, 501):
        again, reward, terminated, truncated, info = lenient.step(action)
        assert reward == 0
        assert truncated == (step == 500)
        assert not terminated
    for key in seen:
        np.testing.assert_array_equal(seen[key], again[key])
    assert info["score"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draw_count": 0}, "draw_count is a whole number from 1 to 24"),
        ({"passes": 0}, "passes is a whole number from 1"),
        ({"run_moves": "any"}, "run_moves is one of partial, whole, same_suit"),
        ({"scoring": "points"}, "scoring is one of win, standard, vegas"),
        ({"forced_aces": 1}, "forced_aces is True or False"),
        ({"stake": -1}, "stake is a whole number"),
        ({"cumulative": True}, "cumulative needs scoring 'vegas'"),
        ({"seconds_per_move": 3}, "seconds_per_move needs scoring 'standard'"),
        ({"draw": 1}, "no option 'draw': the rules have draw_count"),
        ({"rules": "Klondike"}, "no rule set 'Klondike': choose from Klondike-Draw3-v0"),
        ({"rules": 3}, "rules is a KlondikeRules"),
        ({"reward": "points"}, "reward is one of win, score, cards, progress"),
        ({"actions": "all"}, "actions is one of turn, reach"),
        ({"actions": "reach", "passes": 3}, "unlimited passes"),
        ({"actions": "reach", "scoring": "standard"}, "redeal penalty"),
        ({"observation": "array"}, "observation is one of dict, flat"),
        ({"illegal": "skip"}, "illegal is one of raise, ignore"),
    ],
)
def test_bad_options_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        gym.make("Klondike-Draw3-v0", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deal": -1}, "a deal is a whole number"),
        ({"deck": list(range(51))}, "52 cards"),
        ({"deck": [0, *range(51)]}, "has AC more than once and misses KS"),
        ({"deck": [*range(51), 52]}, "52 is no card number"),
        ({"deck": "AC 2C"}, "52 card numbers"),
        ({"position": {"stock": "1H"}}, "stock: '1H' is no card"),
        ({"position": {"rest": "waste"}}, "can only be"),
        ({"position": {"piles": []}}, "a position has no 'piles'"),
        ({"position": [1]}, "a position is a dict"),
        ({"seed": 1}, "no reset option 'seed'"),
        ({"deal": 1, "position": {}}, "exclude each other"),
    ],
)
def test_bad_starts_leave_the_game_in_progress_alone(options: dict[str, Any], message: str) -> None:
    env = gym.make("Klondike-Draw3-v0")
    env.reset(seed=1)
    env.step(0)
    before = env.unwrapped.get_state()
    with pytest.raises(ValueError, match=message) as caught:
        env.reset(options=options)
    assert "\n" not in str(caught.value)
    assert (env.unwrapped.get_state() == before).all()
    env.step(0)


def test_copies_pickles_and_states_go_on_alike() -> None:
    env = gym.make("Klondike-Vegas-v0", cumulative=True, reward="score")
    _, info = env.reset(seed=5)
    for _ in range(15):
        _, _, _, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
    other = gym.make("Klondike-Vegas-v0", cumulative=True, reward="score")
    other.reset(seed=77)
    other.unwrapped.set_state(env.unwrapped.get_state())
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env)), other]
    rng = np.random.default_rng(0)
    for _ in range(150):
        action = int(rng.choice(np.flatnonzero(env.unwrapped.action_masks())))
        expected = env.step(action)
        for twin in twins:
            got = twin.step(action)
            assert got[1:4] == expected[1:4]
            assert got[4]["score"] == expected[4]["score"]
        if expected[2]:
            deals = {twin.reset()[1]["deal"] for twin in (env, *twins)}
            assert len(deals) == 1
    with pytest.raises(ValueError, match=r"get_state\(\)"):
        env.unwrapped.set_state(np.zeros(3))


def test_the_board_s_fan_shows_the_whole_waste() -> None:
    piles = ["9H", "*", "*", "*", "*", "*", "*"]
    position = whole_position(piles, waste="4S JD 8C", rest_to_stock=12)
    env = gym.make("Klondike-Draw3-v0", render_mode="ansi")
    env.reset(options={"position": position})
    assert "waste (3) 4S JD 8C\n" in env.render()
    observation, *_ = env.step(3)
    assert "waste (2) 4S JD\n" in env.render()
    assert np.count_nonzero(observation["waste"]) == 2


def test_render_without_a_mode_warns_and_returns_none() -> None:
    env = gym.make("Klondike-Draw3-v0").unwrapped
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_importing_loads_neither_compiler_nor_torch() -> None:
    code = "import klondike_env, sys; print({'numba', 'torch', 'scipy'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="only root can give up the right to override permissions",
)
def test_a_read_only_install_works(tmp_path: Path) -> None:
    """Numba finds no folder for its cache: then every process compiles anew."""
    package = tmp_path / "site"
    shutil.copytree(
        ROOT / "klondike_env",
        package / "klondike_env",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    subprocess.run(["chmod", "-R", "a-w", str(package)], check=True)
    code = """
import os, gymnasium as gym, klondike_env
assert not os.access(os.path.dirname(klondike_env.__file__), os.W_OK)
env = gym.make("Klondike-Draw3-v0")
env.reset(seed=1)
print(env.step(0)[4]["deal"])
"""
    # Root without the right to override permissions: it can read this Python, and write nothing.
    done = subprocess.run(
        ["setpriv", "--bounding-set=-dac_override", sys.executable, "-c", code],
        cwd=package,
        env={"PATH": os.environ["PATH"], "HOME": str(package), "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == gym.make("Klondike-Draw3-v0").reset(seed=1)[1]["deal"]


@pytest.mark.parametrize("options", [{"actions": "reach"}, {"passes": 1}, {"cards_known": True}])
def test_states_of_other_rules_or_actions_are_refused(options: dict[str, Any]) -> None:
    """A foreign state would show hidden cards or leave the arrays."""
    env = gym.make("Klondike-Draw3-v0").unwrapped
    env.reset(seed=1)
    other = gym.make("Klondike-Draw3-v0", **options).unwrapped
    other.reset(seed=2)
    before = other.get_state()
    with pytest.raises(ValueError, match="other rules or another action set"):
        other.set_state(env.get_state())
    assert (other.get_state() == before).all()
    env.reset(options={"position": env.position()})
    twin = gym.make("Klondike-Draw3-v0", reward="cards").unwrapped
    twin.set_state(env.get_state())


@pytest.mark.parametrize("actions", ["turn", "reach"])
def test_an_ignored_action_ends_a_dead_deal_too(actions: str) -> None:
    position = {
        "tableau": [
            "6C", "(AC) 8C", "(AD)(5D) 8S", "(7D)(9D)(JD) TC", "(KD)(AH)(2H)(3H) TS",
            "(4H)(5H)(6H)(7H)(8H) QC", "(9H)(TH)(JH)(QH)(KH)(AS) QS",
        ],
        "rest": "stock",
    }  # fmt: skip
    env = gym.make("Klondike-Draw1-v0", actions=actions, illegal="ignore")
    env.reset(options={"position": position})
    _, _, terminated, _, info = env.step(1)
    assert terminated
    assert info["outcome"] == "stuck"
    live = gym.make("Klondike-Draw1-v0", actions=actions, illegal="ignore")
    live.reset(options={"deal": 7})
    bad = int(np.flatnonzero(live.unwrapped.action_masks() == 0)[0])
    assert live.step(bad)[2:4] == (False, False)


@pytest.mark.parametrize(("key", "value"), [("score", 2**63), ("moves", 2**31), ("redeals", 2**40)])
def test_numbers_too_large_for_a_position_are_refused(key: str, value: int) -> None:
    env = gym.make("Klondike-Windows-Draw1-v0").unwrapped
    env.reset(seed=1)
    with pytest.raises(ValueError, match=f"{key} lies from"):
        env.reset(options={"position": {**env.position(), key: value}})


def test_an_unknown_render_mode_is_a_type_error() -> None:
    with pytest.warns(UserWarning, match="render_mode"), pytest.raises(TypeError, match="ansi"):
        gym.make("Klondike-Draw3-v0", render_mode="video")


def test_odd_arrays_do_not_compile_kernels_anew() -> None:
    envs = gym.make_vec("Klondike-Draw3-v0", num_envs=4, vectorization_mode="vector_entry_point")
    _, infos = envs.reset(seed=np.array(5))
    rng = np.random.default_rng(0)
    envs.step(klondike_env.sample_actions(infos["action_mask"], rng))
    compiled = [len(kernels.step.signatures), len(sampling._sample.signatures)]
    envs.reset()
    frozen = np.zeros(4, dtype=np.int64)
    frozen.flags.writeable = False
    envs.step(frozen)
    envs.step(np.zeros(8, dtype=np.int32)[::2])
    infos["action_mask"].flags.writeable = False
    klondike_env.sample_actions(infos["action_mask"], rng)
    klondike_env.sample_actions(np.asfortranarray(infos["action_mask"]), rng)
    assert [len(kernels.step.signatures), len(sampling._sample.signatures)] == compiled
