"""The report page: a comparison in one HTML file that needs no network and no other file."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import yaml

from benchmarks import plots, report, samples
from benchmarks.play import Job
from benchmarks.store import load
from klondike_env import deals, verdicts
from klondike_env.evaluation import GameRecord
from klondike_env.records import Record, replay

if TYPE_CHECKING:
    from benchmarks.compare import Comparison, EnvironmentResult

NOTES = (
    "Every deal counts: games that got stuck, met the step limit or were given up are losses.",
    "Intervals of win rates are Wilson's.",
    "Against first: difference in win rate on the same deals, in points, with p of the exact"
    " McNemar test, two-sided.",
    "Score, cards (on the foundations) and moves are means.",
    "Moves are actions of the agent's own set: in the set reach, going through the stock takes"
    " none.",
    "Speed is that of one process.",
)
WINNABLE_NOTE = (
    "Of winnable: of the deals that can be won when all cards are known, by the library's solver."
)


def write_html(comparison: Comparison, path: Path) -> None:
    """Write the page; plays the sample games once more for their moves.

    Raises:
        AgentError: an agent raised, or played a game another way than before.
    """
    print("playing the sample games of the page once more", file=sys.stderr)
    parts = [
        _environment(comparison, environment, place)
        for place, environment in enumerate(comparison.environments)
    ]
    path.write_text(_page(comparison, parts), encoding="utf-8")


def _page(comparison: Comparison, parts: Sequence[str]) -> str:
    names = ", ".join(environment.env_id for environment in comparison.environments)
    links = " ".join(
        f'<a href="#{escape(environment.env_id)}">{escape(environment.env_id)}</a>'
        for environment in comparison.environments
    )
    agents = len(comparison.config.agents)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Comparison on {escape(names)}</title>
<style>
{_file("page.css")}
</style>
</head>
<body>
<header>
<h1>Comparison of {agents} agent{"s" if agents > 1 else ""}</h1>
<p class="quiet">{comparison.config.games:,} deals of the suite {comparison.config.suite} in each
environment, the same for every agent. Intervals: {100 * comparison.config.confidence:g} %.</p>
<nav aria-label="Sections">{links} <a href="#reproduce">Reproduce</a></nav>
</header>
<main>
{"".join(parts)}
{_reproduce(comparison)}
</main>
<dialog aria-label="Replay"><form method="dialog"><strong></strong><button>Close</button></form>
<iframe title="Replay"></iframe></dialog>
<script>
{_file("page.js")}
</script>
</body>
</html>
"""


def _environment(comparison: Comparison, environment: EnvironmentResult, place: int) -> str:
    games = [_games(agent.games_file, environment) for agent in environment.agents]
    head = escape(report.title(environment).partition(": ")[2])
    rules = ", ".join(f"{name} {value}" for name, value in environment.rules.items())
    notes = [*NOTES, *([WINNABLE_NOTE] if environment.winnable is not None else [])]
    return f"""<section>
<h2 id="{escape(environment.env_id)}">{escape(environment.env_id)}</h2>
<p>{head}.{_standing(environment)}</p>
{_table(environment)}
<details><summary>Columns and rules</summary>
<p class="quiet">{escape(" ".join(notes))}</p>
<p class="quiet">Rules: {escape(rules)}.</p>
</details>
<div class="figures">
{"".join(_figures(comparison, environment, games))}
</div>
{_samples(comparison, environment, games, f"replays-{place}")}
</section>
"""


def _standing(environment: EnvironmentResult) -> str:
    """Who won most, in a sentence."""
    best = max(environment.agents, key=lambda agent: agent.summary.wins)
    if not best.summary.wins:
        return " No agent won a game."
    text = f" {report.label(environment, best)} won most: {100 * best.summary.win_rate:.2f} %"
    if best.win_rate_of_winnable is not None:
        text += f", and {100 * best.win_rate_of_winnable:.1f} % of the {environment.winnable:,}"
        text += " deals that can be won at all"
    return escape(text + ".")


def _games(file: str, environment: EnvironmentResult) -> list[GameRecord]:
    found = load(Path(file), GameRecord)
    return [found[deal] for deal in deals.suite(environment.suite, environment.games)]


def _table(environment: EnvironmentResult) -> str:
    columns = report.columns(environment)
    heads = "".join(f"<th>{escape(head).replace(chr(10), '<br>')}</th>" for head, _ in columns)
    rows = "".join(
        f'<tr><th scope="row">{escape(report.label(environment, agent))}</th>'
        f"<td>{escape(agent.actions)}</td>"
        + "".join(f"<td>{escape(cell(agent))}</td>" for _, cell in columns)
        + "</tr>\n"
        for agent in environment.agents
    )
    return f"""<div class="scroll" tabindex="0" role="region" aria-label="Results"><table>
<thead><tr><th>agent</th><th>actions</th>{heads}</tr></thead>
<tbody>
{rows}</tbody></table></div>"""


def _figures(
    comparison: Comparison, environment: EnvironmentResult, games: Sequence[list[GameRecord]]
) -> Iterable[str]:
    players = [_player(environment, place, own) for place, own in enumerate(games)]
    confidence = f"{100 * comparison.config.confidence:g} %"
    yield _figure("Win rates", plots.win_rates(players), f"Bars: {confidence} Wilson intervals.")
    if len(players) > 1:
        yield _figure(
            f"Paired with {players[0].label}",
            plots.differences(players),
            f"On the same deals; bars: exact {confidence} intervals given the deals that only one"
            " of the two won.",
        )
    yield _figure(
        "Cards on the foundations",
        plots.foundation_cards(players),
        "Share of all games by cards up at the end, four to a bar.",
    )
    yield _figure(
        "Length of games",
        plots.lengths(players, environment.step_limit),
        "Games at the limit or given up are told as numbers; the last bar holds all longer ones."
        " Agents of the action set reach spend no action on going through the stock.",
    )
    known = _verdicts(environment)
    if known is not None:
        yield _figure(
            "Win rate against difficulty",
            plots.by_difficulty(players, known),
            "Winnable deals only; difficulty is what the library's solver, who knows all cards,"
            " had to search. Bars: 95 % Wilson intervals.",
        )


def _player(
    environment: EnvironmentResult, place: int, games: Sequence[GameRecord]
) -> plots.Player:
    agent = environment.agents[place]
    won, against = agent.summary, agent.pairing
    return plots.Player(
        report.label(environment, agent),
        place,
        games,
        (won.win_rate_low, won.win_rate, won.win_rate_high),
        None
        if against is None
        else (against.difference_low, against.difference, against.difference_high),
    )


def _figure(title: str, svg: str, caption: str) -> str:
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)
    return (
        f"<figure><h4>{escape(title)}</h4>\n{svg}<figcaption>{escape(caption)}</figcaption>"
        "</figure>\n"
    )


def _verdicts(environment: EnvironmentResult) -> verdicts.Verdicts | None:
    """Those on the deals played; None where there are not enough winnable ones."""
    rules = gym.make(environment.env_id).get_wrapper_attr("rules")
    try:
        known = verdicts.load(environment.suite, rules)
    except ValueError:
        return None
    if len(known.verdict) < environment.games:
        return None
    first = slice(0, environment.games)
    known = verdicts.Verdicts(known.verdict[first], known.digits[first])
    return known if (known.verdict == verdicts.WINNABLE).any() else None


def _samples(
    comparison: Comparison,
    environment: EnvironmentResult,
    games: Sequence[list[GameRecord]],
    page_id: str,
) -> str:
    from klondike_env.rendering.page import replay_page

    rules = gym.make(environment.env_id).get_wrapper_attr("rules")
    records: list[Record] = []
    rows = []
    for agent, own in zip(environment.agents, games, strict=True):
        chosen = samples.choose(own)
        job = Job(
            env_id=environment.env_id,
            agent=agent.agent,
            rules=rules,
            seed=comparison.config.seed,
            batch=comparison.config.batch,
            records=True,
        )
        played = samples.play_again(job, list(chosen.values()))
        for reason, record in zip(chosen, played, strict=True):
            records.append(record)
            name = f"{report.label(environment, agent)}, {record.title}"
            rows.append(
                f'<tr><th scope="row">{escape(report.label(environment, agent))}</th>'
                f'<td class="words"><button data-page="{page_id}" data-game="{len(records)}"'
                f' aria-label="Replay {escape(name)}">Replay</button></td>'
                f'<td class="words">{reason}</td><td class="words">{record.outcome}</td>'
                f"<td>{record.foundation_cards}</td><td>{len(record.moves):,}</td>"
                f"<td>{record.start['deal']}</td></tr>\n"
            )
    page = replay_page(
        [replay(record) for record in records], title=f"Sample games on {environment.env_id}"
    )
    packed = base64.b64encode(gzip.compress(page.encode(), mtime=0)).decode()
    return f"""<h3>Sample games</h3>
<p class="quiet">As the player saw them, hidden cards hidden.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Sample games"><table>
<thead><tr><th>agent</th><th class="words">game</th><th class="words">why</th>
<th class="words">outcome</th><th>cards</th><th>moves</th><th>deal</th></tr></thead>
<tbody>
{"".join(rows)}</tbody></table></div>
<script type="application/octet-stream" id="{page_id}">{packed}</script>
"""


def _reproduce(comparison: Comparison) -> str:
    settings = dataclasses.asdict(comparison.config)
    versions = json.dumps(comparison.versions, indent=2)
    return f"""<section>
<h2 id="reproduce">Reproduce</h2>
<p>From a checkout of the same version; games that are kept already are not played again.</p>
<pre tabindex="0">{escape(command(comparison))}</pre>
<h3>Configuration</h3>
<p class="quiet">As a file for <code>--config</code>, all options named.</p>
<pre tabindex="0">{escape(yaml.safe_dump(settings, sort_keys=False))}</pre>
<h3>Versions</h3>
<pre tabindex="0">{escape(versions)}</pre>
</section>"""


def command(comparison: Comparison) -> str:
    """The command that makes these results: every option that changes them, and the page."""
    asked: Any = comparison.config
    words = ["python", "-m", "benchmarks", "compare"]
    for name in ("env", "agents", "games", "suite", "seed", "confidence", "workers", "html"):
        value = getattr(asked, name)
        if value is not None:
            words.append(f"--{name}")
            words += map(str, value) if isinstance(value, list) else [str(value)]
    return shlex.join(words)


def _file(name: str) -> str:
    return resources.files("benchmarks").joinpath(name).read_text(encoding="utf-8").strip()
