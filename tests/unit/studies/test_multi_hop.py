"""Multi-hop questions: the answers follow from the statements by rules, and no shortcut finds them."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.studies.hop_task import (
    CHAINS,
    NUM_NAMES,
    NUM_RESERVED,
    NUM_WORDS,
    ROOM,
    THING,
    WORDS,
    draw_stories,
    last_mention,
    path_of,
    text_of,
)
from clearhead.studies.multi_hop import (
    LAYERS,
    LOOKS,
    MODELS,
    PATH,
    SMALL,
    TESTS,
    WIDE,
    HopSizes,
    accuracies,
    answer_logits,
    answers,
    attention_maps,
    look_inside,
    make_model,
    train,
)
from tests.unit.studies.tiny import TINY, measured

SIZES: HopSizes = TINY["multi-hop"]
NUM_TESTED = 4000
# 5 standard deviations of the share of right guesses among four things: missed once in two million trials
BOUND = 5 * (0.25 * 0.75 / NUM_TESTED) ** 0.5
STATEMENTS = slice(0, -CHAINS)
RESERVED = torch.tensor([*range(3 + NUM_NAMES - NUM_RESERVED, 3 + NUM_NAMES), *range(ROOM - NUM_RESERVED, ROOM)])


def stories(number: int, hops: int | None = None, seed: int = 7, *, is_reserved: bool = False) -> tuple[Tensor, Tensor]:
    batch = draw_stories(number, torch.Generator().manual_seed(seed), hops, is_reserved=is_reserved)
    assert batch.source is not None
    assert batch.labels is not None
    return batch.source, batch.labels


def solve(after: dict[str, str], question: str) -> list[str]:
    """Return the words from the subject of a question, which is read as text, to its answer."""
    subject, pronoun = question.split(": ")
    ends = {"he": range(21, 39), "where": range(39, 47), "it": range(47, 55)}[pronoun]
    words = [subject]
    while WORDS.index(words[-1]) not in ends:
        words.append(after[words[-1]])
    return words


@pytest.mark.parametrize("hops", [None, 1, 2, 3])
@pytest.mark.parametrize("is_reserved", [False, True])
def test_the_answers_follow_from_the_statements(hops: int | None, is_reserved: bool) -> None:
    source, labels = stories(101, hops, is_reserved=is_reserved)
    for row, row_labels in zip(source, labels, strict=True):
        texts = [text_of(place) for place in row.tolist()]
        after = dict(text.split(": ") for text in texts[STATEMENTS])
        assert len(after) == len(set(after.values())) == 3 * CHAINS
        paths = [solve(after, question) for question in texts[-CHAINS:]]
        assert [path[-1] for path in paths] == [WORDS[label] for label in row_labels.tolist()]
        if hops:
            assert {len(path) for path in paths} == {hops + 1}
            steps = zip(paths[0], paths[0][1:], strict=False)
            assert [texts[place] for place in path_of(row)[1:]] == [": ".join(step) for step in steps]


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_the_answer_is_not_given_away_by_its_place_or_by_how_often_it_occurs(hops: int) -> None:
    source, labels = stories(NUM_TESTED, hops)
    first = labels[:, 0]
    assert abs((last_mention(source) == first).double().mean() - 1 / CHAINS) < BOUND
    place_of_answer = (source % NUM_WORDS == first[:, None]).int().argmax(dim=1)
    for place in range(3 * CHAINS):
        assert abs((place_of_answer == place).double().mean() - 1 / 12) < 5 * (1 / 12 * 11 / 12 / NUM_TESTED) ** 0.5
    for thing in range(THING, NUM_WORDS):
        assert (source % NUM_WORDS == thing).sum(dim=1).le(1).all()
        assert abs((first == thing).double().mean() - 1 / 8) < 5 * (1 / 8 * 7 / 8 / NUM_TESTED) ** 0.5


def test_a_head_for_every_room_or_the_four_things_of_all_stories_do_not_answer_a_question() -> None:
    heads = max(2 * factor for _, factor in MODELS.values())
    assert heads < THING - ROOM
    source, _ = stories(NUM_TESTED, 2)
    has_rooms = torch.isin(source[:, STATEMENTS] % NUM_WORDS, torch.arange(ROOM, ROOM + 4)).sum(dim=1)
    assert has_rooms.unique().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_a_bag_of_words_is_near_chance(hops: int) -> None:
    """Logistic regression on the counts of words, by whether they are first or second, and on those of the question.

    A model that only knows which things are in the story guesses among four.
    """

    def features(source: Tensor) -> Tensor:
        words = source[:, STATEMENTS]
        counts = [F.one_hot(part, NUM_WORDS).sum(dim=1) for part in (words % NUM_WORDS, words // NUM_WORDS)]
        return torch.cat((*counts, F.one_hot(source[:, -CHAINS] // NUM_WORDS, NUM_WORDS)), dim=1).float()

    source, labels = stories(NUM_TESTED, hops, seed=11)
    linear = nn.Linear(3 * NUM_WORDS, NUM_WORDS - THING)
    optimiser = torch.optim.LBFGS(linear.parameters(), max_iter=50)

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = F.cross_entropy(linear(features(source)), labels[:, 0] - THING)
        value.backward()
        return value

    optimiser.step(loss)
    tested, right = stories(NUM_TESTED, hops, seed=13)
    share = (linear(features(tested)).argmax(dim=1) + THING == right[:, 0]).double().mean()
    assert abs(share - 1 / CHAINS) < BOUND


def test_training_never_asks_what_a_person_with_a_reserved_name_picked_up() -> None:
    source, labels = stories(2000)
    has_reserved = torch.isin(source[:, STATEMENTS] % NUM_WORDS, RESERVED).any(dim=1)
    asks_persons = ((labels >= THING) & (source[:, -CHAINS:] // NUM_WORDS < ROOM)).any(dim=1)
    assert asks_persons.any()
    assert not (has_reserved & asks_persons).any()
    assert (has_reserved & ~asks_persons).any()
    tested, _ = stories(50, 3, is_reserved=True)
    subjects = tested[:, STATEMENTS] // NUM_WORDS
    assert torch.isin(subjects[subjects < ROOM], RESERVED).all()
    others, _ = stories(50, 3)
    assert not torch.isin(others[:, STATEMENTS] // NUM_WORDS, RESERVED).any()


def test_a_place_is_its_word_and_a_map_of_the_word_before_it() -> None:
    model = make_model("1 layer", SIZES, 0)
    assert model.encoder is not None
    embedding = model.encoder.embedding
    table, linear = embedding.weight, embedding.map  # type: ignore[misc]
    expected = table[5] + linear.weight @ table[17]
    torch.testing.assert_close(embedding(torch.tensor([[5 + NUM_WORDS * 17]]))[0, 0], expected)


@pytest.mark.parametrize("name", ["3 layers", "bag of words"])
def test_the_order_of_the_statements_changes_nothing(name: str) -> None:
    source, _ = stories(7, 3)
    model = make_model(name, SIZES, 0).eval()
    shuffled = torch.cat((source[:, STATEMENTS].flip(1), source[:, -CHAINS:]), dim=1)
    torch.testing.assert_close(answer_logits(model, shuffled), answer_logits(model, source))


def test_all_depths_have_nearly_as_many_parameters_and_the_control_twice_as_many() -> None:
    counts = {name: sum(parameter.numel() for parameter in make_model(name, SMALL, 0).parameters()) for name in MODELS}
    depths = [counts[name] for name in LAYERS]
    assert max(depths) < 1.01 * min(depths)
    assert 2 * max(depths) < counts[WIDE] < 2.1 * max(depths)


def test_the_story_is_shown_with_the_attention_along_its_path() -> None:
    table, story, weights, _ = measured("multi-hop").tables
    assert sorted(word for word in story.column("leads to") if word) == sorted(PATH)
    best = max(LAYERS, key=dict(zip(table.column("model"), table.column("3 hops"), strict=True)).__getitem__)
    assert list(zip(weights.column("layer"), weights.column("head"), strict=True)) == [
        (layer + 1, name) for layer in range(MODELS[best][0]) for name in ("head 1", "head 2", "rollout")
    ]
    for look in LOOKS:
        assert all(0 < weight < 1 for weight in weights.column(look))


def test_the_rollout_is_that_of_the_mean_of_the_heads() -> None:
    _, _, weights, _ = measured("multi-hop").tables
    for look in LOOKS:
        first, second, rollout = weights.column(look)[:3]
        assert rollout == pytest.approx((first + second) / 4)  # half of the mean; no residual leads to another place


@torch.no_grad()
def test_he_is_asked_in_the_same_story() -> None:
    model = make_model("2 layers", SIZES, 0).eval()
    story, weights, _ = look_inside(model, SIZES, 0)
    texts = story.column("place")
    path = {word: texts[story.column("leads to").index(word)] for word in PATH}
    places = torch.tensor([encoded(text) for text in texts])
    places[texts.index(path["?"])] = encoded(path["?"].replace(": it", ": he"))
    maps = attention_maps(model, places)
    query, key = (texts.index(path[word]) for word in ("?", "brother"))
    assert weights.column("he → brother") == tuple(maps[:, :, query, key].flatten().tolist())
    assert path["?"].split(": ")[0] == path["brother"].split(": ")[0]


def encoded(text: str) -> int:
    before, word = (WORDS.index(part) for part in text.split(": "))
    return NUM_WORDS * before + word


def test_a_random_head_is_removed_beside_those_that_look() -> None:
    *_, weights, removals = measured("multi-hop").tables
    rows = [row for row in weights.rows if row[1] != "rollout"]
    names = [f"head {layer}.{str(head)[-1]}" for layer, head, *_ in rows]
    assert [str(name)[: len("head 1.1")] for name in removals.column("without")] == names
    roles = [str(name)[len("head 1.1") :] for name in removals.column("without")]
    assert roles.count(" (random)") == 1
    for index, look in enumerate(list(LOOKS)[:4], start=2):
        strongest = max(range(len(rows)), key=lambda number: rows[number][index])
        assert roles[strongest] in {f" ({other})" for other in LOOKS}, look
        assert roles[strongest] != " (random)"
    chances = removals.column("P(right answer)")
    assert all(0 < chance < 1 for chance in chances)
    assert len(set(chances)) == len(chances)


def test_with_another_seed_another_head_may_be_the_random_one() -> None:
    model = make_model("4 layers", SIZES, 0).eval()
    drawn = set()
    for seed in range(6):
        *_, removals = look_inside(model, SIZES, seed)
        drawn |= {name for name in removals.column("without") if "random" in str(name)}
    assert len(drawn) > 1


@pytest.mark.slow
def test_one_layer_learns_one_hop_and_guesses_at_two_and_two_layers_learn_them() -> None:
    sizes = HopSizes(num_tested=NUM_TESTED)
    shares = {
        name: dict(zip(TESTS, accuracies(partial(answers, train(name, sizes, 0)), sizes, 0), strict=True))
        for name in ("1 layer", "2 layers")
    }
    assert min(share["1 hop"] for share in shares.values()) > 0.95
    assert shares["1 layer"]["2 hops"] < 1 / CHAINS + BOUND
    assert shares["2 layers"]["2 hops"] > 0.95
