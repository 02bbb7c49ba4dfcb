"""Batches across clients: who shares one, who waits, who is refused, and what happens to errors."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from clearhead.decoding.pipeline import SourceLine
from clearhead.decoding.translation import TranslatedPart, Translation
from clearhead.errors import DataError
from clearhead.formats.built_in import Direction
from clearhead.serve.api_errors import ApiError
from clearhead.serve.batching import Batcher
from clearhead.serve.catalogue import Route, ServedModel
from clearhead.serve.metrics import ServerMetrics
from clearhead.serve.model_pool import ModelPool
from clearhead.serve.settings import QueueSettings
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

    def translate(self, task: TranslationTask, lines: Sequence[SourceLine]) -> list[Translation]:
        self.gate.wait(10)
        texts = [line.text for line in lines]
        self.batches.append(texts)
        if "bad" in texts:
            raise DataError("line 1 is bad.")
        if "huge" in texts:
            raise MemoryError
        if "bug" in texts:
            raise KeyError("bug")
        return [
            Translation(line.number, line.text, (TranslatedPart(line.text, "", (), texts=(line.text.upper(),)),))
            for line in lines
        ]


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
        second = asyncio.create_task(batcher.translate(TASK, ["gone"], is_gone))
        await asyncio.sleep(0.15)
        worker.gate.set()
        await first
        with pytest.raises(ApiError, match="the client closed the connection before the answer."):
            await second
        assert worker.batches == [["a"]]

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
        assert await batcher.run(cast(Any, worker), lambda: 17) == 17
        with pytest.raises(ApiError, match="maximum is 3"):
            await batcher.run(cast(Any, worker), lambda: 17, weight=5)

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
