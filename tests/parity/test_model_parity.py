"""Fused and traced attention are one model: the same logits for every shape, mask and option."""

from itertools import combinations, product

import pytest
import torch

from clearhead.model import Mask
from clearhead.model.probe import Probe
from clearhead.model.tracing import PartTrace
from tests.parity.models import CASES, OPTIONS, VARIANTS, case_name, check_parity, make_inputs, make_model, run
from tests.tolerances import assert_close


@pytest.mark.parametrize("case", CASES, ids=case_name)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_the_fused_output_is_the_traced_output(case: tuple[str, str, int], dtype: torch.dtype) -> None:
    shape, mask, variant = case
    model = make_model(shape, variant, dtype)
    check_parity(model, make_inputs(model.config, mask), str(dtype).removeprefix("torch."))


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_in_bfloat16_outputs_differ_only_by_its_rounding(variant: int) -> None:
    model = make_model("encoder-decoder", variant, torch.bfloat16)
    inputs = make_inputs(model.config, "right padding")
    traced = run(model, inputs, PartTrace()).double()
    difference = (run(model, inputs).double() - traced).abs().max() / traced.abs().max()
    assert difference < 0.05, f"off by {difference:.3f} of the largest logit"


@pytest.mark.parametrize("explicit_shape", [(5, 5), (3, 5, 5)], ids=["one for all", "one each"])
@pytest.mark.parametrize("with_keys", [False, True])
def test_an_explicit_mask_means_the_same_for_fused_and_traced_attention(
    explicit_shape: tuple[int, ...], with_keys: bool
) -> None:
    model = make_model("decoder", 1)
    target = make_inputs(model.config, "right padding").batch.target
    assert target is not None
    explicit = torch.rand(explicit_shape, generator=torch.Generator().manual_seed(0)) < 0.5
    mask = Mask(target != 0 if with_keys else None, is_causal=True, explicit=explicit)
    fused, traced = model.decode(target, mask=mask), model.decode(target, mask=mask, probe=Probe(PartTrace()))
    assert_close(fused.detach(), traced.detach())
    without = model.decode(target, mask=Mask(mask.keys, is_causal=True))
    assert not torch.allclose(fused, without), "the explicit part hides nothing"


@pytest.mark.parametrize("shape", ["encoder-decoder", "encoder", "decoder"])
def test_padding_changes_no_logit_of_a_real_token(shape: str) -> None:
    model = make_model(shape, 0)
    batch = make_inputs(model.config, "right padding").batch
    long = model(batch)
    short = model(
        batch._replace(
            source=None if batch.source is None else batch.source[1:2, :4],
            target=None if batch.target is None else batch.target[1:2, :3],
        )
    )
    real_logits = long[1:2] if shape == "encoder" else long[1:2, :3]
    assert_close(real_logits.detach(), short.detach())


@pytest.mark.parametrize(("first", "second"), list(combinations(OPTIONS, 2)))
def test_every_pair_of_two_options_occurs(first: str, second: str) -> None:
    pairs = {(variant[first], variant[second]) for variant in VARIANTS}
    lefts, rights = ({variant[name] for variant in VARIANTS} for name in (first, second))
    assert len(lefts) > 1
    assert len(rights) > 1
    assert pairs == set(product(lefts, rights))
