"""Klondike as choices among candidates: the same game, single and batched, and nothing hidden."""

from __future__ import annotations

import random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from agents.features import MAX_CANDIDATES
from agents.overview import OVERVIEW
from agents.plan_features import FEATURES, PLAN_FEATURES, Candidates
from agents.wrappers import OBSERVATION_SPACE, PLACES, CandidatesEnv, CandidatesVectorEnv
from klondike_env import IllegalMoveError, sample_actions
from klondike_env.games.klondike.rules import PRESETS
from tests.test_laws import make, play_on, shuffle_unseen

OPTIONS: list[dict[str, Any]] = [
    {},
    {"no_repeat": True},
    {"stall_limit": 9},
    {"no_repeat": True, "stall_limit": 25, "no_dead_ends": True},
]


def single(env_id: str = "Klondike-Draw3-v0", actions: str = "reach", **options: Any) -> Any:
    limit = options.pop("max_episode_steps", None)
    return CandidatesEnv(gym.make(env_id, actions=actions, max_episode_steps=limit), **options)


def batch(env_id: str = "Klondike-Draw3-v0", num_envs: int = 4, **options: Any) -> Any:
    limit = options.pop("max_episode_steps", 2000)
    actions = options.pop("actions", "reach")
    envs = gym.make_vec(
        env_id,
        num_envs,
        "vector_entry_point",
        actions=actions,
        autoreset_mode="SameStep",
        max_episode_steps=limit,
    )
    return CandidatesVectorEnv(envs, **options)


def draw(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return sample_actions(np.ascontiguousarray(masks, dtype=np.int8), rng)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    ("env_id", "actions"),
    [
        ("Klondike-Draw1-v0", "reach"),
        ("Klondike-Draw3-v0", "turn"),
        ("Klondike-Thoughtful-Draw3-v0", "reach"),
    ],
)
def test_a_batch_plays_what_single_environments_play(
    env_id: str, actions: str, options: dict[str, Any]
) -> None:
    seeds = [5, 6, 7]
    envs = batch(env_id, 3, actions=actions, max_episode_steps=40, **options)
    singles = [single(env_id, actions, max_episode_steps=40, **options) for _ in seeds]
    observations, infos = envs.reset(seed=seeds)
    views = [env.reset(seed=seed) for env, seed in zip(singles, seeds, strict=True)]
    rng = np.random.default_rng(3)
    ends = 0
    for _ in range(150):
        for row, (view, info) in enumerate(views):
            for name in OBSERVATION_SPACE:
                np.testing.assert_array_equal(observations[name][row], view[name])
            np.testing.assert_array_equal(infos["action_mask"][row], info["action_mask"])
            assert infos["deal"][row] == info["deal"]
        places = draw(envs.action_masks(), rng)
        observations, rewards, terminated, truncated, infos = envs.step(places)
        for row, env in enumerate(singles):
            view, reward, *flags, info = env.step(int(places[row]))
            assert (reward, *flags) == (rewards[row], terminated[row], truncated[row])
            assert infos["given_up"][row] == info["given_up"]
            if any(flags):
                ends += 1
                final = infos["final_obs"][row]
                np.testing.assert_array_equal(final["overview"][:18], view["overview"][:18])
                for name in ("deal", "foundation_cards", "outcome"):
                    assert infos["final_info"][name][row] == info[name]
                view, info = env.reset()
            views[row] = (view, info)
    assert ends > 3


def test_observations_lie_in_the_space() -> None:
    env = single()
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert observation["candidates"].shape == (PLACES, len(FEATURES))
    assert observation["overview"].shape == (len(OVERVIEW),)
    count = int(info["action_mask"].sum())
    assert observation["candidates"][:count].any(axis=1).all()
    assert not observation["candidates"][count:].any()
    named = dict(zip(OVERVIEW, observation["overview"].tolist(), strict=True))
    assert named["face_down"] == named["stock"] == named["redeals"] == 1
    assert (named["face_down_1"], named["face_down_7"], named["up"]) == (1, 0, 0)


@pytest.mark.parametrize("actions", ["turn", "reach"])
def test_candidates_are_the_legal_actions(actions: str) -> None:
    """Each place with a 1 can be played and all others are refused; of two spaces, one counts."""
    rng = random.Random(2)
    met = 0
    for number in range(25):
        env = single(actions=actions)
        inner = env.unwrapped
        play_on(inner, rng, rng.randrange(60), number)
        env.reset(options={"position": inner.position()})
        legal = set(np.flatnonzero(inner.action_masks()).tolist())
        mask, state = env.action_masks(), inner.get_state()
        view = env._view
        found = {int(view._actions[0, place]) for place in np.flatnonzero(mask)}
        spaces = [pile for pile, text in enumerate(inner.position()["tableau"]) if not text]
        assert found <= legal
        if len(spaces) < 2:
            assert found == legal
            met += 1
        for place in range(PLACES):
            if mask[place]:
                inner.set_state(state)
                inner.step(int(view._actions[0, place]))
            else:
                with pytest.raises(IllegalMoveError, match=f"place {place} holds no candidate"):
                    env.step(place)
    assert met > 5
    with pytest.raises(IllegalMoveError, match="a whole number"):
        env.step(1.5)


def test_no_row_moves_when_one_is_refused() -> None:
    envs = batch()
    envs.reset(seed=1)
    places = draw(envs.action_masks(), np.random.default_rng(0))
    places[2] = PLACES
    with pytest.raises(IllegalMoveError, match=f"^row 2: place {PLACES} holds no candidate"):
        envs.step(places)
    state = envs.unwrapped.get_state()
    assert (state["steps"] == 0).all()
    with pytest.raises(IllegalMoveError, match="actions are 4 whole numbers"):
        envs.step(np.zeros(4))


def test_no_repeat_never_recreates_a_position() -> None:
    """Told from full positions, without the keys that the wrapper goes by."""
    env = single("Klondike-Draw1-v0", no_repeat=True)
    rng = np.random.default_rng(1)
    given_up = moves = 0
    for seed in range(12):
        env.reset(seed=seed)
        stage, seen = None, set()
        over = False
        while not over:
            position = env.unwrapped.position()
            hidden = sum(pile.count("(") for pile in position["tableau"])
            now = (hidden, len(position["stock"]) + len(position["waste"]))
            if now != stage:
                stage, seen = now, set()
            key = (*sorted(position["tableau"]), *position["foundations"].values())
            assert key not in seen
            seen.add(key)
            moves += 1
            place = draw(env.action_masks()[None], rng)[0]
            _, reward, terminated, truncated, info = env.step(place)
            over = terminated or truncated
        given_up += info["given_up"]
        if info["given_up"]:
            assert reward == 0
            assert info["outcome"] == ""
            with pytest.raises(gym.error.ResetNeeded, match="given up"):
                env.step(0)
    assert given_up >= 6
    assert moves > 500


def test_a_stalled_game_is_given_up_in_time() -> None:
    env = single("Klondike-Draw1-v0", stall_limit=7)
    rng = np.random.default_rng(4)
    for seed in range(10):
        env.reset(seed=seed)
        stalled, over = 0, False
        stage = (21, 24)
        while not over:
            *_, terminated, _, info = env.step(draw(env.action_masks()[None], rng)[0])
            position = env.unwrapped.position()
            hidden = sum(pile.count("(") for pile in position["tableau"])
            now = (hidden, len((position["stock"] + " " + position["waste"]).split()))
            stalled = stalled + 1 if now == stage else 0
            stage = now
            over = terminated
            assert info["given_up"] == (stalled >= 7)


def test_unseen_cards_change_no_observation() -> None:
    rng = random.Random(7)
    for number in range(30):
        env_id = rng.choice(["Klondike-Draw1-v0", "Klondike-Draw3-v0", "Klondike-Vegas-v0"])
        actions = "reach" if PRESETS[env_id].allows_reach else "turn"
        inner = make(PRESETS[env_id], actions)
        play_on(inner, rng, rng.randrange(60), number)
        env = CandidatesEnv(inner)
        first, second = (
            env.reset(options={"position": position})
            for position in (inner.position(), shuffle_unseen(inner, rng))
        )
        for name in OBSERVATION_SPACE:
            np.testing.assert_array_equal(first[0][name], second[0][name])
        np.testing.assert_array_equal(first[1]["action_mask"], second[1]["action_mask"])


def test_what_is_handed_out_never_changes() -> None:
    envs = batch(no_repeat=True)
    kept, infos = envs.reset(seed=1)
    masks = [infos["action_mask"], envs.action_masks()]
    copies = [array.copy() for array in (*kept.values(), *masks)]
    rng = np.random.default_rng(0)
    for _ in range(20):
        envs.step(draw(envs.action_masks(), rng))
    for array, copy in zip((*kept.values(), *masks), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_arrays_written_in_turn_hold_the_same_for_two_steps() -> None:
    options: dict[str, Any] = {"no_repeat": True, "stall_limit": 9, "num_envs": 16}
    fresh, reused = batch(**options), batch(**options, copies=False)
    rng = np.random.default_rng(0)
    before = [fresh.reset(seed=1)[0], reused.reset(seed=1)[0]]
    for _ in range(150):
        actions = draw(fresh.action_masks(), rng)
        after = [fresh.step(actions)[0], reused.step(actions)[0]]
        for first, second in (before, after):
            np.testing.assert_array_equal(first["candidates"], second["candidates"])
        before = after


# --- Plans -------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", ["Klondike-Draw1-v0", "Klondike-Draw3-v0"])
def test_the_best_plan_turns_up_a_card_and_dead_ends_never_do(env_id: str) -> None:
    """Rows play the plan marked best; nothing turns up after a dead end."""
    envs = gym.make_vec(
        env_id, 64, "vector_entry_point", actions="reach", autoreset_mode="Disabled"
    )
    found, rng = Candidates(PRESETS[env_id]), np.random.default_rng(0)
    best = FEATURES.index("plan_best")
    observations, infos = envs.reset(seed=3)
    was_dead, plans, turned_up = np.zeros(64, dtype=np.bool_), 0, 0
    waiting, face_down = np.zeros(64, dtype=np.int64), np.full(64, 21)
    rows = np.arange(64)
    for _ in range(300):
        found.describe(observations, infos["action_mask"])
        is_over = infos["action_mask"].all(axis=1)
        assert (found.is_dead | is_over)[was_dead].all()
        was_dead |= found.is_dead
        marked = found.features[:, :, best] * (np.arange(MAX_CANDIDATES) < found.counts[:, None])
        has_plan = marked.any(axis=1)
        assert (marked.sum(axis=1) <= 1).all()
        plans += int(has_plan.sum())
        actions = draw(infos["action_mask"], rng)
        actions[has_plan] = found.actions[rows, marked.argmax(axis=1)][has_plan]
        observations, *_, infos = envs.step(np.where(is_over, 0, actions))
        now = (observations["tableau"] == 53).sum(axis=(1, 2))
        assert (now == face_down)[was_dead].all()
        assert (now == face_down)[~has_plan].all()
        waiting = np.where(has_plan & (now == face_down), waiting + 1, 0)
        assert waiting.max() < 30
        turned_up += int((face_down - now).sum())
        face_down = now
        assert not (infos["outcome"] == "won")[was_dead].any()
    assert plans > 500
    assert turned_up > 300
    assert was_dead.sum() >= 8


def test_plans_are_told_only_where_the_stock_is_free() -> None:
    env = single("Klondike-Vegas-v0", "turn")
    observation, _ = env.reset(seed=1)
    assert observation["candidates"][:, : -len(PLAN_FEATURES)].any()
    assert not observation["candidates"][:, -len(PLAN_FEATURES) :].any()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: single(no_repeat=1), "no_repeat is True or False, not 1"),
        (lambda: single(no_dead_ends=1), "no_dead_ends is True or False, not 1"),
        (lambda: single(stall_limit=0), "stall_limit is a whole number from 1 on or None"),
        (
            lambda: CandidatesEnv(gym.make("Klondike-Draw3-v0", observation="flat")),
            "observation='dict'",
        ),
        (
            lambda: CandidatesVectorEnv(gym.make_vec("Klondike-Draw3-v0", 2, "vector_entry_point")),
            "autoreset_mode='SameStep', not 'NextStep'",
        ),
        (
            lambda: batch().reset(options={"reset_mask": np.ones(4, dtype=np.bool_)}),
            "takes no reset_mask",
        ),
    ],
)
def test_mistakes_are_named(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_a_deal_with_nothing_to_play_ends_with_its_first_step() -> None:
    env = single("Klondike-Draw3-v0", no_repeat=True)
    observation, info = env.reset(options={"deal": 280})
    assert not observation["candidates"].any()
    assert env.action_masks().all()
    assert not info["given_up"]
    _, reward, terminated, _, info = env.step(5)
    assert (reward, terminated, info["outcome"], info["given_up"]) == (0, True, "stuck", False)
