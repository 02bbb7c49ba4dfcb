"""Translate documents and HTML through the batches of the server: a thread reads the document, the batches translate.

A document is sent in small pieces, and waits if the queue is full, so that it does not push out other clients.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clearhead.serve.api_errors import ApiError, stopping_error
from clearhead.serve.catalogue import Route
from clearhead.serve.server import Server
from clearhead.serve.translation_task import TranslatedText, TranslationTask

if TYPE_CHECKING:
    from clearhead.documents import AlignedTranslation

_PIECE = 32  # sentences of a document that are sent together
_MAX_TRIES = 20  # of a piece, if the queue is full
_PLAIN = (".txt",)  # formats without markup, which need no alignment
Progress = Callable[[int, int], None]


def document_formats() -> list[str]:
    """Return the extensions of the documents that are translated."""
    from clearhead.documents import SUPPORTED_FORMATS

    return list(SUPPORTED_FORMATS)


@dataclass(frozen=True)
class DocumentTarget:
    """Which model translates a document, and whether it is still wanted; without a source language it is detected."""

    server: Server
    source: str | None
    target: str | None
    model: str | None = None
    is_wanted: Callable[[], bool] = lambda: True

    def route(self, sentences: Sequence[str]) -> Route:
        """Return the model; it reads some sentences if the source language is `auto`, so it belongs into a thread."""
        is_auto = self.source == "auto"
        source = self.server.detector.detect_all(sentences).language if is_auto else self.source
        return self.server.catalogue.route(source, self.target, self.model)

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """The source and the target language, as far as they are known before a text is read."""
        return (None if self.source == "auto" else self.source), self.target


async def translate_html(target: DocumentTarget, text: str) -> str:
    """Translate a piece of HTML; its tags are kept."""
    from clearhead.documents import DocumentOptions, translate_html_fragment

    loop = asyncio.get_running_loop()
    translate = sentence_translator(target, loop, num_tries=1, is_aligned=True)
    options = DocumentOptions(*target.languages)
    return await loop.run_in_executor(
        target.server.document_threads, lambda: translate_html_fragment(text, translate, options=options)
    )


async def translate_file(target: DocumentTarget, name: str, content: bytes, progress: Progress) -> bytes:
    """Translate a document; `progress` is called in the event loop."""
    from clearhead.documents import DocumentOptions, translate_document

    loop = asyncio.get_running_loop()
    is_aligned = not name.lower().endswith(_PLAIN)
    translate = sentence_translator(target, loop, num_tries=_MAX_TRIES, is_aligned=is_aligned)

    def report(num_done: int, total: int) -> None:
        loop.call_soon_threadsafe(progress, num_done, total)

    options = DocumentOptions(*target.languages)
    return await loop.run_in_executor(
        target.server.document_threads, lambda: translate_document(content, name, translate, report, options)
    )


def sentence_translator(
    target: DocumentTarget, loop: asyncio.AbstractEventLoop, *, num_tries: int, is_aligned: bool
) -> "Callable[[Sequence[str]], Sequence[AlignedTranslation]]":
    """Return a function for another thread than that of the event loop: it waits for the batches."""
    server = target.server
    tasks: list[TranslationTask] = []  # one, once the language is known

    def translate_piece(sentences: Sequence[str]) -> list[TranslatedText]:
        for number in range(num_tries):
            if server.is_stopping:  # a batch that is added now would never be translated
                raise stopping_error()
            if not target.is_wanted():
                raise ApiError(400, "the document is not wanted any more.")
            waiting = asyncio.run_coroutine_threadsafe(server.batcher.translate(tasks[0], sentences), loop)
            try:
                return waiting.result()
            except ApiError as wrong:
                if wrong.status != 503 or number + 1 == num_tries or server.is_stopping:
                    raise
                time.sleep(wrong.retry_after or 1)
        raise AssertionError

    def translate(sentences: Sequence[str]) -> "list[AlignedTranslation]":
        if not tasks:
            tasks.append(TranslationTask(target.route(sentences), server.settings.beam, is_aligned=is_aligned))
        pieces = (sentences[start : start + _PIECE] for start in range(0, len(sentences), _PIECE))
        return [aligned(text) for piece in pieces for text in translate_piece(piece)]

    return translate


def aligned(text: TranslatedText) -> "AlignedTranslation":
    """Return a translation with links between words that are separated by white space, as documents need it."""
    from clearhead.documents import AlignedTranslation

    translation = text.text
    if len(text.translations) != 1 or (alignment := text.translations[0].alignment) is None:
        return AlignedTranslation(translation, ())
    is_same = len(alignment.source) == len(text.source.text.split()) and len(alignment.target) == len(
        translation.split()
    )
    return AlignedTranslation(translation, alignment.links if is_same else ())
