"""What an attack came to, and how often: the table of the reliability figures."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

# read       a mutated input that is still valid
# identical  the same result as without the fault, without a word
# note       the same result, with a note: an earlier checkpoint was used, or something was built again
# refused    a sentence and exit code 2
# edited     another result, because a file that people edit was changed
# unverified another result, with a note that the folder has no checksums
# wrong      another result without a word, or work that cannot be continued after a fault
# crash      a traceback, a bug (exit code 3), a signal, or a process that hangs
Verdict = Literal["read", "identical", "note", "refused", "edited", "unverified", "wrong", "crash"]
VERDICTS: tuple[Verdict, ...] = ("read", "identical", "note", "refused", "edited", "unverified", "wrong", "crash")
WRONG: tuple[Verdict, ...] = ("wrong", "crash")


@dataclass(frozen=True)
class Case:
    """One case of an attack: on what, the exact fault (so that it can be repeated), and what happened."""

    attack: str
    fault: str
    verdict: Verdict
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.verdict}: {self.attack}: {self.fault}: {self.detail.strip()[-600:]}"


def table(cases: Iterable[Case]) -> str:
    """Return a Markdown table of counts with a row for each attack."""
    rows: dict[str, Counter[str]] = {}
    for case in cases:
        rows.setdefault(case.attack, Counter())[case.verdict] += 1
    lines = ["| attack | cases | " + " | ".join(VERDICTS) + " |", "|---|" + "---:|" * (len(VERDICTS) + 1)]
    for attack, counts in rows.items():
        numbers = [counts.total(), *(counts[verdict] for verdict in VERDICTS)]
        lines.append(f"| {attack} | " + " | ".join(str(number) for number in numbers) + " |")
    return "\n".join(lines)
