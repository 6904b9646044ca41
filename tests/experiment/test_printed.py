"""The numbers that the founding documents print: each one has a verdict, and wrong verdicts are found."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from draisine.cli.check import check
from draisine.experiment.printed import (
    AGREES,
    DISPUTED,
    ROUNDING,
    UNEXPLAINED,
    UNFOUNDED,
    PrintedNumber,
    judge_number,
    judge_numbers,
    printed_numbers,
)

NUMBERS = [n for n in printed_numbers() if n.analysis != "processor_time"]
"""All printed numbers except the time of a computation, which depends on the machine."""


def find_number(document: str, quantity: str, place: str = "") -> PrintedNumber:
    """Return the printed number of a document whose quantity begins with the given words."""
    return next(
        n
        for n in NUMBERS
        if n.document == document and n.quantity.startswith(quantity) and n.place.startswith(place)
    )


def test_every_printed_number_has_a_verdict() -> None:
    """A deviation without a reason, or a reason without a deviation, is an error."""
    judgements = [judge_number(n) for n in NUMBERS]
    wrong = [j for j in judgements if j.verdict not in (AGREES, ROUNDING, DISPUTED)]
    assert not wrong
    assert all(bool(j.reason) == (j.verdict == DISPUTED) for j in judgements)


def test_numbers_refuted_by_the_theory_page_are_disputed() -> None:
    """The list names the errors of the documents instead of allowing wide tolerances."""
    expected = [
        ("mauny2017", "final forward speed"),
        ("mauny2017", "curvature of the turn"),
        ("mauny2017", "peak migration"),
        ("mauny2018", "time of the stop"),
        ("mauny2018", "drift of the front contact, step 10 ms"),
        ("mauny2018", "time of 1 mm at the printed 0.00015257"),
        ("mauny2018", "torque that suffices"),
        ("mauny2018", "phase of the straight gait"),
        ("mauny2018", "normal impulse of the rear wheel, t3"),
        ("mauny2018", 'torque of the wheelie ("near")'),
        ("escalona2012", "end of the stable range"),
    ]
    for document, quantity in expected:
        assert judge_number(find_number(document, quantity)).verdict == DISPUTED


def test_the_drift_is_computed_with_the_method_of_the_text() -> None:
    """Table 2.2 is computed with predictor and corrector; the reason states the predictor alone."""
    number = find_number("mauny2018", "drift of the front contact, step 1 ms")
    assert number.at["integrator"] == "abm4"
    judgement = judge_number(number)
    # The predictor alone, an independent computation in quadruple precision: 4.1056e-6 um/s. The drift
    # depends slightly on the choice of the integrated pose and speeds.
    predictor = float(judgement.reason.rpartition("AB4: ")[2].split()[0])
    assert predictor == pytest.approx(4.105620211207819e-6, rel=0.1)
    assert abs(float(judgement.computed)) < 0.2 * float(number.printed)


@pytest.mark.parametrize(
    ("printed", "verdict"),
    [
        ("4.622", AGREES),
        ("4.62", AGREES),
        ("4.623", ROUNDING),
        ("4.624", UNEXPLAINED),
        ("> 4.6", AGREES),
        ("< 4.6", UNEXPLAINED),
        ("4 to 5", AGREES),
        ("5 to 6", UNEXPLAINED),
    ],
)
def test_verdicts_follow_the_printed_digits(printed: str, verdict: str) -> None:
    """The speed of 4.622437 m/s, an independent result in quadruple precision, against variants."""
    number = find_number("mauny2018", "final forward speed")
    assert judge_number(replace(number, printed=printed)).verdict == verdict


def test_a_dispute_about_a_number_that_agrees_is_unfounded() -> None:
    """A reason does not hide that the computed number equals the printed one."""
    number = find_number("mauny2018", "final forward speed")
    assert judge_number(replace(number, reason="no reason")).verdict == UNFOUNDED


def test_the_exit_code_reports_errors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command returns 1 if a number has no verdict, and lists all of them as JSON."""
    assert check("schwab2003", printed=True, json=True) == 0
    rows = json.loads(capsys.readouterr().out)["schwab2003"]
    assert Counter(row["verdict"] for row in rows) == {AGREES: len(rows)}
    wrong = replace(find_number("schwab2003", "degrees of freedom"), printed="5")
    monkeypatch.setattr("draisine.experiment.printed.printed_numbers", lambda: iter([wrong]))
    assert check("schwab2003", printed=True) == 1
    assert judge_numbers(document="mauny2018") == []
    assert "1 unexplained" in capsys.readouterr().out
