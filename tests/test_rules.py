"""Worked examples of the rules, and faults reported in other programs, on both engines at once.

A letter and a number, such as K01, is the place of a public report in the list that these tests
retrace; the report follows.
"""

from __future__ import annotations

import random
from copy import deepcopy
from fractions import Fraction

import pytest

from tests.paired import Game
from tests.reference.building import (
    TURN_ACTIONS,
    easy_deck,
    legal_texts,
    play,
    shown,
    top,
    whole_position,
)
from tests.reference.cards import CARDS, face_up_cards
from tests.reference.klondike import Rules
from tests.reference.klondike_actions import REACH_MOVES, TURN_MOVES, Move

DRAW1 = Rules(draw_count=1)
STANDARD1 = Rules(draw_count=1, scoring="standard")
STANDARD3 = Rules(scoring="standard")
VEGAS = Rules(draw_count=1, passes=1, scoring="vegas")
RULE_MIXES = [
    Rules(),
    Rules(draw_count=1, passes=3, scoring="vegas"),
    Rules(run_moves="whole", forced_aces=True, foundation_to_tableau=False),
    Rules(draw_count=2, passes=2, run_moves="same_suit", scoring="standard", seconds_per_move=3),
    Rules(draw_count=24, cards_known=True, scoring="standard"),
]


def random_deck(seed: int) -> list[int]:
    deck = list(range(52))
    random.Random(seed).shuffle(deck)
    return deck


def pile_moves(game: Game) -> set[str]:
    """The legal pile to pile moves with how many cards each carries, as `T2>T3 x3`."""
    found = set()
    for text in legal_texts(game):
        move = TURN_MOVES[TURN_ACTIONS[text]]
        if move.kind == "pile to pile":
            found.add(f"{text} x{len(game.cards_to_move(move))}")
    return found


def refuse(game: Game, text: str) -> None:
    """Check that a move is not legal, that forcing it raises and that it leaves all as it was."""
    before = game.position()
    assert text not in legal_texts(game)
    with pytest.raises(ValueError, match="illegal"):
        play(game, text)
    assert game.position() == before
    assert not game.terminated


# The deal and the tables


def test_deal_goes_row_by_row_and_leaves_24_cards():
    game = Game(deck=range(52))
    assert [len(pile) for pile in game.tableau] == [1, 2, 3, 4, 5, 6, 7]
    assert game.position()["tableau"][:3] == ["AC", "(2C) 8C", "(3C)(9C) AD"]
    assert game.position()["tableau"][6].endswith(" 2H")
    assert [card.code for card in game.stock] == list(range(28, 52))
    assert game.waste == []
    assert game.foundation_cards == 0
    assert game.face_down_cards == 21


def test_action_ids_follow_their_tables():
    assert sorted(TURN_MOVES) == list(range(87))
    assert sorted(REACH_MOVES) == list(range(269))
    ids = {"draw": 0, "redeal": 1, "W>F": 2, "W>T7": 9, "T1>F": 10, "T1>T2": 17, "T2>T1": 23}
    ids |= {"T2>T3": 24, "T7>T6": 58, "C>T1": 59, "H>T2": 74, "S>T7": 86}
    assert {text: TURN_ACTIONS[text] for text in ids} == ids
    assert REACH_MOVES[8 * 5] == (5, Move("waste to foundation"))
    assert REACH_MOVES[8 * 23 + 7] == (23, Move("waste to pile", target=6))
    assert REACH_MOVES[192] == (None, Move("pile to foundation", 0))
    assert REACH_MOVES[268] == (None, Move("foundation to pile", "S", 6))


# Worked examples


def test_standard_points_of_four_plays():
    piles = ["*", "(TH) 2S", "*", "*", "*", "*", "*"]
    position = whole_position(piles, waste="9C AS", rest_to_stock=18, score=0)
    game = Game(STANDARD1, position=position)
    scores = []
    for text in ("W>F", "T2>F", "W>T2"):
        play(game, text)
        scores.append(game.score)
    assert scores == [10, 25, 30]  # 2S pays 10 and the 10H it covered 5, in one step
    assert game.position()["tableau"][1] == "TH 9C"


def play_easy_deck(rules: Rules, cards: int, bank: int = 0) -> Game:
    """The easy deck until `cards` are up."""
    game = Game(rules, deck=easy_deck(), bank=bank)
    while game.foundation_cards < cards:
        up = [text for text in legal_texts(game) if text.endswith(">F")]
        play(game, min(up, default="draw"))
    return game


@pytest.mark.parametrize(("cards", "dollars"), [(12, 8), (10, -2), (52, 208)])
def test_vegas_score_by_cards_up(cards, dollars):
    game = play_easy_deck(VEGAS, cards)
    assert game.score == dollars
    assert game.outcome == ("won" if cards == 52 else "")


def test_cumulative_vegas_bank_over_three_games():
    rules = Rules(draw_count=1, passes=1, scoring="vegas", stake=50, cumulative=True)
    bank, banks = 0, []
    for cards in (8, 52, 15):
        bank = play_easy_deck(rules, cards, bank).score
        banks.append(bank)
    assert banks == [-10, 200, 225]


def test_uncovering_a_pile_down_to_a_space_for_a_king():
    piles = ["*", "*", "(7D)(AD) 9H 8S", "*", "*", "* TC", "*"]
    game = Game(position=whole_position(piles, waste="KC", rest_to_stock=15))
    refuse(game, "W>T3")
    play(game, "T3>T6")
    assert game.tableau[2][-1] == (CARDS[13], True)
    play(game, "T3>F")
    assert game.position()["tableau"][2] == "7D"
    play(game, "T3>T6")
    assert game.position()["tableau"][2] == ""
    play(game, "W>T3")
    assert game.position()["tableau"][2] == "KC"
    assert game.position()["tableau"][5].endswith("TC 9H 8S 7D")


@pytest.mark.parametrize("draw_count", [1, 3])
def test_opening_with_two_aces(draw_count):
    piles = ["KC", "(5H) 6H", "(KD)(4H) AD", "(3C)(4C) 5S", "(6S)(7S)(8S)(KH) QH"]
    piles += ["* 9C", "* 2S"]
    position = whole_position(piles, stock="3H AS 9D", rest_to_stock=21)
    game = Game(Rules(draw_count=draw_count), position=position)
    play(game, "T3>F")
    assert game.tableau[2][-1] == (CARDS[29], True)  # 4H is turned up in the same step
    play(game, "T3>T4", "T5>T1")
    refuse(game, "T7>F")
    play(game, "draw")
    if draw_count == 3:
        assert top(game.waste) == "9D"
        return
    assert top(game.waste) == "3H"
    assert not any(text.startswith("W>") for text in legal_texts(game))
    play(game, "draw", "W>F", "T7>F")
    assert len(game.foundations["S"]) == 2


def test_a_run_moves_from_its_highest_fitting_card():
    piles = ["7S 6D 5S", "* 8H", "* 7C", "*", "*", "*", "*"]
    position = whole_position(piles, {"D": 5}, rest_to_stock=10)
    game = Game(position=position)
    assert {"T1>T2 x3", "T1>T3 x2"} <= pile_moves(game)
    refuse(game, "T1>F")  # 6D lies under 5S
    whole = Game(Rules(run_moves="whole"), position=position)
    assert {move for move in pile_moves(whole) if move.startswith("T1")} == {"T1>T2 x3"}
    same_suit = Game(Rules(run_moves="same_suit"), position=position)
    assert not any(move.startswith("T1") for move in pile_moves(same_suit))
    play(game, "T1>T3")
    assert game.position()["tableau"][0] == "7S"
    assert game.position()["tableau"][2].endswith("7C 6D 5S")


# Stock and waste


@pytest.mark.parametrize("stock", ["2C 9D 5H KS", "2C 9D 5H JD KS"])
def test_short_last_packet_of_draw_3(stock):
    """K01: reactos PR #3422."""
    piles = ["", "*", "*", "*", "*", "*", "*"]
    foundations = {"C": 1, "D": 8, "H": 4, "S": 9}
    game = Game(position=whole_position(piles, foundations, stock))
    play(game, "draw")
    assert [card.text for card in game.waste] == ["2C", "9D", "5H"]
    waste_plays = {text for text in legal_texts(game) if text.startswith("W>")}
    assert waste_plays == {"W>F"}  # of 5H, not of 2C or 9D, which would go up as well
    play(game, "draw")
    assert " ".join(card.text for card in game.waste) == stock
    assert game.stock == []
    play(game, "W>T1")
    assert game.position()["tableau"][0] == "KS"
    assert top(game.waste) == stock.split()[-2]


def test_card_under_the_played_one_is_free_without_a_draw():
    """K02: SoundGoddess/OpenSolitaire #6."""
    piles = ["* 9H", "* QC", "*", "*", "*", "*", "*"]
    game = Game(position=whole_position(piles, waste="4S JD 8C", rest_to_stock=10))
    stock = list(game.stock)
    refuse(game, "W>T2")
    play(game, "W>T1")
    assert game.stock == stock
    assert game.observation()["waste"] == shown("4S JD") + [0] * 22
    play(game, "W>T2")
    assert top(game.waste) == "4S"


def test_redeal_turns_the_waste_over_as_a_block():
    """K03: plastovicka/xmsol #1."""
    piles = ["* 8S", "* AS", "*", "*", "*", "*", "*"]
    position = whole_position(piles, {"C": 1, "D": 2, "H": 3}, "2C 3D 4H 5S 6C 7D 8H")
    game = Game(position=position)

    def look_through() -> list[str]:
        tops = []
        while game.stock:
            play(game, "draw")
            tops.append(top(game.waste))
        return tops

    assert look_through() == ["4H", "7D", "8H"]
    play(game, "redeal", "draw", "draw")
    assert top(game.waste) == "7D"
    play(game, "W>T1")
    assert top(game.waste) == "6C"
    assert look_through() == ["8H"]
    play(game, "redeal")
    assert look_through() == ["4H", "8H"]


@pytest.mark.parametrize(("draw_count", "draws"), [(1, 24), (3, 8)])
@pytest.mark.parametrize(("passes", "redeals"), [(1, 0), (3, 2), (None, None)])
def test_passes_are_redeals_and_one(draw_count, draws, passes, redeals):
    """K04: mpereira/tty-solitaire #48."""
    game = Game(Rules(draw_count=draw_count, passes=passes), deck=easy_deck())
    for pass_number in range(passes or 10):
        left = -1 if redeals is None else redeals - pass_number
        assert game.observation()["redeals_left"] == [left]
        for _ in range(draws):
            assert "redeal" not in legal_texts(game)
            play(game, "draw")
        assert "draw" not in legal_texts(game)
        if pass_number == redeals:
            refuse(game, "redeal")
        else:
            play(game, "redeal")


def test_empty_stock_and_waste_allow_neither_draw_nor_redeal():
    """K05: SerenityOS/serenity PR #1390."""
    up = {"C": 13, "D": 13, "H": 13, "S": 11}
    position = whole_position(["KS", "QS", "", "", "", "", ""], up, redeals_left=1)
    game = Game(Rules(passes=2), position=position)
    refuse(game, "draw")
    refuse(game, "redeal")
    assert game.redeals_left == 1


def test_stock_cards_show_once_they_have_been_turned():
    game = Game(DRAW1, deck=random_deck(5))
    stock = [card.code + 1 for card in game.stock]
    assert game.observation()["stock"] == [53] * 24
    play(game, "draw")
    assert game.observation()["waste"] == stock[:1] + [0] * 23
    assert game.observation()["stock"] == [53] * 23 + [0]
    game = Game(DRAW1, deck=easy_deck())
    play(game, *["draw"] * 24, "redeal")
    assert game.observation()["stock"] == [card.code + 1 for card in game.stock]


def test_waste_of_a_position_is_known_after_its_redeal():
    piles = ["* AC", "*", "*", "*", "*", "*", "*"]
    game = Game(position=whole_position(piles, stock="KS", waste="4S JD 8C"))
    assert game.observation()["stock"][0] == 53
    play(game, "draw", "redeal")
    assert game.observation()["stock"][:4] == shown("4S JD 8C KS")


def test_observation_does_not_depend_on_hidden_cards():
    one, other = random_deck(8), random_deck(8)
    face_up = {0, 7, 13, 18, 22, 25, 27}
    hidden = [place for place in range(52) if place not in face_up]
    for place, source in zip(hidden, reversed(hidden), strict=True):
        other[place] = one[source]
    first, second = Game(deck=one), Game(deck=other)
    assert first.position() != second.position()
    assert first.observation() == second.observation()
    assert first.mask() == second.mask()


def test_thoughtful_shows_every_card():
    game = Game(Rules(cards_known=True), deck=range(52))
    seen = game.observation()
    assert seen["face_down"] == [0, 1, 2, 3, 4, 5, 6]
    assert 53 not in seen["stock"]
    assert seen["tableau"][1] == [2, 8] + [0] * 17
    assert "face_down" not in Game(deck=range(52)).observation()


# Moves to piles and foundations


@pytest.mark.parametrize("space", range(7))
@pytest.mark.parametrize(
    ("place", "fragment", "fits"),
    [
        ("waste", "QS", False),
        ("waste", "2S", False),
        ("waste", "KS", True),
        ("pile", "* QH", False),
        ("pile", "* QH JS", False),
        ("pile", "* KD QS", True),
        ("foundation", "12", False),
        ("foundation", "13", True),
    ],
)
def test_only_kings_fill_a_space(space, place, fragment, fits):
    """K08: doofy-dev/flipper_solitaire #8."""
    piles = ["*"] * 7
    piles[space] = ""
    source = (space + 3) % 7
    if place == "pile":
        piles[source] = fragment
    position = whole_position(
        piles,
        {"D": int(fragment)} if place == "foundation" else {},
        waste=fragment if place == "waste" else "",
        rest_to_stock=12 if place != "pile" else 20,
    )
    move = {"waste": "W", "pile": f"T{source + 1}", "foundation": "D"}[place] + f">T{space + 1}"
    assert (move in legal_texts(Game(position=position))) == fits


def test_foundations_build_up_by_suit_and_rank():
    """K09: SoundGoddess/OpenSolitaire #23."""
    piles = ["* 2D", "* 3H", "* 2H", "* AD", "* KC", "* 5C", "* 9D"]
    game = Game(position=whole_position(piles, {"H": 1, "S": 13}, rest_to_stock=10))
    assert legal_texts(game) == {"draw", "T3>F", "T4>F"}  # no wrap-round either way


def test_only_the_top_card_goes_up():
    """K10: gcedo/react-solitaire #6."""
    piles = ["(9C) 4H 3S", "*", "*", "*", "*", "*", "*"]
    game = Game(position=whole_position(piles, {"H": 3}, rest_to_stock=15))
    refuse(game, "T1>F")


def test_how_many_cards_each_move_carries():
    """K11: ShootMe/Klondike-Solver #5."""
    piles = ["JC", "QH JS TD", "KS", "", "4C", "4S", "8S"]
    up = {"C": 3, "D": 9, "H": 11, "S": 3}
    position = whole_position(piles, up, rest_to_stock=18)
    assert pile_moves(Game(position=position)) == {"T2>T3 x3", "T2>T1 x1", "T3>T4 x1"}
    whole = Game(Rules(run_moves="whole"), position=position)
    assert pile_moves(whole) == {"T2>T3 x3", "T3>T4 x1"}


def test_hidden_cards_keep_the_game_from_being_won():
    """K17: mpereira/tty-solitaire #17."""
    up = {"C": 13, "D": 13, "H": 13, "S": 10}
    game = Game(position=whole_position(["(JS) KS", "QS", "", "", "", "", ""], up))
    refuse(game, "T2>F")
    play(game, "T1>T3", "T1>F", "T2>F")
    assert not game.is_won
    assert not game.terminated
    assert play(game, "T3>F")["outcome"] == "won"


def test_two_waste_cards_finish_the_game():
    """K18: SerenityOS/serenity PR #26775."""
    up = {"C": 13, "D": 13, "H": 13, "S": 11}
    game = Game(position=whole_position([""] * 7, up, waste="KS QS"))
    play(game, "W>F")
    assert play(game, "W>F")["outcome"] == "won"


def test_card_taken_back_stays_down():
    """K19: ianhanniballake/TripleSolitaire #2."""
    piles = ["* 6C", "*", "*", "*", "*", "*", "*"]
    up = {"H": 5, "C": 4, "S": 3}
    game = Game(STANDARD1, position=whole_position(piles, up, rest_to_stock=12, score=100))
    play(game, "H>T1")
    assert game.score == 85
    assert game.position()["tableau"][0].endswith("6C 5H")
    play(game, "T1>F")
    assert game.score == 95
    no_return = Game(Rules(foundation_to_tableau=False), position=game.position())
    refuse(no_return, "H>T1")


def test_nothing_goes_up_by_itself():
    """K20: oddstream/lsol #14."""
    piles = ["* 3H", "*", "*", "*", "*", "*", "*"]
    up = {"C": 1, "S": 1, "H": 2, "D": 2}
    position = whole_position(piles, up, rest_to_stock=15)
    for rules in (Rules(), Rules(forced_aces=True)):
        game = Game(rules, position=position)
        play(game, "draw")
        assert game.foundation_cards == 6
        assert "T1>F" in legal_texts(game)


def test_forced_aces_forbid_all_else():
    piles = ["* 3H", "* AC", "* 2S", "*", "*", "*", "*"]
    position = whole_position(piles, {"H": 2}, "AD", "AS", rest_to_stock=12)
    game = Game(Rules(draw_count=1, forced_aces=True), position=position)
    assert legal_texts(game) == {"T2>F", "W>F"}
    play(game, "T2>F")
    assert legal_texts(game) == {"W>F"}
    play(game, "W>F")
    assert {"draw", "T1>F", "T3>F"} <= legal_texts(game)


# Ends of a game


@pytest.mark.parametrize(("draw_count", "looks"), [(1, 25), (3, 9)])
def test_dead_game_ends_at_once(draw_count, looks):
    """K15: keith-packard/kgames #13."""
    piles = ["6C", "(AC) 8C", "(AD)(5D) 8S", "(7D)(9D)(JD) TC", "(KD)(AH)(2H)(3H) TS"]
    piles += ["(4H)(5H)(6H)(7H)(8H) QC", "(9H)(TH)(JH)(QH)(KH)(AS) QS"]
    stock = "2C 3C 4C 5C 7C 9C JC KC 2S 3S 4S 5S 6S 7S 9S JS KS 2D 3D 4D 6D 8D TD QD"
    position = whole_position(piles, stock=stock)
    game = Game(Rules(draw_count=draw_count), position=position)
    assert len(list(game.stock_positions())) == looks
    assert game.is_stuck()
    assert legal_texts(game) == {"draw"}
    assert play(game, "draw")["outcome"] == "stuck"
    assert game.mask() == [1] * 87
    reach = Game(Rules(draw_count=draw_count), position=position, actions="reach")
    assert reach.legal_actions() == set()
    assert reach.mask() == [1] * 269
    result = reach.step(0)
    assert result["outcome"] == "stuck"
    assert reach.position() == position | {
        "redeals_left": None,
        "score": 0,
    }
    with pytest.raises(ValueError, match="ended"):
        reach.step(0)


def test_win_without_passes_left_is_a_win():
    """K16: SaitoTech/saito-lite #274."""
    up = {"C": 13, "D": 13, "H": 13, "S": 12}
    position = whole_position([""] * 7, up, waste="KS", redeals_left=0)
    game = Game(Rules(passes=3), position=position)
    result = play(game, "W>F")
    assert result["terminated"]
    assert result["outcome"] == "won"
    assert game.score == 1
    assert result["foundation_change"] == 1
    assert result["score_change"] == 1


def test_there_and_back_is_no_end_and_no_gain():
    """K12: thecharlieblake/Solvitaire #143."""
    piles = ["(5C) 7D", "(3H) 7H 6C 5H", "*", "*", "*", "*", "*"]
    position = whole_position(piles, rest_to_stock=18, score=0)
    game = Game(STANDARD3, position=position)
    for _ in range(20):
        for move in ("T2>T1", "T1>T2"):
            result = play(game, move)
            assert result["score_change"] == 0
            assert result["progress_change"] == 0
    assert game.position() == Game(STANDARD3, position=position).position()
    assert not game.terminated


def test_carrying_a_whole_pile_to_a_space_is_legal_but_no_move():
    position = whole_position(
        ["KS QH", "", "* 2C", "* 2D", "* 2H", "* 4C", "* 4S"],
        waste="8C 9C TC JC QC KC 7C 6C 5C 8D 9D TD JD QD KD 7D 6D 5D",
        redeals_left=0,
    )
    game = Game(Rules(passes=1), position=position)
    assert legal_texts(game) == {"T1>T2"}
    assert game.is_stuck()
    assert play(game, "T1>T2")["outcome"] == "stuck"
    position["tableau"][0] = "(QH) KS"  # now the same move uncovers a card
    game = Game(Rules(passes=1), position=position)
    assert legal_texts(game) == {"T1>T2"}
    assert not game.is_stuck()


def test_a_card_deep_in_the_stock_keeps_the_game_alive_only_while_it_can_come_up():
    piles = ["* 2C", "* 2D", "* 2H", "* 2S", "* 4C", "* 4S", "* 6C"]
    waste = "5H 7C 8C 9C TC JC QC"  # under draw 3 the tops are 8C, JC, QC; 5H never comes up
    position = whole_position(piles, waste=waste, redeals_left=1)
    assert Game(Rules(passes=2), position=position).is_stuck()
    assert not Game(Rules(draw_count=1, passes=2), position=position).is_stuck()
    position["redeals_left"] = 0
    assert Game(Rules(draw_count=1, passes=2), position=position).is_stuck()


def test_last_pass_ends_the_game_in_the_step_that_leaves_no_move():
    piles = ["* 2C", "* 2D", "* 2H", "* 2S", "* 4C", "* 4S", "* 6C"]
    position = whole_position(piles, stock="5H 7C 8C", redeals_left=0)
    game = Game(Rules(draw_count=1, passes=1), position=position)
    assert not play(game, "draw")["terminated"]  # 5H could go on a black 6
    assert play(game, "draw")["outcome"] == "stuck"  # 8C, still to come, fits nowhere


# Scores


@pytest.mark.parametrize(("rules", "net"), [(STANDARD1, -5), (VEGAS, 0)])
def test_ace_down_and_up_again_never_pays(rules, net):
    """S01: TobiasBielefeld/Simple-Solitaire #63."""
    piles = ["* 2S", "*", "*", "*", "*", "*", "*"]
    position = whole_position(piles, {"H": 1}, rest_to_stock=14, score=100)
    game = Game(rules, position=position)
    play(game, "H>T1", "T1>F")
    assert game.score == 100 + net
    kinds = {move.kind for move in TURN_MOVES.values()}
    assert "foundation to foundation" not in kinds


@pytest.mark.parametrize(
    ("rules", "scores"),
    [
        (STANDARD1, [400, 300, 200, 100, 0, 0]),
        (STANDARD3, [500, 500, 500, 480, 460, 440]),
        (Rules(draw_count=2, scoring="standard"), [500, 500, 500, 480, 460, 440]),
        (Rules(scoring="standard", redeal_penalty=100), [500, 500, 500, 400, 300, 200]),
        (Rules(scoring="standard", free_redeals=1), [500, 480, 460, 440, 420, 400]),
    ],
)
def test_redeal_penalties(rules, scores):
    """S03: SerenityOS/serenity PR #7464."""
    piles = ["* AS", "*", "*", "*", "*", "*", "*"]
    game = Game(rules, position=whole_position(piles, waste="KS", rest_to_stock=8, score=500))
    found = []
    for _ in scores:
        while game.stock:
            play(game, "draw")
        before = game.score
        assert play(game, "redeal")["score_change"] == game.score - before
        found.append(game.score)
    assert found == scores


def test_redeals_made_before_a_position_count():
    piles = ["* AS", "*", "*", "*", "*", "*", "*"]
    position = whole_position(piles, waste="KS 4D 9H", rest_to_stock=0, score=500)
    rules = Rules(passes=9, scoring="standard")
    first = Game(rules, position=position | {"redeals_left": 8})
    fourth = Game(rules, position=position | {"redeals_left": 5})
    assert play(first, "redeal")["score_change"] == 0
    assert play(fourth, "redeal")["score_change"] == -20


@pytest.mark.parametrize(("rules", "direct", "detour"), [(STANDARD1, 10, 15), (VEGAS, 5, 5)])
def test_two_routes_to_the_foundation(rules, direct, detour):
    """S04: TobiasBielefeld/Simple-Solitaire #169."""
    piles = ["* 3S", "*", "*", "*", "*", "*", "*"]
    position = whole_position(piles, {"H": 1}, waste="2H", rest_to_stock=14, score=0)
    straight, round_about = Game(rules, position=position), Game(rules, position=position)
    play(straight, "W>F")
    play(round_about, "W>T1", "T1>F")
    assert (straight.score, round_about.score) == (direct, detour)


@pytest.mark.parametrize(("rules", "points"), [(STANDARD1, [15, 5, 0]), (VEGAS, [5, 0, 0])])
def test_turning_up_pays_whatever_uncovers_the_card(rules, points):
    """S05: SoundGoddess/OpenSolitaire #4."""
    piles = ["(9C) AH", "(4D) TS", "* JH", "QC", "* KH", "*", "*"]
    game = Game(rules, position=whole_position(piles, rest_to_stock=19, score=0))
    assert [play(game, text)["score_change"] for text in ("T1>F", "T2>T3", "T4>T5")] == points
    assert game.position()["tableau"][:2] == ["9C", "4D"]
    assert game.tableau[3] == []  # emptying a pile turns up nothing


def test_vegas_stake_and_bank():
    """S06: TobiasBielefeld/Simple-Solitaire #63."""
    deck = random_deck(3)
    for place, name in ((0, "AH"), (7, "2S")):
        code = next(card.code for card in CARDS if card.text == name)
        other = deck.index(code)
        deck[place], deck[other] = deck[other], deck[place]
    game = Game(VEGAS, deck=deck, bank=30)
    scores = [game.score]
    for text in ("T1>F", "H>T2"):
        play(game, text)
        scores.append(game.score)
    assert scores == [-52, -47, -52]
    cumulative = Rules(scoring="vegas", cumulative=True)
    assert Game(cumulative, deck=deck, bank=30).score == -22


def test_king_between_spaces_earns_nothing():
    """S07: TobiasBielefeld/Simple-Solitaire #103."""
    piles = ["KS QH", "", "", "* AS", "*", "*", "*"]
    position = whole_position(piles, rest_to_stock=24, score=0)
    for rules in (Rules(), STANDARD3, VEGAS):
        game = Game(rules, position=position)
        for text in ("T1>T2", "T2>T1") * 50:
            result = play(game, text)
            assert result["score_change"] == result["foundation_change"] == 0
            assert result["progress_change"] == 0


def test_standard_score_stops_at_zero():
    piles = ["* 2S", "*", "*", "*", "*", "*", "*"]
    position = whole_position(piles, {"H": 1}, rest_to_stock=14, score=6)
    game = Game(STANDARD1, position=position)
    assert play(game, "H>T1")["score_change"] == -6
    assert game.score == 0


def test_simulated_clock_takes_two_points_each_ten_seconds():
    piles = ["* AS", "*", "*", "*", "*", "*", "*"]
    position = whole_position(piles, rest_to_stock=15, score=50)
    game = Game(Rules(scoring="standard", seconds_per_move=7), position=position)
    changes = [play(game, "draw")["score_change"] for _ in range(5)]
    assert changes == [0, -2, -2, 0, -2]  # at 7, 14, 21, 28 and 35 seconds


@pytest.mark.parametrize(("seconds", "score"), [(30, 4), (31, 4 + 22580), (0, 10)])
def test_time_bonus_needs_more_than_thirty_seconds(seconds, score):
    up = {"C": 13, "D": 13, "H": 13, "S": 12}
    position = whole_position([""] * 7, up, waste="KS", score=0)
    game = Game(Rules(scoring="standard", seconds_per_move=seconds), position=position)
    play(game, "W>F")
    assert game.score == score


def test_progress_counts_foundation_and_turned_up_cards():
    game = play_easy_deck(VEGAS, 0)
    total = Fraction(0)
    while not game.terminated:
        up = [text for text in legal_texts(game) if text.endswith(">F")]
        total += play(game, min(up, default="draw"))["progress_change"]
    assert total == 1


# The reach actions


def test_reach_offers_the_cards_that_draws_and_redeals_bring_up():
    piles = ["* 6S", "*", "*", "*", "*", "*", "*"]
    talon = "5D 9C 5H TC 2H 3C JC"  # tops now: 9C, then 2H, JC; after a redeal 5H, 3C, JC
    waste, stock = talon[:5], talon[6:]
    position = whole_position(piles, {"H": 1, "C": 2, "D": 4}, stock, waste)
    game = Game(position=position, actions="reach")
    found = {text for text in legal_texts(game) if not text.startswith("T")}
    assert {"2H>F", "3C>F", "5H>T1"} <= found
    assert not any(text.startswith("5D>") for text in found)
    assert game.observation()["stock"][:5] == shown(stock)
    place = 2
    game.step(8 * place + 1)
    assert [card.text for card in game.waste] == ["5D", "9C"]
    assert [card.text for card in game.stock] == ["TC", "2H", "3C", "JC"]
    assert game.position()["tableau"][0].endswith("6S 5H")


def test_reach_cannot_draw_past_a_forced_ace():
    piles = ["* 6S", "* 3D", "*", "*", "*", "*", "*"]
    position = whole_position(piles, {"C": 2, "D": 2}, "3C AS 5H", "9C")
    game = Game(Rules(draw_count=1, forced_aces=True), position=position, actions="reach")
    found = legal_texts(game)
    assert {"3C>F", "AS>F", "T2>F"} <= found
    assert "5H>T1" not in found
    game.step(8 * 2)
    assert "5H>T1" in legal_texts(game)


@pytest.mark.parametrize(
    "rules", [Rules(passes=3), STANDARD3, Rules(scoring="standard", seconds_per_move=1)]
)
def test_reach_is_refused_where_looking_costs(rules):
    with pytest.raises(ValueError, match="reach"):
        Game(rules, deck=range(52), actions="reach")


# Laws that hold in every game


@pytest.mark.parametrize(
    ("rules", "actions"),
    [(rules, "turn") for rules in RULE_MIXES]
    + [(RULE_MIXES[0], "reach"), (RULE_MIXES[2], "reach")],
)
def test_random_games_keep_the_laws(rules, actions):
    for seed in range(3):
        choose = random.Random(seed)
        game = Game(rules, deck=random_deck(seed), actions=actions)
        for _ in range(80):
            legal = sorted(game.legal_actions())
            assert [i for i, bit in enumerate(game.mask()) if bit] == legal
            result = game.step(choose.choice(legal))
            assert sorted(game.all_cards()) == sorted(CARDS)
            assert result["terminated"] == (game.is_won or game.is_stuck())
            assert all(pile[-1][1] for pile in game.tableau if pile)
            twin = (
                Game(rules, position=game.position(), actions=actions) if not game.is_won else game
            )
            assert twin.position() == game.position()
            if game.terminated:
                break
            assert twin.legal_actions() == game.legal_actions()


def test_every_masked_action_is_playable_and_no_other():
    game, choose = Game(DRAW1, deck=random_deck(1)), random.Random(1)
    for _ in range(30):
        before = game.position()
        for action, bit in enumerate(game.mask()):
            trial = deepcopy(game)
            if bit:
                trial.step(action)
                assert trial.position() != before
            else:
                with pytest.raises(ValueError, match="illegal"):
                    trial.step(action)
                assert trial.position() == before
        assert game.position() == before
        game.step(choose.choice(sorted(game.legal_actions())))


# Positions


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"stock": "AS"}, "52 needed"),
        ({"tableau": ["KH"] * 6}, "7 needed"),
        ({"tableau": ["KH", "KS QS", "JS", "", "", "", ""], "rest": "stock"}, "no run"),
        ({"tableau": ["KH", "QS (JS)", "", "", "", "", ""], "rest": "stock"}, "face-up card"),
        ({"tableau": ["(KH)", "", "", "", "", "", ""], "rest": "stock"}, "face-up card"),
        ({"tableau": ["Kx"] + [""] * 6}, "can't read"),
        ({"redeals_left": 3}, "null"),
        ({"foundations": {"C": 14}}, "no foundation"),
    ],
)
def test_impossible_positions_are_refused(change, reason):
    up = {"C": 13, "D": 13, "H": 12, "S": 10}
    position = whole_position(["KH", "QS", "JS", "KS", "", "", ""], up)
    Game(position=position)
    with pytest.raises(ValueError, match=reason):
        Game(position=position | change)


def test_positions_that_hold_too_much_are_refused():
    position = {"tableau": ["KH"] + [""] * 6, "rest": "stock"}
    with pytest.raises(ValueError, match="more than 24"):
        Game(position=position)
    deep = "(AC)(2C)(3C)(4C)(5C)(6C)(7C) KH"
    position = whole_position([deep] + [""] * 6, {"D": 13, "S": 13}, rest_to_stock=18)
    with pytest.raises(ValueError, match="more than 6 face-down"):
        Game(position=position)
    won = whole_position([""] * 7, dict.fromkeys("CDHS", 13))
    with pytest.raises(ValueError, match="already won"):
        Game(position=won)


def test_position_text_takes_both_spellings_of_ten():
    piles = ["(AS)(10h) 9c", "", "", "", "", "", ""]
    game = Game(
        position={"tableau": piles, "foundations": {"C": 8, "D": 13, "H": 9}, "rest": "stock"}
    )
    assert game.position()["tableau"][0] == "(AS)(TH) 9C"
    assert face_up_cards(game.tableau[0]) == [CARDS[8]]
