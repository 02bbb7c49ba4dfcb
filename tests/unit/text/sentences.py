"""English and German sentences, built from parts, that tokenisers learn from in tests."""

_WHO = {"the cat": "die Katze", "the dog": "der Hund", "a child": "ein Kind", "my friend": "mein Freund"}
_WHAT = {"sees": "sieht", "finds": "findet", "likes": "mag"}
_WHOM = {"the house": "das Haus", "a book": "ein Buch", "the water": "das Wasser", "bread": "Brot"}

PAIRS = [
    (f"{who} {what} {whom}.", f"{_WHO[who]} {_WHAT[what]} {_WHOM[whom]}.")
    for who in _WHO
    for what in _WHAT
    for whom in _WHOM
]
ENGLISH = [source for source, _ in PAIRS]
GERMAN = [target for _, target in PAIRS]
