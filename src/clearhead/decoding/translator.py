"""Translate text with a model: the same pipeline for Python, the command line and validation.

torch is only imported if the chosen engine needs it.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.decoding.engines.engine import DeviceName, Engine, EngineName, EngineNeeds, Precision
from clearhead.decoding.engines.opening import EngineChoice, open_engine
from clearhead.decoding.pipeline import WINDOW, SourceLine, TranslationOptions, TranslationPipeline, windows
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.errors import ConfigError, DataError
from clearhead.formats.built_in import language_code
from clearhead.formats.model_files import model_files
from clearhead.formats.model_folder import ModelFolder, find_model, load_statistics, load_vocabularies
from clearhead.text.statistics import TextStatistics
from clearhead.text.tokeniser import Vocabularies

if TYPE_CHECKING:
    from clearhead.decoding.engines.numpy_engine import NumpyEngine
    from clearhead.decoding.engines.torch_engine import TorchEngine
    from clearhead.model import SequenceModel
    from clearhead.model.gates import Gates

_REQUIRED_BEAM = 4


class Translator:
    """Translates text with a model; `notes` are messages from loading it, such as a change of engine."""

    def __init__(
        self,
        vocabularies: Vocabularies,
        engine: Engine,
        notes: Iterable[str] = (),
        statistics: TextStatistics = TextStatistics(),
    ) -> None:
        self.vocabularies, self.engine, self.notes = vocabularies, engine, tuple(notes)
        self.statistics = statistics
        self._folder: ModelFolder | None = None  # the folder it was loaded from
        self._choice = EngineChoice()
        self._language: str | None = None  # target language if the options name none, for a built-in model

    @classmethod
    def load(
        cls,
        path: str | Path | ModelFolder,
        *,
        engine: EngineName = "auto",
        device: DeviceName = "auto",
        precision: Precision = "auto",
        needs: EngineNeeds = EngineNeeds(),
    ) -> "Translator":
        """Load a run, one of its checkpoints, an OPUS-MT folder, or a built-in model: `en-es`.

        The engine is chosen so that it supports `needs`. A translation that needs more switches to another engine.
        """
        return cls.open(path, EngineChoice(engine, device, precision), needs)

    @classmethod
    def open(cls, path: str | Path | ModelFolder, choice: EngineChoice, needs: EngineNeeds) -> "Translator":
        """Load a model with the chosen engine, device, precision and number of threads."""
        folder = find_model(path)
        folder.start_verification()
        vocabularies = load_vocabularies(folder)
        opened = open_engine(folder, choice, needs)
        translator = cls(vocabularies, opened.engine, (*folder.notes, *opened.notes), load_statistics(folder))
        translator._folder, translator._choice = folder, choice
        if folder.language in vocabularies.source.tags:
            translator._language = folder.language
        return translator

    @property
    def torch_engine(self) -> "TorchEngine":
        """The engine, if it is torch."""
        from clearhead.decoding.engines.torch_engine import TorchEngine

        if not isinstance(self.engine, TorchEngine):
            raise ConfigError(
                f"this needs the PyTorch model, but the engine is {self.engine.name}, which does not expose it. "
                "Use torch."
            )
        return self.engine

    @property
    def model(self) -> "SequenceModel":
        """The PyTorch model, needed for attention and explanations."""
        return self.torch_engine.model

    @property
    def attending_engine(self) -> "NumpyEngine | TorchEngine":
        """The engine, if its attention can be read, from which alignments are made."""
        from clearhead.decoding.engines.numpy_engine import NumpyEngine

        return self.engine if isinstance(self.engine, NumpyEngine) else self.torch_engine

    @property
    def fingerprint(self) -> str | None:
        """A hash of the model files; None if the model was not loaded from files."""
        return None if self._folder is None else self._folder.fingerprint

    @property
    def files(self) -> list[Path]:
        """The model files; empty if the model was not loaded from files."""
        return [] if self._folder is None else model_files(self._folder)

    def gated(self, gates: "Gates") -> "Translator":
        """Return a translator with gates on the attention heads; this one and the model they share are unchanged."""
        translator = copy(self)
        translator.prepare(EngineNeeds(uses=frozenset({"gates"})))
        translator.engine = translator.torch_engine.gated(gates)
        return translator

    def translate(
        self,
        texts: Iterable[str],
        search: SearchSettings = SearchSettings(),
        options: TranslationOptions = TranslationOptions(),
    ) -> list[Translation]:
        """Translate lines of text; empty lines stay empty, and lines that are too long for the model are split."""
        return list(self.stream(texts, search, options))

    def stream(
        self,
        texts: Iterable[str],
        search: SearchSettings = SearchSettings(),
        options: TranslationOptions = TranslationOptions(),
        window: int = WINDOW,
    ) -> Iterator[Translation]:
        """Translate lines in constant memory; yield the results in order, `window` lines at a time."""
        if isinstance(texts, str):
            raise DataError("translate takes a list of texts, not a single string. Put the text in a list.")
        pipeline = self.pipeline(search, options)
        lines = (SourceLine(number, text) for number, text in enumerate(texts, 1))
        for batch in windows(lines, window):
            yield from pipeline.translate(batch)

    def pipeline(
        self, search: SearchSettings = SearchSettings(), options: TranslationOptions = TranslationOptions()
    ) -> TranslationPipeline:
        """Return a pipeline whose engine supports the search and the options.

        Required phrases get a beam of at least 4, because greedy search would put them at the start of a translation.
        """
        if "required" in options.constraints.uses and search.beam == 1 and not search.is_sampling:
            search = search.model_copy(update={"beam": _REQUIRED_BEAM})
        self.prepare(options.needs(search))
        if options.language is None:
            options = replace(options, language=self._language)
        else:
            options = replace(options, language=language_code(options.language, self.vocabularies.source.tags))
        return TranslationPipeline(self.vocabularies, self.engine, search, options, self.statistics)

    def prepare(self, needs: EngineNeeds) -> None:
        """Switch to another engine if the current one does not support `needs`."""
        reason = self.engine.lacks(needs)
        if reason is None:
            return
        if self._folder is None:
            raise ConfigError(f"the engine {self.engine.name} cannot do this: {reason}. Use torch.")
        opened = open_engine(self._folder, self._choice, needs)
        self.engine, self.notes = opened.engine, tuple(dict.fromkeys((*self.notes, *opened.notes)))
