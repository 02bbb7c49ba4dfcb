"""Write the training text of the built-in models: Tatoeba without its test sentences, and everyday variants.

    python configs/built-in/prepare.py DATA data/built-in

DATA has the folders tatoeba-en-es, tatoeba-en-de, tatoeba-en-hi and tatoeba-en-bn, each with train, valid and test
parts in both languages (train.en, train.es and so on, also as .xz). The same input gives the same output.
"""

import gzip
import lzma
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

LANGUAGES = ("es", "hi", "bn")  # of the built-in models; German only helps to train their teacher
Pair = tuple[str, str]


def read_lines(folder: Path, name: str) -> list[str]:
    """Return the lines of a file, which can be compressed."""
    packed = folder / f"{name}.xz"
    data = lzma.decompress(packed.read_bytes()) if packed.is_file() else (folder / name).read_bytes()
    return data.decode().rstrip("\n").split("\n")


def read_pairs(data: Path, language: str, part: str) -> list[Pair]:
    """Return the pairs of English and another language of one part."""
    folder = data / f"tatoeba-en-{language}"
    return list(zip(read_lines(folder, f"{part}.en"), read_lines(folder, f"{part}.{language}"), strict=True))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a .gz file that has the same bytes every time."""
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write("".join(f"{line}\n" for line in lines).encode())


def write_pairs(folder: Path, name: str, pairs: Sequence[Pair], languages: Pair) -> None:
    """Write the two sides of pairs as aligned files."""
    for side, language in enumerate(languages):
        write_lines(folder / f"{name}.{language}.gz", (pair[side] for pair in pairs))
    print(f"{name}: {len(pairs):,} pairs")


def without_final_sign(source: str, target: str) -> Pair:
    """Drop the full stop or exclamation mark of both sides; a question keeps its signs in the target."""
    is_question = source.endswith("?")
    source = source.rstrip(".!?।")
    return source, target if is_question else target.rstrip(".!।").removeprefix("¡")


def informal(pairs: Sequence[Pair], random: Random) -> list[Pair]:
    """Return variants of a part of the pairs as people type them: without a final sign, or in small letters.

    Short sentences, such as greetings, are varied more often. The translation keeps its capital letters.
    """
    variants = []
    for source, target in pairs:
        share = 0.5 if len(source.split()) <= 4 else 0.2
        if random.random() < share:
            plain_source, plain_target = without_final_sign(source, target)
            kind = random.random()
            if kind < 0.5:
                variants.append((plain_source, plain_target))
            elif kind < 0.75:
                variants.append((plain_source.lower(), plain_target))
            else:
                variants.append((source.lower(), target))
    return [pair for pair in variants if all(pair)]


def all_variants(pairs: Sequence[Pair]) -> list[Pair]:
    """Return every pair as it is, without a final sign, in small letters, and both."""
    plain = [without_final_sign(source, target) for source, target in pairs]
    small = [(source.lower(), target) for source, target in (*pairs, *plain)]
    return list(dict.fromkeys(pair for pair in (*pairs, *plain, *small) if all(pair)))


def read_phrases() -> dict[str, list[Pair]]:
    """Return the everyday phrases of phrases.tsv for each language; several translations are separated by ` | `."""
    header, *rows = Path(__file__).with_name("phrases.tsv").read_text(encoding="utf-8").rstrip("\n").split("\n")
    languages = header.split("\t")[1:]
    phrases: dict[str, list[Pair]] = {language: [] for language in languages}
    for row in rows:
        source, *targets = row.split("\t")
        for language, target in zip(languages, targets, strict=True):
            phrases[language] += [(source, text) for text in target.split(" | ") if text]
    return phrases


def swapped(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs with source and target exchanged."""
    return [(target, source) for source, target in pairs]


def main(data: Path, output: Path) -> None:
    """Write all files."""
    output.mkdir(parents=True, exist_ok=True)
    held_out = {language: [read_pairs(data, language, part) for part in ("valid", "test")] for language in LANGUAGES}
    held_english = {source for parts in held_out.values() for pairs in parts for source, _ in pairs}
    held_spanish = {target for pairs in held_out["es"] for _, target in pairs}
    phrases = read_phrases()
    english: dict[str, None] = {}
    for language in (*LANGUAGES, "de"):
        pairs = [pair for pair in read_pairs(data, language, "train") if pair[0] not in held_english]
        if language == "es":
            pairs = [pair for pair in pairs if pair[1] not in held_spanish]
        english |= dict.fromkeys(source for source, _ in pairs)
        write_pairs(output, f"en-{language}", pairs, ("en", language))
        if language == "de":
            continue
        random = Random(1)
        variants = informal(pairs, random)
        write_pairs(output, f"en-{language}.informal", variants, ("en", language))
        own = phrases[language]
        write_pairs(output, f"en-{language}.phrases", own + informal(own * 3, random), ("en", language))
        write_pairs(output, f"en-{language}.everyday", all_variants(own), ("en", language))
        if language == "es":
            write_pairs(output, "es-en.informal", informal(swapped(pairs), random), ("es", "en"))
            own = swapped(own)
            write_pairs(output, "es-en.phrases", own + informal(own * 3, random), ("es", "en"))
            write_pairs(output, "es-en.everyday", all_variants(own), ("es", "en"))
            write_lines(output / "spanish.es.gz", dict.fromkeys(target for _, target in pairs))
    write_lines(output / "english.en.gz", english)
    print(f"english: {len(english):,} sentences")
    for language, parts in held_out.items():
        for part, pairs in zip(("valid", "test"), parts, strict=True):
            write_pairs(output, f"{part}-en-{language}", pairs, ("en", language))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
