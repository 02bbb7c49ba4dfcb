"""An English and Spanish phrasebook that writes itself: a small grammar, correct in both languages, from a seed.

One English sentence has one Spanish: you is tú, they are ellos, nobody's pronoun is said. Spelling is British, and the
Spanish is that of Spain.
"""

from clearhead.data.phrasebook.splits import SIZES, Split, pairs, set_phrases

__all__ = ["SIZES", "Split", "pairs", "set_phrases"]
