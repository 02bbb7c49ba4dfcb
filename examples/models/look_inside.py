"""Look inside a trained model: for five sentences, the steps of one cross-attention head, its alignment, and the mask.

Run: python examples/models/look_inside.py RUN [SENTENCES] [--first 5] [--head 1.3] [--name NAME] [--output docs/inside]
SENTENCES is a text file; by default held-out sentences of the built-in phrasebook are used.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from inside.heads import choose_heads, translated
from inside.looks import look
from inside.pages import About, write_pages

from clearhead.data import phrasebook
from clearhead.decoding.annotation import read_head
from clearhead.errors import ClearheadError, DataError
from clearhead.files.line_input import input_lines
from clearhead.formats.model_folder import find_model, load_vocabularies
from clearhead.training.prepare import open_model


def sentences_of(path: Path | None, first: int) -> list[str]:
    """Return the first sentences of a file, or held-out sentences of the phrasebook."""
    if path is None:
        held_out = [source for source, _ in phrasebook.pairs("valid")]
        return held_out[:: max(1, len(held_out) // first)][:first]
    sentences = list(islice((line for line in input_lines(str(path)) if line.strip()), first))
    if not sentences:
        raise DataError(f"{path} contains no sentences. Give a text file with a sentence on each line.")
    return sentences


def look_inside(options: argparse.Namespace) -> bool:
    """Write the pages; return whether every trace got full marks."""
    model, vocabularies = open_model(options.model).eval(), load_vocabularies(find_model(options.model))
    pairs = translated(model, vocabularies, sentences_of(options.sentences, options.first))
    heads = choose_heads(model, pairs, None if options.head is None else read_head(options.head))
    looks = []
    for pair in pairs:
        looks.append(look(model, vocabularies, pair, heads))
        print(f"{pair.sentence} → {pair.text}\n  {looks[-1].marks}", flush=True)
    write_pages(looks, About(options.name, model.config), options.output)
    print(f"Wrote the steps of {heads.across_place} and {heads.own_place} to {options.output}.")
    return all(view.marks.is_full and view.head_marks.is_full for view in looks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Look inside a model; return 0 if its traces got full marks, 1 if not, 2 for wrong input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a run folder, a checkpoint or an OPUS-MT folder")
    parser.add_argument("sentences", type=Path, nargs="?", help="a text file with a sentence on each line")
    parser.add_argument("--first", type=int, default=5, help="the number of sentences")
    parser.add_argument(
        "--head",
        help="LAYER.HEAD or LAYER of cross-attention, counted from 0 (1.3 is layer 2, head 4); "
        "by default the head that aligns best",
    )
    parser.add_argument("--name", default="the model of `make demo`", help="the name of the model on the pages")
    parser.add_argument("--output", type=Path, default=Path("docs/inside"), help="the folder for the pages")
    options = parser.parse_args(arguments)
    if options.first < 1:
        parser.error(f"--first {options.first}: give 1 or more")
    try:
        return 0 if look_inside(options) else 1
    except ClearheadError as wrong:
        print(f"look_inside: {wrong}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
