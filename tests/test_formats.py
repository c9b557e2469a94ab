"""Other programs' deals and positions: read right, or refused with the reason."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import klondike_env
from klondike_env import cli, deals, formats
from klondike_env.cards import CARDS
from klondike_env.formats import klondike_solver, lonelybot, native, pysol, solvitaire
from klondike_env.games.klondike.moves import parse_move

DATA = Path(__file__).parent / "data"
PYSOL_DECKS = json.loads((DATA / "pysol_decks.json").read_text(encoding="utf-8"))

GOLDEN = (
    "072103023042094134111092051034044074114052123011083122012131091082124064014093033112071104132053"
    "133102084041013073063031061043081054113062024101021022032121"
)
# A deal that lonelybot prints both as an integer and as Solvitaire's JSON.
LONELYBOT_NUMBER = "58951431144029615328972203965306300108857513542935373524517649274867"
LONELYBOT_JSON = """{"tableau piles": [
["KC"],
["6s","8C"],
["9s","Ah","5S"],
["5d","Js","5h","QD"],
["Ac","7c","Jc","7h","KD"],
["10c","3h","4d","4h","6c","QS"],
["7d","3c","6h","5c","10h","9c","3S"]
],"stock": ["JD","10D","7S","10S","AD","8S","JH","2D","AS","3D","9D","9H","6D","KS","QH","2H","2S",
"4S","4C","KH","2C","8H","8D","QC"],
"foundation": [[],[],[],[]]}"""
# As PySolFC's board generator prints deal 460.
PYSOL_460 = """\
Talon: 3C AD AH KH KS 2H 3S 4D QS TD 8H AS 8D 6C 5D 4S 3H 6D 2C 7S AC 9S 7C TC
QC
<4H> 6S
<KD> <9H> 2S
<8S> <TH> <JD> 5H
<TS> <JH> <5C> <KC> 2D
<JC> <6H> <7D> <3D> <JS> 8C
<9C> <5S> <QH> <9D> <QD> <4C> 7H
"""
MID_GAME = {
    "tableau": [
        "KH",
        "",
        "(8S)(AD)(5H) 8D 7S",
        "(4D)(5D)(KC)(TS)(TD) 6H",
        "(JS)(QD)(9C) 9H 8C 7H",
        "",
        "",
    ],
    "foundations": {"C": 0, "D": 0, "H": 4, "S": 6},
    "stock": "5C 6D 3C 4C AC 2D 3D 7C TC JC 7D 8H",
    "waste": "2C QH 9D 9S TH JD JH QS KS KD QC 6C",
}
MID_GAME_PYSOL = """\
Foundations: H-4 C-0 D-0 S-6
Talon: 6C QC KD KS QS JH JD TH 9S 9D QH 2C ==> 5C 6D 3C 4C AC 2D 3D 7C TC JC 7D 8H <==
: KH
:
: <8S> <AD> <5H> 8D 7S
: <4D> <5D> <KC> <TS> <TD> 6H
: <JS> <QD> <9C> 9H 8C 7H
:
:
"""
STOCK_LIST = "7H 4D AD JC 2D 10S KH KS 3C 6H 7S 6C 2C 5C 4S 5S QH 4H 5D 10C QS 8C 9C 6D"
STOCK_TABLEAU = (
    "jD; 10d 8D; 8s 5h 3H; 3s Ac 2h 8H; Kc Ah 10h 4c 6S; 9s 7c Qd As 7d KD; 3d Js 9d Qc Jh 2s 9H"
)

decks = st.integers(0, deals.LAST_NUMBER).map(deals.deck)


def make(env_id: str) -> Any:
    return gym.make(env_id).unwrapped


def played(env: Any, deal: int, steps: int) -> dict[str, Any]:
    """The position after random moves, of a game that goes on."""
    rng = np.random.default_rng(deal)
    _, info = env.reset(options={"deal": deal})
    for _ in range(steps):
        before = env.position()
        _, _, is_over, _, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        if is_over:
            return before
    return env.position()


def without_history(position: dict[str, Any]) -> dict[str, Any]:
    return {key: position[key] for key in ("tableau", "foundations", "stock", "waste")}


def load(env: Any, text: str) -> Any:
    """Start the game of a text."""
    game = formats.read(text)
    return env.reset(options={"position" if isinstance(game, dict) else "deck": game})


def texts_of(cards: Any) -> str:
    return " ".join(CARDS[card] for card in cards)


# Round trips


@pytest.mark.parametrize("name", formats.FORMATS)
@given(deck=decks)
def test_a_deck_comes_back(name: str, deck: np.ndarray) -> None:
    module = formats.FORMATS[name]
    for game in (deck, formats.to_position(deck)):
        text = module.write(game)
        assert formats.write(game, name) == text
        if name == "json" and isinstance(game, dict):
            assert module.read(text) == game
        else:
            assert module.read(text).tolist() == deck.tolist()
            assert module.read(text).dtype == np.uint8


@pytest.mark.parametrize("name", formats.FORMATS)
def test_every_format_is_recognised(name: str) -> None:
    for deal in range(100):
        deck = deals.deck(deal)
        text = formats.write(deck, name)
        assert next(key for key in formats.FORMATS if formats.FORMATS[key].recognises(text)) == name
        assert formats.read(text).tolist() == deck.tolist()


@pytest.mark.parametrize("env_id", klondike_env.ENV_IDS)
def test_our_json_keeps_a_game_in_progress(env_id: str) -> None:
    env, other = make(env_id), make(env_id)
    for deal in range(20):
        position = played(env, deal, 30)
        again = formats.read(native.write(position))
        assert again == position
        _, info = env.reset(options={"position": position})
        _, other_info = other.reset(options={"position": again})
        assert other.position() == position
        assert (other_info["action_mask"] == info["action_mask"]).all()


@pytest.mark.parametrize("module", [pysol, solvitaire])
@pytest.mark.parametrize("env_id", ["Klondike-Draw1-v0", "Klondike-Draw3-v0"])
def test_boards_keep_the_cards_of_a_game_in_progress(module: Any, env_id: str) -> None:
    env = make(env_id)
    in_progress = 0
    for deal in range(100):
        position = played(env, deal, deal)
        game = formats.read(module.write(position))
        assert formats.to_position(game) == without_history(position)
        in_progress += isinstance(game, dict)
        env.reset(options={"position": formats.to_position(game)})
        assert without_history(env.position()) == without_history(position)
    assert in_progress > 90


@pytest.mark.parametrize("module", [klondike_solver, lonelybot])
def test_formats_of_deals_refuse_a_game_in_progress(module: Any) -> None:
    with pytest.raises(ValueError, match=f"^{module.NAME}: only an undealt deal .*moved$"):
        module.write(MID_GAME)
    position = played(make("Klondike-Draw1-v0"), 3, 1)
    with pytest.raises(ValueError, match="only an undealt deal"):
        module.write(position)


def test_positions_may_leave_the_rest_to_the_stock() -> None:
    game = {"tableau": ["KH"] + [""] * 6, "rest": "stock"}
    assert formats.to_position(game)["stock"].split() == [card for card in CARDS if card != "KH"]
    assert formats.read(json.dumps(game)) == game


def test_a_deck_is_laid_out_as_the_environment_deals_it() -> None:
    env = make("Klondike-Draw3-v0")
    for deal in range(20):
        env.reset(options={"deal": deal})
        assert formats.to_position(deals.deck(deal)) == without_history(env.position())
        assert formats.to_deck(env.position()).tolist() == deals.deck(deal).tolist()


# Known texts


def test_golden_replay_of_klondike_solver_digits() -> None:
    env = make("Klondike-Draw1-v0")
    _, info = env.reset(options={"deck": formats.read(GOLDEN)})
    moves = ["T4>F", *["draw"] * 2, "W>T7", "T6>T7", *["draw"] * 2, "W>T6", *["draw"] * 5, "W>F"]
    for move in [*moves, "T7>T5", "W>T6", "T7>T6"]:
        action = parse_move(move)
        assert info["action_mask"][action]
        _, _, _, _, info = env.step(action)
    assert without_history(env.position()) == {
        "tableau": [
            "7D",
            "(TH) 9D",
            "(2H)(5C) 5D",
            "(4D)(3S) QH",
            "(9S)(4S)(AC)(KC) QS JD TS 9H",
            "(KS)(7S)(8H)(9C) 6S 5H 4C 3H",
            "(JC)(JS)(QD)(8D) AS",
        ],
        "foundations": {"C": 0, "D": 1, "H": 1, "S": 0},
        "stock": "7H 6H 3C 6C 4H 8C 5S JH 6D 2S TC 2C 2D 3D QC",
        "waste": "7C KD KH TD 8S",
    }


def test_pysol_deals_by_number() -> None:
    for number, deck in PYSOL_DECKS.items():
        assert pysol.deal(int(number)).tolist() == deck
    assert pysol.write(pysol.deal(460)) == PYSOL_460
    assert formats.read(PYSOL_460).tolist() == pysol.deal(460).tolist()


@pytest.mark.parametrize("number", [0, -1, 32_001, 1.5, "1", None, True])
def test_pysol_numbers_end_where_its_other_generators_begin(number: Any) -> None:
    with pytest.raises(ValueError, match=r"PySol: .* from 1 to 32000, not"):
        pysol.deal(number)


def test_lonelybot_number_and_json_are_the_same_deal() -> None:
    deck = formats.read(LONELYBOT_NUMBER)
    assert sorted(deck.tolist()) == list(range(52))
    assert formats.read(LONELYBOT_JSON).tolist() == deck.tolist()
    assert lonelybot.write(deck) == LONELYBOT_NUMBER


def test_lonelybot_numbers_run_from_0_to_below_52_factorial() -> None:
    last = 80658175170943878571660636856403766975289505440883277823999999999999
    for number in (0, 1, last):
        assert lonelybot.write(lonelybot.read(str(number))) == str(number)
    for text in (str(last + 1), "9" * 10_000):
        with pytest.raises(ValueError, match=r"lonelybot: .* not below 52!"):
            formats.read(text)
    with pytest.raises(ValueError, match="'7' is of no known format"):
        formats.read("7")  # any program's deal number


def test_boards_of_a_game_in_progress() -> None:
    assert formats.read(MID_GAME_PYSOL) == MID_GAME
    assert pysol.write(MID_GAME) == MID_GAME_PYSOL
    deal = json.loads(solvitaire.write(MID_GAME))
    assert deal["tableau piles"][1:3] == [[], ["8s", "Ad", "5h", "8D", "7S"]]
    assert deal["tableau piles"][3] == ["4d", "5d", "Kc", "10s", "10d", "6H"]
    assert deal["stock"][-2:] == ["6D", "5C"]
    assert deal["waste"][-1] == "6C"
    assert deal["foundations"][2] == ["AH", "2H", "3H", "4H"]
    make("Klondike-Draw3-v0").reset(options={"position": formats.read(MID_GAME_PYSOL)})


def test_variants_of_a_board() -> None:
    piles = MID_GAME_PYSOL.replace("Foundations", "Founds").replace(":\n", ": -\n")
    assert formats.read(piles.replace("T", "10").replace("10alon", "talon")) == MID_GAME
    assert formats.read("# a comment\n\n" + MID_GAME_PYSOL.lower()) == MID_GAME


def test_card_texts() -> None:
    deck = klondike_solver.read(GOLDEN)
    text = klondike_solver.write(deck, as_cards=True)
    assert text.startswith("7D TH 2H 4D 9S KS JC 9D 5C")
    wrapped = " ".join(re.findall("...", GOLDEN))
    for variant in (
        text,
        text.lower(),
        text.replace("T", "10"),
        text.replace(" ", ", "),
        text.replace(" ", "\n"),
        wrapped,
        wrapped.replace(" ", "\n"),
    ):
        assert formats.read(variant).tolist() == deck.tolist()


def test_card_texts_in_the_order_of_minimal_klondike() -> None:
    text = (
        "7D TH 9D 2H 5C 5D 4D 3S QH AD 9S 4S AC KC QS KS 7S 8H 9C 6S 9H JC JS QD 8D AS 3H JD"
        " QC 3D 2D TC 2C 2S 6D JH 5S 8C 4H 6C 3C 6H 7H AH 4C 8S TD KH 5H KD TS 7C"
    )
    deck = klondike_solver.read(text, by_piles=True)
    assert deck.tolist()[:28] == klondike_solver.read(GOLDEN).tolist()[:28]
    # Its page prints 2C before TC in the stock, its own string the other way round.
    assert texts_of(deck[28:]).split()[-5:] == ["2C", "TC", "2D", "3D", "QC"]
    with pytest.raises(ValueError, match="by_piles is for card texts"):
        klondike_solver.read(GOLDEN, by_piles=True)


@pytest.mark.parametrize(
    ("end_is_top", "shown"), [(True, ["8C", "5D", "5S", "2C"]), (False, ["AD", "TS", "3C", "6C"])]
)
def test_direction_of_the_stock(end_is_top: bool, shown: list[str]) -> None:
    """Solvitaire's last card is drawn first, PySol's first one; nothing is drawn beforehand."""
    stock, piles = STOCK_LIST.split(), [pile.split() for pile in STOCK_TABLEAU.split(";")]
    if end_is_top:
        text = json.dumps({"tableau piles": piles, "stock": stock})
    else:
        rows = ["".join(f"<{card}> " for card in pile[:-1]) + pile[-1] for pile in piles]
        text = "\n".join(["Talon: " + " ".join(stock), *rows])
    env = make("Klondike-Draw3-v0")
    _, info = env.reset(options={"deck": formats.read(text)})
    tops = []
    for _ in shown:
        _, _, _, _, info = env.step(parse_move("draw"))
        tops.append(env.position()["waste"].split()[-1])
    assert tops == shown
    assert info["action_mask"][parse_move("W>T3")] == end_is_top  # 2C on 3H


def test_what_the_command_prints_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["deal", "7", "--json"]) == 0
    printed = capsys.readouterr().out
    assert formats.read(printed).tolist() == deals.deck(7).tolist()
    value = json.loads(printed)
    assert formats.read(json.dumps(value["deck"])).tolist() == value["deck"]
    assert formats.read(json.dumps(value["position"])) == value["position"]
    assert formats.read(json.dumps({"position": value["position"]})) == value["position"]
    value["deck"] = deals.deck(8).tolist()
    with pytest.raises(ValueError, match="its position is not that of its deck"):
        formats.read(json.dumps(value))


@pytest.mark.parametrize("name", formats.FORMATS)
def test_line_ends_and_a_byte_order_mark_do_no_harm(name: str) -> None:
    deck = deals.deck(5)
    text = "\ufeff" + formats.write(deck, name).replace("\n", "\r\n") + "\r\n\r\n"
    assert formats.read(text).tolist() == deck.tolist()


# Bad texts

DECK = deals.deck(1)
DIGITS, CARD_TEXT = klondike_solver.write(DECK), klondike_solver.write(DECK, as_cards=True)
BOARD, SOLVITAIRE, JSON = pysol.write(DECK), solvitaire.write(DECK), native.write(DECK)
I04 = {
    "tableau piles": [["3d", "2c", "Ac", "2H"], ["4h", "3h", "2S"], ["4d", "3C"], ["AS"]],
    "stock": ["3S", "4S", "4C", "2D", "AH", "AD"],
}
SHORT = (
    "062122133041014042081034084111053124132083091113022071074023082033131021061104043064092054134"
)
FREECELL = """\
4C 2C 9C 8C QS 4S 2H
5H QH 3C AC 3H 4H QD
QC 9S 6H 9H 3S KS 3D
5D 2S JC 5C JH 6D AS
2D KD TH TC TD 8D
7H JS KH TS KC 7C
AH 5S 6S AD 8H JD
7S 6C 7D 4D 8S 9D
"""


def doubled(text: str, card: str, by: str) -> str:
    assert card in text
    return text.replace(card, by)


BAD = {
    "empty": (
        "",
        "empty text is of no known format: Solvitaire .*PySol .*lonelybot",
    ),
    "blank": ("\ufeff\r\n \r\n", "empty text"),
    "1H": ("1H", "'1H' is of no known format"),
    "ZZ": ("ZZ", "'ZZ' is of no known format"),
    "prose": ("a game of Klondike", "'a game of Klondike' is of no known format"),
    "html": ("<html><body>", "of no known format"),
    "binary": ("PK\x03\x04\x00\n\x00", r"'PK\\x03\\x04\\x00' is of no known format"),
    "31 cards": (SHORT, "Klondike-Solver: .*31 cards named, 52 needed"),
    "51 digits": (DIGITS[:-3], "Klondike-Solver: .*misses .*51 cards named, 52 needed"),
    "53 digits": (DIGITS + "014", "Klondike-Solver: .*AS more than once.*53 cards named"),
    "a digit too few": (DIGITS[:-1], "Klondike-Solver: card 52 of 155 digits is"),
    "a digit lost": (DIGITS[:80] + DIGITS[81:], "Klondike-Solver: card .* of 155 digits is"),
    "the first digit lost": (DIGITS[1:], "156 digits"),
    "double digits": (
        doubled(DIGITS, DIGITS[:3], DIGITS[3:6]),
        "Klondike-Solver: the deal has .. more than once and misses .. .52 cards",
    ),
    "two decks": (DIGITS + "\n" + DIGITS, "Klondike-Solver: .*104 cards named, 52 needed"),
    "double text": (
        doubled(CARD_TEXT, "AS", "AH"),
        "Klondike-Solver: the deal has AH more than once and misses AS",
    ),
    "1H text": (doubled(CARD_TEXT, "AH", "1H"), "Klondike-Solver: .*'1H' is no card"),
    "ZZ text": (doubled(CARD_TEXT, "AH", "ZZ"), "Klondike-Solver: .*'ZZ' is no card"),
    "FreeCell columns": (FREECELL, "cards stand in 8 lines"),
    "FreeCell": ("Freecells: - - - -\n" + FREECELL, "PySol: the board has free cells"),
    "no talon": (BOARD.partition("\n")[2], "PySol: the board has no line 'Talon: ...'"),
    "two talons": (BOARD + BOARD, "PySol: a second line 'talon'"),
    "cut board": (BOARD[:120], "PySol: the board has . piles, 7 needed"),
    "51 on a board": (doubled(BOARD, "<KD>", ""), r"PySol: .*misses KD \(51 cards"),
    "double on a board": (doubled(BOARD, "AH", "AS"), "PySol: it has AS more than once"),
    "1H on a board": (doubled(BOARD, "AH", "1H"), "PySol: .*'1H' is no card"),
    "face up under face down": (
        doubled(MID_GAME_PYSOL, "<AD>", "AD"),
        "PySol: pile 3 has a face-up card under",
    ),
    "foundation": (doubled(MID_GAME_PYSOL, "S-6", "S-14"), "PySol: foundations .* not 'S-14'"),
    "foundation twice": (doubled(MID_GAME_PYSOL, "C-0", "H-4"), "PySol: foundations .*'H-4'"),
    "4 piles": (json.dumps(I04), "Solvitaire: it has 4 tableau piles and 16 cards: 7 .* 52"),
    "16 cards": (
        json.dumps({**I04, "tableau piles": [*I04["tableau piles"], [], [], []]}),
        r"Solvitaire: .*misses .*\(16 cards named, 52 needed\)",
    ),
    "spider": (
        json.dumps({"tableau piles": [["9S", "9S"]] * 10, "stock": ["9S"] * 50}),
        "Solvitaire: it has 10 tableau piles and 70 cards",
    ),
    "another game": (
        json.dumps({**json.loads(SOLVITAIRE), "reserve": []}),
        "Solvitaire: it has 'reserve', of another game",
    ),
    "cut Solvitaire": (SOLVITAIRE[:300], "Solvitaire: the JSON is damaged or cut off at line"),
    "1H in Solvitaire": (doubled(SOLVITAIRE, '"AH"', '"1H"'), "Solvitaire: .*'1H' is no card"),
    "double in Solvitaire": (
        doubled(SOLVITAIRE, '"AH"', '"KH"'),
        "Solvitaire: it has KH more than once and misses AH",
    ),
    "odd piles": ('{"tableau piles": 7}', "Solvitaire: tableau piles is a list of lists"),
    "odd pile": ('{"tableau piles": [[7]]}', "Solvitaire: tableau piles: lists of cards"),
    "two keys": ('{"tableau piles": [], "tableau piles": []}', "'tableau piles' stands twice"),
    "face up under face down in Solvitaire": (
        json.dumps({"tableau piles": [["KH", "qs"], *([[]] * 6)]}),
        "Solvitaire: pile 1 has a face-up card under",
    ),
    "foundation of two suits": (
        json.dumps({"tableau piles": [[]] * 7, "foundations": [["AH", "2C"]]}),
        "Solvitaire: a foundation is AH 2C: from the ace up",
    ),
    "two foundations of a suit": (
        json.dumps({"tableau piles": [[]] * 7, "foundations": [["AH"], ["AH"]]}),
        "Solvitaire: two foundations begin with AH",
    ),
    "cut JSON": (JSON[:60], "klondike_env JSON: the JSON is damaged or cut off at line 1"),
    "deep JSON": ("[" * 100_000, "klondike_env JSON: the JSON is nested too deeply"),
    "another JSON": ('{"cards": 52}', "klondike_env JSON: a deck, or a position .* needed"),
    "a number of a deal": ('{"deal": 7}', "klondike_env JSON: it has a deal number only"),
    "more than a deal": ('{"deal": 7, "seed": 1}', "klondike_env JSON: it has 'seed'"),
    "51 numbers": (json.dumps(DECK.tolist()[:51]), "klondike_env JSON: .*51 cards named, 52"),
    "53 numbers": (json.dumps([*DECK.tolist(), 3]), "klondike_env JSON: .*53 cards named, 52"),
    "number 52": (json.dumps([*DECK.tolist()[:51], 52]), "52 is no card number"),
    "true": (json.dumps([*DECK.tolist()[:51], True]), "klondike_env JSON: a deck is 52 card num"),
    "half a position": ('{"tableau": ["KH", "", "", "", "", "", ""]}', r"\(1 cards named, 52"),
    "6 piles": ('{"tableau": ["KH", "", "", "", "", ""]}', "list of 7 piles, not 6 piles"),
    "odd tableau": ('{"tableau": 7}', "list of 7 piles, not 7"),
    "odd foundations": ('{"tableau": [], "foundations": {"H": 1.5}}', "0 to 13 cards"),
    "suit X": ('{"tableau": [], "foundations": {"X": 1}}', "keys of C D H S"),
    "stray bracket": ('{"tableau": ["K) H", "", "", "", "", "", ""]}', "stray bracket"),
    # The rest of what makes a position impossible is found when a game starts from it.
    "no run": (
        json.dumps(
            {
                "tableau piles": [
                    [card.upper() for card in pile]
                    for pile in json.loads(SOLVITAIRE)["tableau piles"]
                ],
                "stock": json.loads(SOLVITAIRE)["stock"],
            }
        ),
        "pile 2: .* cannot lie face up on",
    ),
    "too much talon": ("Talon: " + CARD_TEXT + "\n" + ":\n" * 7, "stock and waste hold 52 cards"),
    "odd stock": ('{"tableau": [], "stock": [1]}', "stock is a text such as"),
}


@pytest.fixture(scope="module")
def running() -> Any:
    env = make("Klondike-Draw3-v0")
    played(env, 11, 25)
    return env


@pytest.mark.parametrize("case", BAD)
def test_bad_texts_are_refused_in_one_line_and_the_game_goes_on(case: str, running: Any) -> None:
    text, message = BAD[case]
    before, mask = running.position(), running.action_masks().tolist()
    with pytest.raises(ValueError, match=message) as refused:
        load(running, text)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 600
    assert running.position() == before
    assert running.action_masks().tolist() == mask


@pytest.mark.parametrize("name", formats.FORMATS)
@given(place=st.integers(0, 51), by=st.integers(0, 51))
def test_no_deck_with_a_double_card_is_written(name: str, place: int, by: int) -> None:
    deck = DECK.copy()
    deck[place] = by
    if deck[place] == DECK[place]:
        return
    with pytest.raises(ValueError, match=f"more than once and misses {CARDS[DECK[place]]}"):
        formats.write(deck, name)


@given(text=st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^.+\Z"):
        formats.read(text)


@pytest.mark.parametrize("name", formats.FORMATS)
@given(data=st.data())
def test_damaged_texts_are_refused_or_hold_52_cards(name: str, data: st.DataObject) -> None:
    text = formats.write(DECK, name)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start, min(start + 12, len(text))))
    by = data.draw(st.sampled_from(["", " ", "0", "1", "K", "S", "<", '"', "\n", "9H"]))
    try:
        game = formats.read(text[:start] + by + text[end:])
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = ""
        formats.to_position(game)  # counts the cards
    assert "\n" not in refusal


def test_unknown_names_of_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="no format 'xml': choose from solvitaire, json, pysol"):
        formats.write(DECK, "xml")
