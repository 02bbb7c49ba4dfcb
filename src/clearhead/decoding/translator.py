"""A model ready to translate text: the same pipeline for Python, the command line and validation.

Nothing here imports torch before an engine that needs it is chosen.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.decoding.engines.engine import DeviceName, Engine, EngineName, EngineNeeds, Precision
from clearhead.decoding.engines.opening import EngineChoice, open_engine
from clearhead.decoding.pipeline import WINDOW, SourceLine, TranslationOptions, TranslationPipeline, windows
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.errors import ConfigError, DataError
from clearhead.formats.model_folder import ModelFolder, find_model, fingerprint, load_vocabularies
from clearhead.text.tokeniser import Vocabularies

if TYPE_CHECKING:
    from clearhead.model import SequenceModel


class Translator:
    """Text in, translations out; `notes` are sentences about how it was opened."""

    def __init__(self, vocabularies: Vocabularies, engine: Engine, notes: Iterable[str] = ()) -> None:
        self.vocabularies, self.engine, self.notes = vocabularies, engine, tuple(notes)
        self._folder: ModelFolder | None = None  # where it was loaded from
        self._choice = EngineChoice()

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        engine: EngineName = "auto",
        device: DeviceName = "auto",
        precision: Precision = "auto",
        needs: EngineNeeds = EngineNeeds(),
    ) -> "Translator":
        """Load a run, one of its checkpoints or an OPUS-MT folder.

        The engine is one that can do all of `needs`; a translation that needs more opens another one by itself.
        """
        folder, choice = find_model(path), EngineChoice(engine, device, precision)
        vocabularies = load_vocabularies(folder)
        opened = open_engine(folder, choice, needs)
        translator = cls(vocabularies, opened.engine, opened.notes)
        translator._folder, translator._choice = folder, choice
        return translator

    @property
    def model(self) -> "SequenceModel":
        """The model itself, for what only torch can do: attention, explanations, alternatives."""
        from clearhead.decoding.engines.torch_engine import TorchEngine

        if not isinstance(self.engine, TorchEngine):
            raise ConfigError(f"this needs the model itself, and {self.engine.name} has it fused away. Use torch.")
        return self.engine.model

    @property
    def fingerprint(self) -> str | None:
        """A hash by which the files of the model are recognised; None if it was not loaded from files."""
        return None if self._folder is None else fingerprint(self._folder.folder)

    def translate(
        self,
        texts: Iterable[str],
        search: SearchSettings = SearchSettings(),
        options: TranslationOptions = TranslationOptions(),
    ) -> list[Translation]:
        """Translate lines of text; each may be empty, a sentence, or too long for the model, which is then split."""
        return list(self.stream(texts, search, options))

    def stream(
        self,
        texts: Iterable[str],
        search: SearchSettings = SearchSettings(),
        options: TranslationOptions = TranslationOptions(),
        window: int = WINDOW,
    ) -> Iterator[Translation]:
        """Translate lines in constant memory: results come in the order of the lines, `window` lines at a time."""
        if isinstance(texts, str):
            raise DataError("translate takes several texts, and was given one. Put it into a list.")
        pipeline = self.pipeline(search, options)
        lines = (SourceLine(number, text) for number, text in enumerate(texts, 1))
        for batch in windows(lines, window):
            yield from pipeline.translate(batch)

    def pipeline(
        self, search: SearchSettings = SearchSettings(), options: TranslationOptions = TranslationOptions()
    ) -> TranslationPipeline:
        """Return a pipeline for windows of lines, with an engine that can do what they need."""
        self.prepare(options.needs(search))
        return TranslationPipeline(self.vocabularies, self.engine, search, options)

    def prepare(self, needs: EngineNeeds) -> None:
        """Make sure that the engine can do what is needed: open another one where it cannot."""
        reason = self.engine.lacks(needs)
        if reason is None:
            return
        if self._folder is None:
            raise ConfigError(f"the engine {self.engine.name} cannot do this: {reason}. Use torch.")
        opened = open_engine(self._folder, self._choice, needs)
        self.engine, self.notes = opened.engine, tuple(dict.fromkeys((*self.notes, *opened.notes)))
