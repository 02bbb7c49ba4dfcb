"""Link the parts of a sheet: replace every reference to an earlier part by its value, or say what is wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

from clearhead.errors import Mistake, ProblemError
from clearhead.worksheet.part_line import LinkedArray, PartLine, references_in, with_values
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import size


class PartLinker:
    """Solve the parts one by one, so that later ones can use their lines; a sheet without references is not solved."""

    def __init__(self, parts: Sequence[Any], sheet: Problem) -> None:
        self._texts = [dict(references_in(part)) if isinstance(part, Mapping) else {} for part in parts]
        self._pen = Pen(sheet.layout, sheet.rounding)
        self._is_turned = sheet.layout == "columns"
        self._unsolved: set[int] = set()
        self._links: dict[int, dict[str, LinkedArray]] = {}

    def is_blocked(self, number: int) -> bool:
        """Return whether a part uses one that has mistakes of its own, so that it cannot be checked yet."""
        return any(target in self._unsolved for target in self._targets(number))

    def linked(self, number: int, part: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a part with values for its references; raise ProblemError with all that cannot be used."""
        mistakes, values = [], {}
        for key, text in self._texts[number].items():
            try:
                values[key] = self._value(number, PartLine.read(text))
            except ValueError as wrong:
                mistakes.append(Mistake((key,), f"{key}: {wrong}."))
        if mistakes:
            raise ProblemError(mistakes)
        self._links[number] = values
        return with_values(part, values) if values else part

    def solve(self, number: int, problem: Problem) -> None:
        """Work a part if a later one needs it."""
        if any(number in self._targets(later) for later in range(number + 1, len(self._texts))):
            problem.work(self._pen.at("part", number))

    def leave_out(self, number: int) -> None:
        """Mark a part that has mistakes."""
        self._unsolved.add(number)

    def explained(self, number: int, mistakes: Sequence[Mistake]) -> list[Mistake]:
        """Add to every mistake where its matrix comes from, as the file does not show its shape."""
        explained = []
        for mistake in mistakes:
            origins = [
                f" {key} is {link.line}, which is {size(link)}."
                for key, link in self._links.get(number, {}).items()
                if key.rpartition(".")[2] in mistake.paths and str(link.line) not in mistake.sentence
            ]
            explained.append(Mistake(mistake.paths, mistake.sentence + "".join(origins)))
        return explained

    def _value(self, number: int, line: PartLine) -> LinkedArray:
        target, count = line.part, len(self._texts)
        if target == number:
            raise ValueError(f"{line} is a line of this part itself. Refer to an earlier part")
        if target >= count:
            last = "there is only part.0" if count == 1 else f"the parts are part.0 to part.{count - 1}"
            raise ValueError(f"there is no part.{target}; {last} (part.0 is the first)")
        if target > number:
            if self._uses(target, number):
                raise ValueError(
                    f"part.{number} and part.{target} use each other, so neither can be solved first. "
                    "Remove one of the references"
                )
            raise ValueError(f"part.{target} comes after this part, part.{number}. Move it before this one")
        return LinkedArray.of(line, self._pen.trace, is_turned=self._is_turned)

    def _uses(self, number: int, wanted: int) -> bool:
        """Return whether a part uses another one, directly or through further parts."""
        todo, visited = [number], set[int]()
        while todo:
            part = todo.pop()
            if part == wanted:
                return True
            if part not in visited:
                visited.add(part)
                todo += self._targets(part)
        return False

    def _targets(self, number: int) -> list[int]:
        """Return the parts that a part refers to."""
        targets = []
        for text in self._texts[number].values():
            try:
                target = PartLine.read(text).part
            except ValueError:
                continue
            targets += [target] if target < len(self._texts) else []
        return targets
