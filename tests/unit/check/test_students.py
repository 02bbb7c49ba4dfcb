"""A small, fixed sample of the simulated students of benchmarks/check_students.py: the marker must be fair to them."""

import random
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


def test_an_unwritten_small_number_keeps_two_significant_figures():
    from student_rounding import Precision

    inner = Precision(2, None, least=2)
    kept = inner.kept_all(np.array([2.71828, 0.0067379, 0.04979, -0.5, 0.0, 1.0, -np.inf]))
    assert kept == pytest.approx([2.72, 0.0067, 0.05, -0.5, 0.0, 1.0, -np.inf], abs=1e-12)
    assert [float(inner.kept(value)) for value in (2.71828, 0.0067379)] == [2.72, 0.0067]
    assert Precision(2, None, "cut", least=2).kept_all(0.9999) == pytest.approx(0.99)


def test_the_exponentials_of_a_softmax_can_be_kept_to_two_decimals():
    from clearhead.worksheet.solver import solve
    from student_rounding import CALCULATOR, Inner, Precision, compute

    sheet = solve({"kind": "self-attention", "Q": [[1]], "K": [[1], [0]], "V": [[1], [2]], "scale": "none"})
    record = next(record for record in sheet.trace if record.step.name == "softmax")
    scores = {"scores": np.array([[1.0, 0.0]])}
    two = Precision(2, None, least=2)
    greatest_first = compute(record, scores, CALCULATOR, Inner(two, subtracts=True))
    assert greatest_first == pytest.approx(np.array([[1 / 1.37, 0.37 / 1.37]]))
    as_they_are = compute(record, scores, CALCULATOR, Inner(two, subtracts=False))
    assert as_they_are == pytest.approx(np.array([[2.72 / 3.72, 1 / 3.72]]))
    only_sum = compute(record, scores, CALCULATOR, Inner(two, subtracts=False, only_sum=True))
    assert only_sum == pytest.approx(np.array([[np.e / 3.72, 1 / 3.72]]))


def test_every_habit_of_the_faultless_students_occurs():
    from student_problems import random_exercise
    from student_rounding import DIVISORS
    from students import MeaninglessError, random_habit, random_style, unwritten_precision, work

    habits = set()
    for seed in range(400):
        style = random_style(seed)
        try:
            desk = work(random_exercise(seed), style, seed)
        except MeaninglessError:
            continue
        for index, line in enumerate(desk.lines):
            draw = random.Random(f"{seed} habits {index}")
            finest = unwritten_precision(desk, line.record)
            habit = random_habit(draw, style, line.record, line.precision, finest)
            name, inner = line.record.step.name, habit.inner.precision
            habits.add(habit.carries)
            if name == "normalise" and line.precision.decimals == 3 and inner and inner.decimals == 2:
                habits.add("σ to two decimals, norm to three")
            if name == "scale" and habit.inner.root and habit.inner.root.decimals == 1:
                habits.add("√d to one decimal")
                assert line.precision.decimals in (0, 1), f"seed {seed}: √d is coarser than its line"
            if inner:
                assert inner.decimals >= 2, f"seed {seed}: an inner quantity with fewer than two decimals"
            if habit.unwritten == finest.finer:
                habits.add("unwritten with one digit more")
            if habit.unwritten is not None and name in DIVISORS:
                assert habit.unwritten.least >= 2 or habit.unwritten.figures
    assert habits == {
        "rounded",
        "full",
        "guard",
        "σ to two decimals, norm to three",
        "√d to one decimal",
        "unwritten with one digit more",
    }


def test_scores_that_are_exact_with_one_decimal_are_often_written_short():
    from student_problems import random_exercise
    from students import MeaninglessError, faultless

    num_short, num_scores = 0, 0
    for seed in range(300):
        try:
            desk = faultless(random_exercise(seed, ("self-attention", "seq2seq-attention")), seed)
        except MeaninglessError:
            continue
        for line in desk.lines:
            if line.record.step.name == "score" and line.is_written:
                num_scores += 1
                texts = [text for text in line.texts.flat if text]
                is_exact = np.allclose(line.values[line.texts != ""], line.record.value[line.texts != ""], atol=1e-9)
                num_short += is_exact and max(len(text.partition(".")[2]) for text in texts) == 1
    assert num_short >= 0.05 * num_scores, f"{num_short} of {num_scores} lines of scores"


@pytest.mark.slow
def test_faultless_numbers_lie_within_reach_and_exact_lines_leave_little_room():
    from student_image import image
    from student_probes import outside, places_of
    from student_problems import random_exercise
    from students import MeaninglessError, faultless

    num_cells, num_outside = 0, 0
    for seed in range(80):
        try:
            desk = faultless(random_exercise(seed), seed)
        except MeaninglessError:
            continue
        for index in range(0, len(desk.lines), 4):
            num_cells += len(places_of(desk.lines[index]))
            num_outside += len(outside(desk, index))
            if desk.lines[index].record.step.name == "score" and index == 0:
                _, (low, high) = image(desk, index)
                assert np.all(low == high), f"seed {seed}: scores of given numbers have one right value"
    assert num_cells > 800, "too few cells were compared"
    assert num_outside <= 0.002 * num_cells, f"{num_outside} of {num_cells} faultless cells lie outside the reach"


@pytest.mark.parametrize("mode", ["slips", "exact", "random", "answers", "nonsense", "conventions", "sums"])
def test_every_mode_of_probes_gives_results_without_a_crash(mode):
    from student_probes import probe

    probes = [result for seed in range(12) for result in probe(seed, mode)]
    assert probes, "no probe was made"
    crashes = [result for result in probes if result.result.startswith("crash")]
    assert not crashes, crashes[:2]


def test_no_faultless_student_is_blamed():
    from check_students import run_faultless

    done = [outcome for seed in range(FAULTLESS) if (outcome := run_faultless(seed)) is not None]
    assert sum(outcome.lines for outcome in done) > 1000, "too few lines were handed in"
    blamed = [f"seed {o.seed}: {o.crash or o.alarms[:2]}" for o in done if o.crash or o.alarms]
    assert not blamed, "\n".join(blamed)


@pytest.mark.slow
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
