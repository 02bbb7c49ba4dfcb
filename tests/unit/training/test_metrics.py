"""Reading metrics.jsonl: damaged and incomplete lines are left out."""

from clearhead.training.metrics import metrics_line, metrics_lines


def test_only_complete_objects_with_an_update_are_lines_of_metrics() -> None:
    assert metrics_line('{"step": 3, "loss": 2.5}') == {"step": 3, "loss": 2.5}
    for damaged in ("", "[3]", "null", '{"step": "x"}', '{"loss": 1}', '{"step": 7, "lo', "[" * 100_000):
        assert metrics_line(damaged) is None
    assert [line["step"] for line in metrics_lines('{"step": 1}\nx\n{"step": 2}\n{"st')] == [1, 2]
