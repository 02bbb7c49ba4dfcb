"""Show the model that `make demo` trains: held-out sentences, and the arithmetic of one row of cross-attention.

Run: python examples/models/phrasebook.py RUN [SENTENCE]
"""

import sys
from pathlib import Path

import torch

from clearhead.data import phrasebook
from clearhead.decoding.alignment import Head
from clearhead.decoding.translator import Translator
from clearhead.evaluation.scores import exact_match
from clearhead.explain.trace_file import save_trace
from clearhead.model import Batch
from clearhead.model.float64 import trace_in_float64

SHOWN, PRODUCTS = 8, 4  # sentences; products shown of each sum


def show_held_out(translator: Translator) -> None:
    """Translate the test part, whose combinations of words do not occur in training, and print some of it."""
    pairs = list(phrasebook.pairs("test"))
    texts = [translation.text for translation in translator.translate(source for source, _ in pairs)]
    print(f"{len(pairs):,} held-out sentences, whose word combinations do not occur in training. {SHOWN} of them:")
    for (source, reference), text in list(zip(pairs, texts, strict=True))[:: len(pairs) // SHOWN][:SHOWN]:
        print(f"  {source}\n    {text}" + ("" if text == reference else f"   ✗ reference: {reference}"))
    score = exact_match(texts, [reference for _, reference in pairs])
    print(f"{score.name}: {score.value:.1f} %   ({score.signature})\n")


def show_attention(translator: Translator, sentence: str, trace_file: Path) -> None:
    """Translate one sentence, and print the arithmetic of the cross-attention row that predicts its first word."""
    model, vocabularies = translator.model, translator.vocabularies
    text = translator.translate([sentence])[0].text
    source = [*vocabularies.source.encode([sentence])[0], model.config.eos]
    target = [*vocabularies.target.encode([text])[0], model.config.eos]
    _, trace = trace_in_float64(model, Batch(torch.tensor([source]), torch.tensor([target])))
    source_pieces = vocabularies.source.pieces(source)
    target_pieces = ["<s>", *vocabularies.target.pieces(target)[:-1]]
    save_trace(trace, trace_file, title=f"{sentence} → {text}", tokens=source_pieces, target_tokens=target_pieces)
    head = Head(model.config.decoder_blocks - 1, 0)
    where = f"decoder.{head.block}.cross_attention.head.{head.head}"
    steps = {record.step.name: record for record in trace if record.where == where}
    q, k = (steps["score"].inputs[name][0] for name in ("q", "k"))
    first = vocabularies.target.pieces(target)[0].lstrip("▁")
    print(f"{sentence} → {text}\nThe row that predicts '{first}' in {head} ({where}, width {q.shape[1]}):")
    for column, token in enumerate(source_pieces):
        sums = " + ".join(f"{a:.2f}×{b:.2f}" for a, b in zip(q[0][:PRODUCTS], k[column][:PRODUCTS], strict=True))
        print(f"  S[{token}] = {sums} + … = {steps['score'].value[0, 0, column]:.4f}")
    scaled, weights = (steps[name].value[0, 0].tolist() for name in ("scale", "softmax"))
    print(f"  S/√{q.shape[1]} = {'  '.join(f'{number:.4f}' for number in scaled)}")
    bottom = " + ".join(f"e^{number:.4f}" for number in scaled)
    for token, number, weight in zip(source_pieces, scaled, weights, strict=True):
        print(f"  A[{token}] = e^{number:.4f} / ({bottom}) = {weight:.4f}")
    v, mixed = steps["mix"].inputs["v"][0], steps["mix"].value[0, 0]
    sums = " + ".join(f"{weight:.4f}×{value:.4f}" for weight, value in zip(weights, v[:, 0].tolist(), strict=True))
    print(f"  Z[1] = {sums} = {mixed[0]:.4f}")
    print(f"\n{trace_file} has every number of this pass: clearhead solve --from-trace {trace_file} --where {where}")


def main() -> None:
    """Show the model of a run."""
    run = Path(sys.argv[1])
    sentence = sys.argv[2] if len(sys.argv) > 2 else "Let's go"
    translator = Translator.load(run, engine="torch", precision="float32")
    show_held_out(translator)
    trace_file = run / "trace.json"
    show_attention(translator, sentence, trace_file)


if __name__ == "__main__":
    main()
