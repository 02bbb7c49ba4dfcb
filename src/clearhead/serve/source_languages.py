"""The source language of each text of a request; a text that is in the target language already comes back unchanged."""

from collections.abc import Sequence
from dataclasses import dataclass

from clearhead.serve.detection import DetectedLanguage
from clearhead.serve.server import Server

_SURE = 80.0  # confidence with which a text of a list may have another language than the whole list


@dataclass(frozen=True)
class SourceLanguages:
    """The language of all texts together, and of each text."""

    common: DetectedLanguage
    languages: tuple[DetectedLanguage, ...]

    @property
    def groups(self) -> dict[str, list[int]]:
        """The places of the texts of each language."""
        groups: dict[str, list[int]] = {}
        for place, detected in enumerate(self.languages):
            groups.setdefault(detected.language, []).append(place)
        return groups


async def detect_sources(server: Server, texts: Sequence[str], target: str | None) -> SourceLanguages:
    """Detect the language of texts.

    A short text is hard to recognise, so a text of a list has its own language only if it is clear, and if it is the
    target language or is translated into it. Otherwise it has that of the whole list.
    """
    common = await server.detect(list(texts))
    if len(texts) == 1:
        return SourceLanguages(common, (common,))
    languages = []
    for text in texts:
        own = await server.detect([text]) if text.strip() else common
        targets = (own.language, *server.catalogue.targets_of(own.language))
        is_possible = target is None or target in targets
        languages.append(own if own.confidence >= _SURE and is_possible else common)
    return SourceLanguages(common, tuple(languages))
