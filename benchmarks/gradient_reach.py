"""The study gradient-reach on trained translators: how much of a gradient arrives at each word of the source.

For test sentences of several lengths: the gradient of the loss of the target's last piece at the embedding of the
source's first piece (its norm, and its share of the norm at all pieces), and where the gradient of the complete loss
arrives: in the first, the middle or the last third of the source. The runs are those of benchmarks/readers.py --keep.

    python benchmarks/gradient_reach.py work/runs/transformer-1 work/runs/convolutional-1 --data data/europarl
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.data.config import CorpusConfig, DataConfig
from clearhead.data.corpora import read_texts
from clearhead.decoding.translator import Translator
from clearhead.model import Batch
from clearhead.studies.experiment import Experiment
from clearhead.studies.picture import save_picture
from clearhead.studies.variants import VARIANTS
from halves import print_machine, print_table
from readers import find_file
from readers_report import LINES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (12.5, 5.0)
LENGTHS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, 60))  # words of the source
THIRDS = ("first third", "middle third", "last third")


@dataclass(frozen=True)
class ReachOfLength:
    """What was measured on the sentences of one length: means over the sentences."""

    words: str
    num_sentences: int
    norm: float  # at the first piece, of the loss of the last piece
    share: float  # of the norm at all pieces
    thirds: tuple[float, float, float]  # shares of the complete loss's gradient norms


def gradient_norms(model: Any, source: Sequence[int], target: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the norms of two gradients at every source token: of the last token's loss, and of the complete loss."""
    outputs: list[Tensor] = []
    hook = model.encoder.embedding.register_forward_hook(lambda _module, _inputs, output: outputs.append(output))
    batch = Batch(
        torch.tensor([source], device=model.device), torch.tensor([target], device=model.device), is_padded=False
    )
    # cuDNN has no gradients of recurrent cells in eval mode, where dropout is off
    with torch.backends.cudnn.flags(enabled=False):
        logits = model.project(model.states(batch))[0].float()
        hook.remove()
        losses = F.cross_entropy(logits, batch.target[0], reduction="none")
        # the last token is the end of the sentence, the one before it the last piece
        (of_last,) = torch.autograd.grad(losses[-2], outputs[0], retain_graph=True)
        (of_all,) = torch.autograd.grad(losses.sum(), outputs[0])
    return of_last[0].float().norm(dim=1), of_all[0].float().norm(dim=1)


def thirds_of(norms: Tensor) -> tuple[float, float, float]:
    """Return the share of each third of the tokens in the sum of their norms."""
    parts = [float(part.sum()) for part in torch.tensor_split(norms, 3)]
    return parts[0] / sum(parts), parts[1] / sum(parts), parts[2] / sum(parts)


def measure(folder: Path, pairs: Sequence[tuple[str, str]], most: int) -> list[ReachOfLength]:
    """Measure a trained model on sentences of every length."""
    translator = Translator.load(folder, engine="torch", precision="float32")
    model, vocabularies = translator.model, translator.vocabularies
    rows = []
    for shortest, longest in LENGTHS:
        chosen = [pair for pair in pairs if shortest <= len(pair[0].split()) <= longest and pair[1].strip()][:most]
        if not chosen:
            continue
        norms, shares, thirds = [], [], []
        for source, target in chosen:
            ids = [
                [*tokeniser.encode([text])[0], tokeniser.eos]
                for tokeniser, text in ((vocabularies.source, source), (vocabularies.target, target))
            ]
            of_last, of_all = gradient_norms(model, *ids)
            words = of_last[:-1]  # without the end token
            norms.append(float(words[0]))
            shares.append(float(words[0] / words.norm()))
            if len(words) >= len(THIRDS):
                thirds.append(thirds_of(of_all[:-1]))
        means = tuple(fmean(column) for column in zip(*thirds, strict=True))
        rows.append(ReachOfLength(f"{shortest}–{longest}", len(chosen), fmean(norms), fmean(shares), means))
    return rows


def title_of(folder: Path) -> str:
    """Return what the variant of a run is called."""
    name = folder.name.rpartition("-")[0]
    return VARIANTS[name].title if name in VARIANTS else folder.name


def report(results: Mapping[str, Sequence[ReachOfLength]]) -> None:
    """Print a table of the first word, and one of the thirds."""
    lengths = [f"{row.words} words ({row.num_sentences})" for row in next(iter(results.values()))]
    print("Share of the first piece in the gradient of the last piece's loss (its norm in brackets):\n")
    print_table(
        ["model", *lengths],
        [[title, *(f"{row.share:.3f} ({row.norm:.2g})" for row in rows)] for title, rows in results.items()],
    )
    print(f"Gradient of the complete loss: shares of the {', '.join(THIRDS)} of the source:\n")
    cells = {
        title: [" / ".join(f"{share:.2f}" for share in row.thirds) for row in rows] for title, rows in results.items()
    }
    print_table(["model", *lengths], [[title, *row] for title, row in cells.items()])


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the share of the first word by length, and that of the first third."""
    first, third = figure.subplots(1, 2)
    for name, variant in VARIANTS.items():
        if f"{name} share" in result.arrays:
            style: dict[str, Any] = {**LINES[name], "label": variant.title}
            first.plot(result.arrays["words"], result.arrays[f"{name} share"], marker="o", **style)
            third.plot(result.arrays["words"], result.arrays[f"{name} first third"], marker="o", **style)
    first.set(title="Last word's loss, first word", ylabel="share of the gradient", xlabel="words of the source")
    third.set(title="Complete loss, first third", ylabel="share of the gradient", xlabel="words of the source")
    for axes in (first, third):
        axes.set_ylim(bottom=0)
    figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=4)


def experiment_of(results: Mapping[str, Sequence[ReachOfLength]], names: Sequence[str]) -> Experiment:
    """Return the numbers of the plot."""
    import numpy as np

    words = [fmean(int(part) for part in row.words.split("–")) for row in next(iter(results.values()))]
    arrays = {"words": np.array(words)}
    for name, rows in zip(names, results.values(), strict=True):
        arrays[f"{name} share"] = np.array([row.share for row in rows])
        arrays[f"{name} first third"] = np.array([row.thirds[0] for row in rows])
    return Experiment("gradient-reach-full", "Gradients at the words of the source", 1, "", (), "", arrays)


def main() -> None:
    """Measure all models, print the tables, and write the numbers and the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", help="run folders named VARIANT-SEED")
    parser.add_argument("--data", type=Path, required=True, help="folder with the test set")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--sentences", type=int, default=40, help="at most this number of each length")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    parser.add_argument("--picture", type=Path, help="an SVG or PNG file; needs Matplotlib")
    options = parser.parse_args()
    names = [run.resolve().name.rpartition("-")[0] for run in options.runs]
    if len(set(names)) < len(names):
        parser.error("name one run of each variant")
    files = {
        side: str(find_file(options.data, f"test.{language}"))
        for side, language in (("source", options.source), ("target", options.target))
    }
    corpus = CorpusConfig.model_validate(files)
    pairs = list(read_texts([corpus], DataConfig(train=(corpus,))))
    results = {title_of(run): measure(run, pairs, options.sentences) for run in options.runs}
    print_machine("auto")
    report(results)
    if options.json is not None:
        content = {title: [asdict(row) for row in rows] for title, rows in results.items()}
        options.json.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    if options.picture is not None:
        save_picture(experiment_of(results, names), options.picture, sys.modules[__name__])


if __name__ == "__main__":
    main()
