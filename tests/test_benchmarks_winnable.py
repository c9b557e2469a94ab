"""`python -m benchmarks winnable` and `solvers`: estimates, going on, files, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks import solvers, winnable
from benchmarks.__main__ import main
from benchmarks.winnable import DealVerdict, estimate
from klondike_env import deals, verdicts


def records(winnable_: int, unwinnable: int, unknown: int) -> list[DealVerdict]:
    said = ["winnable"] * winnable_ + ["unwinnable"] * unwinnable + ["unknown"] * unknown
    return [DealVerdict(number, verdict, 10, 0.5) for number, verdict in enumerate(said)]


def test_the_interval_is_exact() -> None:
    found = estimate(records(80, 20, 0))
    # Clopper-Pearson by its definition: the tails of the binomial distribution.
    assert stats.binom.sf(79, 100, found.interval_low) == pytest.approx(0.025)
    assert stats.binom.cdf(80, 100, found.interval_high) == pytest.approx(0.025)
    assert found.rate_low == found.rate_high == 0.8


def test_undecided_deals_widen_the_interval_both_ways() -> None:
    found = estimate(records(80, 10, 10))
    assert (found.rate_low, found.rate_high) == (0.8, 0.9)
    assert found.interval_low == estimate(records(80, 20, 0)).interval_low
    assert found.interval_high == estimate(records(90, 10, 0)).interval_high


def test_a_run_goes_on_and_writes_what_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["winnable", "--env", "Klondike-Draw1-v0", "--suite", "validation"]
    arguments += ["--output", str(tmp_path), "--workers", "2"]
    assert main([*arguments, "--deals", "20"]) == 0
    assert "20 deals searched" in capsys.readouterr().err
    files = {
        "json": tmp_path / "found.json",
        "picture": tmp_path / "found.png",
        "verdicts": tmp_path / "found.npz",
    }
    options = [f"--{name}={path}" for name, path in files.items()]
    assert main([*arguments, "--deals", "30", *options]) == 0
    captured = capsys.readouterr()
    assert "10 deals searched" in captured.err
    assert "30 deals of suite validation" in captured.out
    found = json.loads(files["json"].read_text(encoding="utf-8"))
    assert found["result"]["deals"] == 30
    assert found["result"]["undecided"] == 0
    assert found["rules"]["draw_count"] == 1
    assert files["picture"].read_bytes().startswith(b"\x89PNG")
    with np.load(files["verdicts"]) as archive:
        known = archive["validation"] & 3
    assert (known == verdicts.WINNABLE).sum() == found["result"]["winnable"]


def test_another_limit_uses_what_was_found(tmp_path: Path) -> None:
    limits = (1e-9, 20.0, 1e-9)
    found = [
        winnable.run(
            winnable.WinnableConfig(
                deals=3, suite="validation", output=str(tmp_path), max_seconds=seconds
            )
        )
        for seconds in limits
    ]
    assert [record.verdict for record in found[0]] == ["unknown"] * 3
    assert "unknown" not in {record.verdict for record in found[1]}
    assert [record.verdict for record in found[2]] == ["unknown"] * 3


def test_taking_back_can_be_ruled_out(tmp_path: Path) -> None:
    asked = winnable.WinnableConfig(
        foundation_to_tableau=False, deals=5, output=str(tmp_path), suite="validation"
    )
    assert not asked.rules.foundation_to_tableau
    assert len(winnable.run(asked)) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--env", "Chess-v0"], "unknown environment 'Chess-v0'"),
        (["--suite", "train"], "unknown suite 'train'"),
        (["--deals", "0"], "deals must be from 1"),
        (["--max_seconds", "0"], "max_seconds must be above 0"),
        (["--workers", "-1"], "workers must be 0 or more"),
        (["--confidence", "1"], "confidence must lie between 0 and 1"),
    ],
)
def test_mistakes_get_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["winnable", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_the_speed_table_counts_what_it_decided() -> None:
    rows = solvers.measure("Klondike-Draw1-v0", 5)
    assert rows[0].solver == "klondike_env"
    assert rows[0].decided == 5
    assert rows[0].rate == pytest.approx(5 / rows[0].seconds)
    assert len(rows[0].verdicts) == len(deals.suite("validation", 5))
