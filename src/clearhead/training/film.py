"""Record the film of a run: at each validation, the translations of the pinned sentences and their attention.

Recording changes nothing else in the run: the random state is restored, and no weight is touched.
"""

from collections.abc import Sequence

import numpy as np
import torch

from clearhead.decoding.alignment import cross_attention
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError, RunError, printable
from clearhead.model import TrainableModel
from clearhead.model.modes import evaluation_mode
from clearhead.text.tokeniser import Vocabularies, split_tag
from clearhead.training.config import PinnedSentence, RunConfig
from clearhead.training.film_file import FILM, MAX_TOKENS, FilmFrame, FilmSentence, frame_bytes, frame_name, is_kept
from clearhead.training.run import RunFolder
from clearhead.training.timeline import Timeline
from clearhead.training.validate import Validator


class FilmRecorder:
    """Appends a frame to the film of a run at each validation; without pinned sentences it does nothing."""

    def __init__(self, config: RunConfig, folder: RunFolder, timeline: Timeline, vocabularies: Vocabularies) -> None:
        self._config, self._folder = config, folder
        self._num_validations = timeline.num_validations(0)
        _check_tags(config.pinned, vocabularies)

    def add(self, step: int, model: TrainableModel, validator: Validator, precision: torch.dtype) -> None:
        """Write the frame of an update, with the same translator as the validation."""
        if not self._config.pinned or not is_kept(step, self._config.validation.every, self._num_validations):
            return
        device = model.device
        with (
            torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
            evaluation_mode(model),
            torch.inference_mode(),
            torch.autocast(device.type, enabled=False),
        ):
            frame = self._frame(step, validator.translator(model, precision))
        self._make_folder()
        self._folder.write(f"{FILM}/{frame_name(step)}", frame_bytes(frame))

    def _make_folder(self) -> None:
        place = self._folder.path / FILM
        try:
            place.mkdir(exist_ok=True)
        except OSError as wrong:
            raise RunError(f"{printable(str(place))} cannot be written: {wrong.strerror}.") from None

    def _frame(self, step: int, translator: Translator) -> FilmFrame:
        pinned = self._config.pinned
        # the same search as for the scores of a validation, with the probabilities of all tokens
        search = SearchSettings(max_ratio=self._config.validation.max_ratio)
        options = TranslationOptions(is_paragraphs=False)
        translations = translator.translate([sentence.source for sentence in pinned], search, options)
        sentences = [
            film_sentence(sentence, translation, translator)
            for sentence, translation in zip(pinned, translations, strict=True)
        ]
        return FilmFrame(step, tuple(sentences))


def film_sentence(pinned: PinnedSentence, translation: Translation, translator: Translator) -> FilmSentence:
    """Return what is kept of a translation: of a sentence that was split, the first part, and at most 64 tokens."""
    if not translation.parts or not translation.parts[0].hypotheses:  # nothing is left of the text after normalising
        nothing = np.zeros(0, np.float16)
        return FilmSentence(pinned.source, pinned.reference, "", (), (), nothing, nothing.reshape(1, 0, 0))
    part, hypothesis = translation.parts[0], translation.parts[0].hypotheses[0]
    model, vocabularies = translator.model, translator.vocabularies
    source = torch.tensor([*part.ids, model.config.eos], device=model.device)
    tokens = hypothesis.tokens[:MAX_TOKENS]
    # the rows that predict the tokens: the last one needs no row in which it is the input
    weights = [torch.as_tensor(layer).float() for layer in cross_attention(model, source, [tokens[:-1]])[0].weights]
    # a layer of a pruned model can have no heads: its attention is 0
    mean = torch.stack([layer.mean(0) if len(layer) else layer.sum(0) for layer in weights])[:, :, :MAX_TOKENS]
    return FilmSentence(
        source=pinned.source,
        reference=pinned.reference,
        translation=translation.text,
        source_tokens=tuple(vocabularies.source.pieces(source[:MAX_TOKENS].tolist())),
        target_tokens=tuple(vocabularies.target.pieces(tokens)),
        probabilities=np.exp(np.array(hypothesis.log_probs[:MAX_TOKENS])).astype(np.float16),
        attention=mean.detach().cpu().numpy().astype(np.float16),
    )


def _check_tags(pinned: Sequence[PinnedSentence], vocabularies: Vocabularies) -> None:
    """Raise ConfigError before the training if a sentence has the tag of an unknown language."""
    if not vocabularies.source.tags:
        return
    for index, sentence in enumerate(pinned):
        language, _ = split_tag(sentence.source)
        try:
            if language is not None:
                vocabularies.source.tag(language)
        except DataError as wrong:
            raise ConfigError(f"pinned.{index}.source: {wrong}") from None
