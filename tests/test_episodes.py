"""Training and evaluation: reported faults of masks, resets, flags, batches and statistics.

A letter and a number, such as R01, is the place of a public report in the list that these tests
retrace; the report follows.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics
from gymnasium.wrappers.vector import RecordEpisodeStatistics as VectorStatistics

import klondike_env
from klondike_env import ENV_IDS, IllegalMoveError, evaluate
from klondike_env.evaluation import Evaluation, GameRecord, wilson_interval
from klondike_env.games.klondike.rules import PRESETS
from tests.reference.building import easy_deck, whole_position
from tests.table import DEAD, Table, make_vec

AUTORESETS = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]
SETS = [
    (env_id, actions)
    for env_id, rules in PRESETS.items()
    for actions in (("turn", "reach") if rules.allows_reach else ("turn",))
]


# Rules under which `Climber` wins, gets stuck and runs into a limit of 150 steps.
LIVELY: dict[str, Any] = {
    "passes": 3,
    "run_moves": "whole",
    "foundation_to_tableau": False,
    "max_episode_steps": 150,
}


class Climber:
    """Plays by the mask alone: up, else by a mixing of its step count; wins a game now and then."""

    actions = "turn"

    def reset(self, num_envs: int, seed: int) -> None:
        self.steps = np.zeros(num_envs, dtype=np.int64)

    def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self.steps[rows] = 0

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        self.steps += 1
        ids = np.arange(action_masks.shape[1])
        worth = (ids * 37 + self.steps[:, None] * 101) % 64 + 1
        worth += 100 * ((ids >= 2) & (ids < 10)) + 300 * ((ids == 2) | ((ids > 9) & (ids < 17)))
        worth[:, 59:] = 0
        return np.where(action_masks != 0, 1 + worth, 0).argmax(axis=1)


def loop(agent: Any, env_id: str, deal: int, **options: Any) -> GameRecord:
    """One game in a single environment."""
    env = gym.make(env_id, **options)
    observation, info = env.reset(options={"deal": deal})
    agent.reset(1, 0)
    if hasattr(agent, "start_games"):
        agent.start_games(np.array([0]), np.array([1], dtype=np.uint64))
    steps, is_over = 0, False
    while not is_over:
        batch = {key: array[None] for key, array in observation.items()}
        action = agent.act(batch, info["action_mask"][None])[0]
        observation, _, terminated, truncated, info = env.step(action)
        steps += 1
        is_over = terminated or truncated
    outcome = info["outcome"] or "truncated"
    return GameRecord(deal, outcome, info["score"], info["foundation_cards"], steps, 0.0)


def facts(record: GameRecord) -> tuple[int, str, int, int, int]:
    return record.deal, record.outcome, record.score, record.foundation_cards, record.steps


# Masks


@pytest.mark.parametrize(("env_id", "actions"), SETS)
def test_a_running_game_always_has_a_legal_action(env_id: str, actions: str) -> None:
    """R03: entity-neural-network/incubator #186, sb3-contrib #279."""
    envs = make_vec(env_id, 100, actions=actions, max_episode_steps=300)
    observations, infos = envs.reset(seed=2)
    size = {"turn": 87, "reach": 269}[actions]
    rng = np.random.default_rng(0)
    ended = np.zeros(100, dtype=bool)
    ends = 0
    for _ in range(300):
        masks = infos["action_mask"]
        assert masks.dtype == np.int8
        assert masks.shape == (100, size)
        assert masks.any(axis=1).all()
        assert (masks.all(axis=1) >= ended).all()
        assert envs.observation_space.contains(observations)
        observations, _, terminated, truncated, infos = envs.step(
            klondike_env.sample_actions(masks, rng)
        )
        ended = terminated | truncated
        ends += int(ended.sum())
    assert ends >= 100


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("draw_count", [1, 3])
def test_the_step_that_leaves_no_move_ends_the_game(draw_count: int, mode: AutoresetMode) -> None:
    """R03."""
    piles = ["* 2C", "* 2D", "* 2H", "* 2S", "* 4C", "* 4S", "* 6C"]
    position = whole_position(piles, stock="5H 7C 8C", redeals_left=0)
    table = Table(position, draw_count=draw_count, passes=1)
    while not table.terminated:
        assert table.legal - {"draw"} in (set(), {"W>T5", "W>T6", "W>T7"} & table.legal)
        table.play("draw")
    assert table.info["outcome"] == "stuck"
    assert table.info["action_mask"].all()
    table.env.action_space.sample(table.info["action_mask"])
    envs = make_vec(num_envs=2, draw_count=draw_count, passes=1, autoreset_mode=mode)
    envs.reset(options={"position": position})
    for _ in range(2 if draw_count == 1 else 1):
        _, _, terminated, _, infos = envs.step([0, 0])
    assert terminated.all()
    shown = infos["final_info"] if mode == AutoresetMode.SAME_STEP else infos
    assert shown["action_mask"].all()
    assert shown["outcome"].tolist() == ["stuck"] * 2


@pytest.mark.parametrize(("env_id", "actions"), SETS)
def test_the_sampler_takes_both_masks_and_draws_legal_actions(env_id: str, actions: str) -> None:
    """R19: Farama-Foundation/PettingZoo PR #1038, #1298."""
    env: Any = gym.make(env_id, actions=actions)
    env.action_space.seed(0)
    observation, info = env.reset(seed=0)
    for _ in range(350):
        assert env.observation_space.contains(observation)
        masks = info["action_mask"], env.unwrapped.action_masks().astype(np.int8)
        drawn = [env.action_space.sample(mask) for mask in masks]
        assert all(masks[0][action] for action in drawn)
        observation, _, terminated, truncated, info = env.step(drawn[0])
        if terminated or truncated:
            env.action_space.sample(info["action_mask"])
            observation, info = env.reset()


@pytest.mark.parametrize(("env_id", "actions"), SETS)
def test_the_mask_at_reset_is_what_trying_every_action_says(env_id: str, actions: str) -> None:
    """R21: Farama-Foundation/PettingZoo #1302."""
    env: Any = gym.make(env_id, actions=actions).unwrapped
    for deal in range(60):
        _, info = env.reset(options={"deal": deal})
        state = env.get_state()
        if info["action_mask"].all():
            continue
        for action, bit in enumerate(info["action_mask"]):
            try:
                env.step(action)
            except IllegalMoveError:
                assert not bit
            else:
                assert bit
                env.set_state(state)


# Illegal actions


@pytest.mark.parametrize("actions", ["turn", "reach"])
@pytest.mark.parametrize("bad", ["masked", -1, "n"])
def test_an_illegal_action_over_and_over_ends_by_truncation_alone(bad: Any, actions: str) -> None:
    """R05: sb3-contrib #166, hill-a/stable-baselines PR #453."""
    table = Table(
        deal=4, actions=actions, illegal="ignore", reward="score", max_episode_steps=10_000
    )
    first, size = table.position, len(table.info["action_mask"])
    action = {"masked": int(table.info["action_mask"].argmin()), "n": size}.get(bad, bad)
    seen = {key: array.copy() for key, array in table.observation.items()}
    for step in range(1, 10_001):
        observation, reward, terminated, truncated, info = table.env.step(action)
        assert (reward, terminated, truncated) == (0, False, step == 10_000)
    assert table.position == first
    for key, array in seen.items():
        np.testing.assert_array_equal(observation[key], array)
    np.testing.assert_array_equal(info["action_mask"], table.info["action_mask"])
    strict = Table(deal=4, actions=actions)
    for _ in range(50):
        with pytest.raises(IllegalMoveError):
            strict.env.step(action)
    assert strict.position == first


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("threads", [1, 2])
def test_ignored_actions_of_a_batch_change_nothing_but_the_count(
    mode: AutoresetMode, threads: int
) -> None:
    """R05."""
    envs = make_vec(
        num_envs=4,
        illegal="ignore",
        autoreset_mode=mode,
        max_episode_steps=6,
        num_threads=threads,
        passes=2,
    )
    observations, infos = envs.reset(seed=1)
    for step in range(1, 7):
        again, rewards, terminated, truncated, later = envs.step([1, -1, 87, 2**62])
        assert not rewards.any()
        assert not terminated.any()
        assert truncated.all() == (step == 6)
        if step < 6:
            np.testing.assert_array_equal(later["action_mask"], infos["action_mask"])
        if mode != AutoresetMode.SAME_STEP or step < 6:
            for key, array in observations.items():
                np.testing.assert_array_equal(again[key], array)
    envs.close()


# Streams of games


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_a_seed_fixes_the_resets_after_it(env_id: str) -> None:
    """R09: Farama-Foundation/Gymnasium #1084, #1207, openai/gym #1478."""
    for make in (gym.make, lambda name: make_vec(name, 3)):
        runs = []
        for _ in range(2):
            env: Any = make(env_id)
            resets = [env.reset(seed=42), env.reset(), env.reset()]
            runs.append([(seen["tableau"].tolist(), info["deal"]) for seen, info in resets])
        assert str(runs[0]) == str(runs[1])
        numbers = np.array([info for _, info in runs[0]]).ravel()
        assert len(set(numbers.tolist())) == len(numbers)


def test_a_benchmark_of_random_play_repeats() -> None:
    """R10, R18: Farama-Foundation/Gymnasium #185."""
    agents = pytest.importorskip("agents")
    runs = [
        evaluate(
            agents.make_agent("random"),
            "Klondike-Draw3-v0",
            range(20),
            seed=seed,
            max_episode_steps=300,
            **options,
        )
        for seed, options in ((5, {}), (5, {}), (5, {"num_envs": 3}), (6, {}))
    ]
    shown = [[facts(record) for record in run.records] for run in runs]
    assert shown[0] == shown[1] == shown[2]
    assert shown[0] != shown[3]


def other_batch(mode: str, num_envs: int, **vector_kwargs: Any) -> Any:
    return gym.make_vec(
        "Klondike-Draw3-v0",
        num_envs=num_envs,
        vectorization_mode=mode,
        vector_kwargs=vector_kwargs,
    )


def test_worker_processes_play_the_same_games_as_one_process() -> None:
    """R11."""
    sync, many = other_batch("sync", 3), other_batch("async", 3, context="fork")
    rng = np.random.default_rng(3)
    for seed in (1, 2):
        _, infos = sync.reset(seed=seed)
        many.reset(seed=seed)
        for _ in range(60):
            actions = klondike_env.sample_actions(infos["action_mask"], rng)
            ours, theirs = sync.step(actions), many.step(actions)
            for key in ours[0]:
                np.testing.assert_array_equal(ours[0][key], theirs[0][key])
            for k in (1, 2, 3):
                np.testing.assert_array_equal(ours[k], theirs[k])
            infos = ours[4]
            np.testing.assert_array_equal(infos["action_mask"], theirs[4]["action_mask"])
    many.close()
    sync.close()


# The last step, lengths, counts


@pytest.mark.parametrize("mode", AUTORESETS)
@pytest.mark.parametrize("threads", [1, 2])
def test_automatic_resets_lose_no_win_no_score_and_no_step(
    mode: AutoresetMode, threads: int
) -> None:
    """R12: Farama-Foundation/Gymnasium #1103, #1017, openai/gym #3177."""
    rows, games, options = 12, 6, {**LIVELY, "reward": "score"}
    envs = make_vec("Klondike-Vegas-v0", rows, autoreset_mode=mode, num_threads=threads, **options)
    agent = Climber()
    agent.reset(rows, 0)
    observations, infos = envs.reset(seed=list(range(rows)))
    found: list[list[tuple[Any, ...]]] = [[] for _ in range(rows)]
    deals, lengths, returns = infos["deal"].copy(), np.zeros(rows, int), np.zeros(rows)
    waiting = np.zeros(rows, dtype=bool)
    while min(map(len, found)) < games:
        actions = agent.act(observations, infos["action_mask"])
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        if mode == AutoresetMode.NEXT_STEP:
            deals[waiting] = infos["deal"][waiting]
            agent.steps[waiting] = 0
            assert not rewards[waiting].any()
        lengths += ~waiting
        returns += rewards
        waiting = terminated | truncated
        last = infos.get("final_info") if mode == AutoresetMode.SAME_STEP else infos
        for row in np.flatnonzero(waiting):
            assert last["deal"][row] == deals[row]
            outcome = last["outcome"][row] or "truncated"
            assert (outcome != "truncated") == terminated[row]
            found[row].append(
                (deals[row], outcome, last["score"][row], last["foundation_cards"][row],
                 lengths[row], returns[row])
            )  # fmt: skip
            lengths[row], returns[row] = 0, 0
        if mode == AutoresetMode.SAME_STEP:
            deals[waiting] = infos["deal"][waiting]
            agent.steps[waiting] = 0
            waiting[:] = False
    envs.close()
    outcomes: Counter[str] = Counter()
    for row in found:
        for deal, outcome, score, cards, steps, paid in row[:games]:
            single = loop(Climber(), "Klondike-Vegas-v0", int(deal), **options)
            assert facts(single) == (deal, outcome, score, cards, steps)
            assert paid == score + 52
            outcomes[outcome] += 1
    assert min(outcomes["won"], outcomes["stuck"], outcomes["truncated"]) > 0


@pytest.mark.parametrize("mode", AUTORESETS)
@pytest.mark.parametrize("kind", ["vector_entry_point", "sync"])
def test_gymnasium_s_statistics_find_the_right_lengths(mode: AutoresetMode, kind: str) -> None:
    """R13: Farama-Foundation/Gymnasium #1017, PR #1624."""
    options: dict[str, Any] = {"max_episode_steps": 3, "reward": "score", "scoring": "standard"}
    if kind == "sync":
        options["vector_kwargs"] = {"autoreset_mode": mode}
    else:
        options["autoreset_mode"] = mode
    envs: Any = VectorStatistics(
        gym.make_vec("Klondike-Draw1-v0", num_envs=2, vectorization_mode=kind, **options)
    )
    _, infos = envs.reset(seed=1)
    lengths: list[int] = []
    returns: list[float] = []
    expected = np.zeros(2)
    sums: list[float] = []
    while len(lengths) < 20:
        masks = infos["action_mask"]
        actions = np.where(masks[:, 10:17].any(axis=1), 10 + masks[:, 10:17].argmax(axis=1), 0)
        _, rewards, terminated, truncated, infos = envs.step(actions)
        expected += rewards
        ended = terminated | truncated
        sums += expected[ended].tolist()
        expected[ended] = 0
        if "episode" in infos:
            shown = infos["_episode"]
            lengths += infos["episode"]["l"][shown].tolist()
            returns += infos["episode"]["r"][shown].tolist()
    assert lengths == [3] * len(lengths)
    assert returns == sums
    assert sum(sums) > 0
    envs.close()


def test_evaluation_equals_single_games_to_their_ends() -> None:
    """R12, R14: Farama-Foundation/Gymnasium #226, DLR-RM/stable-baselines3 #1480."""
    env_id, options = "Klondike-Windows-Draw1-v0", LIVELY
    deals = list(range(80))
    singles = [loop(Climber(), env_id, deal, **options) for deal in deals]
    outcomes = Counter(record.outcome for record in singles)
    assert min(outcomes["won"], outcomes["stuck"], outcomes["truncated"]) > 0
    for num_envs in (7, 256):
        reported: list[GameRecord] = []
        result = evaluate(
            Climber(), env_id, deals, num_envs=num_envs, progress=reported.append, **options
        )
        assert [facts(record) for record in result.records] == list(map(facts, singles))
        assert sorted(map(facts, reported)) == list(map(facts, singles))
        assert (result.games, result.wins) == (80, outcomes["won"])
        assert result.win_rate == outcomes["won"] / 80
        assert result.truncated_rate == outcomes["truncated"] / 80


class Dawdler(Climber):
    """Plays a third of the deals as long as the limit lets it, by drawing and redealing."""

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        actions = super().act(observations, action_masks)
        slow = observations["tableau"][:, 6, 6] % 3 == 1
        can_look = action_masks[:, :2].any(axis=1)
        return np.where(slow & can_look, 1 - action_masks[:, 0], actions)


def test_long_games_are_not_left_out() -> None:
    """R14."""
    results = [
        evaluate(Dawdler(), "Klondike-Draw1-v0", range(100), num_envs=num_envs, **LIVELY)
        for num_envs in (1, 8)
    ]
    for result in results:
        assert [record.deal for record in result.records] == list(range(100))
    assert [facts(a) for a in results[0].records] == [facts(b) for b in results[1].records]
    assert results[0].win_rate == results[1].win_rate
    assert results[0].wins > 0
    lengths = [record.steps for record in results[0].records]
    assert max(lengths) > 2 * min(lengths)


def test_a_deal_given_twice_is_played_twice_and_order_does_not_matter() -> None:
    numbers = [5, 3, 5, 2**40, 0]
    one = evaluate(Climber(), "Klondike-Draw1-v0", numbers, num_envs=2, max_episode_steps=200)
    assert [record.deal for record in one.records] == numbers
    other = evaluate(
        Climber(), "Klondike-Draw1-v0", iter(numbers[::-1]), num_envs=3, max_episode_steps=200
    )
    assert [facts(a) for a in one.records] == [facts(b) for b in other.records[::-1]]


# Flags


@pytest.mark.parametrize("limit", [1, 5])
def test_the_limit_truncates_on_its_own_step(limit: int) -> None:
    """R15: MaximilianB2/pc-gym #45, openai/gym #3102."""
    table = Table(deck=easy_deck(), draw_count=1, max_episode_steps=limit)
    for step in range(1, limit + 1):
        table.play("draw")
        assert (table.terminated, table.truncated) == (False, step == limit)
    assert table.info["outcome"] == ""
    for mode in AutoresetMode:
        envs = make_vec(num_envs=2, draw_count=1, max_episode_steps=limit, autoreset_mode=mode)
        envs.reset(options={"deck": easy_deck()})
        for step in range(1, limit + 1):
            _, _, terminated, truncated, _ = envs.step([0, 0])
            assert truncated.tolist() == [step == limit] * 2
            assert not terminated.any()


@pytest.mark.parametrize("limit", [4, 5, 6])
def test_a_win_on_the_last_step_of_the_limit_is_a_win(limit: int) -> None:
    """R15."""
    up = {"C": 13, "D": 13, "H": 13, "S": 8}
    position = whole_position(["9S", "TS", "JS", "QS", "KS", "", ""], up)
    moves = [f"T{pile}>F" for pile in range(1, 6)]
    table = Table(position, max_episode_steps=limit)
    table.play(*moves[:4])
    assert (table.terminated, table.truncated) == (False, limit == 4)
    if limit > 4:
        table.play(moves[4])
        assert (table.terminated, table.truncated) == (True, limit == 5)
        assert (table.reward, table.info["outcome"]) == (1, "won")
    actions = [table.action(move) for move in moves]
    for mode in AutoresetMode:
        envs = make_vec(num_envs=1, max_episode_steps=limit, autoreset_mode=mode)
        envs.reset(options={"position": position})
        for action in actions[: min(limit, 5)]:
            _, rewards, terminated, truncated, infos = envs.step([action])
        shown = infos["final_info"] if mode == AutoresetMode.SAME_STEP else infos
        assert terminated.tolist() == [limit > 4]
        assert truncated.tolist() == [limit < 6]
        assert rewards.tolist() == [float(limit > 4)]
        assert shown["outcome"].tolist() == ["won" if limit > 4 else ""]


@pytest.mark.parametrize("mode", [None, *AutoresetMode])
def test_a_game_stuck_on_the_last_step_of_the_limit_is_stuck(mode: AutoresetMode | None) -> None:
    """R15."""
    if mode is None:
        table = Table(DEAD, max_episode_steps=1).play("draw")
        assert (table.terminated, table.truncated, table.info["outcome"]) == (True, True, "stuck")
        return
    envs = make_vec(num_envs=2, max_episode_steps=1, autoreset_mode=mode)
    envs.reset(options={"position": DEAD})
    _, _, terminated, truncated, infos = envs.step([0, 0])
    assert terminated.all()
    assert truncated.all()
    shown = infos["final_info"] if mode == AutoresetMode.SAME_STEP else infos
    assert shown["outcome"].tolist() == ["stuck"] * 2


@pytest.mark.parametrize("limit", [10_000, None, -1])
def test_the_registered_limit_can_be_lifted(limit: int | None) -> None:
    """R15."""
    env: Any = gym.make("Klondike-Draw3-v0", max_episode_steps=limit)
    env.reset(options={"deck": easy_deck()})
    expected = 10_000 if limit == 10_000 else 2_000 if limit is None else None
    for step in range(1, 10_002):
        _, _, terminated, truncated, _ = env.step(int(step % 9 == 0))  # 8 draws and a redeal
        assert not terminated
        if truncated:
            break
    assert step == (expected or 10_001)


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_every_id_has_the_limit_of_2000_steps_in_both_forms(env_id: str) -> None:
    assert gym.spec(env_id).max_episode_steps == 2_000
    envs = make_vec(env_id, 2, illegal="ignore")
    envs.reset(seed=1)
    for step in range(1, 2_001):
        _, _, _, truncated, _ = envs.step([-1, -1])
        assert truncated.tolist() == [step == 2_000] * 2


# Statistics


def records(*outcomes: str) -> Evaluation:
    games = [
        GameRecord(deal, outcome, 10 * deal, deal % 53, deal + 1, 0.5)
        for deal, outcome in enumerate(outcomes)
    ]
    return Evaluation("Klondike-Draw3-v0", tuple(games), 0.95)


def test_win_rates_count_every_game_and_never_exceed_one() -> None:
    """R23: TobiasBielefeld/Simple-Solitaire #39, #158, shlomif/PySolFC #271."""
    mixed = records(*["won"] * 5, *["stuck"] * 5, *["truncated"] * 5)
    assert (mixed.wins, mixed.games) == (5, 15)
    assert mixed.win_rate == pytest.approx(1 / 3)
    assert mixed.truncated_rate == pytest.approx(1 / 3)
    assert mixed.mean_steps == 8
    assert mixed.mean_score == 70
    low, high = mixed.interval
    assert (low, high) == pytest.approx((0.1518, 0.5829), abs=1e-4)  # Wilson, by hand
    assert "won 5 of 15" in str(mixed)
    assert records(*["won"] * 4).interval[1] == records(*["won"] * 4).win_rate == 1
    assert records(*["stuck"] * 4).interval[0] == records(*["stuck"] * 4).win_rate == 0


def test_wilson_intervals_hold_their_rate_and_shrink() -> None:
    for games in (1, 2, 10, 1_000, 10**6):
        last = (1.0, 1.0)
        for wins in sorted({0, 1, games // 3, games // 2, games - 1, games}):
            low, high = wilson_interval(wins, games)
            assert 0 <= low <= wins / games <= high <= 1
            inner = wilson_interval(wins, games, 0.5)
            assert low <= inner[0] <= inner[1] <= high
            last = (low, high)
        assert last[1] == 1
    assert wilson_interval(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)


def test_games_broken_off_by_a_reset_count_nowhere() -> None:
    """R23."""
    env: Any = RecordEpisodeStatistics(gym.make("Klondike-Draw1-v0", max_episode_steps=150))
    ends = 0
    for deal in range(12):
        _, info = env.reset(options={"deal": deal})
        for _ in range(20 if deal % 2 else 200):
            action = Climber.act.__get__(_counting(env))({}, info["action_mask"][None])[0]
            _, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                ends += 1
                assert info["episode"]["l"] <= 150
                break
    assert env.episode_count == ends >= 6


def _counting(env: Any) -> Any:
    agent = Climber()
    agent.reset(1, 0)
    agent.steps[0] = env.unwrapped.get_state()["steps"][0]
    return agent


class OffMask(Climber):
    """Plays what it must not from the fifth step on."""

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        actions = super().act(observations, action_masks)
        return np.where(self.steps >= 5, action_masks.argmin(axis=1), actions)


@pytest.mark.parametrize("num_envs", [1, 8])
def test_an_agent_without_masks_is_refused_or_loses_by_the_limit(num_envs: int) -> None:
    """R04: sb3-contrib #212, freqtrade PR #8760."""
    with pytest.raises(IllegalMoveError, match=r"^deal \d+: .* is illegal"):
        evaluate(OffMask(), "Klondike-Draw3-v0", range(8), num_envs=num_envs)
    result = evaluate(
        OffMask(),
        "Klondike-Draw3-v0",
        range(8),
        num_envs=num_envs,
        illegal="ignore",
        max_episode_steps=50,
    )
    assert {(record.outcome, record.steps) for record in result.records} == {("truncated", 50)}
