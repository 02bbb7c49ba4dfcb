"""A small, fixed sample of the simulated students of benchmarks/check_students.py: the marker must be fair to them."""

from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = str(Path(__file__).resolve().parents[3] / "benchmarks")
FAULTLESS, FAULTY = 150, 200


@pytest.fixture(autouse=True)
def _benchmarks_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)


def test_a_faultless_student_with_all_digits_writes_the_exact_working():
    from student_problems import random_exercise
    from students import PLAIN, MeaninglessError, work

    compared = 0
    for seed in range(60):
        try:
            desk = work(random_exercise(seed), PLAIN, seed)
        except MeaninglessError:
            continue
        for line in desk.lines:
            exact = np.asarray(line.record.value, dtype=np.float64)
            assert np.all(line.texts != ""), f"seed {seed}: {line.record.symbol} is not all written"
            near = np.isclose(line.values, exact, rtol=1e-9, atol=1e-9)
            assert np.all(near), f"seed {seed}: {line.record.symbol} is not the exact line"
            compared += exact.size
    assert compared > 3000, "too few numbers were compared"


def test_every_kind_of_problem_is_drawn():
    from clearhead.worksheet.kinds import KINDS
    from student_problems import random_exercise

    drawn = {random_exercise(seed).data["kind"] for seed in range(300)}
    assert drawn == set(KINDS), "some kinds are never drawn"


def test_the_text_of_a_number_reads_back_as_the_number():
    from student_problems import random_exercise
    from students import MeaninglessError, faultless, read_text

    num_read = 0
    for seed in range(60):
        try:
            desk = faultless(random_exercise(seed), seed)
        except MeaninglessError:
            continue
        for line in desk.lines:
            for place in np.ndindex(line.texts.shape):
                if line.texts[place]:
                    assert read_text(line.texts[place]) == pytest.approx(line.values[place], rel=1e-12)
                    num_read += 1
    assert num_read > 2000, "too few cells were read"


def test_every_misconception_is_injected_and_changes_its_line():
    from student_beliefs import NAMES, beliefs
    from student_problems import random_exercise
    from students import PLAIN, MeaninglessError, work

    names = set()
    for seed in range(600):
        try:
            names |= {belief.name for belief in beliefs(work(random_exercise(seed), PLAIN, seed))}
        except MeaninglessError:
            continue
        if names == set(NAMES):
            break
    assert names == set(NAMES), f"never applicable: {set(NAMES) - names}"


def test_no_faultless_student_is_blamed():
    from check_students import run_faultless

    done = [outcome for seed in range(FAULTLESS) if (outcome := run_faultless(seed)) is not None]
    assert sum(outcome.lines for outcome in done) > 1000, "too few lines were handed in"
    blamed = [f"seed {o.seed}: {o.crash or o.alarms[:2]}" for o in done if o.crash or o.alarms]
    assert not blamed, "\n".join(blamed)


def test_single_faults_are_found_and_named_and_no_innocent_cell_is_blamed():
    from check_students import run_faulty

    done = [outcome for seed in range(FAULTY) if (outcome := run_faulty(seed)) is not None]
    crashes = [f"seed {o.seed}: {o.crash}" for o in done if o.crash]
    assert not crashes, "\n".join(crashes)
    large = [outcome for outcome in done if outcome.faults[0]["large"]]
    assert len(large) > FAULTY / 2, "too few large faults were injected"
    missed = [outcome.seed for outcome in large if not outcome.faults[0]["found"]]
    assert len(missed) <= 0.02 * len(large), f"roots not found: seeds {missed}"
    unfair = [outcome.seed for outcome in large if outcome.alarms]
    assert len(unfair) <= 0.01 * len(large), f"innocents blamed: seeds {unfair}"
    beliefs = [outcome for outcome in large if outcome.faults[0]["misconception"]]
    unnamed = [outcome.seed for outcome in beliefs if not outcome.faults[0]["named"]]
    assert len(unnamed) <= 0.08 * len(beliefs), f"misconceptions not named: seeds {unnamed}"
