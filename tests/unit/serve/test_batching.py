"""Batches across clients: who shares one, who waits, who is refused, and what happens to errors."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from clearhead.decoding.engines.engine import IsWanted, always
from clearhead.decoding.pipeline import EncodedLine, EncodedPart, SourceLine, TranslationPipeline
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.errors import DataError
from clearhead.formats.built_in import Direction
from clearhead.serve.api_errors import ApiError
from clearhead.serve.batching import Batcher
from clearhead.serve.catalogue import Route, ServedModel
from clearhead.serve.metrics import ServerMetrics
from clearhead.serve.model_pool import EncodedText, ModelPool
from clearhead.serve.settings import QueueSettings
from clearhead.serve.tickets import Client
from clearhead.serve.translation_task import TranslationTask

MODEL = ServedModel("m", Path("m"), (Direction(source="en", target="es"),), frozenset())
TASK = TranslationTask(Route(MODEL, "en", "es"))


class Worker:
    """Translates into capital letters, notes its batches, and can be held up."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(1)
        self.last_used = 0.0
        self.batches: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()

    def encode(self, task: TranslationTask, lines: Sequence[SourceLine], is_wanted: IsWanted = always) -> EncodedText:
        """Every word is a token, and every sentence, which ends with a full stop, is a part."""
        encoded = []
        for line in lines:
            sentences = [sentence for sentence in line.text.split(". ") if sentence]
            parts = [TranslatedPart(text, " ", tuple(range(len(text.split())))) for text in sentences]
            encoded.append(EncodedLine(line, [EncodedPart(part) for part in parts]))
        return EncodedText(cast(TranslationPipeline, self), encoded)

    def translation(self, line: EncodedLine) -> Translation:
        return Translation(line.source.number, line.source.text, tuple(part.part for part in line.parts))

    def search(self, task: TranslationTask, text: EncodedText, parts: Sequence[EncodedPart]) -> None:
        self.gate.wait(10)
        texts = [part.part.source for part in parts]
        self.batches.append(texts)
        if "bad" in texts:
            raise DataError("line 1 is bad.")
        if "huge" in texts:
            raise MemoryError
        if "bug" in texts:
            raise KeyError("bug")
        for part in parts:
            part.part = replace(part.part, texts=(part.part.source.upper(),))


class Pool:
    def __init__(self) -> None:
        self.own = Worker()

    def worker(self, model: ServedModel, *, is_plain: bool = True) -> Worker:
        return self.own


def play(scene: Callable[[Batcher, Worker], Awaitable[Any]], **settings: Any) -> Any:
    """Run a scene with a batcher, and close it."""

    async def run() -> Any:
        pool = Pool()
        batcher = Batcher(cast(ModelPool, pool), QueueSettings(**settings), ServerMetrics())
        try:
            return await scene(batcher, pool.own)
        finally:
            pool.own.gate.set()
            await batcher.close()
            pool.own.executor.shutdown()

    return asyncio.run(run())


def test_requests_of_several_clients_share_a_batch_and_get_their_own_answers() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        answers = await asyncio.gather(*(batcher.translate(TASK, [f"a{number}", f"b{number}"]) for number in range(7)))
        assert [[text.text for text in answer] for answer in answers] == [[f"A{n}", f"B{n}"] for n in range(7)]
        assert len(worker.batches) == 1
        assert len(worker.batches[0]) == 14
        assert batcher.num_waiting == 0

    play(scene, collect_ms=20)


def test_requests_with_other_settings_do_not_share_a_batch() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        other = TranslationTask(TASK.route, beam=3)
        await asyncio.gather(*(batcher.translate(task, ["a"]) for task in (TASK, other, TASK)))
        assert sorted(map(len, worker.batches)) == [1, 2]

    play(scene, collect_ms=20)


def test_a_long_request_leaves_room_for_a_short_one() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        worker.gate.clear()
        first = asyncio.create_task(batcher.translate(TASK, ["first"]))
        await asyncio.sleep(0.05)
        long = asyncio.create_task(batcher.translate(TASK, [f"x{number}" for number in range(23)]))
        await asyncio.sleep(0.01)
        short = asyncio.create_task(batcher.translate(TASK, ["short"]))
        await asyncio.sleep(0.01)
        worker.gate.set()
        assert [text.text for text in await long] == [f"X{number}" for number in range(23)]
        await asyncio.gather(first, short)
        assert "short" in worker.batches[1]
        assert all(len(batch) <= 5 for batch in worker.batches)

    play(scene, collect_ms=1, max_batch=5)


def test_a_full_queue_is_503_and_says_when_to_try_again() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        worker.gate.clear()
        waiting = asyncio.create_task(batcher.translate(TASK, ["a", "b"]))
        await asyncio.sleep(0.05)
        with pytest.raises(ApiError) as refusal:
            await batcher.translate(TASK, ["c", "d"])
        assert refusal.value.status == 503
        assert refusal.value.sentence == "the queue is full: 2 of 3 sentences are waiting. Try again later."
        assert refusal.value.retry_after == 7
        worker.gate.set()
        await waiting
        assert (await batcher.translate(TASK, ["c", "d"]))[1].text == "D"

    play(scene, max_sentences=3, retry_after=7)


def test_a_request_larger_than_the_queue_is_413() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        with pytest.raises(
            ApiError, match="the request has about 4 sentences, but the maximum is 3. Send less."
        ) as wrong:
            await batcher.translate(TASK, ["a\nb\nc\nd"])
        assert wrong.value.status == 413

    play(scene, max_sentences=3)


def test_a_request_that_takes_too_long_is_504_and_leaves_the_queue() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        worker.gate.clear()
        first = asyncio.create_task(batcher.translate(TASK, ["a"]))
        await asyncio.sleep(0.05)
        with pytest.raises(ApiError, match="the request took longer than the limit of 0.2 s.") as wrong:
            await batcher.translate(TASK, ["late"])
        assert wrong.value.status == 504
        with pytest.raises(ApiError):
            await first
        worker.gate.set()
        await batcher.translate(TASK, ["b"])
        assert "late" not in [text for batch in worker.batches for text in batch]
        assert batcher.num_waiting == 0

    play(scene, time_limit=0.2)


def test_a_cancelled_request_leaves_the_queue() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        worker.gate.clear()
        first = asyncio.create_task(batcher.translate(TASK, ["a"]))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(batcher.translate(TASK, ["gone"]))
        await asyncio.sleep(0.02)
        second.cancel()
        await asyncio.sleep(0)
        worker.gate.set()
        await first
        await batcher.translate(TASK, ["b"])
        assert worker.batches == [["a"], ["b"]]
        assert batcher.num_waiting == 0

    play(scene)


def test_a_request_whose_client_has_gone_is_not_translated() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        async def is_gone() -> bool:
            return True

        worker.gate.clear()
        first = asyncio.create_task(batcher.translate(TASK, ["a"]))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(batcher.translate(TASK, ["gone"], Client(is_disconnected=is_gone)))
        await asyncio.sleep(0.15)
        worker.gate.set()
        await first
        with pytest.raises(ApiError, match="the client closed the connection before the answer."):
            await second
        assert worker.batches == [["a"]]

    play(scene)


def long_text(name: str, num_parts: int, num_tokens: int = 1) -> str:
    """Return one line of several parts, which name their text in their first token."""
    return ". ".join(" ".join([f"{name}{number}"] + ["y"] * (num_tokens - 1)) for number in range(num_parts))


def test_a_request_that_was_given_up_is_in_no_further_batch() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        async def is_gone() -> bool:
            return bool(worker.batches)

        worker.gate.clear()
        late = asyncio.create_task(batcher.translate(TASK, [long_text("late", 997)], Client("a"), 0.2))
        gone = asyncio.create_task(batcher.translate(TASK, [long_text("gone", 997)], Client("b", is_gone), 30))
        with pytest.raises(ApiError, match="the request took longer than the limit"):
            await late
        worker.gate.set()
        with pytest.raises(ApiError, match="the client closed the connection before the answer."):
            await gone
        num_batches = len(worker.batches)
        assert (await batcher.translate(TASK, ["short"], Client("c")))[0].text == "SHORT"
        assert len(worker.batches) <= num_batches + 2
        assert not any(text.startswith("late") for batch in worker.batches[1:] for text in batch)
        assert batcher.num_waiting == 0

    play(scene, max_batch=7)


def test_one_long_line_is_divided_into_batches_and_short_ones_are_answered_before_its_end() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        worker.gate.clear()
        long = asyncio.create_task(batcher.translate(TASK, [long_text("x", 97, num_tokens=11)], Client("a")))
        await asyncio.sleep(0.05)
        short = [
            asyncio.create_task(batcher.translate(TASK, [f"s{number}"], Client(f"b{number}"))) for number in range(5)
        ]
        await asyncio.sleep(0.05)
        worker.gate.set()
        await asyncio.gather(*short)
        (text,) = await long
        assert text.text.split() == long_text("x", 97, num_tokens=11).upper().replace(".", "").split()
        assert {f"s{number}" for number in range(5)} <= set(worker.batches[1])
        assert len(worker.batches) > 97 / 7

    play(scene, max_batch=7, collect_ms=1)


def test_a_client_with_many_requests_leaves_half_of_the_queue_to_others() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        worker.gate.clear()
        waiting = [asyncio.create_task(batcher.translate(TASK, ["a", "b"], Client("many"))) for _ in range(2)]
        await asyncio.sleep(0.05)
        sentence = (
            "4 of your sentences are waiting, and half of the queue (5) is the most for one client. Try again later."
        )
        with pytest.raises(ApiError, match=re.escape(sentence)) as refusal:
            await batcher.translate(TASK, ["c", "d"], Client("many"))
        assert (refusal.value.status, refusal.value.retry_after) == (503, 7)
        waiting.append(asyncio.create_task(batcher.translate(TASK, ["a"] * 6, Client("other"))))
        await asyncio.sleep(0.05)
        worker.gate.set()
        await asyncio.gather(*waiting)

    play(scene, max_sentences=11, retry_after=7)


def test_a_function_is_not_called_for_a_request_that_was_given_up() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        calls: list[int] = []

        async def is_gone() -> bool:
            return len(calls) == 3

        steps = [partial(calls.append, number) for number in range(7)]
        with pytest.raises(ApiError, match="the client closed the connection before the answer."):
            await batcher.run(cast(Any, worker), steps, client=Client("a", is_gone))
        assert calls == [0, 1, 2]
        assert batcher.num_waiting == 0

    play(scene)


def test_an_error_concerns_only_the_request_that_causes_it() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        answers = await asyncio.gather(
            *(batcher.translate(TASK, [text]) for text in ("a", "bad", "b")), return_exceptions=True
        )
        assert isinstance(answers[1], DataError)
        assert [answer[0].text for answer in (answers[0], answers[2]) if not isinstance(answer, BaseException)] == [
            "A",
            "B",
        ]

    play(scene, collect_ms=20)


def test_a_lack_of_memory_is_503_and_a_bug_does_not_end_the_lane() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        with pytest.raises(
            ApiError, match="there is not enough memory to translate this now. Try again later."
        ) as wrong:
            await batcher.translate(TASK, ["huge"])
        assert wrong.value.status == 503
        with pytest.raises(KeyError):
            await batcher.translate(TASK, ["bug"])
        assert (await batcher.translate(TASK, ["a"]))[0].text == "A"

    play(scene)


def test_another_function_waits_in_the_same_queue() -> None:
    async def scene(batcher: Batcher, worker: Worker) -> None:
        assert await batcher.run(cast(Any, worker), [lambda: 17, lambda: 19]) == [17, 19]
        with pytest.raises(ApiError, match="maximum is 3"):
            await batcher.run(cast(Any, worker), [lambda: 17], weight=5)

    play(scene, max_sentences=3)


def test_sixty_four_clients_get_the_translations_of_the_library() -> None:
    from clearhead.decoding.translator import Translator
    from clearhead.serve.server import Server
    from clearhead.serve.settings import ServeSettings

    words = ["house", "dog", "book", "car", "river", "teacher", "bread", "door"]
    texts = [f"{start} the {word}." for start in ("I see", "Where is", "She likes", "Open") for word in words]
    server = Server(ServeSettings(log="off"))
    task = TranslationTask(server.catalogue.route("en", "es"))

    async def ask() -> list[str]:
        answers = await asyncio.gather(*(server.batcher.translate(task, [text]) for text in texts * 2))
        await server.stop()
        return [answer[0].text for answer in answers]

    expected = [translation.text for translation in Translator.load("tatoeba").translate(texts)]
    assert asyncio.run(ask()) == expected * 2
