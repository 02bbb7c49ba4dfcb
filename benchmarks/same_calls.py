"""The calls of same_calls.txt, and how a checkout spells them."""

import re
import shlex
from pathlib import Path

CALLS = Path(__file__).with_suffix(".txt")
HEAD = re.compile(r"(?m)^\[(.+)\]\n")


def sections() -> dict[str, str]:
    """Return the text of every section by its name, with continued lines joined."""
    _, *parts = HEAD.split(CALLS.read_text(encoding="utf-8").replace(" \\\n   ", ""))
    return {name: re.sub(r"\n(#.*\n)*\s*\Z", "\n", text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def spellings() -> dict[str, list[str]]:
    """Return how a verb, or a flag of a verb, is written in different versions, oldest first."""
    rows = [line.split(" | ") for line in sections()["spellings"].splitlines()]
    return {row[0]: [_without_verb(row[0]), *row[1:]] for row in rows}


def _without_verb(name: str) -> str:
    return name.partition(" ")[2] or name


class Surface:
    """The verbs of a checkout with their flags, and which of them were called."""

    def __init__(self, checkout: Path) -> None:
        lines = (checkout / "tests" / "golden" / "cli_surface.txt").read_text(encoding="utf-8").splitlines()
        self.lines: dict[str, str] = {}  # by every name of a flag, such as "score -o", and of a verb
        for line in lines:
            verb, _, option = line.partition(" ")
            self.lines[verb] = verb
            self.lines.update({f"{verb} {name}": line for name in option.split("/") if name.startswith("-")})
        self.spellings = spellings()
        self.called: set[str] = set()

    @property
    def verbs(self) -> set[str]:
        """The verbs of the checkout."""
        return {line for line in self.lines.values() if " " not in line}

    def spell(self, call: str) -> list[str] | None:
        """Return the words of a call in the spelling of the checkout, or None if it has none."""
        today, *words = shlex.split(call)
        known = [spelling for spelling in self.spellings[today] if spelling.split()[0] in self.lines]
        if not known:
            return None
        spelled = shlex.split(known[-1])
        verb = spelled[0]
        for word in words:
            if spelled[-1].endswith("="):
                spelled[-1] += word
            elif word.startswith("--"):
                spelled += self._flag(today, verb, word)
            else:
                spelled.append(word)
        names = [verb, *(f"{verb} {word}" for word in spelled if word.startswith("--"))]
        if not all(name in self.lines for name in names):
            return None
        self.called |= {self.lines[name] for name in names}
        return spelled

    def _flag(self, today: str, verb: str, flag: str) -> list[str]:
        choices = self.spellings.get(f"{today} {flag}", [flag])
        known = [choice for choice in choices if f"{verb} {choice.split()[0]}" in self.lines]
        return (known or choices)[-1].split()

    def share(self) -> str:
        """Say how much of the command line was called, and what was not."""
        flags = set(self.lines.values()) - self.verbs
        verb_count = f"{len(self.verbs & self.called)} of {len(self.verbs)} verbs"
        flag_count = f"{len(flags & self.called)} of {len(flags)} flags"
        missed = sorted((self.verbs | flags) - self.called)
        return f"{verb_count} and {flag_count} are called; not: {', '.join(missed)}"
