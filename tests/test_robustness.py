"""Attempts to break the environments from outside: odd values, odd moments, copies and states."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import gymnasium as gym
import numba
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import klondike_env
from klondike_env import ENV_IDS, IllegalMoveError, KlondikeRules, deals, sampling
from klondike_env.cards import parse_card
from klondike_env.games.klondike import kernels
from klondike_env.games.klondike import position as positions
from klondike_env.games.klondike.game import GAME
from klondike_env.games.klondike.moves import move_text, parse_move
from klondike_env.games.klondike.rules import PRESETS
from tests.lockstep import random_rules
from tests.reference.building import whole_position
from tests.table import DEAD, make_vec

MODES = pytest.mark.parametrize("mode", list(AutoresetMode))
FULL = whole_position(["*"] * 7, rest_to_stock=24)


def same(first: Any, second: Any) -> bool:
    """Whether two observations are equal, dtypes included."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    return first.dtype == second.dtype and np.array_equal(first, second)


def walk(env: Any, rng: random.Random, steps: int) -> None:
    """Random legal steps of a single environment, not beyond the end of its game."""
    for _ in range(steps):
        before = env.get_state()
        action = rng.choice(np.flatnonzero(env.action_masks()).tolist())
        if env.step(action)[2]:
            env.set_state(before)
            return


# Actions


@pytest.mark.parametrize("kind", [int, np.int8, np.int64, np.uint64, np.array, np.intc])
@pytest.mark.parametrize("actions", ["turn", "reach"])
def test_whole_numbers_of_every_type_play_the_same(kind: Any, actions: str) -> None:
    one: Any = gym.make("Klondike-Draw3-v0", actions=actions)
    other: Any = gym.make("Klondike-Draw3-v0", actions=actions)
    for deal in range(3):
        one.reset(options={"deal": deal}), other.reset(options={"deal": deal})
        for _ in range(12):
            legal = np.flatnonzero(one.unwrapped.action_masks())
            action = int(legal[0])
            if kind is np.int8 and action > 127:
                break
            ours, theirs = one.step(action), other.step(kind(action))
            assert same(ours[0], theirs[0])
            assert ours[1:4] == theirs[1:4]
            if ours[2]:
                break


@pytest.mark.parametrize("illegal", ["raise", "ignore"])
@pytest.mark.parametrize(
    "action",
    [0.0, np.float32(0), float("nan"), "0", b"0", None, [0], (0,), {}, np.array([0]),
     np.array(0.0), False, True, np.False_, np.True_, np.array(True), 1j],
)  # fmt: skip
def test_no_whole_number_is_no_action(action: Any, illegal: str) -> None:
    env: Any = gym.make("Klondike-Draw3-v0", illegal=illegal).unwrapped
    env.reset(seed=1)
    before = env.get_state()
    with pytest.raises(IllegalMoveError, match="whole number"):
        env.step(action)
    assert (env.get_state() == before).all()


@pytest.mark.parametrize("illegal", ["raise", "ignore"])
@pytest.mark.parametrize(
    "actions",
    [0, None, [[0], [0, 0], 0, 0], [[0], [0, 0]], [0] * 3,
     [0] * 5, [[0] * 4], np.zeros((4, 1), int), np.zeros(4), np.zeros(4, bool),
     "0000", [0, 0, 0, None], [2**70] * 4, {}],
)  # fmt: skip
@pytest.mark.parametrize("threads", [1, 2])
def test_batches_of_no_whole_numbers_are_refused(actions: Any, illegal: str, threads: int) -> None:
    envs = make_vec(illegal=illegal, num_threads=threads)
    envs.reset(seed=1)
    before = envs.get_state()
    with pytest.raises(IllegalMoveError, match="4 whole numbers in one row"):
        envs.step(actions)
    assert (envs.get_state() == before).all()
    envs.close()


@MODES
def test_all_integer_types_of_batches_play_the_same(mode: AutoresetMode) -> None:
    kinds: list[Any] = [list, tuple, np.int8, np.uint8, np.int32, np.uint64]
    batches = [make_vec(autoreset_mode=mode, max_episode_steps=9) for _ in kinds]
    for envs in batches:
        envs.reset(seed=3)
    rng = np.random.default_rng(1)
    for _ in range(30):
        actions = klondike_env.sample_actions(batches[0].action_masks(), rng)
        results = []
        for envs, kind in zip(batches, kinds, strict=True):
            given = kind(actions.tolist()) if kind in (list, tuple) else actions.astype(kind)
            results.append(envs.step(given))
        for other in results[1:]:
            assert same(results[0][0], other[0])
            for k in (1, 2, 3):
                np.testing.assert_array_equal(results[0][k], other[k])


def test_actions_of_any_layout_are_read_in_order() -> None:
    wide = np.zeros((4, 3), dtype=np.int64)
    wide[:, 1] = [0, 0, 0, 1]
    fixed = wide[:, 1].copy()
    fixed.flags.writeable = False
    envs = make_vec()
    envs.reset(seed=1)
    odd = (wide[:, 1].astype(">i8"), np.ma.array(fixed), pickle.loads(pickle.dumps(fixed)))
    for actions in (wide[:, 1], fixed, *odd):
        with pytest.raises(IllegalMoveError, match=r"^row 3: redeal is illegal"):
            envs.step(actions)
    with pytest.raises(IllegalMoveError, match=r"^row 0: redeal is illegal"):
        envs.step(wide[::-1, 1])


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_no_layout_of_an_array_compiles_the_step_anew() -> None:
    """That would take many seconds in the middle of a run."""
    envs = make_vec()
    _, infos = envs.reset(seed=1)
    rng = np.random.default_rng(1)
    envs.step(klondike_env.sample_actions(infos["action_mask"], rng))
    compiled = [kernels.step, kernels.start, kernels.observe, sampling._sample]
    before = [len(function.signatures) for function in compiled]
    fixed, masks = np.zeros(4, dtype=np.int64), infos["action_mask"].copy()
    fixed.flags.writeable = masks.flags.writeable = False
    klondike_env.sample_actions(masks, rng)
    for actions in (np.zeros((4, 2), dtype=np.int64)[:, 0], fixed, np.zeros(4, dtype=">i4")):
        envs.reset(seed=1)
        envs.step(actions)
    numbers = np.arange(8)[::2]
    numbers.flags.writeable = False
    envs.reset(options={"deal": numbers})
    decks = np.asfortranarray(deals.decks(numbers))
    envs.reset(options={"deck": decks})
    assert [len(function.signatures) for function in compiled] == before


# Starts


@pytest.mark.parametrize(
    "change",
    [
        {"score": 2**63},
        {"score": 2**70},
        {"score": -(2**70)},
        {"moves": 2**31},
        {"moves": 2**64},
        {"redeals": 2**40},
        {"unseen": 2**8},
        {"unseen": 25},
        {"unseen": -1},
        {"moves": -1},
        {"redeals": -1},
        {"redeals_left": 3},
        {"redeals_left": -1},
        {"redeals_left": None},
        {"redeals_left": 2**40},
        {"redeals_left": 1.0},
        {"redeals_left": True},
        {"redeals_left": np.True_},
        {"score": True},
        {"moves": True},
        {"unseen": np.True_},
        {"foundations": {"CD": 1}},
        {"foundations": {"": 0}},
        {"foundations": {5: 0}},
        {"foundations": {"C": True}},
        {"score": 1.5},
        {"score": "7"},
        {"score": None},
        {"stock": None},
        {"waste": 5},
        {"waste": "AS AS"},
        {"stock": FULL["stock"] + " 1H"},
        {"tableau": None},
        {"tableau": "KH"},
        {"tableau": FULL["tableau"][:6]},
        {"tableau": [None] * 7},
        {"foundations": None},
        {"foundations": [0, 0, 0, 0]},
        {"foundations": {"X": 1}},
        {"foundations": {"C": -1}},
        {"foundations": {"C": 14}},
        {"foundations": {"C": 1.0}},
        {"foundations": {"C": 1}},
        {"rest": None},
        {"rest": "waste"},
        {"hand": "AS"},
        {5: 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("scoring", ["standard", "vegas"])
def test_impossible_positions_are_refused_and_leave_the_game_alone(
    change: dict[Any, Any], scoring: str
) -> None:
    env: Any = gym.make("Klondike-Draw3-v0", passes=3, scoring=scoring).unwrapped
    envs = make_vec(num_envs=2, passes=3, scoring=scoring)
    env.reset(options={"position": FULL})
    for some, start in ((env, FULL | change), (envs, [FULL, FULL | change])):
        some.reset(seed=1)
        before = some.get_state()
        with pytest.raises(ValueError, match=r"\w{4}") as caught:
            some.reset(seed=2, options={"position": start})
        assert not isinstance(caught.value, OverflowError)
        assert "\n" not in str(caught.value)
        assert (some.get_state() == before).all()
        some.step(0 if some is env else [0, 0])


@pytest.mark.parametrize(
    "deck",
    [
        range(51), range(53), range(1, 53), [*range(51), 50], [*range(51), -1], [*range(51), 2**70],
        np.arange(52.0), [True] * 52, [str(card) for card in range(52)], {*range(52)},
        np.arange(52).reshape(4, 13), np.arange(52) + 256, 7,
    ],
    ids=lambda deck: str(deck)[:30],
)  # fmt: skip
def test_what_is_no_deck_is_refused(deck: Any) -> None:
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    envs = make_vec(num_envs=3)
    for some in (env, envs):
        some.reset(seed=1)
        before = some.get_state()
        with pytest.raises(ValueError, match=r"deck|card"):
            some.reset(options={"deck": deck})
        assert (some.get_state() == before).all()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "reset options are a dict with keys of deal, deck, position"),
        ([("deal", 1)], "reset options are a dict"),
        ("deal", "reset options are a dict"),
        (5, "reset options are a dict"),
        ({"deal": [[1], [2, 3], 4, 5]}, "a deal is a whole number from 0"),
        ({"deal": [[1, 2], [3]]}, "deal"),
        ({"deck": [[1, 2], [3]]}, "deck"),
        ({"deck": [[0] * 52] * 3 + [[0] * 51]}, "deck"),
        ({"deck": [[[0] * 52]] * 4}, "a deck is 52 cards in one row"),
        ({"deck": [[1], [2, 3], 4, 5]}, "deck"),
    ],
)
def test_starts_of_odd_shapes_are_refused_in_one_line(options: Any, reason: str) -> None:
    for some in (gym.make("Klondike-Draw3-v0").unwrapped, make_vec()):
        some.reset(seed=1)
        before = some.get_state().tobytes()
        with pytest.raises(ValueError, match=reason) as caught:
            some.reset(seed=2, options=options)
        assert "\n" not in str(caught.value)
        assert "inhomogeneous" not in str(caught.value)
        assert some.get_state().tobytes() == before


def test_numbers_of_numpy_stand_for_those_of_python() -> None:
    kind = np.int64
    numbers = {"draw_count": 1, "passes": 3, "stake": 50, "free_redeals": 1, "redeal_penalty": 5}
    rules = KlondikeRules(**{name: kind(value) for name, value in numbers.items()})
    assert repr(rules) == repr(KlondikeRules(**numbers))
    assert KlondikeRules(cards_known=np.True_).cards_known is True
    timed = KlondikeRules(scoring="standard", seconds_per_move=kind(3))
    assert type(timed.seconds_per_move) is int
    ours: Any = gym.make("Klondike-Draw3-v0", passes=kind(3)).unwrapped
    theirs: Any = gym.make("Klondike-Draw3-v0", passes=3).unwrapped
    position = {**FULL, "redeals_left": kind(1), "score": kind(0), "unseen": np.uint8(24)}
    ours.reset(seed=kind(4), options={"position": position})
    theirs.reset(seed=4, options={"position": FULL | {"redeals_left": 1, "score": 0, "unseen": 24}})
    assert ours.get_state().tobytes() == theirs.get_state().tobytes()
    theirs.set_state(ours.get_state())  # both play by the same rules
    batch = make_vec(num_envs=kind(2), num_threads=kind(1), max_episode_steps=kind(5))
    batch.reset(seed=[kind(1), None], options={"deal": kind(3)})
    assert deals.suite("test", kind(3), kind(2)) == deals.suite("test", 3, 2)
    assert deals.deck(kind(3)).tolist() == deals.deck(3).tolist()


def test_decks_and_positions_handed_in_stay_the_caller_s() -> None:
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    deck, position = deals.deck(4), copy.deepcopy(FULL)
    kept = deck.copy()
    env.reset(options={"deck": deck})
    walk(env, random.Random(1), 30)
    np.testing.assert_array_equal(deck, kept)
    env.reset(options={"deck": deck})
    first = env.position()
    deck[:] = deck[::-1].copy()
    assert env.position() == first
    env.reset(options={"position": position})
    walk(env, random.Random(1), 30)
    assert position == FULL
    options = {"deal": 3}
    env.reset(options=options)
    assert options == {"deal": 3}


def test_a_reset_in_the_middle_is_a_fresh_game() -> None:
    rng = random.Random(1)
    for env_id in ENV_IDS:
        env: Any = gym.make(env_id).unwrapped
        env.reset(options={"deal": 3})
        fresh = env.get_state()
        for _ in range(3):
            walk(env, rng, rng.randrange(80))
            env.reset(options={"deal": 3})
            now = env.get_state()
            now["stream"] = fresh["stream"]
            assert (now == fresh).all()


@MODES
def test_a_batch_reset_in_the_middle_is_a_fresh_batch(mode: AutoresetMode) -> None:
    envs = make_vec(num_envs=5, autoreset_mode=mode, max_episode_steps=13)
    numbers = [4, 3, 2, 1, 0]
    first = envs.reset(options={"deal": numbers})
    rng = np.random.default_rng(0)
    for steps in (1, 13, 14, 15):
        for _ in range(steps):
            envs.step(klondike_env.sample_actions(envs.action_masks(), rng))
        again = envs.reset(options={"deal": numbers})
        assert same(first[0], again[0])
        assert again[1]["deal"].tolist() == numbers
        np.testing.assert_array_equal(first[1]["action_mask"], again[1]["action_mask"])
        for step in range(1, 13):
            _, _, _, truncated, _ = envs.step([0 if step < 9 else 1 if step == 9 else 0] * 5)
            assert not truncated.any()  # the limit counts from the reset on
        envs.reset(options={"deal": numbers})


@MODES
def test_rows_reset_by_mask_start_and_the_others_go_on(mode: AutoresetMode) -> None:
    envs = make_vec(num_envs=6, autoreset_mode=mode)
    envs.reset(seed=1)
    rng = np.random.default_rng(0)
    for round_number in range(10):
        for _ in range(4):
            envs.step(klondike_env.sample_actions(envs.action_masks(), rng))
        chosen = rng.random(6) < 0.5
        if not chosen.any():
            continue
        before = envs.get_state()
        numbers = np.arange(6) + 10 * round_number
        observations, infos = envs.reset(options={"reset_mask": chosen, "deal": numbers})
        assert (envs.get_state()[~chosen] == before[~chosen]).all()
        assert (infos["deal"][chosen] == numbers[chosen]).all()
        assert (observations["stock"][chosen] == 53).all()
        np.testing.assert_array_equal(envs.action_masks(), infos["action_mask"])


def test_values_of_rows_that_are_not_reset_are_not_read() -> None:
    envs = make_vec(num_envs=3)
    envs.reset(seed=1)
    chosen = np.array([False, True, False])
    for options in ({"deal": [-1, 5, "x"]}, {"position": [None, FULL, 7]}):
        envs.reset(options={"reset_mask": chosen, **options})
    _, infos = envs.reset(seed=[-1, 3, "x"], options={"reset_mask": chosen})
    assert infos["deal"][1] == gym.make("Klondike-Draw3-v0").reset(seed=3)[1]["deal"]


@pytest.mark.parametrize("kind", ["deal", "deck", "position"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_batch_of_one_row_takes_a_start_bare_or_in_a_list(kind: str, wrapped: bool) -> None:
    start: Any = {"deal": 6, "deck": deals.deck(6), "position": FULL}[kind]
    envs, single = make_vec(num_envs=1), gym.make("Klondike-Draw3-v0")
    ours = envs.reset(options={kind: [start] if wrapped else start})[0]
    theirs = single.reset(options={kind: start})[0]
    for key, array in theirs.items():
        assert ours[key].shape == (1, *array.shape)
        np.testing.assert_array_equal(ours[key][0], array)
    for _ in range(20):
        mask = envs.action_masks()
        action = int(np.flatnonzero(mask[0])[-1])
        one, batch = single.step(action), envs.step([action])
        for key in one[0]:
            np.testing.assert_array_equal(batch[0][key][0], one[0][key])
        assert (batch[1][0], batch[2][0]) == one[1:3]
        if one[2]:
            break


def test_52_rows_with_one_deck_are_not_taken_for_52_decks() -> None:
    envs = make_vec(num_envs=52)
    envs.reset(options={"deck": list(range(52))})
    assert (envs.get_state()["talon"][:, :24] == np.arange(29, 53)).all()


@pytest.mark.parametrize("seed", [5, np.int64(5), np.array(5)])
def test_a_seed_may_be_a_number_of_numpy(seed: Any) -> None:
    single = gym.make("Klondike-Draw3-v0").reset(seed=seed)[1]["deal"]
    assert single == gym.make("Klondike-Draw3-v0").reset(seed=5)[1]["deal"]
    batch = make_vec().reset(seed=seed)[1]["deal"]
    np.testing.assert_array_equal(batch, make_vec().reset(seed=5)[1]["deal"])


# What is handed out


@pytest.mark.parametrize("observation", ["dict", "flat"])
@pytest.mark.parametrize("env_id", ["Klondike-Draw3-v0", "Klondike-Thoughtful-Draw1-v0"])
def test_writing_into_what_was_handed_out_changes_no_game(env_id: str, observation: str) -> None:
    rng = random.Random(2)
    plain: Any = gym.make(env_id, observation=observation).unwrapped
    soiled: Any = gym.make(env_id, observation=observation).unwrapped

    def soil(seen: Any, info: dict[str, Any]) -> None:
        arrays = list(seen.values()) if isinstance(seen, dict) else [seen]
        for array in (*arrays, info["action_mask"], soiled.action_masks(), soiled.get_state()):
            if array.flags.writeable:
                array[...] = np.ones((), dtype=array.dtype) if array.dtype.names is None else 0
        info.clear()

    plain.reset(seed=1)
    soil(*soiled.reset(seed=1))
    for _ in range(60):
        action = rng.choice(np.flatnonzero(plain.action_masks()).tolist())
        ours, theirs = plain.step(action), soiled.step(action)
        assert same(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[4]["action_mask"], theirs[4]["action_mask"])
        soil(theirs[0], theirs[4])
        assert (plain.get_state() == soiled.get_state()).all()
        if ours[2]:
            break


@MODES
@pytest.mark.parametrize("threads", [1, 2])
def test_writing_into_what_a_batch_handed_out_changes_no_game(
    mode: AutoresetMode, threads: int
) -> None:
    options = {"autoreset_mode": mode, "max_episode_steps": 9, "num_threads": threads}
    plain, soiled = make_vec(**options), make_vec(**options)
    plain.reset(seed=1), soiled.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(40):
        actions = klondike_env.sample_actions(plain.action_masks(), rng)
        ours, theirs = plain.step(actions), soiled.step(actions)
        assert same(ours[0], theirs[0])
        for k in (1, 2, 3):
            np.testing.assert_array_equal(ours[k], theirs[k])
        everything = [*theirs[0].values(), *theirs[1:4], soiled.action_masks()]
        everything += [v for v in theirs[4].values() if isinstance(v, np.ndarray)]
        for array in everything:
            if array.flags.writeable:
                array[...] = 1
        assert (plain.get_state() == soiled.get_state()).all()
    plain.close(), soiled.close()


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_flat_observations_hold_the_dict_s_numbers(env_id: str) -> None:
    for actions in ("turn", "reach") if PRESETS[env_id].allows_reach else ("turn",):
        boxes = make_vec(env_id, 20, actions=actions)
        flat = make_vec(env_id, 20, actions=actions, observation="flat")
        boxes.reset(seed=1), flat.reset(seed=1)
        rng = np.random.default_rng(0)
        for _ in range(120):
            actions_now = klondike_env.sample_actions(boxes.action_masks(), rng)
            seen, row = boxes.step(actions_now)[0], flat.step(actions_now)[0]
            parts = [array.reshape(20, -1) for array in seen.values()]
            assert row.dtype == np.int16
            np.testing.assert_array_equal(row, np.concatenate(parts, axis=1))
            assert flat.observation_space.contains(row)


# Copies and states


@pytest.mark.parametrize("moment", ["unseeded", "fresh", "middle", "ended"])
@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_copies_at_any_moment_go_on_alike_and_apart(moment: str, way: str) -> None:
    env: Any = gym.make("Klondike-Draw1-Pass1-v0", max_episode_steps=400)
    if moment != "unseeded":
        env.reset(seed=4)
    if moment == "middle":
        walk(env.unwrapped, random.Random(1), 25)
    if moment == "ended":
        env.reset(options={"position": DEAD})
        assert env.step(0)[2]
    twin: Any = copy.deepcopy(env) if way == "deepcopy" else pickle.loads(pickle.dumps(env))
    if moment == "middle":
        rng = random.Random(2)
        for _ in range(40):
            action = rng.choice(np.flatnonzero(env.unwrapped.action_masks()).tolist())
            before = twin.unwrapped.get_state()
            ours = env.step(action)
            assert (twin.unwrapped.get_state() == before).all()
            theirs = twin.step(action)
            assert same(ours[0], theirs[0])
            assert ours[1:4] == theirs[1:4]
            if ours[2]:
                break
    if moment == "ended":
        with pytest.raises(gym.error.ResetNeeded):
            twin.unwrapped.step(0)
    if moment != "unseeded":
        assert [env.reset()[1]["deal"] for _ in range(3)] == [
            twin.reset()[1]["deal"] for _ in range(3)
        ]
    else:
        assert twin.reset(seed=1)[1]["deal"] == env.reset(seed=1)[1]["deal"]


def test_states_go_from_one_like_environment_to_another() -> None:
    """From batch rows to single environments and back, whatever reward or observation they have."""
    rng = np.random.default_rng(3)
    for env_id in ENV_IDS:
        envs = make_vec(env_id, 4)
        envs.reset(seed=2)
        for _ in range(25):
            envs.step(klondike_env.sample_actions(envs.action_masks(), rng))
        for row in range(4):
            state = envs.get_state()[row : row + 1]
            if state["has_ended"][0]:
                continue
            single: Any = gym.make(env_id, reward="cards", illegal="ignore").unwrapped
            observation, info = single.set_state(state)
            np.testing.assert_array_equal(info["action_mask"], envs.action_masks()[row])
            again = make_vec(env_id, 1, observation="flat")
            flat, infos = again.set_state(single.get_state())
            parts = [array.ravel() for array in observation.values()]
            np.testing.assert_array_equal(flat[0], np.concatenate(parts))
            np.testing.assert_array_equal(infos["action_mask"][0], info["action_mask"])


def test_equal_states_are_equal_byte_for_byte() -> None:
    """A gap between fields would hold whatever memory held before."""
    dtype = GAME.state_dtype
    assert dtype.itemsize == sum(dtype[name].itemsize for name in dtype.names or ())
    one: Any = gym.make("Klondike-Draw3-v0").unwrapped
    other: Any = gym.make("Klondike-Draw3-v0").unwrapped
    envs, again = make_vec(num_envs=3), make_vec(num_envs=3)
    for deal in range(20):
        for env in (one, other):
            env.reset(seed=1, options={"deal": deal})
            env.step(0)
        assert one.get_state().tobytes() == other.get_state().tobytes()
        position = one.position()
        for env in (one, other):
            env.reset(options={"position": position})
        assert one.get_state().tobytes() == other.get_state().tobytes()
        for batch in (envs, again):
            batch.reset(seed=deal)
            batch.step([0, 0, 0])
        assert envs.get_state().tobytes() == again.get_state().tobytes()
        again.set_state(envs.get_state())
        assert envs.get_state().tobytes() == again.get_state().tobytes()


def test_a_state_can_be_gone_back_to_any_number_of_times() -> None:
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    env.reset(seed=1)
    walk(env, random.Random(1), 15)
    state = env.get_state()
    seen = env.observe()
    for seed in range(20):
        walk(env, random.Random(seed), 30)
        again = env.set_state(state)
        assert same(again[0], seen[0])
        np.testing.assert_array_equal(again[1]["action_mask"], seen[1]["action_mask"])
    deals_after = []
    for _ in range(2):
        env.set_state(state)
        deals_after.append(env.reset()[1]["deal"])
    assert deals_after[0] == deals_after[1]


def test_a_state_of_another_action_set_is_refused_or_gets_its_own_legal_actions() -> None:
    turn: Any = gym.make("Klondike-Draw3-v0").unwrapped
    reach: Any = gym.make("Klondike-Draw3-v0", actions="reach").unwrapped
    turn.reset(options={"deal": 1}), reach.reset(options={"deal": 1})
    expected = {"turn": turn.action_masks(), "reach": reach.action_masks()}
    states = {"turn": turn.get_state(), "reach": reach.get_state()}
    for env, other, name in ((turn, "reach", "turn"), (reach, "turn", "reach")):
        try:
            _, info = env.set_state(states[other])
        except ValueError:
            continue
        np.testing.assert_array_equal(info["action_mask"], expected[name])


@pytest.mark.parametrize(
    "state", [None, 5, np.zeros(1), np.zeros(3), "state", [], np.zeros((1, 1))], ids=str
)
def test_what_is_no_state_is_refused(state: Any) -> None:
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    envs = make_vec(num_envs=2)
    for some in (env, envs):
        some.reset(seed=1)
        before = some.get_state()
        with pytest.raises(ValueError, match=r"get_state\(\)"):
            some.set_state(state)
        assert (some.get_state() == before).all()
    with pytest.raises(ValueError, match="a state of 3 games does not fit 2"):
        envs.set_state(make_vec(num_envs=3).get_state())
    with pytest.raises(ValueError, match="a state of 2 games does not fit 1"):
        env.set_state(envs.get_state())


def test_stepping_an_ended_game_needs_a_reset() -> None:
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    env.reset(
        options={
            "position": whole_position(["KS", *[""] * 6], {**dict.fromkeys("CDH", 13), "S": 12})
        }
    )
    env.step(10)
    for action in (0, 10, -1, "x"):
        with pytest.raises(gym.error.ResetNeeded):
            env.step(action)
    env.reset(seed=1)
    env.step(0)


def test_closing_twice_and_going_on_with_threads() -> None:
    env = gym.make("Klondike-Draw3-v0")
    env.reset(seed=1)
    env.close(), env.close()
    envs = make_vec(num_envs=6, num_threads=3)
    envs.reset(seed=1)
    envs.step([0] * 6)
    envs.close(), envs.close()


# Positions


def test_positions_of_ends_and_spaces_read_back_under_any_rules() -> None:
    """Endgames have what deals lack: spaces, long runs, short talons, few cards."""
    for seed in range(150):
        rng = random.Random(seed)
        rules = random_rules(rng)
        ups = {suit: rng.randint(4, 12) for suit in "CDHS"}
        cards = [rank + s for s in "CDHS" for rank in "A23456789TJQK"[ups[s] :]]
        rng.shuffle(cards)
        talon = cards[: rng.randrange(min(24, len(cards)) + 1)]
        piles = [""] * 7
        for number, card in enumerate(cards[len(talon) :]):
            pile = number % 7
            down = piles[pile].replace(" ", "")
            if down and not down.endswith(")"):
                down = f"{down[:-2]}({down[-2:]})"
            piles[pile] = f"{down} {card}".strip()
        cut = rng.randrange(len(talon) + 1)
        position = {
            "tableau": piles,
            "foundations": ups,
            "waste": " ".join(talon[:cut]),
            "stock": " ".join(talon[cut:]),
        }
        state = positions.parse(position, rules)
        text = positions.format(state, rules)
        assert {key: text[key] for key in position} == position
        assert positions.format(positions.parse(text, rules), rules) == text
        env: Any = gym.make("Klondike-Draw3-v0", rules=rules).unwrapped
        env.reset(options={"position": position})
        walk(env, rng, 40)
        middle = env.position()
        assert positions.format(positions.parse(middle, rules), rules) == middle


# Options


@pytest.mark.parametrize("name", ["draw_count", "passes", "stake", "free_redeals"])
@pytest.mark.parametrize("value", [-1, 1.0, "3", True, 10**9, [1], float("inf")])
def test_numbers_out_of_range_are_refused_by_name(name: str, value: Any) -> None:
    for make in (gym.make, make_vec):
        with pytest.raises(ValueError, match=f"{name} is a whole number"):
            make("Klondike-Draw3-v0", scoring="vegas", **{name: value})
    with pytest.raises(ValueError, match=f"{name} is a whole number"):
        KlondikeRules(**{name: value})


@pytest.mark.parametrize("name", ["actions", "reward", "observation", "illegal", "run_moves"])
@pytest.mark.parametrize(
    "value",
    [None, 5, "all", "", "WIN", ("turn",), ["turn"], {}, np.array(["win", "flat"])],
    ids=str,
)
def test_words_out_of_range_are_refused_by_name(name: str, value: Any) -> None:
    for make in (gym.make, make_vec):
        with pytest.raises(ValueError, match=f"{name} is one of"):
            make("Klondike-Draw3-v0", **{name: value})


@pytest.mark.parametrize("limit", [1.5, True, np.True_, 0, -1, -5, "5", float("nan"), 2**31])
def test_limits_that_are_no_whole_numbers_are_refused(limit: Any) -> None:
    with pytest.raises(ValueError, match="max_episode_steps is") as caught:
        make_vec(max_episode_steps=limit)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="max_episode_steps is"):
        klondike_env.evaluate(None, "Klondike-Draw3-v0", [1], max_episode_steps=limit)


@pytest.mark.parametrize("limit", [1.5, np.True_, 0, -5, "5"])
def test_gymnasium_refuses_such_limits_of_a_single_environment(limit: Any) -> None:
    """Its `TimeLimit` counts the steps; to Gymnasium -1 means no limit, and True is 1."""
    with pytest.raises((TypeError, ValueError), match="max_episode_steps"):
        gym.make("Klondike-Draw3-v0", max_episode_steps=limit)


@pytest.mark.parametrize("mode", ["reset", None, 5, []])
def test_unknown_ways_to_reset_are_refused_with_those_there_are(mode: Any) -> None:
    with pytest.raises(ValueError, match="autoreset_mode is one of NextStep, SameStep, Disabled"):
        make_vec(autoreset_mode=mode)


@pytest.mark.parametrize(
    ("masks", "rng", "reason"),
    [
        ([[1, 0]], np.random.default_rng(0), "masks are an array of int8 or bool"),
        (None, np.random.default_rng(0), "masks are an array of int8 or bool"),
        (np.ones((2, 3)), np.random.default_rng(0), "masks are int8 or bool of shape"),
        (np.ones((2, 3), np.int8), 5, "rng is a numpy.random.Generator, not int"),
        (np.ones((2, 3), np.int8), None, "rng is a numpy.random.Generator"),
    ],
    ids=str,
)
def test_bad_arguments_of_the_sampler_are_refused(masks: Any, rng: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        klondike_env.sample_actions(masks, rng)


@pytest.mark.parametrize("text", [None, 5, "", "W", "F>W", ["T1>F"], "#1>F"])
def test_what_is_no_move_text_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match="move"):
        parse_move(text)


@pytest.mark.parametrize("action", [-1, 87, 1.0, "0", None, True])
def test_what_has_no_move_text_is_refused(action: Any) -> None:
    with pytest.raises(ValueError, match=r"is not one of 0-86 \('turn'\)"):
        move_text(action)
    assert move_text(np.int64(17)) == "T1>T2"  # type: ignore[arg-type]


@pytest.mark.parametrize("actions", ["all", None, ["turn"]])
def test_unknown_action_sets_have_no_texts(actions: Any) -> None:
    for call in (lambda: move_text(0, actions), lambda: parse_move("draw", actions)):
        with pytest.raises(ValueError, match="actions is one of turn, reach"):
            call()


@pytest.mark.parametrize("text", [None, 5, "", "1H", "ZZ", "AHH", "H", ["AS"]])
def test_what_is_no_card_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match="is no card: a rank of"):
        parse_card(text)


def test_rules_given_as_an_object_take_keywords_on_top() -> None:
    rules = PRESETS["Klondike-Vegas50-v0"]
    env: Any = gym.make("Klondike-Draw3-v0", rules=rules, draw_count=2)
    assert env.unwrapped.rules.stake == 50
    assert env.unwrapped.rules.draw_count == 2
    assert rules.draw_count == 1
    with pytest.raises(ValueError, match="no option 'draws'"):
        gym.make("Klondike-Draw3-v0", rules=rules, draws=2)
