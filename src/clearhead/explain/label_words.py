"""Which words carried the decision of a classifier, by two methods that need nothing but the model's own forward pass.

leave_out: log P of the label minus its log P if the word is left out of the text
gradient_input: the gradient of log P of the label with respect to the embeddings of the word, times these embeddings
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from clearhead.decoding.classification import Classification, Classifier
from clearhead.explain.options import check_text
from clearhead.explain.token_row import TokenRow
from clearhead.model import Batch, SequenceModel

METHODS: Mapping[str, str] = {
    "leave_out": "log P of the label minus its log P if the word is left out of the text. Signed, in nats.",
    "gradient_input": "The gradient of log P of the label with respect to the embeddings of the word, times these "
    "embeddings: how log P would change, to first order, if they grew. Signed, in nats; near 0 for every word if the "
    "label is nearly certain.",
}
_EMBEDDING = "encoder.embedding.weight"


@dataclass(frozen=True)
class LabelWords:
    """The words of a text with their contributions to the label, in nats; a positive one speaks for the label."""

    label: str
    words: tuple[str, ...]
    leave_out: tuple[float, ...]
    gradient_input: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON, with what each method means."""
        return {
            "label": self.label,
            "words": list(self.words),
            "leave_out": list(self.leave_out),
            "gradient_input": list(self.gradient_input),
            "methods": dict(METHODS),
        }


@dataclass(frozen=True, eq=False)
class LabelExplainer:
    """Explains classifications, in float64 on the CPU, so that the numbers are those of every device."""

    classifier: Classifier

    @staticmethod
    def of(classifier: Classifier) -> "LabelExplainer":
        """Return the explainer of a classifier, which is not changed."""
        model = deepcopy(classifier.model).to("cpu", torch.float64).eval()
        return LabelExplainer(Classifier(model, classifier.vocabularies))

    def explain(self, classification: Classification) -> LabelWords:
        """Return the contribution of each word to the label."""
        classifier, text = self.classifier, classification.text
        tokeniser = classifier.vocabularies.source
        ids = classifier.encode([text])[0]
        check_text(text, ids[:-1], tokeniser)
        row = TokenRow.of(tokeniser, ids, text)
        best = classification.best
        without = classifier.encode([row.without(word) for word in range(len(row.words))])
        log_probs = torch.tensor(classifier.probabilities([ids, *without]), dtype=torch.float64)[:, best].log()
        by_token = gradient_input(classifier.model, ids, best)
        by_word = by_token @ torch.from_numpy(row.by_word)
        leave_out = (log_probs[0] - log_probs[1:]).tolist()
        return LabelWords(classification.label, row.words, tuple(leave_out), tuple(by_word.tolist()))


class _ClassLogProb(nn.Module):
    """A classifier whose forward pass reads positions (1, S) instead of ids and returns log P of one class."""

    def __init__(self, model: SequenceModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, places: Tensor, number: int) -> Tensor:
        """Return log P of a class."""
        return torch.log_softmax(self.model(Batch(places, is_padded=False)), dim=-1)[0, number]


def gradient_input(model: SequenceModel, ids: list[int], number: int) -> Tensor:
    """Return gradient · input (S,) of log P of a class: every position has its own copy of its embedding."""
    module = _ClassLogProb(model)
    name = f"model.{_EMBEDDING}"
    table = module.get_parameter(name)
    rows = table[torch.tensor(ids, device=table.device)].detach().clone().requires_grad_()
    places = torch.arange(len(ids), device=table.device)[None]
    log_prob = functional_call(module, {name: rows}, (places, number))
    (gradient,) = torch.autograd.grad(log_prob, rows)
    return (gradient * rows).sum(dim=-1).detach()
