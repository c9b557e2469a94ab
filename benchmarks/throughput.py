"""``python -m benchmarks throughput``: steps per second, beside other simulators in the same run.

Measured in rounds: each round gives every contender one turn, so that a busy spell of the machine
does not fall on one alone. Medians over the rounds are shown; building and compiling are outside.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import config
from benchmarks.contenders import OPEN_SPIEL, Contender, MissingError, Play, all_contenders
from benchmarks.errors import UserError
from benchmarks.provenance import all_versions

MEMORY_ENVS = 16384
MEMORY_ENV_ID = "Klondike-Draw1-v0"


@dataclass(frozen=True, kw_only=True)
class ThroughputConfig:
    """Measure steps per second of random legal play, with observation and mask on every step."""

    seconds: float = config.option(1.0, "length of one turn of one contender")
    repeats: int = config.option(5, "rounds; the median is shown")
    only: str = config.option("", "measure only contenders whose name contains this text")
    json: str | None = config.option(None, "write every measurement to this file")

    def __post_init__(self) -> None:
        """Refuse what can't be measured."""
        if not (self.seconds or 0) > 0:
            raise UserError(f"seconds must be positive, not {self.seconds}")
        if not (self.repeats or 0) >= 1:
            raise UserError(f"repeats must be 1 or more, not {self.repeats}")


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One turn of one contender: steps made, wall seconds and CPU seconds of all threads."""

    steps: int
    wall_seconds: float
    cpu_seconds: float


@dataclass(frozen=True, kw_only=True)
class Row:
    """One contender's turns, with medians over them; ratios are to OpenSpiel in the same round."""

    name: str
    peer: bool
    turns: list[Turn]
    steps_per_second: float
    steps_per_cpu_second: float
    times_open_spiel: float | None


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    asked = config.parse(ThroughputConfig, argv, prog="python -m benchmarks throughput")
    contenders = [c for c in all_contenders() if asked.only.lower() in c.name.lower()]
    if not contenders:
        names = "; ".join(contender.name for contender in all_contenders())
        raise UserError(f"only: no contender's name contains {asked.only!r}; names: {names}")
    if asked.json is not None:
        config.prepare_file("json", Path(asked.json))
    console = Console()
    rows, skipped = measure_all(contenders, asked.seconds, asked.repeats)
    memory = measure_memory(MEMORY_ENVS)
    memory_of_one = measure_memory(1)
    console.print(_table(rows, asked))
    for line in skipped:
        console.print(line, highlight=False)
    if memory is not None and memory_of_one is not None:
        console.print(
            f"memory: {memory / 2**20:,.0f} MiB beyond the bare interpreter for {MEMORY_ENVS:,} "
            f"environments of {MEMORY_ENV_ID}; {memory_of_one / 2**20:,.0f} MiB for one, nearly "
            "all of it the libraries",
            highlight=False,
        )
    if asked.json is not None:
        result = {
            "config": dataclasses.asdict(asked),
            "versions": all_versions(),
            "rows": [dataclasses.asdict(row) for row in rows],
            "skipped": skipped,
            "memory": {
                "env_id": MEMORY_ENV_ID,
                "envs": MEMORY_ENVS,
                "bytes": memory,
                "bytes_of_one_env": memory_of_one,
            },
        }
        Path(asked.json).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        console.print(f"json: {asked.json}", highlight=False)


def measure_all(
    contenders: Sequence[Contender], seconds: float, repeats: int
) -> tuple[list[Row], list[str]]:
    """Measure the contenders in interleaved rounds; also returns one line for each one skipped."""
    plays: list[tuple[Contender, Play]] = []
    skipped: dict[str, None] = {}  # in order, each line once
    for contender in contenders:
        try:
            play = contender.build()
        except MissingError as missing:
            skipped[str(missing)] = None
            continue
        _take_turn(play, min(seconds, 0.2))  # compiles and fills caches
        plays.append((contender, play))
    turns: list[list[Turn]] = [[] for _ in plays]
    for _ in range(repeats):
        for place, (_, play) in enumerate(plays):
            turns[place].append(_take_turn(play, seconds))
    yardstick = next(
        (
            own
            for (contender, _), own in zip(plays, turns, strict=True)
            if contender.name == OPEN_SPIEL
        ),
        None,
    )
    rows = [
        _row(contender, own, yardstick) for (contender, _), own in zip(plays, turns, strict=True)
    ]
    return rows, list(skipped)


def _take_turn(play: Play, seconds: float) -> Turn:
    steps = 0
    cpu = time.process_time()
    start = time.perf_counter()
    wall = 0.0
    while wall < seconds:
        steps += play()
        wall = time.perf_counter() - start
    return Turn(steps=steps, wall_seconds=wall, cpu_seconds=time.process_time() - cpu)


def _row(contender: Contender, turns: list[Turn], yardstick: list[Turn] | None) -> Row:
    per_cpu = [turn.steps / turn.cpu_seconds for turn in turns]
    ratios = None
    if yardstick is not None:
        ratios = [
            own * other.cpu_seconds / other.steps
            for own, other in zip(per_cpu, yardstick, strict=True)
        ]
    return Row(
        name=contender.name,
        peer=contender.peer,
        turns=turns,
        steps_per_second=statistics.median(turn.steps / turn.wall_seconds for turn in turns),
        steps_per_cpu_second=statistics.median(per_cpu),
        times_open_spiel=None if ratios is None else statistics.median(ratios),
    )


def _table(rows: Sequence[Row], asked: ThroughputConfig) -> Table:
    table = Table(
        title=f"steps per second, median of {asked.repeats} turns of {asked.seconds:g} s",
        title_justify="left",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    table.add_column("simulator", vertical="bottom")
    for heading in ("wall\nsteps/s", "CPU\nsteps/s", "times\nOpenSpiel"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        times = "-" if row.times_open_spiel is None else f"{row.times_open_spiel:.2f}"
        table.add_row(
            row.name, f"{row.steps_per_second:,.0f}", f"{row.steps_per_cpu_second:,.0f}", times
        )
    return table


# Runs in a process of its own; prints the growth of its resident memory since the bare start.
_MEMORY_PROGRAM = """
import sys
def resident():
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024
before = resident()
import gymnasium, numpy
import klondike_env
envs = gymnasium.make_vec(
    sys.argv[1], num_envs=int(sys.argv[2]), vectorization_mode="vector_entry_point"
)
rng = numpy.random.default_rng(0)
_, infos = envs.reset(seed=0)
for _ in range(10):
    infos = envs.step(klondike_env.sample_actions(infos["action_mask"], rng))[-1]
print(resident() - before)
"""


def measure_memory(num_envs: int) -> int | None:
    """Bytes of resident memory that a vector environment takes, its libraries included.

    None where the system has no /proc to read it from.
    """
    if not Path("/proc/self/status").exists():
        return None
    done: Any = subprocess.run(
        [sys.executable, "-c", _MEMORY_PROGRAM, MEMORY_ENV_ID, str(num_envs)],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout)
