"""The time of `explain`: CPU and wall seconds of one sentence after loading, and the share of each of its parts.

The model has random weights in the size of the paper's base model (6 + 6 layers, 8 heads, width 512) and the vocabulary
of the built-in model. A random model does not end a translation, so that its length is fixed. CPU seconds hardly
depend on what else the machine does; wall seconds are only meaningful on idle cores.
Run: OMP_NUM_THREADS=2 python benchmarks/explain_speed.py [--tokens 20] [--beam 1] [--rounds 3] [--profile]
"""

import argparse
import cProfile
import os
import platform
import pstats
import time

import torch

from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.explain import explain, explanation_page, to_dict
from clearhead.formats.model_folder import find_model, load_vocabularies
from clearhead.model import ModelConfig, Transformer

WORDS = "The old man who lives near the river gave his children two red apples after dinner last night and went home"
# The functions whose time is reported with --profile.
PARTS = (
    "translate", "double_copy", "trace_pass", "explained_outputs", "explain_search", "gradients",
    "leave_out", "_left_out", "rollouts", "attention_norms", "to_dict", "explanation_page",
)  # fmt: skip


def random_translator() -> Translator:
    """Return a translator of the paper's base size with random weights."""
    vocabularies = load_vocabularies(find_model("en-es"))
    torch.manual_seed(7)
    target = vocabularies.target
    config = ModelConfig(
        source_vocabulary=vocabularies.source.size, encoder_blocks=6, decoder_blocks=6, d_model=512, num_heads=8,
        d_ff=2048, pad=target.pad, bos=target.bos, eos=target.eos,
    )  # fmt: skip
    return Translator(vocabularies, TorchEngine(Transformer(config).eval()))


def main() -> None:
    """Print a line for each round, and with --profile the seconds of each part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=20, help="of the source and of the translation")
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    translator = random_translator()
    text, tokeniser = "", translator.vocabularies.source
    for word in WORDS.split() * (1 + options.tokens // 20):
        if len(tokeniser.encode([f"{text} {word}"])[0]) >= options.tokens:  # the end token is one more
            break
        text = f"{text} {word}".strip()
    search = SearchSettings(beam=options.beam, min_length=options.tokens - 1, max_length=options.tokens)
    threads = torch.get_num_threads()
    print(f"torch {torch.__version__}, {threads} threads of {len(os.sched_getaffinity(0))} cores, {platform.machine()}")
    profiler = cProfile.Profile()
    for _ in range(options.rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        if options.profile:
            profiler.enable()
        explanation = explain(translator, text, search=search, language="es")
        size = len(explanation_page(to_dict(explanation)))
        profiler.disable()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        row = explanation.explained_row
        print(
            f"{len(row)} + {len(explanation.outputs)} tokens, {len(row.words)} words: "
            f"{cpu:.2f} CPU s, {wall:.2f} s, page {size / 1e6:.2f} MB"
        )
    if options.profile:
        times = {}
        for (_, _, name), (_, _, _, cumulative, _) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
            if name in PARTS:
                times[name] = times.get(name, 0.0) + cumulative / options.rounds
        for name, seconds in sorted(times.items(), key=lambda item: -item[1]):
            print(f"  {name:20} {seconds:.2f} s")


if __name__ == "__main__":
    main()
