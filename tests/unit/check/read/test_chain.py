"""Equations joined into chains, and chains taken apart into matrices with their roles."""

from clearhead.check.read.chain import Chain, Entry, ExerciseContext, join_chains
from clearhead.check.read.chain_splitter import split_chain
from clearhead.check.read.document import scan_document


def chains(text: str) -> list[Chain]:
    return [item for item in join_chains(scan_document(text).items) if isinstance(item, Chain)]


def entries(text: str, context: ExerciseContext) -> list[Entry]:
    return [entry for chain in chains(text) for entry in split_chain(chain, context)]


def roles(entries_of_chain: list[Entry]) -> list[tuple[str, str]]:
    return [(entry.name, entry.copied_into) for entry in entries_of_chain]


def test_a_line_that_starts_with_an_equals_sign_continues_the_chain():
    (chain,) = chains("$$Q = [[1, 2]]$$\n\n$$= [[3, 4]]$$")
    assert [link.side.value.cells for link in chain.sides if link.side.value] == [(("1", "2"),), (("3", "4"),)]
    assert [link.line for link in chain.sides] == [1, 3]


def test_factors_are_copies_into_the_line_and_the_last_side_is_its_value():
    parts = entries("$$Q = [[1, 2]] × [[3, 4], [5, 6]] = [[13, 16]]$$", ExerciseContext())
    assert roles(parts) == [("X", "Q"), ("W_Q", "Q"), ("Q", "")]
    assert parts[-1].grid.cells == (("13", "16"),)


def test_transposed_keys_in_a_product_of_scores_are_transposed_back():
    parts = entries("$$E = [[1, 2], [3, 4]] × [[5, 6], [7, 8]] = [[19, 22], [43, 50]]$$", ExerciseContext())
    assert roles(parts) == [("Q", "E"), ("K", "E"), ("E", "")]
    assert parts[1].grid.cells == (("5", "7"), ("6", "8"))


def test_the_terms_of_a_shown_sum_are_copies_of_the_rows_of_v():
    text = "z1 = 0.3·(2, 0) + 0.7·(1, 3) = (1.3, 2.1)"
    parts = entries(text, ExerciseContext(num_values=2))
    assert roles(parts) == [("V[1]", "Z[1]"), ("V[2]", "Z[1]"), ("Z[1]", "")]
    assert parts[1].grid.cells == (("1", "3"),)
    for num_values in (0, 3):  # V is not known, or a term was left out: nobody can say which row a term is
        assert roles(entries(text, ExerciseContext(num_values=num_values))) == [("Z[1]", "")]


def test_in_cross_attention_queries_are_made_from_the_second_sentence():
    parts = entries("$$Q = [[1, 2]] × [[3, 4], [5, 6]] = [[13, 16]]$$", ExerciseContext(is_cross=True))
    assert roles(parts)[0] == ("Y", "Q")


def test_numbers_without_a_name_are_reported_with_their_line():
    context = ExerciseContext()
    assert entries("Some words.\n\n[[1, 2], [3, 4]]", context) == []
    assert context.skipped == [("these numbers have no name: 1 2 3 4", 3)]
