"""The solver against verdicts that other solvers reached, and its speed on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike import solve

DATA = Path(__file__).parent / "data"
LINES, DECIDED = (
    [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    for name in ("winning_lines.jsonl", "decided_deals.jsonl")
)
VERDICTS = {deal["name"]: {**deal, "verdict": "winnable"} for deal in LINES} | {
    deal["name"]: deal for deal in DECIDED
}


@pytest.mark.parametrize("draw", [1, 3])
def test_every_deal_gets_the_known_verdict(draw: int) -> None:
    deals = [deal for deal in VERDICTS.values() if deal["draw"] == draw]
    assert len(deals) >= 250
    assert sum(deal["verdict"] == "unwinnable" for deal in deals) >= 30
    for deal in deals:
        found = solve(deal["deck"], KlondikeRules(draw_count=draw), max_states=50_000_000)
        assert found.verdict == deal["verdict"], deal["name"]
        assert bool(found.turn) == bool(found.reach) == (deal["verdict"] == "winnable")


@pytest.mark.parametrize("draw", [1, 3])
def test_easier_rules_never_lose_what_harder_ones_win(draw: int) -> None:
    """The chain that the search itself relies on, each link solved on its own."""
    chain = (
        KlondikeRules(draw_count=draw, passes=1, foundation_to_tableau=False),
        KlondikeRules(draw_count=draw, passes=2, foundation_to_tableau=False),
        KlondikeRules(draw_count=draw, passes=3, foundation_to_tableau=False),
        KlondikeRules(draw_count=draw, foundation_to_tableau=False),
        KlondikeRules(draw_count=draw),
        KlondikeRules(draw_count=1),
    )
    wins = [0] * len(chain)
    for deal in [deal for deal in VERDICTS.values() if deal["draw"] == draw][:40]:
        found = [solve(deal["deck"], rules, max_states=300_000).verdict for rules in chain]
        for place, verdict in enumerate(found):
            if verdict == "winnable":
                assert "unwinnable" not in found[place:], deal["name"]
            wins[place] += verdict == "winnable"
    assert wins == sorted(wins)
    assert wins[0] < wins[-2]
