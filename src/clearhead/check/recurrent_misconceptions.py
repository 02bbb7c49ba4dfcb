"""Misconceptions about the gates of an LSTM or a GRU: weights of another gate, and the rules in which GRUs differ."""

from collections.abc import Iterator

from clearhead.check.wrong_rule import Site, Variant, worked
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import REFERENCE

_PRODUCTS = ("transform", "project")


def gate_sum_rules(site: Site) -> Iterator[Variant]:
    """Return the sums W x + U h + b of a gate, calculated with the weights of another gate of the same time step."""
    own = _terms_of_gate(site)
    if own is None:
        return
    for other in _sites_at(site, site.where[:-1]):
        terms = _terms_of_gate(other) if other.index != site.index else None
        if terms is not None:
            sums = [_product(term, mine.inputs["x"]) for term, mine in zip(terms, own, strict=True)]
            name = f"weights of the {_gate_words(other)} used for the {_gate_words(site)}"
            yield worked(name, "add", {"a": sums[0], "b": sums[1]})


def mixed_state_rules(site: Site) -> Iterator[Variant]:
    """Return the new state of a GRU with z and 1 - z exchanged, and with the reset gate in place of z."""
    old, new = site.above("a"), site.above("b")
    if old is None or new is None or not _is_part_of_mixture(old) or not _is_part_of_mixture(new):
        return
    h, n, old_share, new_share = old.inputs["b"], new.inputs["b"], old.inputs["a"], new.inputs["a"]
    share = "old state" if _is_complement(old) else "candidate"
    yield worked(f"z taken as the weight of the {share}", "add", {"a": new_share * h, "b": old_share * n})
    r = _gate(site, site.where, "reset_gate")
    if r is not None:
        old_share, new_share = (1.0 - r, r) if _is_complement(old) else (r, 1.0 - r)
        yield worked("reset gate used for the update gate", "add", {"a": old_share * h, "b": new_share * n})


def gate_product_rules(site: Site) -> Iterator[Variant]:
    """Return the products of a GRU with another gate: z instead of 1 - z, z instead of r, or no reset gate."""
    if _is_part_of_mixture(site):
        name = "z used for 1 - z" if _is_complement(site) else "1 - z used for z"
        yield site.changed(name, a=1.0 - site.inputs["a"])
    if site.where[-1] == "reset":
        yield Variant("reset gate forgotten", site.inputs["b"] + 0.0)
        update = _gate(site, site.where[:-2], "update_gate")
        if update is not None:
            yield site.changed("update gate used for the reset gate", a=update)
        yield from _reset_before(site)


def _reset_before(site: Site) -> Iterator[Variant]:
    """Return U (r ⊙ h) + c and r ⊙ U h + c where the rule is r ⊙ (U h + c)."""
    state = site.above("b")
    if state is None or state.step not in _PRODUCTS:
        return
    r, inputs = site.inputs["a"], state.inputs
    yield worked("reset gate applied before the product with U", state.step, {**inputs, "x": r * inputs["x"]})
    if "b" in inputs:
        bare = REFERENCE[state.step](x=inputs["x"], w=inputs["w"])
        yield worked("bias c added outside the product with the reset gate", "add", {"a": r * bare, "b": inputs["b"]})


def reset_after_rules(site: Site) -> Iterator[Variant]:
    """Return r ⊙ (U h + c) where the rule is U (r ⊙ h) + c."""
    part = site.above("x")
    if part is None or part.where[-1] != "reset" or part.step != "multiply":
        return
    r, h = part.inputs["a"], part.inputs["b"]
    yield worked("reset gate applied after the product with U", "multiply", {"a": r, "b": _product(site, h)})


def complement_rules(site: Site) -> Iterator[Variant]:
    """Return z and z - 1, which can be written by mistake for 1 - z."""
    x = site.inputs["x"]
    yield Variant("z used for 1 - z", x + 0.0)
    yield Variant("z - 1 instead of 1 - z", x - 1.0)


def _terms_of_gate(site: Site) -> tuple[Site, Site] | None:
    """Return the records of W x + b and U h of a gate; None for any other sum."""
    terms = site.above("a"), site.above("b")
    if site.step != "add" or not site.where[-1].endswith("_gate") or terms[0] is None or terms[1] is None:
        return None
    return (terms[0], terms[1]) if all(term is not None and term.step in _PRODUCTS for term in terms) else None


def _product(site: Site, x: Array) -> Array:
    """Return the product of a record with another vector."""
    return REFERENCE[site.step](**{**site.inputs, "x": x})


def _is_part_of_mixture(site: Site) -> bool:
    """Return whether a product is z ⊙ h or (1 - z) ⊙ n of a GRU, and not a product of an LSTM."""
    share = site.above("a") if site.step == "multiply" and site.where[-1] in ("kept", "new") else None
    return share is not None and (share.step == "complement" or share.where[-1] == "update_gate")


def _is_complement(site: Site) -> bool:
    share = site.above("a")
    return share is not None and share.step == "complement"


def _sites_at(site: Site, place: list[str]) -> Iterator[Site]:
    """Return the records of a time step and of its gates."""
    for index, record in enumerate(site.graph.records):
        where = record.where.split(".")
        if where[: len(place)] == place and len(where) == len(place) + 1:
            yield Site(site.graph, index, site.fetch)


def _gate(site: Site, place: list[str], gate: str) -> Array | None:
    """Return the value of a gate of a time step."""
    for other in _sites_at(site, place):
        if other.where[-1] == gate and other.step == "activate":
            return other.value
    return None


def _gate_words(site: Site) -> str:
    return site.where[-1].replace("candidate_gate", "candidate").replace("_", " ")
