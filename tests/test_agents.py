"""Agents: legal on every id, honest about hidden cards, no circles, and what their rules say."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import klondike_env
from agents import AGENTS, make_agent
from agents.features import FEATURES
from agents.guide import WEIGHTS, load_weights
from agents.plan_agent import weights_name
from agents.search import Fast, Hop, Search
from agents.uct import Uct
from klondike_env import KlondikeRules, verdicts
from klondike_env.games.klondike.moves import move_text
from klondike_env.games.klondike.rules import PRESETS
from klondike_env.solvers.klondike.choice import FEATURES as PLAN_FEATURES
from tests.lockstep import random_rules
from tests.reference.building import whole_position
from tests.test_laws import make, play_on, shuffle_unseen

STEPS = 400


def quick_agent(name: str, rules: KlondikeRules) -> Any:
    """An agent by name, one that searches with little effort."""
    if name in ("search", "search-fast", "hop"):
        agent_class = {"search": Search, "search-fast": Fast, "hop": Hop}[name]
        effort = agent_class(rules).effort
        return agent_class(rules, effort._replace(worlds=2, plans=3, more=100))
    if name == "uct":
        return Uct(rules, trees=1, trajectories=8)
    return make_agent(name, rules)


def can_play(name: str, rules: KlondikeRules) -> bool:
    try:
        make_agent(name, rules)
    except ValueError:
        return False
    return True


PLAYED = [
    (name, env_id)
    for name in AGENTS
    for env_id in klondike_env.ENV_IDS
    if can_play(name, PRESETS[env_id])
]


def choose(name: str, rules: KlondikeRules, position: dict[str, Any], seed: int = 0) -> str:
    """The move that an agent plays in a position, as text."""
    agent = quick_agent(name, rules)
    agent.reset(1, seed)
    env = make(rules, agent.actions)
    observation, info = env.reset(options={"position": position})
    batch = {key: array[None] for key, array in observation.items()}
    action = int(agent.act(batch, info["action_mask"][None])[0])
    assert info["action_mask"][action]
    return move_text(action, agent.actions)


def test_what_agents_cannot_play_they_refuse_in_one_line() -> None:
    played = {name: {env_id for other, env_id in PLAYED if other == name} for name in AGENTS}
    thoughtful = {"Klondike-Thoughtful-Draw3-v0", "Klondike-Thoughtful-Draw1-v0"}
    assert played.pop("solver") == thoughtful
    hidden = set(klondike_env.ENV_IDS) - thoughtful
    by_plans = hidden - {"Klondike-Bicycle-v0", "Klondike-Strict-v0"}
    for name in ("planner", "search", "search-fast"):
        assert played.pop(name) == by_plans
    for name in ("plan", "ppo-plan", "hop", "uct"):
        assert played.pop(name) == {env_id for env_id in by_plans if not PRESETS[env_id].passes}
    assert played.pop("ppo") == {name for name, rules in PRESETS.items() if rules.allows_reach}
    assert all(ids == set(klondike_env.ENV_IDS) for ids in played.values())
    with pytest.raises(ValueError, match=r"^agent 'solver' needs all cards known.*$"):
        make_agent("solver", PRESETS["Klondike-Draw3-v0"])
    with pytest.raises(ValueError, match=r"^agent 'plan' cannot play these rules: plans need .*$"):
        make_agent("plan", PRESETS["Klondike-Strict-v0"])
    with pytest.raises(ValueError, match=r"^agent 'hop' cannot .* it needs unlimited passes"):
        make_agent("hop", PRESETS["Klondike-Vegas-v0"])
    with pytest.raises(ValueError, match=r"^agent 'ppo' cannot play these rules: its policies .*$"):
        make_agent("ppo", PRESETS["Klondike-Vegas-v0"])
    with pytest.raises(ValueError, match=r"^agent 'ppo-plan' cannot .* it needs unlimited passes"):
        make_agent("ppo-plan", PRESETS["Klondike-Vegas-v0"])
    with pytest.raises(ValueError, match=r"^agent 'plan' .* use the solver$"):
        make_agent("plan", PRESETS["Klondike-Thoughtful-Draw1-v0"])


@pytest.mark.parametrize(("name", "env_id"), PLAYED)
def test_every_agent_plays_its_ids_legally(name: str, env_id: str) -> None:
    """An illegal action would raise."""
    agent = quick_agent(name, PRESETS[env_id])
    result = klondike_env.evaluate(
        agent, env_id, klondike_env.deals.suite("validation", 30), max_episode_steps=STEPS
    )
    assert result.games == 30


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_plays_odd_rules_legally(name: str) -> None:
    played = 0
    for seed in range(2000):
        rules = random_rules(random.Random(seed))
        if not can_play(name, rules):
            continue
        played += 1
        if played > 12:
            break
        agent = quick_agent(name, rules)
        if name == "solver":
            agent.max_states = 20_000
        result = klondike_env.evaluate(
            agent, "Klondike-Draw3-v0", range(6), rules=rules, max_episode_steps=200
        )
        assert result.games == 6
    assert played >= 5


HIDDEN = {
    name: PRESETS[name]
    for name in (
        "Klondike-Draw1-v0",
        "Klondike-Draw3-v0",
        "Klondike-Draw3-Pass3-v0",
        "Klondike-Vegas-v0",
        "Klondike-Strict-v0",
    )
} | {
    # Those that need a stock that is free to look through play few ids.
    "draw 2": KlondikeRules(draw_count=2),
    "draw 1, no taking back": KlondikeRules(draw_count=1, foundation_to_tableau=False),
}
UNSEEN = [(name, rules) for name in AGENTS for rules in HIDDEN if can_play(name, HIDDEN[rules])]


def same_decisions(name: str, rules: KlondikeRules, count: int) -> bool:
    """Whether an agent decides alike however the unseen cards lie."""
    rng = random.Random(1)
    actions = make_agent(name, rules).actions
    for number in range(count):
        env = make(rules, actions)
        play_on(env, rng, rng.randrange(50), number)
        positions = [env.position(), shuffle_unseen(env, rng)]
        moves = [choose(name, rules, position, seed=number) for position in positions]
        if moves[0] != moves[1]:
            return False
    return True


def test_every_hidden_card_agent_is_tested_on_four_rule_sets() -> None:
    for name in set(AGENTS) - {"solver"}:
        assert sum(other == name for other, _ in UNSEEN) >= 4


@pytest.mark.parametrize(("name", "rules"), UNSEEN)
def test_unseen_cards_change_no_decision(name: str, rules: str) -> None:
    assert same_decisions(name, HIDDEN[rules], 30)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rules"), UNSEEN)
def test_unseen_cards_change_none_of_many_decisions(name: str, rules: str) -> None:
    assert same_decisions(name, HIDDEN[rules], 500)


def test_agents_tolerate_rows_that_wait_and_games_without_a_move() -> None:
    position = {
        "tableau": [
            "6C", "(AC) 8C", "(AD)(5D) 8S", "(7D)(9D)(JD) TC", "(KD)(AH)(2H)(3H) TS",
            "(4H)(5H)(6H)(7H)(8H) QC", "(9H)(TH)(JH)(QH)(KH)(AS) QS",
        ],
        "rest": "stock",
    }  # fmt: skip
    for name in AGENTS:
        rules = KlondikeRules(draw_count=1, cards_known=name == "solver")
        assert choose(name, rules, position)


def test_greedy_prefers_ups_that_turn_a_card_to_other_ups() -> None:
    rules = KlondikeRules(draw_count=1, passes=1)
    piles = ["AS", "(AC) AD", "*9H", "*TS", "*5S", "*KD", "*"]
    position = whole_position(piles, waste="AH", rest_to_stock=22)
    assert choose("greedy", rules, position) == "T2>F"
    position["tableau"][1], position["waste"] = "AD", "AC AH"
    assert choose("greedy", rules, position) == "W>F"  # all alike now: the lowest id


def test_greedy_prefers_turning_a_card_up_to_a_stock_card() -> None:
    rules = KlondikeRules(draw_count=1, passes=1)
    piles = ["9H", "(AC) 9D", "*TS", "*QD", "*4C", "*6S", "*"]
    position = whole_position(piles, waste="KS JS", rest_to_stock=21)
    assert choose("greedy", rules, position) == "T2>T3"
    position["tableau"][1], position["waste"] = "9D", "KS AC JS"
    assert choose("greedy", rules, position) == "W>T4"  # rather than 9H or 9D on TS


def test_greedy_draws_when_nothing_else_is_there() -> None:
    position = whole_position(["*9S", "*9C", "*JS", "*JC", "*KS", "*KC", "*7S"], rest_to_stock=9)
    assert choose("greedy", KlondikeRules(passes=1), position) == "draw"


def test_yan_takes_the_pile_with_most_hidden_cards() -> None:
    rules = KlondikeRules(draw_count=1, passes=1)
    piles = ["(2C) 9H", "(3C)(4C)(5C) 9D", "*TS", "*TC", "*KC", "*6S", "*"]
    position = whole_position(piles, rest_to_stock=24)
    assert {choose("yan", rules, position, seed) for seed in range(8)} == {"T2>T3", "T2>T4"}


def test_yan_scores_before_it_ranks() -> None:
    """A stock card to a pile scores 5; a move that turns a card up scores 0."""
    rules = KlondikeRules(draw_count=1, passes=1)
    piles = ["(2C)(3C)(4C) 9H", "TS", "*QD", "*KH", "*KC", "*6S", "*"]
    position = whole_position(piles, waste="JS", rest_to_stock=12)
    assert choose("yan", rules, position) == "W>T3"


@pytest.mark.parametrize("name", ["greedy", "yan", "guide"])
@pytest.mark.parametrize("env_id", ["Klondike-Draw3-v0", "Klondike-Draw1-Pass3-v0"])
def test_no_position_comes_back_while_there_is_another_choice(name: str, env_id: str) -> None:
    """Since the last reveal or stock card played; spaces are interchangeable."""
    rules = PRESETS[env_id]
    agent = make_agent(name, rules)
    repeated = decisions = 0
    for number in range(8):
        env = gym.make(env_id, actions=agent.actions).unwrapped
        observation, info = env.reset(options={"deal": number})
        agent.reset(1, number)
        seen: set[Any] = set()
        counts, last = None, None
        for _ in range(150):
            talon = np.concatenate([observation["stock"], observation["waste"]])
            now = (int((observation["tableau"] == 53).sum()), int(np.count_nonzero(talon)))
            if counts != now:
                seen.clear()
                counts, last = now, None
            piles = sorted(tuple(pile.tolist()) for pile in observation["tableau"])
            key = (*piles, *observation["foundations"].tolist())
            if key != last:  # else only the stock has moved
                decisions += 1
                had_no_other = agent.choices[0] < 0 or agent.repeats[0, agent.choices[0]] > 0
                repeated += key in seen and not had_no_other
            seen.add(key)
            last = key
            batch = {k: array[None] for k, array in observation.items()}
            action = agent.act(batch, info["action_mask"][None])[0]
            observation, _, terminated, _, info = env.step(action)
            if terminated:
                break
    assert decisions > 100
    assert repeated == 0


def test_a_run_that_could_shuttle_for_ever_does_not_hold_guide_up() -> None:
    """thecharlieblake/Solvitaire #143: a part of a run between two equal hosts."""
    piles = ["(5C) 7D", "(3H) 7H 6C 5H", "*KS", "*KC", "*JS", "*JC", "*9S"]
    env = gym.make("Klondike-Draw3-v0", actions="reach", max_episode_steps=300, reward="progress")
    position = whole_position(piles, rest_to_stock=17)
    observation, info = env.reset(options={"position": position})
    agent = make_agent("guide", KlondikeRules())
    agent.reset(1, 0)
    paid, met = 0.0, set()
    terminated = truncated = False
    while not (terminated or truncated):
        batch = {k: array[None] for k, array in observation.items()}
        action = agent.act(batch, info["action_mask"][None])[0]
        observation, reward, terminated, truncated, info = env.step(action)
        paid += reward
        met.add(observation["tableau"].tobytes())
    assert (terminated, truncated) == (False, True)
    assert paid <= 0
    assert len(met) == 2


def test_a_batch_plays_as_its_rows_do_alone() -> None:
    rules = KlondikeRules()
    agent = make_agent("guide", rules)
    envs = gym.make_vec(
        "Klondike-Draw3-v0", num_envs=30, vectorization_mode="vector_entry_point", actions="reach"
    )
    observations, infos = envs.reset(seed=3)
    agent.reset(30, 0)
    together = agent.act(observations, infos["action_mask"])
    for row in range(30):
        agent.reset(1, 0)
        batch = {key: array[row : row + 1] for key, array in observations.items()}
        assert agent.act(batch, infos["action_mask"][row : row + 1])[0] == together[row]


class TestWeights:
    def test_every_shipped_file_fits_and_says_where_it_comes_from(self) -> None:
        guides = {f"guide-{actions}-draw{draw}" for actions in ("reach", "turn") for draw in (1, 3)}
        plans = {
            weights_name(kind, rules)
            for kind in ("planner", "rollout")
            for rules in PRESETS.values()
        }
        files = sorted(WEIGHTS.glob("*.json"))
        assert {file.stem for file in files} == guides | plans
        for file in files:
            record = json.loads(file.read_text(encoding="utf-8"))
            is_guide = file.stem in guides
            if is_guide:
                assert tuple(record["weights"]) == FEATURES
            else:  # features younger than a training have no weight in its file
                assert set(record["weights"]) <= set(PLAN_FEATURES)
            module = "train_guide" if is_guide else "train_planner"
            assert record["validation"]["suite"] == "validation"
            assert record["command"].startswith(f"python -m agents.{module} --env ")
            assert "2^32" in record["deals"]

    def test_a_file_of_other_features_is_refused_by_name(self, tmp_path: Path) -> None:
        file = tmp_path / "weights.json"
        weights = dict.fromkeys(FEATURES[:-1], 0.0) | {"mystery": 1.0}
        file.write_text(json.dumps({"weights": weights}), encoding="utf-8")
        with pytest.raises(
            ValueError, match=r"weights.json was trained on other features .*mystery"
        ):
            load_weights(file)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("guid", "choose from random, greedy, yan, guide"),
        ("nowhere:Agent", "cannot be imported"),
        ("agents.greedy:Gready", "has no class 'Gready', but Greedy"),
    ],
)
def test_unknown_agents_are_refused_by_name(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_agent(name)


def test_training_improves_and_repeats() -> None:
    from agents.train_guide import train

    settings: dict[str, Any] = {
        "rules": PRESETS["Klondike-Draw1-v0"],
        "updates": 2,
        "deals_per_update": 32,
        "games_per_deal": 4,
        "step_size": 0.3,
        "cards_weight": 0.0,
        "validation_games": 60,
        "validate_every": 2,
        "seed": 5,
        "num_envs": 64,
        "progress": lambda line: None,
    }
    first, result = train("Klondike-Draw1-v0", **settings)
    again, _ = train("Klondike-Draw1-v0", **settings)
    np.testing.assert_array_equal(first, again)
    other, _ = train("Klondike-Draw1-v0", **{**settings, "seed": 6})
    assert (other != first).any()
    assert result["win_rate"] > 0.3


@pytest.mark.parametrize(
    ("name", "env_id"),
    [
        ("plan", "Klondike-Draw1-v0"),
        ("planner", "Klondike-Draw3-v0"),
        ("search", "Klondike-Draw3-v0"),
        ("search", "Klondike-Vegas-v0"),
        ("uct", "Klondike-Draw1-v0"),
    ],
)
def test_agents_by_plans_play_the_same_in_any_company(name: str, env_id: str) -> None:
    deals = klondike_env.deals.suite("validation", 20)
    records = []
    for num_envs in (1, 7, 20):
        agent = quick_agent(name, PRESETS[env_id])
        result = klondike_env.evaluate(
            agent, env_id, deals, num_envs=num_envs, seed=3, max_episode_steps=500
        )
        records.append([(game.outcome, game.steps) for game in result.records])
    assert records[0] == records[1] == records[2]


def test_solver_wins_what_can_be_won() -> None:
    env_id = "Klondike-Thoughtful-Draw3-v0"
    deals = klondike_env.deals.suite("validation", 60)
    agent = make_agent("solver", PRESETS[env_id])
    result = klondike_env.evaluate(agent, env_id, deals, num_envs=16)
    known = verdicts.load("validation", PRESETS[env_id]).verdict[:60]
    won = [game.outcome == "won" for game in result.records]
    assert won == (known == verdicts.WINNABLE).tolist()


@pytest.mark.parametrize("env_id", ["Klondike-Draw1-v0", "Klondike-VegasDraw3-v0"])
def test_training_the_choice_of_plans_repeats_on_any_number_of_threads(env_id: str) -> None:
    from agents.train_planner import Player, train

    settings: dict[str, Any] = {
        "updates": 2,
        "deals_per_update": 80,
        "games_per_deal": 4,
        "step_size": 0.3,
        "validation_games": 100,
        "validate_every": 2,
        "progress": lambda line: None,
    }
    found = []
    for threads, seed in ((1, 5), (2, 5), (2, 6)):
        player = Player(PRESETS[env_id], "rollout", 3, 50, threads)
        weights, result = train(player, seed=seed, **settings)
        found.append(weights.tolist())
        assert result["worth"] > (0.5 if env_id == "Klondike-Draw1-v0" else 0.1)
    assert found[0] == found[1] != found[2]
