"""The pieces that a translation into one of several languages cannot contain, because they are of another script."""

from collections.abc import Sequence

from clearhead.decoding.search.constraints import Constraints
from clearhead.text.statistics import TextStatistics
from clearhead.text.tokeniser import Vocabularies


class HiddenPieces:
    """Hides pieces by the language tag of a source; nothing if the scripts of its language are not known."""

    def __init__(self, vocabularies: Vocabularies, statistics: TextStatistics) -> None:
        self._target = vocabularies.target
        scripts = statistics.scripts or {}
        self._scripts = {tag: tuple(scripts[name]) for name, tag in vocabularies.source.tags.items() if name in scripts}
        self._cache: dict[tuple[int, Constraints], Constraints] = {}

    def hide(self, ids: Sequence[int], constraints: Constraints) -> Constraints:
        """Return the constraints on the translation of source ids, with the pieces that its language hides."""
        if not ids or ids[0] not in self._scripts:
            return constraints
        key = ids[0], constraints
        if key not in self._cache:  # equal ones share one object, so that they share a batch
            self._cache[key] = constraints.hiding(self._target.pieces_outside(self._scripts[ids[0]]))
        return self._cache[key]
