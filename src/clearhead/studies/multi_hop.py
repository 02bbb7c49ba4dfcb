"""Questions about stories that take one, two or three lookups, asked of encoders with one to four layers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.explain.rollout import rollout
from clearhead.model import Batch, Loss, Transformer
from clearhead.model.config import read_config
from clearhead.model.gates import closed_gates
from clearhead.model.heads import every_head
from clearhead.model.probe import NO_PROBE, Probe
from clearhead.model.tracing import PartTrace
from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.hop_task import (
    CHAINS,
    NUM_WORDS,
    WORDS,
    draw_stories,
    held_out_stories,
    last_mention,
    path_of,
    text_of,
)
from clearhead.studies.learning import Learner, Show, StudyRecipe, share
from clearhead.studies.picture import Panel
from clearhead.studies.variants import num_parameters
from clearhead.worksheet.arrays import Array

CLAIM = "To know what 'it' is, one layer of attention is not enough: the next one must use what it has found."
WIDE = "1 layer, twice the parameters"
LAYERS = ("1 layer", "2 layers", "3 layers", "4 layers")
MODELS = {  # the number of layers, and a factor of the width, of the heads and of the number of parameters
    "bag of words": (0, 1),
    **{name: (number, 1) for number, name in enumerate(LAYERS, start=1)},
    WIDE: (1, 2),
}
TESTS = {  # hops, and whether names are reserved
    "1 hop": (1, False),
    "2 hops": (2, False),
    "3 hops": (3, False),
    "2 hops, new names": (2, True),
    "3 hops, new names": (3, True),
}
PATH = ("?", "brother", "room", "thing")  # the first question of a story, and what each statement after it leads to
LOOKS = {  # the word of the question, and the places of the path: the one that looks, and the one that it looks at
    "he → brother": ("he", 0, 1),
    "it → brother": ("it", 0, 1),
    "it → room": ("it", 0, 2),
    "it → thing": ("it", 0, 3),
    "brother → room": ("it", 1, 2),
    "room → thing": ("it", 2, 3),
}
_CHANCE, _SHARE = "P(right answer)", "right of all stories"
_WEIGHTS = {2: ""}
_REMOVED = {3: ""}
PANELS = (
    Panel("Right answers", tuple(TESTS)[:3], "layers", only="equal", label="share"),
    Panel("Weights of head 1 in a story", tuple(LOOKS), "layer", only="head 1", tables=_WEIGHTS, label="weight"),
    Panel("Weights of head 2 in a story", tuple(LOOKS), "layer", only="head 2", tables=_WEIGHTS, label="weight"),
    Panel("Rollout up to each layer", tuple(LOOKS), "layer", only="rollout", tables=_WEIGHTS, label="share"),
    Panel("The story without one head", (_CHANCE,), "without", tables=_REMOVED, label="P(right answer)"),
    Panel("All stories without one head", (_SHARE,), "without", tables=_REMOVED, label="right answers"),
)


@dataclass(frozen=True)
class HopSizes:
    """The sizes of the models and of the data."""

    steps: int = 2000
    rate: float = 2.5e-3
    batch: int = 64  # stories with four questions
    width: int = 32
    num_parameters: int = 38_000  # without the map of StatementEmbedding
    num_tested: int = 2000  # stories of every test


SMALL = HopSizes()


class StatementEmbedding(nn.Embedding):
    """The vector of a word plus a linear map of the vector of the word before it."""

    def __init__(self, width: int) -> None:
        super().__init__(NUM_WORDS, width)
        self.map = nn.Linear(width, width, bias=False)
        nn.init.orthogonal_(self.map.weight)
        nn.init.normal_(self.weight, std=width**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vectors (B, T, D) of places (B, T)."""
        mapped: Tensor = self.map(super().forward(ids // NUM_WORDS))
        return super().forward(ids % NUM_WORDS) + mapped


def make_model(name: str, sizes: HopSizes, seed: int) -> Transformer:
    """Return an untrained model; the width of its feed-forward networks makes up for its number of layers."""
    layers, factor = MODELS[name]
    width = factor * sizes.width
    torch.manual_seed(seed)
    settings = {
        "shape": "encoder",
        "source_vocabulary": NUM_WORDS,
        "num_classes": NUM_WORDS,
        "encoder_blocks": layers,
        "d_model": width,
        "d_ff": 1,
        "num_heads": 2 * factor,
        "dropout": 0.0,
        "positions": "none",
    }
    missing = max(0, factor * sizes.num_parameters - num_parameters(read_config(settings)))
    if layers:
        settings["d_ff"] = 1 + missing // (layers * (2 * width + 1))
    model = Transformer(read_config(settings))
    assert model.encoder is not None
    model.encoder.embedding = StatementEmbedding(width)
    return model


def answer_logits(model: Transformer, source: Tensor | None, probe: Probe = NO_PROBE) -> Tensor:
    """Return the logits (B, 4, V) at the questions. A model without layers also reads the mean of all places there.

    With the mean, one layer could answer two hops: every statement would compare itself with the question.
    """
    assert source is not None
    states = model.encode(source, is_padded=False, probe=probe).states
    questions = states[:, -CHAINS:]
    if not model.config.encoder_blocks:
        questions = questions + states.mean(dim=1, keepdim=True)
    return model.project(questions)


def answers(model: Transformer, source: Tensor) -> Tensor:
    """Return the words (B,) that a model answers to the first question."""
    return answer_logits(model, source)[:, 0].argmax(dim=1)


def train(name: str, sizes: HopSizes, seed: int, show: Show = lambda *_: None) -> Transformer:
    """Train one model."""
    model = make_model(name, sizes, seed)

    def loss(batch: Batch) -> Loss:
        logits = answer_logits(model, batch.source).flatten(0, 1)
        total = F.cross_entropy(logits, model.labels(batch).flatten(), reduction="sum")
        return Loss(total, torch.tensor(len(logits)))

    recipe = StudyRecipe(sizes.steps, sizes.rate, sizes.batch, warm_up=max(1, sizes.steps // 20), optimiser="muon")
    Learner(draw_stories, recipe, seed, show).train(model, name, loss)
    return model.eval()


@torch.no_grad()
def accuracies(answer: Callable[[Tensor], Tensor], sizes: HopSizes, seed: int) -> list[float]:
    """Return the share of right answers to the first question in every test, on stories that training does not draw."""
    shares = []
    for number, (hops, is_reserved) in enumerate(TESTS.values()):
        random = torch.Generator().manual_seed(1000 * (seed + 1) + number)
        source, labels = held_out_stories(sizes.num_tested, random, hops, is_reserved=is_reserved)
        shares.append(share(answer(source) == labels))
    return shares


def attention_maps(model: Transformer, story: Tensor) -> Array:
    """Return the weights of every head for a story (T,), and in each layer their rollout: (L, H + 1, T, T)."""
    trace = PartTrace(("encoder.*.self_attention.head.*",))
    model.encode(story[None], is_padded=False, probe=Probe(trace))
    weights = np.concatenate([record.value for record in trace.find("softmax")])  # (L · H, T, T)
    layers = weights.reshape(model.config.encoder_blocks, -1, *weights.shape[1:])
    return np.concatenate((layers, rollout(layers)[:, None]), axis=1)


@torch.no_grad()
def look_inside(model: Transformer, sizes: HopSizes, seed: int) -> tuple[ResultTable, ...]:
    """Return a solved story of three hops, the attention along its path, and the answers without each head.

    A head has the role of the look of a question at which it is the strongest; one of the others is drawn at random.
    """
    source, labels = held_out_stories(sizes.num_tested, torch.Generator().manual_seed(1000 * (seed + 1) - 1), 3)
    number = int((answers(model, source) == labels).int().argmax())  # the first that is solved
    story = source[number]
    path, heads = path_of(story), every_head(model.config)
    asks_he = story.clone()
    asks_he[path[0]] += WORDS.index("he") - WORDS.index("it")
    brother = WORDS[answers(model, asks_he[None])]
    maps = {"it": attention_maps(model, story), "he": attention_maps(model, asks_he)}
    looks = np.stack([maps[word][:, :, path[query], path[key]] for word, query, key in LOOKS.values()], axis=2)
    names = (*(f"head {number + 1}" for number in range(looks.shape[1] - 1)), "rollout")
    weights = [(layer + 1, names[place], *looks[layer, place].tolist()) for layer, place in np.ndindex(looks.shape[:2])]
    strongest = looks[:, :-1].reshape(len(heads), -1).argmax(axis=0).tolist()
    roles = {heads[index]: f" ({look})" for look, index in zip(LOOKS, strongest, strict=True) if look[:2] in maps}
    others = [head for head in heads if head not in roles]
    if others:
        random = torch.Generator().manual_seed(seed)
        roles[others[int(torch.randint(len(others), (), generator=random))]] = " (random)"
    removals: Rows = []
    for head in heads:
        gates = closed_gates(model.config, model.device, without=[head])
        logits = answer_logits(model, source, Probe(gates=gates))[:, 0]
        name = f"head {head.layer + 1}.{head.number + 1}{roles.get(head, '')}"
        answer = WORDS[int(logits[number].argmax())]
        chance = float(logits[number].softmax(0)[labels[number]])
        removals.append((name, answer, chance, share(logits.argmax(dim=1) == labels)))
    hops = dict(zip(path, PATH, strict=True))
    places = [(text_of(place), hops.get(index, "")) for index, place in enumerate(story.tolist())]
    title = f"a solved story of three hops: 'it' is answered with {WORDS[labels[number]]}, 'he' with {brother}"
    return (
        ResultTable(title, ("place", "leads to"), places),
        ResultTable("attention weights in the story, and rollout", ("layer", "head", *LOOKS), weights),
        ResultTable("answers without one head", ("without", "answer", _CHANCE, _SHARE), removals),
    )


def run(seed: int, sizes: HopSizes, show: Show) -> Measurement:
    """Train and test all models, and look into the one that answers most questions of three hops."""
    models = {name: train(name, sizes, seed, show) for name in MODELS}
    shares = {name: accuracies(partial(answers, model), sizes, seed) for name, model in models.items()}
    rows: Rows = []
    for name, (layers, _) in MODELS.items():
        size = "equal" if name in LAYERS else "other"
        count = sum(parameter.numel() for parameter in models[name].parameters())
        rows.append((name, layers, size, count, *shares[name]))
    rows.append(("last mention", 0, "other", 0, *accuracies(last_mention, sizes, seed)))
    title = f"share of right answers after {sizes.steps:,} updates; a guess is right in {1 / CHAINS}"
    best = max(LAYERS, key=lambda name: shares[name][2])
    table = ResultTable(title, ("model", "layers", "size", "parameters", *TESTS), rows)
    inside = look_inside(models[best], sizes, seed)
    without = "; ".join(f"{share:.2f} without {head}" for head, *_, share in inside[-1].rows)
    finding = f"In the model with {best}, right answers of three hops: {without}."
    return Measurement((table, *inside), finding)
