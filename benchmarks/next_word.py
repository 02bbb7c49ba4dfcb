"""Next character and next word: a Transformer, an LSTM and an n-gram model, in bits per character and perplexity.

shakespeare  characters of tinyshakespeare, split by position: 85 % train, 5 % valid, 10 % test (the last 10 % are the
             validation part of char-rnn and nanoGPT). The text is cut at line ends into blocks of at most 256
             characters, each of which is read alone; the end of a block is neither counted nor scored. By default the
             valid part comes just before the test part and holds the first half of its first play. With --valid-at 0.4
             that half is trained on, as in nanoGPT, and the scores can be compared with published ones.
europarl     word pieces of the English side of Europarl, sentence by sentence. The end of a sentence counts as one
             character. WikiText-2 (valid and test, cut after " . " into sentences) is scored with the same models: it
             has no training part here.

    python benchmarks/next_word.py --data lm-english --europarl europarl-3way --work runs/next-word
    python benchmarks/next_word.py --data lm-english --europarl europarl-3way --work runs/next-word --small

--data has tinyshakespeare.txt and wikitext-2-raw.valid.txt and .test.txt, --europarl train.en, valid.en and test.en;
all plain or .xz. --small is for two cores: smaller models, fewer updates and, of Europarl, 20,000 sentences.
"""

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearhead.decoding.generation import open_generator
from clearhead.decoding.scoring import TextPair, open_scorer
from clearhead.decoding.search.settings import SearchSettings
from clearhead.text.tokeniser import Tokeniser, Vocabularies
from halves import TrainedRun, base_config, print_machine, print_table, read_text, train, with_architecture
from kneser_ney import KneserNey

LINE_END = "⏎"
BLOCK = 256  # characters
NGRAM_ORDERS = {"shakespeare": 7, "europarl": 4}
SMALL_LINES = 20_000
CONFIGS = {"shakespeare": "tinyshakespeare", "europarl": "europarl-english"}
PROMPTS = {"shakespeare": ("ROMEO:", "To be, or"), "europarl": ("Mr President, I", "The Commission has")}
# Nearly the same number of parameters as the Transformer of the config, or of SMALL.
LSTM: Mapping[str, Mapping[str, Any]] = {
    "shakespeare": {"architecture": "recurrent", "decoder_blocks": 3, "d_model": 664},
    "europarl": {"architecture": "recurrent", "decoder_blocks": 3, "d_model": 824},
}
SMALL: Mapping[str, Any] = {"decoder_blocks": 4, "d_model": 128, "d_ff": 512, "num_heads": 4, "dropout": 0.0}
SMALL_LSTM: Mapping[str, Mapping[str, Any]] = {
    "shakespeare": {"architecture": "recurrent", "decoder_blocks": 2, "d_model": 224, "dropout": 0.0},
    "europarl": {"architecture": "recurrent", "decoder_blocks": 2, "d_model": 184, "dropout": 0.0},
}
SMALL_TRAINING = {
    "shakespeare": {"steps": 1000, "batch_tokens": 2048},
    "europarl": {"steps": 500, "batch_tokens": 2048},
}


@dataclass(frozen=True)
class TextScore:
    """The log-probability of a text, of so many tokens and characters."""

    log_prob: float
    num_tokens: int
    num_characters: int

    @property
    def bits(self) -> float:
        """Bits per character."""
        return -self.log_prob / math.log(2) / self.num_characters

    @property
    def perplexity(self) -> float:
        """The perplexity per token."""
        return math.exp(-self.log_prob / self.num_tokens)


def blocks_of(text: str, size: int = BLOCK) -> list[str]:
    """Cut a text at line ends into blocks of at most `size` characters; longer lines are blocks of their own."""
    blocks, block = [], ""
    for line in text.splitlines():
        part = " ".join(line.split()) + LINE_END
        if block and len(block) + len(part) > size:
            blocks.append(block)
            block = ""
        block += part
    return [*blocks, block] if block else blocks


def shakespeare_parts(folder: Path, valid_at: float) -> dict[str, list[str]]:
    """Return the blocks of each part, split by position; the valid part begins at that share of the text."""
    text = read_text(folder, "tinyshakespeare.txt")
    first, second, third = (int(share * len(text)) for share in (valid_at, valid_at + 0.05, 0.9))
    return {
        "train": blocks_of(text[:first]) + blocks_of(text[second:third]),
        "valid": blocks_of(text[first:second]),
        "test": blocks_of(text[third:]),
    }


def europarl_parts(options: argparse.Namespace) -> dict[str, list[str]]:
    """Return the sentences of each part, and the lines of WikiText-2 that have text."""
    parts = {part: read_text(options.europarl, f"{part}.en").splitlines() for part in ("train", "valid", "test")}
    if options.small:
        step = len(parts["train"]) // SMALL_LINES  # the text is in the order of its dates
        parts["train"] = parts["train"][:: max(1, step)][:SMALL_LINES]
    for part in ("valid", "test"):
        # sentences like those of the training text: no model has seen a text of a whole paragraph
        lines = read_text(options.data, f"wikitext-2-raw.{part}.txt").replace(" . ", " .\n").splitlines()
        parts[f"WikiText-2 {part}"] = [line.strip() for line in lines if line.strip()]
    return parts


def score_model(run: TrainedRun, texts: Sequence[str], task: str, device: str) -> TextScore:
    """Return the score of texts under a trained model; a line that is too long for it is left out."""
    scorer = open_scorer(run.folder, device=device, precision="float32", too_long="skip")
    scored = zip(texts, scorer.score(TextPair("", text) for text in texts), strict=True)
    rows = [(text, target.log_probs) for text, target in scored if target.log_probs]
    return total_score(rows, task)


def total_score(rows: Sequence[tuple[str, Sequence[float]]], task: str) -> TextScore:
    """Add up the log-probabilities of texts, whose last one is that of the end token."""
    has_end = task == "europarl"
    log_prob = math.fsum(value for _, values in rows for value in (values if has_end else values[:-1]))
    num_tokens = sum(len(values) - (not has_end) for _, values in rows)
    return TextScore(log_prob, num_tokens, sum(len(text) + has_end for text, _ in rows))


def encoded(tokeniser: Tokeniser, texts: Sequence[str]) -> list[list[int]]:
    """Return the ids of texts with the end token."""
    return [[*ids, tokeniser.eos] for ids in tokeniser.encode(texts)]


def run_task(task: str, parts: Mapping[str, list[str]], options: argparse.Namespace) -> None:
    """Train and score all models of a task, and print its table and samples."""
    work = options.work / task
    work.mkdir(parents=True, exist_ok=True)
    for part in ("train", "valid"):
        (work / f"{part}.txt").write_text("".join(f"{line}\n" for line in parts[part]), encoding="utf-8")
    tested = [part for part in parts if part != "train"]
    print(
        f"{task}: "
        + ", ".join(f"{sum(map(len, lines)):,} characters of {part}" for part, lines in parts.items())
        + "\n"
    )
    rows, runs = [], {}
    for name in ("transformer", "lstm"):
        if name not in options.systems:
            continue
        runs[name] = run = train(config_of(task, name, work, options), work / name)
        scores = [score_model(run, parts[part], task, options.device) for part in tested]
        rows.append([name, f"{run.num_parameters:,}", *cells_of(scores, task), f"{run.seconds:.0f}"])
    if "n-gram" in options.systems and runs:
        rows.append(ngram_row(task, parts, tested, next(iter(runs.values())).folder))
    measures = [
        f"{part}: {measure}" for part in tested for measure in ("bits", "perplexity")[: 1 + (task == "europarl")]
    ]
    print_table(["model", "parameters", *measures, "s"], rows)
    for name, run in runs.items():
        print_samples(name, run, task, options.device)


def config_of(task: str, name: str, work: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return the config of a model."""
    config = base_config(CONFIGS[task])
    config["data"]["train"] = [{"source": str(work / "train.txt")}]
    config["data"]["valid"] = {"source": str(work / "valid.txt")}
    config["training"]["device"] = options.device
    if options.small:
        config["model"] = {**config["model"], **SMALL}
        config["training"] |= {"warm_up": 50, **SMALL_TRAINING[task]}
        if task == "europarl":
            config["text"]["vocabulary"] = 4000
    if options.steps:
        config["training"]["steps"] = options.steps
    if name == "lstm":
        config = with_architecture(config, (SMALL_LSTM if options.small else LSTM)[task])
    return config


def cells_of(scores: Sequence[TextScore], task: str) -> list[str]:
    """Return bits per character and, for word pieces, the perplexity of each part."""
    return [
        cell
        for score in scores
        for cell in (f"{score.bits:.3f}", f"{score.perplexity:.1f}")[: 1 + (task == "europarl")]
    ]


def ngram_row(task: str, parts: Mapping[str, list[str]], tested: Sequence[str], run: Path) -> list[str]:
    """Count the n-grams of the training text, with the tokens of a run, and return the row of the table."""
    tokeniser = Vocabularies.load(run).target
    order = NGRAM_ORDERS[task]
    start = time.perf_counter()
    model = KneserNey(encoded(tokeniser, parts["train"]), order, tokeniser.size)
    seconds = time.perf_counter() - start
    scores = []
    for part in tested:
        log_probs = [model.log_probs(ids) for ids in encoded(tokeniser, parts[part])]
        scores.append(total_score(list(zip(parts[part], log_probs, strict=True)), task))
    num_grams = sum(len(counts.grams) for counts in model.counts)
    return [f"{order}-gram, Kneser-Ney", f"{num_grams:,} n-grams", *cells_of(scores, task), f"{seconds:.0f}"]


def print_samples(name: str, run: TrainedRun, task: str, device: str) -> None:
    """Print a continuation of each prompt, drawn at temperature 0.8."""
    generator = open_generator(run.folder, device=device, precision="float32")
    settings = SearchSettings(temperature=0.8, max_length=160 if task == "shakespeare" else 40)
    print(f"Samples of the {name} at temperature 0.8:\n")
    for generated in generator.generate(PROMPTS[task], settings):
        assert generated is not None
        print("    " + generated.text_of(0).replace(LINE_END, "\n    ").rstrip() + "\n")


def main() -> None:
    """Run the chosen tasks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--europarl", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", choices=tuple(CONFIGS), default=tuple(CONFIGS))
    systems = ("transformer", "lstm", "n-gram")
    parser.add_argument("--systems", nargs="+", choices=systems, default=systems)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--valid-at", type=float, default=0.85, help="where the valid part of shakespeare begins")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    options = parser.parse_args()
    if "europarl" in options.tasks and options.europarl is None:
        parser.error("the task europarl needs --europarl FOLDER")
    if not 0 <= options.valid_at <= 0.85:
        parser.error("--valid-at must be between 0 and 0.85: the test part begins at 0.9")
    print_machine(options.device)
    if "shakespeare" in options.tasks:
        run_task("shakespeare", shakespeare_parts(options.data, options.valid_at), options)
    if "europarl" in options.tasks:
        run_task("europarl", europarl_parts(options), options)


if __name__ == "__main__":
    main()
