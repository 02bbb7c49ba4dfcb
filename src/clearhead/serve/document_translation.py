"""Translate documents and HTML through the batches of the server: a thread reads the document, the batches translate.

A document is sent in small pieces, and waits if the queue is full, so that it does not push out other clients.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from clearhead.serve.api_errors import ApiError, stopping_error
from clearhead.serve.catalogue import Route
from clearhead.serve.server import Server
from clearhead.serve.tickets import NOBODY, Client
from clearhead.serve.translation_task import TranslatedText, TranslationTask

if TYPE_CHECKING:
    from clearhead.documents import AlignedTranslation

_PIECE = 16  # sentences of a document that are sent together, after which the progress is reported
_MAX_NOTES = 20  # about one document
_MAX_TRIES = 20  # of a piece, if the queue is full
_PLAIN = (".txt",)  # formats without markup, which need no alignment
R = TypeVar("R")


def document_formats() -> list[str]:
    """Return the extensions of the documents that are translated."""
    from clearhead.documents import SUPPORTED_FORMATS

    return list(SUPPORTED_FORMATS)


@dataclass(frozen=True)
class DocumentTarget:
    """Which model translates a document, and for whom; without a source language it is detected."""

    server: Server
    source: str | None
    target: str | None
    model: str | None = None
    client: Client = NOBODY
    notes: list[str] = field(default_factory=list)  # about its sentences, filled while it is translated

    def route(self, sentences: Sequence[str]) -> Route | None:
        """Return the model, or None if the document is in the target language already.

        It reads some sentences if the source language is `auto`, so it belongs into a thread.
        """
        is_auto = self.source == "auto"
        source = self.server.detector.detect_all(sentences).language if is_auto else self.source
        if self.server.catalogue.is_same(source, self.target):
            return None
        return self.server.catalogue.route(source, self.target, self.model)

    def add_notes(self, text: TranslatedText) -> None:
        """Keep the first notes about the sentences, such as words that the model does not know."""
        for translation in text.translations:
            for note in translation.notes:
                if len(self.notes) < _MAX_NOTES and note not in self.notes:
                    self.notes.append(note)

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """The source and the target language, as far as they are known before a text is read."""
        return (None if self.source == "auto" else self.source), self.target


async def translate_html(target: DocumentTarget, text: str) -> str:
    """Translate a piece of HTML; its tags are kept."""
    from clearhead.documents import DocumentOptions, translate_html_fragment

    limit = target.server.settings.queue.time_limit
    sentence = f"the request took longer than the limit of {limit:g} s. Send less text."
    timing = PieceTiming(limit, sentence, num_tries=1)
    options = DocumentOptions(*target.languages)
    translate = sentence_translator(target, timing, is_aligned=True)
    return await _in_thread(target, timing, lambda: translate_html_fragment(text, translate, options=options))


async def translate_file(target: DocumentTarget, name: str, content: bytes) -> bytes:
    """Translate a document."""
    from clearhead.documents import DocumentOptions, translate_document

    limit = target.server.settings.limits.file_time_limit
    sentence = f"the document took longer than the limit of {limit:g} s (limits.file_time_limit). Divide it."
    is_aligned = not name.lower().endswith(_PLAIN)
    timing = PieceTiming(limit, sentence, _MAX_TRIES)
    translate = sentence_translator(target, timing, is_aligned=is_aligned)
    options = DocumentOptions(*target.languages)
    return await _in_thread(
        target, timing, lambda: translate_document(content, name, translate, options=options, note=target.notes.append)
    )


class PieceTiming:
    """How long the pieces of a document may take together; made in the event loop."""

    def __init__(self, limit: float, sentence: str, num_tries: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.end = self.loop.time() + limit
        self.sentence, self.num_tries = sentence, num_tries

    @property
    def num_seconds_left(self) -> float:
        """The rest of the time; raise ApiError 504 if there is none."""
        seconds = self.end - self.loop.time()
        if seconds <= 0:
            raise ApiError(504, self.sentence)
        return seconds


async def _in_thread(target: DocumentTarget, timing: PieceTiming, work: Callable[[], R]) -> R:
    """Call a function in a thread for documents; raise ApiError 504 if it takes too long, even if no thread is free.

    A client has one thread at a time, so that its documents do not keep those of others waiting.
    """
    server = target.server
    turn = server.document_turns.setdefault(target.client.name, asyncio.Lock())

    def work_in_time() -> R:
        assert timing.num_seconds_left > 0  # it raises ApiError: nobody waits for the document any more
        return work()

    def end_turn(future: "asyncio.Future[R]") -> None:
        turn.release()
        if not future.cancelled():
            future.exception()  # if the time was over, nobody else looks at it

    try:
        async with asyncio.timeout_at(timing.end):
            await turn.acquire()
            working = timing.loop.run_in_executor(server.document_threads, work_in_time)
            working.add_done_callback(end_turn)
            return await asyncio.shield(working)  # the turn ends with the thread, not when the client stops waiting
    except TimeoutError:
        raise ApiError(504, timing.sentence) from None


def sentence_translator(
    target: DocumentTarget, timing: PieceTiming, *, is_aligned: bool
) -> "Callable[[Sequence[str]], Sequence[AlignedTranslation]]":
    """Return a function for another thread than that of the event loop: it waits for the batches."""
    server, num_tries = target.server, timing.num_tries
    tasks: list[TranslationTask | None] = []  # one, once the language is known; None: nothing is translated

    async def translate_if_wanted(
        task: TranslationTask, sentences: Sequence[str], seconds: float
    ) -> list[TranslatedText]:
        # a piece can be too short for the lane to notice that the client has gone
        if target.client.is_disconnected is not None and await target.client.is_disconnected():
            raise ApiError(400, "the document is not wanted any more.")
        return await server.batcher.translate(task, sentences, target.client, seconds)

    def translate_piece(task: TranslationTask, sentences: Sequence[str]) -> list[TranslatedText]:
        for number in range(num_tries):
            if server.is_stopping:  # a batch that is added now would never be translated
                raise stopping_error()
            translating = translate_if_wanted(task, sentences, timing.num_seconds_left)
            waiting = asyncio.run_coroutine_threadsafe(translating, timing.loop)
            try:
                return waiting.result()
            except ApiError as wrong:
                if wrong.status == 504:
                    raise ApiError(504, timing.sentence) from None
                if wrong.status != 503 or number + 1 == num_tries or server.is_stopping:
                    raise
                time.sleep(wrong.retry_after or 1)
        raise AssertionError

    def translate(sentences: Sequence[str]) -> "list[AlignedTranslation]":
        if not tasks:
            route = target.route(sentences)
            task = None if route is None else TranslationTask(route, server.settings.beam, is_aligned=is_aligned)
            tasks.append(task)
        task = tasks[0]
        if task is None:
            return [unchanged(sentence) for sentence in sentences]
        translations: list[AlignedTranslation] = []
        for start in range(0, len(sentences), _PIECE):
            texts = translate_piece(task, sentences[start : start + _PIECE])
            for text in texts:
                target.add_notes(text)
            translations += map(aligned, texts)
        return translations

    return translate


def unchanged(sentence: str) -> "AlignedTranslation":
    """Return a sentence as its own translation."""
    from clearhead.documents import AlignedTranslation

    return AlignedTranslation(sentence, tuple((place, place) for place, _ in enumerate(sentence.split())))


def aligned(text: TranslatedText) -> "AlignedTranslation":
    """Return a translation with links between words that are separated by white space, as documents need it."""
    from clearhead.documents import AlignedTranslation

    translation = text.text.strip()
    if len(text.translations) != 1 or (alignment := text.translations[0].alignment) is None:
        return AlignedTranslation(translation, ())
    is_same = len(alignment.source) == len(text.source.text.split()) and len(alignment.target) == len(
        translation.split()
    )
    return AlignedTranslation(translation, alignment.links if is_same else ())
