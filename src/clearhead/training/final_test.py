"""The test at the end of a run: translate the sentences of `data.test` with the best model, once, and score them."""

from collections.abc import Sequence
from dataclasses import replace

from clearhead.data.corpora import read_texts
from clearhead.decoding.translator import Translator
from clearhead.evaluation.scores import bleu, chrf
from clearhead.training.config import RunConfig
from clearhead.training.distributed.world import ALONE, World
from clearhead.training.outcome import Outcome, Sample, kept_scores
from clearhead.training.run import RunFolder

_NUM_SAMPLES = 10


def run_test(folder: RunFolder, config: RunConfig, outcome: Outcome, world: World = ALONE) -> Outcome:
    """Translate the test set of a run as `translate` does by default, and add its scores and samples to the outcome.

    Each process translates its share.
    """
    assert config.data.test is not None
    pairs = list(read_texts([config.data.test.in_split("test")], config.data.model_copy(update={"deduplicate": False})))
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    translator = Translator.load(folder.path)
    own = [translation.text for translation in translator.translate(world.share_of(sources))]
    outputs = world.interleave(world.gather(own))
    if translator.vocabularies.target.config.lower_case:  # the model cannot write upper case
        references = [translator.vocabularies.target.normalised(text) for text in references]
    scores = {"bleu": bleu(outputs, references), "chrf": chrf(outputs, references)}
    samples = tuple(_samples(sources, outputs, references))
    return replace(outcome, test_scores=kept_scores(scores), samples=samples)


def _samples(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> list[Sample]:
    """Return sentences from all parts of the test set."""
    number = min(_NUM_SAMPLES, len(sources))
    indices = [index * len(sources) // number for index in range(number)]
    return [Sample(sources[index], outputs[index], references[index]) for index in indices]
