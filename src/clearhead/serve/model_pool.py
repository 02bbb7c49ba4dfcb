"""Loaded models: each has a thread of its own, is loaded on first use and unloaded when it was idle for long.

The thread does everything with a model (loading, tokenising, searching, aligning), so that the event loop never waits.
"""

import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from clearhead.decoding.engines.engine import EngineNeeds, IsWanted, always
from clearhead.decoding.pipeline import EncodedLine, EncodedPart, SourceLine, TranslationPipeline
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import CheckpointError, is_out_of_memory, not_installed
from clearhead.formats.model_folder import find_model
from clearhead.serve.api_errors import ApiError
from clearhead.serve.catalogue import Catalogue, ServedModel
from clearhead.serve.request_log import RequestLog
from clearhead.serve.settings import ModelSettings
from clearhead.serve.translation_task import TranslationTask, search_settings
from clearhead.text.tokeniser import Tokeniser

if TYPE_CHECKING:
    from clearhead.decoding.annotation import Annotator
    from clearhead.decoding.scoring import Scorer

_RETRY = 30  # seconds after which a model that could not be loaded may be there again
_MAX_PIPELINES = 64
R = TypeVar("R")


class EncodedText(NamedTuple):
    """The lines of a request as parts that can be searched, and the pipeline that encoded them."""

    pipeline: TranslationPipeline
    lines: list[EncodedLine]

    @property
    def searched(self) -> list[EncodedPart]:
        """The parts that are not empty."""
        return [part for line in self.lines for part in line.searched]

    @property
    def translations(self) -> list[Translation]:
        """The translations of the lines, once all parts were searched."""
        return [self.pipeline.translation(line) for line in self.lines]


class ModelWorker:
    """One model with one engine, and the thread that uses it. All methods run in this thread."""

    def __init__(self, model: ServedModel, settings: ModelSettings, log: RequestLog, *, is_plain: bool) -> None:
        self.model, self.settings, self.log, self.is_plain = model, settings, log, is_plain
        self.executor = ThreadPoolExecutor(1, thread_name_prefix=f"model-{model.name}")
        self.last_used = time.monotonic()
        self.target: Tokeniser | None = None  # that of the target language, once the model was loaded
        self._translator: Translator | None = None
        self._pipelines: dict[Hashable, TranslationPipeline] = {}
        self._annotator: Annotator | None = None
        self._scorer: Scorer | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._translator is not None or self._scorer is not None

    def translator(self, needs: EngineNeeds = EngineNeeds()) -> Translator:
        """Return the translator with an engine that supports `needs`; load the model first if necessary."""
        if self._translator is None:
            settings = self.settings
            self._translator = self._loading(
                lambda: Translator.load(self.model.path, engine=settings.engine, device=settings.device, needs=needs)
            )
            self.target = self._translator.vocabularies.target
        self._translator.prepare(needs)
        return self._translator

    def _loading(self, load: Callable[[], R]) -> R:
        """Load something, or raise ApiError 503 with the reason, for example that the folder was removed."""
        try:
            return load()
        except ModuleNotFoundError as missing:
            sentence = not_installed("this", missing.name or "a package", "translate")
        except (CheckpointError, OSError) as wrong:
            self.log.event("not loaded", {"model": self.model.name, "reason": str(wrong)})
            sentence = (  # the reason has the path of the folder, which is not for clients
                f"the model {self.model.name} cannot be loaded: its folder was removed, or its files are damaged. The "
                "log of the server says more."
            )
        except (RuntimeError, MemoryError) as wrong:
            if not is_out_of_memory(wrong):
                raise
            sentence = f"there is not enough memory to load the model {self.model.name}."
        raise ApiError(503, sentence, retry_after=_RETRY)

    def encode(self, task: TranslationTask, lines: Sequence[SourceLine], is_wanted: IsWanted = always) -> EncodedText:
        """Encode the lines of a request, and cut those that are too long; load the model first if necessary."""
        pipeline = self._pipeline(task)
        return EncodedText(pipeline, pipeline.encode(lines, is_wanted))

    def search(self, task: TranslationTask, text: EncodedText, parts: Sequence[EncodedPart]) -> None:
        """Translate the parts of one batch; those of other texts must have tasks of the same group."""
        text.pipeline.fill(parts)
        text.pipeline.remarks.clear()
        if task.is_aligned:
            annotator = self._alignment()
            for part in parts:
                part.part = annotator.aligned_part(part.part)

    def _pipeline(self, task: TranslationTask) -> TranslationPipeline:
        if not task.is_plain:
            # as for a short text, for which NumPy is chosen if it can do this: it is loaded long before torch is
            needs = EngineNeeds(task.search, task.uses, num_characters=0)
            return self.translator(needs).pipeline(task.search, task.options)
        pipeline = self._pipelines.get(task.group)
        if pipeline is None:
            translator = self.translator(EngineNeeds(task.search))
            if len(self._pipelines) >= _MAX_PIPELINES:
                self._pipelines.clear()
            pipeline = self._pipelines[task.group] = translator.pipeline(task.search, task.options)
        return pipeline

    def _alignment(self) -> "Annotator":
        from clearhead.decoding.annotation import Annotator
        from clearhead.decoding.head_choice import read_choice

        translator = self.translator()
        if self._annotator is None or self._annotator.translator.engine is not translator.engine:
            choice = self._loading(lambda: read_choice(find_model(self.model.path)))
            self._annotator = Annotator(translator, search_settings(1), None if choice is None else choice.rule)
        return self._annotator

    def scorer(self) -> "Scorer":
        """Return the scorer, which needs torch; load it first if necessary."""
        if self._scorer is None:
            self._scorer = self._loading(self._open_scorer)
        return self._scorer

    def _open_scorer(self) -> "Scorer":
        from clearhead.decoding.scoring import open_scorer

        return open_scorer(self.model.path, device=self.settings.device)

    def unload(self) -> None:
        """Release the model; the next request loads it again."""
        self._translator = self._annotator = self._scorer = None
        self._pipelines.clear()


class ModelPool:
    """All workers, made when they are first needed. Only the event loop calls its methods."""

    def __init__(self, catalogue: Catalogue, settings: ModelSettings, log: RequestLog) -> None:
        self.catalogue, self.settings, self.log = catalogue, settings, log
        self._workers: dict[tuple[str, bool], ModelWorker] = {}

    def worker(self, model: ServedModel, *, is_plain: bool = True) -> ModelWorker:
        """Return the worker of a model: for plain translations, or for those that need a special engine."""
        key = model.name, is_plain
        if key not in self._workers:
            self._workers[key] = ModelWorker(model, self.settings, self.log, is_plain=is_plain)
        return self._workers[key]

    def is_loaded(self, model: ServedModel) -> bool:
        """Return whether a model is in memory, with any engine."""
        return any(worker.is_loaded for worker in self._workers.values() if worker.model is model)

    def unload_idle(self) -> list[str]:
        """Unload the models that were idle for longer than the settings allow; return their names."""
        limit = self.settings.idle_minutes
        names = []
        for worker in self._workers.values():
            if limit is not None and worker.is_loaded and time.monotonic() - worker.last_used > limit * 60:
                worker.executor.submit(worker.unload)
                names.append(worker.model.name)
        return names

    def close(self) -> None:
        """End the threads, after what they have begun."""
        for worker in self._workers.values():
            worker.executor.shutdown(wait=True, cancel_futures=True)
