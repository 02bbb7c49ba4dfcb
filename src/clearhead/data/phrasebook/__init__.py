"""Generate an English–Spanish phrasebook from a seed, with a small grammar that is correct in both languages.

Every English sentence has exactly one translation: "you" is tú, "they" is ellos, and subject pronouns are dropped. The
English is British, and the Spanish is that of Spain.
"""

from clearhead.data.phrasebook.splits import SIZES, Split, pairs, set_phrases

__all__ = ["SIZES", "Split", "pairs", "set_phrases"]
