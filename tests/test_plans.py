"""Plans: every card that known cards can turn up has one, and all of them can be played."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from agents import make_agent
from klondike_env.deals import suite
from klondike_env.games.klondike.layout import encode_rules
from klondike_env.games.klondike.position import parse
from klondike_env.games.klondike.rules import PRESETS, KlondikeRules
from klondike_env.solvers.klondike.choice import SECOND_NODES, F, list_choices, room
from klondike_env.solvers.klondike.compact import (
    BACK,
    DRAW,
    DRAW_UP,
    INDEX,
    UP,
    VACATE,
    compact,
    every_table,
)
from klondike_env.solvers.klondike.planning import HOPELESS, MAX_NODES, PLANNING
from klondike_env.solvers.klondike.plans import COSTS, EARNINGS, find_plans, workspace
from klondike_env.solvers.klondike.worlds import deal_states
from tests.brute_force import DOWN, moves, read
from tests.endgames import endgame
from tests.test_laws import make, play_on

ROOT = Path(__file__).parents[1]
PLAY_ONE = """
import agents, klondike_env
from klondike_env.games.klondike.rules import PRESETS
for name in ("plan", "ppo"):
    agent = agents.make_agent(name, PRESETS["Klondike-Draw1-v0"])
    played = klondike_env.evaluate(agent, "Klondike-Draw1-v0", [0]).records[0]
    print(name, played.outcome, played.steps)
"""
ENDGAMES = 100
MOST_STATES = 1_500


def turned_cards(position: dict[str, Any], rules: KlondikeRules) -> set[int] | None:
    """The face-down cards that can be turned up before any other; None if that takes too long."""
    start = read(position, rules)
    down = {c - DOWN for pile in start[1] for c in pile if c >= DOWN}
    found: set[int] = set()
    seen, todo = {start}, [start]
    while todo:
        for state in moves(todo.pop(), rules):
            left = {c - DOWN for pile in state[1] for c in pile if c >= DOWN}
            if left != down:
                found |= down - left
            elif state not in seen:
                seen.add(state)
                todo.append(state)
        if len(seen) > MOST_STATES:
            return None
    return found


@pytest.mark.parametrize(
    "rules",
    [
        KlondikeRules(),
        KlondikeRules(draw_count=1),
        KlondikeRules(draw_count=2),
        KlondikeRules(foundation_to_tableau=False),
        KlondikeRules(draw_count=1, foundation_to_tableau=False),
    ],
    ids=lambda rules: f"draw{rules.draw_count}{'' if rules.foundation_to_tableau else '-ups-stay'}",
)
def test_the_cards_that_have_plans_are_those_that_can_be_turned_up(rules: KlondikeRules) -> None:
    every, work = every_table(rules.draw_count), workspace(1 << 14)
    terms = encode_rules(rules, "turn")
    compared = several = 0
    for seed in range(ENDGAMES):
        position = endgame(seed, rules)
        expected = turned_cards(position, rules)
        if expected is None:
            continue
        states, deals = compact(parse(position, rules), terms)
        count, is_complete = find_plans(states, deals, every, work, 1, 1 << 20, False)
        assert is_complete
        cards = set()
        for plan in work[5][:count]:
            dealt = deals["pile_cards"][0, 8 * plan["pile"] + plan["down"] - 1]
            bit = int(dealt).bit_length() - 1
            cards.add(int(np.flatnonzero(bit == INDEX)[0]))
        # A safe play up that turns a card up comes before all else.
        is_safe_play = count == 1 and work[5]["kind"][0] == UP
        assert cards == expected or (is_safe_play and cards < expected), position
        compared += not is_safe_play
        several += len(expected) > 1
    assert compared > 25
    assert several > 5


@pytest.mark.parametrize(
    "rules",
    [
        KlondikeRules(),
        KlondikeRules(draw_count=1),
        KlondikeRules(draw_count=2, foundation_to_tableau=False),
        KlondikeRules(passes=3),
        KlondikeRules(draw_count=1, passes=2),
    ],
    ids=lambda rules: f"draw{rules.draw_count}-passes{rules.passes}",
)
def test_a_position_has_the_key_that_was_worked_out_before_it_was_made(
    rules: KlondikeRules,
) -> None:
    every, work = every_table(rules.draw_count), workspace(1 << 12)
    positions, links, table, _, _, plans, stamp = work
    kinds: set[int] = set()
    starts = [deal_states([number], rules) for number in range(30)]
    terms = encode_rules(rules, "turn")
    starts += [compact(parse(endgame(seed, rules), rules), terms) for seed in range(ENDGAMES)]
    for states, deals in starts:
        count, _ = find_plans(states, deals, every, work, 6, 500, rules.passes is not None)
        now = table[table["stamp"] == stamp[0]]
        key_of = dict(zip(now["node"].tolist(), now["key"].tolist(), strict=True))
        for plan in plans[:count]:
            node = int(plan["node"])
            while node > 0:
                assert positions["key"][node] == key_of[node]
                kinds.add(int(links["kind"][node]))
                node = int(links["parent"][node])
    # Reveals end plans, so they lead to no position on the way of one.
    assert kinds >= {UP, VACATE, DRAW_UP, DRAW} | ({BACK} if rules.foundation_to_tableau else set())


def test_plans_are_the_same_without_the_compiler() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", PLAY_ONE],
            cwd=ROOT,
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("0", "1")
    }
    assert len(printed) == 1
    assert [line.split()[0] for line in printed.pop().splitlines()] == ["plan", "ppo"]


@pytest.mark.parametrize(
    "env_id", ["Klondike-Draw1-v0", "Klondike-Draw3-v0", "Klondike-Windows-Draw3-v0"]
)
def test_every_plan_that_is_begun_turns_its_card_up(env_id: str) -> None:
    """The moves of plans are the env's actions, in both action sets."""
    agent = make_agent("plan", PRESETS[env_id])
    size = 300
    env = gym.make_vec(
        env_id,
        num_envs=size,
        vectorization_mode="vector_entry_point",
        actions=agent.actions,
        autoreset_mode=AutoresetMode.DISABLED,
    )
    observations, infos = env.reset(options={"deal": np.array(suite("validation", size))})
    agent.reset(size, 0)
    memory = agent._player._memory
    down = np.full(size, 21)
    completed = 0
    is_over = np.zeros(size, dtype=np.bool_)
    while not is_over.all():
        was_looking = (memory["stage"] == PLANNING) & (observations["stock"] == 53).any(axis=1)
        actions = agent.act(observations, infos["action_mask"])
        is_done = (memory["stage"] == PLANNING) & ~is_over & ~was_looking
        observations, _, terminated, truncated, infos = env.step(actions)
        now = (observations["tableau"] == 53).sum(axis=(1, 2))
        # A plan turns one card up, with its last move.
        assert ((down - now == 1) == is_done)[~is_over & (down > 1)].all()
        assert (down - now <= 1)[~is_over & (down > 1)].all()
        completed += int(is_done.sum())
        down = np.where(is_over, down, now)
        is_over |= terminated | truncated | (memory["stage"] == HOPELESS)
    assert completed > 3_000


def test_features_say_what_the_plans_are() -> None:
    rng = random.Random(2)
    looked_at = 0
    for number in range(60):
        rules = KlondikeRules(draw_count=rng.choice((1, 3)))
        env = make(rules)
        play_on(env, rng, rng.randrange(60), number)
        states, deals = compact(env.get_state(), encode_rules(rules, "turn"))
        tools = room(MAX_NODES, SECOND_NODES)
        every = every_table(rules.draw_count)
        count = list_choices(states, deals, every, True, False, tools, 6, 500)
        if count < 2:
            continue
        links, plans, features = tools[0][1], tools[0][5], tools[3]
        for plan, row in zip(plans[:count], features[:count], strict=True):
            kinds, node = [int(plan["kind"])], int(plan["node"])
            while links[node]["parent"] >= 0:
                kinds.append(int(links[node]["kind"]))
                node = int(links[node]["parent"])
            cost = sum(COSTS[kind] for kind in kinds)
            down = int(states["dealt"][0]) >> (4 * int(plan["pile"])) & 15
            assert row[F.cost] == pytest.approx(cost / 10)
            assert row[F.value] == pytest.approx((EARNINGS[down - 1] - cost) / 10)
            assert row[F.draws] == kinds.count(DRAW)
            assert row[F.backs] == kinds.count(BACK)
            assert row[F.turns_up] == (plan["kind"] == UP)
            assert row[F.down_1 : F.down_6 + 1].sum() == row[F.down_1 + down - 2] == 1
            assert not row[F.ends_up : F.passed_last + 1].any()
            looked_at += 1
    assert looked_at > 150


def test_unseen_cards_change_no_feature() -> None:
    rng = random.Random(4)
    for number in range(30):
        rules = PRESETS[rng.choice(["Klondike-Draw3-Pass3-v0", "Klondike-Draw1-Pass1-v0"])]
        position = endgame(number, rules)
        shown = []
        for _ in range(2):
            hidden = [c for pile in position["tableau"] for c in pile.split() if "(" in c]
            stock = position["stock"].split()
            unseen = [c.strip("()") for text in hidden for c in text.split(")(")] + stock
            rng.shuffle(unseen)
            shown.append(unseen)
            states, deals = compact(parse(position, rules), encode_rules(rules, "turn"))
            tools = room(MAX_NODES, SECOND_NODES)
            count = list_choices(
                states, deals, every_table(rules.draw_count), False, True, tools, 6, 500
            )
            shown[-1] = tools[3][:count].tolist()
            left = iter(unseen)
            position = {
                **position,
                "stock": " ".join(next(left) for _ in stock),
                "tableau": [_refill(pile, left) for pile in position["tableau"]],
            }
        assert shown[0] == shown[1]


def _refill(pile: str, cards: Any) -> str:
    down = pile.count("(")
    face_up = pile.rpartition(")")[2].strip() if down else pile
    return "".join(f"({next(cards)})" for _ in range(down)) + f" {face_up}"
