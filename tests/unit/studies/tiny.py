"""The result of every study, those that train models at sizes that take a second, run once in a process of the tests."""

from functools import cache
from typing import Any

from clearhead.studies import Experiment, run_study
from clearhead.studies.gradient_reach import ReachSizes
from clearhead.studies.length_cost import LengthCostSizes
from clearhead.studies.multi_hop import HopSizes
from clearhead.studies.no_mask import NoMaskSizes
from clearhead.studies.position_training import PositionSizes
from clearhead.studies.readers import ReaderSizes
from clearhead.studies.score_scaling import ScalingSizes
from clearhead.studies.sense_task import SenseTask
from clearhead.studies.stability import StabilitySizes
from clearhead.studies.teacher_forcing import TeacherForcingSizes
from clearhead.studies.word_senses import SenseSizes

TINY: dict[str, Any] = {
    "gradient-reach": ReachSizes(
        lengths=(2, 5), num_words=7, num_measured=2, num_tested=3, steps=2, width=12, blocks=1
    ),
    "length-cost": LengthCostSizes(
        lengths=(3, 5), num_tokens=7, repeats=1, num_decoded=2, width=12, blocks=1, vocabulary=11
    ),
    "readers": ReaderSizes(lengths=(2, 3), num_tested=3, steps=2, width=16, blocks=1),
    "word-senses": SenseSizes(
        task=SenseTask(length=5, farthest=3, num_plain=5, num_cues=1, num_ambiguous=2),
        distances=(1, 3),
        num_tested=16,
        steps=2,
        width=16,
        blocks=2,
    ),
    "position-training": PositionSizes(trained=(2, 3), lengths=(3, 5), num_test=3, steps=2, width=16),
    "score-scaling": ScalingSizes(widths=(8, 16), num_heads=2, length=3, batch=2, steps=2, num_test=3),
    "no-mask": NoMaskSizes(num_pairs=900, num_test=3, num_shown=2, steps=2, width=12, blocks=1),
    "stability": StabilitySizes(rates=(1e-3, 100.0), lengths=(2, 3), steps=3, batch=2, width=8, blocks=1, num_test=3),
    "multi-hop": HopSizes(steps=2, batch=5, width=8, num_parameters=3000, num_tested=23),
    "teacher-forcing": TeacherForcingSizes(lengths=(3, 5), rows=2, repeats=1, steps=4, width=12, blocks=1),
}


@cache
def measured(name: str) -> Experiment:
    """Return a study of seed 0, at its tiny sizes if it trains models."""
    return run_study(name, sizes=TINY.get(name))
