"""Detect the language of texts, among those of the server; a text in the target language comes back unchanged."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lingua import LanguageDetector

    from clearhead.serve.server import Server

_MAX_CHARACTERS = 2000  # that are enough to recognise a language
_SURE = 80.0  # confidence with which a text of a list may have another language than the whole list


@dataclass(frozen=True)
class DetectedLanguage:
    """A language and the confidence in it, from 0 to 100."""

    language: str
    confidence: float

    @property
    def record(self) -> dict[str, object]:
        """Its form in an answer."""
        return {"confidence": self.confidence, "language": self.language}


class Detector:
    """Recognises languages; the library and its models are loaded on first use. It can be used by several threads."""

    def __init__(self, codes: Iterable[str]) -> None:
        self._codes = tuple(codes)
        self._lock = threading.Lock()
        self._detector: LanguageDetector | None = None

    def detect(self, text: str) -> list[DetectedLanguage]:
        """Return the languages of a text, most likely first; those with a confidence below 1 are omitted.

        If nothing can be recognised, or there is only one language, the first language is returned.
        """
        codes = self._known_codes()
        if len(codes) < 2:
            return [DetectedLanguage(self._codes[0], 100.0 if len(self._codes) == 1 else 0.0)]
        values = self._load().compute_language_confidence_values(text[:_MAX_CHARACTERS])
        languages = [
            DetectedLanguage(codes[value.language.iso_code_639_1.name.lower()], round(100 * value.value, 1))
            for value in values
            if value.value >= 0.01
        ]
        return languages or [DetectedLanguage(self._codes[0], 0.0)]

    def detect_all(self, texts: Iterable[str]) -> DetectedLanguage:
        """Return the most likely language of texts that are in one language."""
        return self.detect(" ".join(texts))[0]

    def _known_codes(self) -> dict[str, str]:
        """Return the served languages that can be recognised: code of the library -> our code."""
        from lingua import Language

        names = {language.iso_code_639_1.name.lower() for language in Language.all()}
        codes: dict[str, str] = {}
        for code in self._codes:
            short = code.replace("_", "-").partition("-")[0].lower()
            if short in names:
                codes.setdefault(short, code)
        return codes

    def _load(self) -> "LanguageDetector":
        from lingua import IsoCode639_1, LanguageDetectorBuilder

        with self._lock:
            if self._detector is None:
                codes = [getattr(IsoCode639_1, code.upper()) for code in self._known_codes()]
                self._detector = LanguageDetectorBuilder.from_iso_codes_639_1(*codes).build()
            return self._detector


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


async def detect_sources(server: "Server", texts: Sequence[str], target: str | None) -> SourceLanguages:
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
