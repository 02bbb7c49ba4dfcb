"""The test at the end of a run: translate the sentences of `data.test` with the best model, once, and score them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clearhead.data.config import CorpusConfig
from clearhead.data.corpora import read_texts
from clearhead.decoding.translator import Translator
from clearhead.evaluation.scores import Score, bleu, chrf
from clearhead.training.config import RunConfig
from clearhead.training.distributed.world import ALONE, World
from clearhead.training.outcome import Sample
from clearhead.training.run import RunFolder

_NUM_SAMPLES = 10


@dataclass(frozen=True)
class TestReport:
    """The scores on the test set, and some of its translations."""

    __test__ = False  # not a test of pytest

    scores: dict[str, Score] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()


def run_test(folder: RunFolder, config: RunConfig, world: World | None = None) -> TestReport:
    """Translate and score the test set of a run as `translate` does by default; each process takes its share."""
    assert config.data.test is not None
    pairs = list(read_texts([_test_part(config.data.test)], config.data.model_copy(update={"deduplicate": False})))
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    translator = Translator.load(folder.path)
    shared_by = world or ALONE
    own = [translation.text for translation in translator.translate(shared_by.share_of(sources))]
    outputs = shared_by.interleave(shared_by.gather(own))
    is_lower = translator.vocabularies.target.config.lower_case
    if is_lower:  # the model cannot write upper case
        references = [translator.vocabularies.target.normalised(text) for text in references]
    scores = {"bleu": bleu(outputs, references), "chrf": chrf(outputs, references)}
    return TestReport(scores, tuple(_samples(sources, outputs, references)))


def _test_part(corpus: CorpusConfig) -> CorpusConfig:
    if corpus.built_in is None or corpus.split is not None:
        return corpus
    return corpus.model_copy(update={"split": "test"})


def _samples(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> list[Sample]:
    """Return sentences from all parts of the test set."""
    number = min(_NUM_SAMPLES, len(sources))
    indices = [index * len(sources) // number for index in range(number)]
    return [Sample(sources[index], outputs[index], references[index]) for index in indices]
