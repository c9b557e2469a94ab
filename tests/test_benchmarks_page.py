"""The report page of a comparison."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import config, plots, samples
from benchmarks.__main__ import main
from benchmarks.compare import CompareConfig
from klondike_env import verdicts
from klondike_env.evaluation import GameRecord
from klondike_env.games.klondike.rules import KlondikeRules

ENV = "Klondike-Draw1-v0"
AGENTS = ["tests.benchmark_agents:FirstLegal", "greedy"]
CHROMIUM = "/usr/bin/chromium"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    asked = f"compare --env {ENV} Klondike-Vegas-v0 --games 40 --output {folder}/games"
    files = f"--html {folder}/report.html --json {folder}/out.json"
    assert main([*asked.split(), *files.split(), "--agents", *AGENTS]) == 0
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


class Reader(HTMLParser):
    """Collects tables, links to other files, ids, and whether every element is closed."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        values = dict(attrs)
        self.links += [values[key] for key in ("src", "href", "xlink:href") if key in values]
        self.ids += [values["id"]] if "id" in values else []
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        values = dict(attrs)
        self.links += [values[key] for key in ("src", "href", "xlink:href") if key in values]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th", "button"):
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader


def test_the_page_is_whole_and_needs_nothing_else(page: str, read: Reader) -> None:
    assert all(link.startswith("#") for link in read.links)
    assert not re.findall(r"\b(?:undefined|None,|nan|%[A-Z]+%)\b", page.split("</style>")[1][:2000])
    assert {ENV, "Klondike-Vegas-v0", "reproduce", "replays-0", "replays-1"} <= set(read.ids)
    assert {link[1:] for link in read.links if "Klondike" in link} <= set(read.ids)
    assert page.count("<svg") == 5 + 4  # no verdicts for one pass
    assert len(page) < 1_000_000


def test_the_table_says_what_the_results_say(folder: Path, read: Reader) -> None:
    found = json.loads((folder / "out.json").read_text())
    results = [agent for place in found["environments"] for agent in place["agents"]]
    rows = [row for row in read.rows if len(row) > 10 and row[0] != "agent"]
    assert [row[:4] for row in rows] == [
        [
            agent["agent"].rpartition(":")[2],
            agent["actions"],
            f"{agent['summary']['wins']:,}",
            f"{100 * agent['summary']['win_rate']:.2f}",
        ]
        for agent in results
    ]


def test_the_replays_are_the_games_that_were_played(folder: Path, page: str, read: Reader) -> None:
    packed = re.findall(r'id="replays-\d">(.*?)</script>', page)
    text = gzip.decompress(base64.b64decode(packed[0])).decode()
    assert text.startswith("<!doctype html>")
    shown = [row for row in read.rows if "Replay" in row][: len(read.rows)]
    stored: dict[tuple[str, str], dict[str, Any]] = {}
    for path in sorted((folder / "games").glob(f"{ENV}*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        name = lines[0]["matchup"]["agent"].rpartition(":")[2].lower()
        stored |= {(name, str(line["deal"])): line for line in lines[1:]}
    count = text.count('"outcome":')
    assert count >= 2 * len(AGENTS)
    for name, _, _, outcome, cards, moves, deal in shown[:count]:
        game = stored[name.lower(), deal]
        assert (outcome, int(cards), int(moves.replace(",", ""))) == (
            game["outcome"],
            game["foundation_cards"],
            game["steps"],
        )


def test_the_command_and_configuration_repeat_the_comparison(page: str, folder: Path) -> None:
    command = re.search(r"<pre[^>]*>(python -m benchmarks compare .*?)</pre>", page)
    assert command
    words = shlex.split(html.unescape(command[1]))
    parsed = config.parse(CompareConfig, words[4:], prog="compare")
    asked = json.loads((folder / "out.json").read_text())["config"]
    elsewhere = {"output", "json"}
    assert {key: value for key, value in vars(parsed).items() if key not in elsewhere} == {
        key: value for key, value in asked.items() if key not in elsewhere
    }
    for key in ("env:", "suite: test", "seed: 0", "numba", "klondike_env"):
        assert key in page


def game(deal: int, outcome: str, cards: int, steps: int) -> GameRecord:
    return GameRecord(deal, outcome, 0, cards, steps, 0.001)


def test_samples_are_chosen_once_each() -> None:
    games = [
        game(0, "won", 52, 90),
        game(1, "won", 52, 80),
        game(2, "stuck", 0, 30),
        game(3, "truncated", 40, 2000),
    ]
    assert {why: one.deal for why, one in samples.choose(games).items()} == {
        "first deal": 0,
        "shortest win": 1,
        "closest loss": 3,
        "loss with fewest cards up": 2,
    }
    assert list(samples.choose(games[:1])) == ["first deal"]


@pytest.mark.parametrize("deals", [20, 200, 10_000])
@pytest.mark.parametrize("draw_count", [1, 3])
def test_classes_of_difficulty_share_out_the_winnable_deals(deals: int, draw_count: int) -> None:
    known = verdicts.load("test", KlondikeRules(draw_count=draw_count))
    known = verdicts.Verdicts(known.verdict[:deals], known.digits[:deals])
    classes = plots.difficulty_classes(known)
    together = np.sum([members for _, members in classes], axis=0)
    assert (together == (known.verdict == verdicts.WINNABLE)).all()
    assert 1 <= len(classes) <= 10
    assert deals == 20 or min(members.sum() for _, members in classes) >= plots.MIN_DEALS


def players(count: int, outcome: str = "won") -> list[plots.Player]:
    games = [game(deal, outcome, 52 if outcome == "won" else 3, 100 + deal) for deal in range(50)]
    return [
        plots.Player(f"agent {k}", k, games, (0.4, 0.5, 0.6), (-0.1, 0.0, 0.1) if k else None)
        for k in range(count)
    ]


@pytest.mark.parametrize(("count", "outcome"), [(1, "truncated"), (2, "won"), (5, "stuck")])
def test_plots_of_any_outcome_and_number_of_agents(count: int, outcome: str) -> None:
    drawn = players(count, outcome)
    known = verdicts.load("test", KlondikeRules())
    known = verdicts.Verdicts(known.verdict[:50], known.digits[:50])
    svgs = [
        plots.win_rates(drawn),
        plots.foundation_cards(drawn),
        plots.lengths(drawn, 2000),
        plots.by_difficulty(drawn, known),
        *([plots.differences(drawn)] if count > 1 else []),
    ]
    for svg in svgs:
        assert svg.startswith("<svg")
        assert "agent 0" in svg  # text stays text
        assert not re.findall(r"#0[0-9a-f]0[0-9a-f]0|#1\d1\d1\d", svg)  # colours are the page's


def test_agents_differ_without_colour() -> None:
    drawn = plots.by_difficulty(
        players(4), verdicts.Verdicts(np.full(50, verdicts.WINNABLE), np.full(50, 9))
    )
    assert len(set(re.findall(r"stroke-dasharray: ([\d., ]+)", drawn))) >= 3
    assert plots.foundation_cards(players(1)).count("<pattern") == 1  # wins are hatched


@pytest.mark.slow
def test_a_page_of_ten_thousand_games_of_four_agents_is_small() -> None:
    rng = np.random.default_rng(0)
    games = [
        game(deal, str(rng.choice(["won", "stuck", "truncated"])), int(rng.integers(52)), steps)
        for deal, steps in enumerate(rng.integers(50, 2000, 10_000).tolist())
    ]
    drawn = [plots.Player(f"agent {k}", k, games, (0.4, 0.5, 0.6), None) for k in range(4)]
    known = verdicts.load("test", KlondikeRules())
    drawings = (
        plots.win_rates(drawn),
        plots.foundation_cards(drawn),
        plots.lengths(drawn, 2000),
        plots.by_difficulty(drawn, known),
    )
    assert sum(map(len, drawings)) < 400_000


@pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="Chromium is not installed")
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_the_page_in_a_browser(folder: Path, width: int, scheme: str) -> None:
    from playwright.sync_api import sync_playwright

    arguments = ["--disable-background-networking", "--disable-component-update"]
    if os.getuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "console",
            lambda message: errors.append(message.text) if message.type == "error" else None,
        )
        page.goto((folder / "report.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("figure svg").count() == 9
        sizes = page.locator("figure svg").evaluate_all("all => all.map(one => one.clientWidth)")
        assert min(sizes) > 250
        button = page.locator("button[data-page]").nth(2)
        button.click()
        replay = page.frame_locator("dialog iframe")
        replay.locator("h1").wait_for()
        name = str(button.get_attribute("aria-label"))
        agent, _, deal = name.removeprefix("Replay ").partition(", ")
        text = replay.locator("body").inner_text()
        assert f"{deal} \u00b7 " in text
        assert agent in text
        page.keyboard.press("Escape")
        assert not page.locator("dialog").is_visible()
        assert errors == []
        browser.close()
