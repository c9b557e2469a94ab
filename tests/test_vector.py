"""The native vector environment does what Gymnasium's own does with single environments."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import klondike_env
from klondike_env.games.base import IllegalMoveError
from klondike_env.threads import share_rows
from tests.reference.building import easy_deck

SEEDS = [3, 1, 4, 15]


def make(env_id: str = "Klondike-Draw3-v0", num_envs: int = 4, **options: Any) -> Any:
    return gym.make_vec(
        env_id, num_envs=num_envs, vectorization_mode="vector_entry_point", **options
    )


def assert_same(first: Any, second: Any, path: str = "") -> None:
    """Equal down to dtypes; dicts may come in any order."""
    if isinstance(first, dict):
        assert first.keys() == second.keys(), path
        for key in first:
            assert_same(first[key], second[key], f"{path}/{key}")
    elif isinstance(first, tuple):
        for place, (a, b) in enumerate(zip(first, second, strict=True)):
            assert_same(a, b, f"{path}({place})")
    elif isinstance(first, np.ndarray) and first.dtype == object:
        assert len(first) == len(second)
        for place, (a, b) in enumerate(zip(first, second, strict=True)):
            assert_same(a, b, f"{path}[{place}]")
    elif isinstance(first, np.ndarray):
        assert first.dtype == second.dtype, path
        np.testing.assert_array_equal(first, second, err_msg=path)
    else:
        assert first == second, path


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("observation", ["dict", "flat"])
@pytest.mark.parametrize(
    ("env_id", "actions"),
    [
        ("Klondike-Draw3-v0", "turn"),
        ("Klondike-Draw3-v0", "reach"),
        ("Klondike-Vegas-v0", "turn"),
        ("Klondike-Thoughtful-Draw1-v0", "turn"),
    ],
)
def test_equals_gymnasium_s_sync_vector_env(
    env_id: str, actions: str, observation: str, mode: AutoresetMode
) -> None:
    options = {"actions": actions, "observation": observation, "reward": "score"}
    options["max_episode_steps"] = 40
    native = make(env_id, autoreset_mode=mode, **options)
    sync = SyncVectorEnv([lambda: gym.make(env_id, **options)] * 4, autoreset_mode=mode)
    assert native.observation_space == sync.observation_space
    assert native.action_space == sync.action_space
    assert_same(native.reset(seed=SEEDS), sync.reset(seed=SEEDS))
    rng = np.random.default_rng(0)
    ends = 0
    masks = native.action_masks().view(np.int8)
    for _ in range(130):
        actions_now = klondike_env.sample_actions(masks, rng)
        ours, theirs = native.step(actions_now), sync.step(actions_now)
        # Where the limit alone ends a game, the single environment cannot know: its mask goes on.
        late = ours[3] & ~ours[2]
        for infos in (ours[4], theirs[4]):
            shown = infos if mode == AutoresetMode.NEXT_STEP else infos.get("final_info", {})
            if "action_mask" in shown:
                if infos is ours[4]:
                    assert shown["action_mask"][late].all()
                shown["action_mask"][late] = 1
        assert_same(ours, theirs)
        ends += int((ours[2] | ours[3]).sum())
        masks = native.action_masks().view(np.int8)
    assert ends >= 8


@pytest.mark.parametrize("observation", ["dict", "flat"])
@pytest.mark.parametrize(
    ("env_id", "actions"), [("Klondike-Draw3-v0", "reach"), ("Klondike-Vegas-v0", "turn")]
)
def test_equals_sync_vector_env_where_the_caller_resets(
    env_id: str, actions: str, observation: str
) -> None:
    options = {"actions": actions, "observation": observation, "reward": "score"}
    options["max_episode_steps"] = 40
    mode = AutoresetMode.DISABLED
    native = make(env_id, autoreset_mode=mode, **options)
    sync = SyncVectorEnv([lambda: gym.make(env_id, **options)] * 4, autoreset_mode=mode)
    first = native.reset(seed=SEEDS)
    assert_same(first, sync.reset(seed=SEEDS))
    rng = np.random.default_rng(0)
    alone = [0, 0]
    for _ in range(130):
        drawn = klondike_env.sample_actions(native.action_masks(), rng)
        ours, theirs = native.step(drawn), sync.step(drawn)
        late = ours[3] & ~ours[2]
        assert ours[4]["action_mask"][late].all()
        theirs[4]["action_mask"][late] = 1
        assert_same(ours, theirs)
        ended = ours[2] | ours[3]
        if not ended.any():
            continue
        alone[0] += int((ours[2] & ~ours[3]).sum())
        alone[1] += int(late.sum())
        ours = native.reset(options={"reset_mask": ended})
        theirs = sync.reset(options={"reset_mask": ended})
        assert_same(ours[0], theirs[0])
        # Gymnasium tells nothing of the rows that go on; here they are described too.
        assert theirs[1].keys() == ours[1].keys()
        for key, values in ours[1].items():
            np.testing.assert_array_equal(values[ended], theirs[1][key][ended], err_msg=key)
    if env_id == "Klondike-Vegas-v0":
        assert min(alone) >= 1
    else:
        assert alone[1] >= 8


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_wins_and_limits_end_games_alone_and_together(mode: AutoresetMode) -> None:
    """Row 0 holds a deck that wins by playing up, row 1 one that does not win."""

    def play(limit: int) -> tuple[int, Any]:
        envs = make("Klondike-Draw1-v0", num_envs=2, autoreset_mode=mode, max_episode_steps=limit)
        _, infos = envs.reset(options={"deck": [easy_deck(), klondike_env.deals.deck(1)]})
        ups = np.zeros(87, dtype=np.bool_)
        ups[[2, *range(10, 17)]] = True
        for step in range(1, limit + 1):
            masks = infos["action_mask"].astype(np.bool_)
            actions = np.where((masks & ups).any(axis=1), (masks & ups).argmax(axis=1), 0)
            actions[1] = masks[1].argmax()
            result = envs.step(actions)
            infos = result[4]
            if result[2].any() or result[3].any():
                return step, result
        raise AssertionError("no end")

    def row(result: Any, place: int) -> tuple[Any, ...]:
        infos = result[4].get("final_info", result[4])
        assert infos["action_mask"][place].all()
        flags = (result[2][place], result[3][place])
        return (*(bool(flag) for flag in flags), infos["outcome"][place], result[1][place])

    steps, result = play(500)
    assert row(result, 0) == (True, False, "won", 1.0)
    assert not (result[2] | result[3])[1]
    for limit, first in ((steps, (True, True, "won", 1.0)), (steps - 1, (False, True, "", 0.0))):
        ended_at, result = play(limit)
        assert ended_at == limit
        assert row(result, 0) == first
        assert row(result, 1) == (False, True, "", 0.0)


def test_disabled_rows_wait_for_their_reset() -> None:
    envs = make(autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=3)
    _, infos = envs.reset(seed=SEEDS)
    first = infos["deal"].copy()
    for step in range(1, 4):
        _, rewards, terminated, truncated, infos = envs.step([0] * 4)
        assert truncated.all() == (step == 3)
    before = envs.get_state()
    _, rewards, terminated, truncated, infos = envs.step([86, -5, 10**6, 0])
    assert truncated.all()
    assert not terminated.any()
    assert not rewards.any()
    assert infos["action_mask"].all()
    assert (envs.get_state() == before).all()
    chosen = np.array([False, True, False, True])
    _, infos = envs.reset(options={"reset_mask": chosen})
    assert ((infos["deal"] != first) == chosen).all()
    assert (infos["action_mask"].all(axis=1) == ~chosen).all()
    _, _, _, truncated, _ = envs.step([0] * 4)
    assert (truncated == ~chosen).all()


def test_a_list_of_seeds_seeds_each_row_as_a_single_environment() -> None:
    envs = make()
    observations, infos = envs.reset(seed=SEEDS)
    for row, seed in enumerate(SEEDS):
        single, info = gym.make("Klondike-Draw3-v0").reset(seed=seed)
        assert info["deal"] == infos["deal"][row]
        for key in single:
            np.testing.assert_array_equal(single[key], observations[key][row])


def stream(envs: Any, seed: int, games: int) -> np.ndarray:
    """Deal numbers [games, N] that rows meet after seeding."""
    numbers = [envs.reset(seed=seed)[1]["deal"]]
    numbers += [envs.reset()[1]["deal"] for _ in range(games - 1)]
    return np.array(numbers)


def test_a_row_s_games_do_not_depend_on_the_number_of_rows() -> None:
    few, many = stream(make(num_envs=3), 7, 4), stream(make(num_envs=50), 7, 4)
    np.testing.assert_array_equal(few, many[:, :3])
    assert len(np.unique(many)) == many.size


def test_neighbouring_seeds_share_no_game() -> None:
    seen = [set(stream(make(num_envs=64), seed, 20).ravel().tolist()) for seed in range(4)]
    assert len(set.union(*seen)) == 4 * 64 * 20
    assert min(set.union(*seen)) >= 2**32


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_threads_change_nothing(mode: AutoresetMode) -> None:
    options = {"num_envs": 33, "autoreset_mode": mode, "max_episode_steps": 25}
    one, two, five = (make(num_threads=n, **options) for n in (1, 2, 5))
    for envs in (one, two, five):
        envs.reset(seed=2)
    rng = np.random.default_rng(1)
    for _ in range(60):
        actions = klondike_env.sample_actions(one.action_masks(), rng)
        expected = one.step(actions)
        assert_same(expected, two.step(actions))
        assert_same(expected, five.step(actions))
    for envs in (one, two, five):
        envs.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    envs = make(num_envs=8, num_threads=2)
    _, infos = envs.reset(seed=1)
    actions = infos["action_mask"].argmax(axis=1)
    envs.step(actions)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        envs.reset(seed=1)
        envs.step(actions)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_what_a_helper_thread_raises_reaches_the_caller() -> None:
    caller = threading.get_ident()
    helped = threading.Event()

    def refuse(first: int, last: int) -> int:
        if threading.get_ident() != caller:
            helped.set()
            raise OverflowError("rows of the helper")
        helped.wait(10)
        return -1

    with pytest.raises(OverflowError, match="rows of the helper"):
        share_rows(refuse, 8, 2)
    assert share_rows(lambda first, last: first if first >= 3 else -1, 8, 2) == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_an_illegal_action_moves_no_row(threads: int) -> None:
    envs = make(num_threads=threads)
    envs.reset(seed=1)
    before = envs.get_state()
    for bad in (1, 87, -1):
        with pytest.raises(IllegalMoveError, match=r"^row 3: "):
            envs.step([0, 0, 0, bad])
        assert (envs.get_state() == before).all()
    with pytest.raises(IllegalMoveError, match="whole numbers"):
        envs.step([0.0] * 4)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_masks_are_those_of_the_infos(mode: AutoresetMode) -> None:
    envs = make("Klondike-Draw3-v0", num_envs=16, autoreset_mode=mode, max_episode_steps=20)
    _, infos = envs.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(70):
        masks = envs.action_masks()
        assert masks.dtype == np.bool_
        np.testing.assert_array_equal(masks, infos["action_mask"])
        assert masks.any(axis=1).all()
        _, _, terminated, truncated, infos = envs.step(klondike_env.sample_actions(masks, rng))
        if mode == AutoresetMode.DISABLED and (ended := terminated | truncated).any():
            assert infos["action_mask"][ended].all()
            _, infos = envs.reset(options={"reset_mask": ended})


def test_arrays_handed_out_are_no_live_buffers() -> None:
    envs = make()
    observations, infos = envs.reset(seed=1)
    kept = copy.deepcopy((observations, infos))
    state = envs.get_state()
    step = envs.step([0] * 4)
    kept_step = copy.deepcopy(step)
    envs.step([0] * 4)
    envs.reset()
    for now, then in ((observations, kept[0]), (infos, kept[1])):
        assert_same(now, then)
    for now, then in zip(step, kept_step, strict=True):
        assert_same(now, then)
    envs.set_state(state)
    observations, infos = envs.reset(seed=1)
    for array in (*observations.values(), infos["action_mask"], infos["score"]):
        array[...] = 1
    assert (envs.get_state() == state).all()
    envs.set_state(state)
    assert not (envs.action_masks().all(axis=1)).any()


def test_state_copies_and_pickles_go_on_alike() -> None:
    envs = make(num_envs=5, num_threads=2, max_episode_steps=30)
    envs.reset(seed=1)
    rng = np.random.default_rng(2)
    for _ in range(20):
        envs.step(klondike_env.sample_actions(envs.action_masks(), rng))
    others = [
        copy.deepcopy(envs),
        pickle.loads(pickle.dumps(envs)),
        make(num_envs=5, max_episode_steps=30),
    ]
    others[2].set_state(envs.get_state())
    for _ in range(60):
        actions = klondike_env.sample_actions(envs.action_masks(), rng)
        expected = envs.step(actions)
        for other in others:
            assert_same(expected, other.step(actions))


def test_deals_decks_and_positions_start_rows() -> None:
    envs = make(num_envs=3)
    numbers = envs.reset(options={"deal": [5, 6, 5]})[1]["deal"]
    assert numbers.tolist() == [5, 6, 5]
    decks = np.array([klondike_env.deals.deck(n) for n in (5, 6, 5)])
    by_deal = envs.reset(options={"deal": [5, 6, 5]})[0]
    by_deck, infos = envs.reset(options={"deck": decks})
    assert_same(by_deal, by_deck)
    assert infos["deal"].tolist() == [-1] * 3
    single = gym.make("Klondike-Draw3-v0")
    single.reset(options={"deal": 6})
    position = single.unwrapped.position()
    observations, _ = envs.reset(options={"position": position})
    for key, array in observations.items():
        np.testing.assert_array_equal(array, np.repeat(by_deal[key][1:2], 3, axis=0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deal": [1, 2]}, "one for each of the 4 rows"),
        ({"reset_mask": [True] * 4}, "reset_mask is a bool array"),
        ({"reset_mask": np.zeros(4, dtype=bool)}, "chooses no row"),
        ({"deals": 1}, "no reset option 'deals'"),
        ({"deal": 1, "deck": range(52)}, "exclude each other"),
        ({"deal": [1, 2, -3, 4]}, "not -3"),
    ],
)
def test_bad_reset_options_change_nothing(options: dict[str, Any], message: str) -> None:
    envs = make()
    envs.reset(seed=1)
    before = envs.get_state()
    with pytest.raises(ValueError, match=message):
        envs.reset(seed=5, options=options)
    assert (envs.get_state() == before).all()


class TestSampleActions:
    def test_draws_each_legal_action_equally_often(self) -> None:
        rng = np.random.default_rng(0)
        for size in (1, 7, 8, 9, 87, 269):
            mask = (rng.random(size) < 0.3).astype(np.int8)
            mask[rng.integers(size)] = 1
            counts = np.bincount(
                klondike_env.sample_actions(np.tile(mask, (20_000, 1)), rng), minlength=size
            )
            assert (counts[mask == 0] == 0).all()
            expected = 20_000 / mask.sum()
            # Chi-square with mask.sum() - 1 degrees of freedom: mean k, deviation sqrt(2 k).
            k = mask.sum() - 1
            statistic = ((counts[mask == 1] - expected) ** 2 / expected).sum()
            assert statistic <= k + 5 * np.sqrt(2 * k) + 1e-9

    def test_takes_masks_of_any_type_and_layout_alike(self) -> None:
        masks = (np.random.default_rng(1).random((50, 87)) < 0.1).astype(np.int8)
        masks[:, 0] = 1
        fixed = masks.copy()
        fixed.flags.writeable = False
        forms = [
            masks,
            masks.astype(bool),
            np.repeat(masks, 2, axis=1)[:, ::2],
            np.asfortranarray(masks),
            np.ma.array(masks),
            pickle.loads(pickle.dumps(masks)),
            fixed,
        ]
        drawn = [klondike_env.sample_actions(form, np.random.default_rng(5)) for form in forms]
        assert (np.array(drawn) == drawn[0]).all()

    def test_draws_the_same_in_any_number_of_threads(self) -> None:
        for rows, size in ((0, 87), (1, 87), (5, 3), (1000, 87), (1000, 269)):
            masks = (np.random.default_rng(rows).random((rows, size)) < 0.1).astype(np.int8)
            masks[:, 0] = 1
            drawn = [
                klondike_env.sample_actions(masks, np.random.default_rng(5), threads).tolist()
                for threads in (1, 2, 3)
            ]
            assert drawn[0] == drawn[1] == drawn[2]
        masks[700:] = 0
        with pytest.raises(ValueError, match="row 700"):
            klondike_env.sample_actions(masks, np.random.default_rng(5), 2)
        with pytest.raises(ValueError, match="num_threads"):
            klondike_env.sample_actions(masks, np.random.default_rng(5), 0)

    def test_refuses_rows_without_action_and_other_shapes(self) -> None:
        masks = np.ones((3, 87), dtype=np.int8)
        masks[1] = 0
        rng = np.random.default_rng(1)
        with pytest.raises(ValueError, match="row 1"):
            klondike_env.sample_actions(masks, rng)
        for bad in (masks[0], masks.astype(float)):
            with pytest.raises(ValueError, match="int8 or bool"):
                klondike_env.sample_actions(bad, rng)


@pytest.mark.parametrize(
    "options",
    [
        {"num_envs": 0},
        {"num_envs": True},
        {"num_threads": 0},
        {"max_episode_steps": 0},
        {"rewards": "win"},
    ],
)
def test_bad_arguments_are_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        make(**{"num_envs": 2, **options})


def test_stepping_before_the_first_reset_is_refused() -> None:
    with pytest.raises(gym.error.ResetNeeded):
        make().step([0] * 4)
    with pytest.raises(ValueError, match="first reset starts every row"):
        make().reset(options={"reset_mask": np.array([True, False, False, False])})
