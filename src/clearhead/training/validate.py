"""Validation: the loss of a model on held-out sentences, and the scores of its output."""

import math
from collections.abc import Mapping
from dataclasses import replace

import torch

from clearhead.data.batches import NO_LABEL, BatchStream, make_layout
from clearhead.data.store import PairStore
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.evaluation.scores import Score, accuracy, bleu, chrf, exact_match
from clearhead.model import SequenceModel, build_model
from clearhead.model.modes import evaluation_mode
from clearhead.text.config import Task
from clearhead.text.statistics import Percentiles, percentiles
from clearhead.text.tokeniser import Vocabularies
from clearhead.training.config import ValidationConfig
from clearhead.training.distributed.world import ALONE, World
from clearhead.training.feed import to_batch

_BATCH_TOKENS = 4096


class Validator:
    """Scores a model on a fixed set of sentences, of which each process of a run takes its share."""

    def __init__(
        self,
        store: PairStore,
        vocabularies: Vocabularies,
        task: Task,
        config: ValidationConfig,
        world: World = ALONE,
    ) -> None:
        self.task, self.vocabularies, self.config, self._world = task, vocabularies, config, world
        has_labels = task == "classify"
        layout = make_layout(store, _BATCH_TOKENS, batching="bucketed", has_labels=has_labels)
        store_without_texts = replace(
            store, source_texts=None, target_texts=None
        )  # without texts, no tokenisation is sampled
        self._batches = list(
            BatchStream(store_without_texts, vocabularies, layout, seed=0, has_labels=has_labels).once()
        )
        self.log_probs: Percentiles | None = None  # of the last translations, per token
        self._copy: SequenceModel | None = None  # in the precision of training
        self._engine: TorchEngine | None = None  # engine of the copy
        indices = range(len(store))
        self.sources = [] if task == "language-model" else store.texts("source", indices)
        self.references = store.texts("target", indices)
        self._is_lower = vocabularies.target.config.lower_case
        if self._is_lower:  # the model cannot write upper case
            self.references = [vocabularies.target.normalised(text) for text in self.references]

    def scores(self, model: SequenceModel, precision: torch.dtype) -> Mapping[str, Score]:
        """Return the loss and all scores of the task, by their names in a config."""
        device = model.device
        is_mixed = precision != torch.float32
        with (
            evaluation_mode(model),
            torch.inference_mode(),
            torch.autocast(device.type, precision, enabled=is_mixed),
        ):
            scores = {"loss": self._loss(model)}
            if self.task == "translate":
                outputs = self._translations(model, precision)
                scores |= {
                    "bleu": bleu(outputs, self.references),
                    "chrf": chrf(outputs, self.references),
                    "exact": exact_match(outputs, self.references),
                }
            elif self.task == "classify":
                scores["accuracy"] = self._accuracy(model)
        if self._is_lower:
            lower_cased = {
                name: replace(score, signature=f"{score.signature}|text:lower-cased") for name, score in scores.items()
            }
            return {**lower_cased, "loss": scores["loss"]}
        return scores

    def _translations(self, model: SequenceModel, precision: torch.dtype) -> list[str]:
        """Translate with greedy search, in the same pipeline as `translate`."""
        search = SearchSettings(max_ratio=self.config.max_ratio)
        # lines stay whole, so that the scores are those of the training task: one line in, one line out
        options = TranslationOptions(is_paragraphs=False, has_scores=False)
        sources = self._world.share_of(self.sources)
        if model.device.type == "cpu":
            translations = self.translator(model, precision).translate(sources, search, options)
        else:
            with torch.autocast("cuda", enabled=False):
                translations = self.translator(model, precision).translate(sources, search, options)
        own = [(one.text, one.mean_log_prob) for one in translations]
        results = self._world.interleave(self._world.gather(own))
        self.log_probs = percentiles([mean for _, mean in results if math.isfinite(mean)])
        return [text for text, _ in results]

    def translator(self, model: SequenceModel, precision: torch.dtype) -> Translator:
        """Return a translator with the model: itself on a CPU, a copy in the precision of training on a GPU."""
        is_cpu = model.device.type == "cpu"
        return Translator(self.vocabularies, TorchEngine(model) if is_cpu else self._engine_of_copy(model, precision))

    def _engine_of_copy(self, model: SequenceModel, precision: torch.dtype) -> TorchEngine:
        """Return an engine for one copy of the model, so that all validations use the same recorded CUDA graphs."""
        if self._copy is None or self._engine is None:
            with torch.random.fork_rng(devices=[]):
                self._copy = build_model(model.config).to(model.device, precision)
            self._engine = TorchEngine(self._copy)
        for old, new in zip(self._copy.parameters(), model.parameters(), strict=True):
            old.copy_(new)
        return self._engine

    def _loss(self, model: SequenceModel) -> Score:
        """Return the mean cross-entropy per token (or label) in nats, without label smoothing."""
        sums = torch.zeros(2, dtype=torch.float64)
        for token_batch in self._world.share_of(self._batches):
            loss = model.loss(to_batch(token_batch, model.device, has_labels=self.task == "classify"))
            sums += torch.tensor([float(loss.total), float(loss.num_tokens)], dtype=torch.float64)
        self._world.sum_up(sums)
        total, count = sums.tolist()
        unit = "label" if self.task == "classify" else f"token|vocabulary:{self.vocabularies.digest[:12]}"
        return Score("loss", total / max(count, 1), f"unit:{unit}|smoothing:none|base:e", is_higher_better=False)

    def _accuracy(self, model: SequenceModel) -> Score:
        device = model.device
        predictions, labels = [], []
        for token_batch in self._world.share_of(self._batches):
            batch = to_batch(token_batch, device, has_labels=True)
            assert batch.labels is not None
            is_real = batch.labels != NO_LABEL
            predictions += [str(label) for label in model(batch).argmax(dim=-1)[is_real].tolist()]
            labels += [str(label) for label in batch.labels[is_real].tolist()]
        shares = self._world.gather([predictions, labels])
        predictions, labels = ([one for share in shares for one in share[side]] for side in range(2))
        return accuracy(predictions, labels)
