"""Misconceptions about a line of an earlier part that a later part uses: another line, or another token of it."""

from collections.abc import Iterator

from clearhead.check.graph import FromRecord
from clearhead.check.wrong_rule import Site, Variant


def copy_rules(site: Site) -> Iterator[Variant]:
    """Return the other lines of the earlier part, and the other tokens of the line, that can be used by mistake."""
    graph, source = site.graph, site.graph.sources[site.index]["x"]
    inputs, number = site.inputs, f"part.{site.inputs['part'] - 1}."
    row = inputs.get("row")
    if row is not None:
        for other in range(1, len(inputs["x"]) + 1):
            if other != row:
                yield site.changed("another token of the earlier part", row=other)
    for index, record in enumerate(graph.records[: site.index]):
        is_inside = f"{record.where}.".startswith(number)
        if is_inside and source != FromRecord(index) and record.value.shape == inputs["x"].shape:
            yield site.changed(
                f"{record.symbol} used instead of the line of the earlier part", x=site.fetch(FromRecord(index))
            )
