"""How many sentences the three engines translate identically, with one model, and how fast each of them is.

Rounding differs between engines, so that two continuations with almost equal scores can change places; the share of
identical translations shows how often. CTranslate2 and torch run in float32.
Run: python benchmarks/same_translations.py --model en-es --input test.en [--beam 1] [--lines 500]
"""

import argparse
import itertools
import time
from pathlib import Path

from clearhead.decoding.engines.engine import EngineName
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.files.line_input import LineSource

ENGINES: tuple[EngineName, ...] = ("numpy", "torch", "ctranslate2")


def main() -> None:
    """Print lines per second of each engine, and the share of identical translations of each pair."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="en-es")
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--lines", type=int, default=500)
    options = parser.parse_args()
    source = LineSource.of(str(options.input), "text", None, None)
    texts = [record.text for record in itertools.islice(source.records(), options.lines)]
    search = SearchSettings(beam=options.beam)
    outputs: dict[str, list[str]] = {}
    print(f"{options.model}, {len(texts)} lines of {options.input.name}, beam {options.beam}")
    for engine in ENGINES:
        translator = Translator.load(options.model, engine=engine)
        start = time.perf_counter()
        outputs[engine] = [translation.text for translation in translator.translate(texts, search)]
        print(f"{translator.engine.described}: {len(texts) / (time.perf_counter() - start):.1f} lines/s")
    for one, other in itertools.combinations(ENGINES, 2):
        same = sum(map(str.__eq__, outputs[one], outputs[other]))
        print(f"{one} and {other}: {same} of {len(texts)} identical ({100 * same / len(texts):.1f} %)")


if __name__ == "__main__":
    main()
