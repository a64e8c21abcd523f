"""The data file of what the framework does in float32: complete, and with a way round whatever costs digits."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from f64doctor.catalogue import framework_items, way_round

ITEMS = json.loads((resources.files("f64doctor.catalogue") / "framework_float32.json").read_text())["items"]


def costs_digits(facts: dict[str, object]) -> bool:
    """Whether an item fails in float64, or gives what float32 could hold."""
    if "absent" in facts:
        return False
    effect = facts.get("effect", 0.0)
    assert isinstance(effect, float)
    return "raises" in facts or bool(facts.get("left")) or (facts.get("bits") == 24 and effect > 1e-14)


@pytest.mark.parametrize("name", sorted(ITEMS))
def test_what_costs_digits_has_a_way_round_it(name: str) -> None:
    item = ITEMS[name]
    assert item["versions"], "measured under no version"
    assert not any(costs_digits(facts) for facts in item["versions"].values()) or item["way_round"]


def test_a_class_is_found_by_its_name_without_its_arguments() -> None:
    assert "float64" in way_round("UpSampling2D")
    assert way_round("Dense") == ""
    assert way_round("NoSuchLayer") == ""


def test_every_item_is_listed() -> None:
    assert set(framework_items()) == set(ITEMS)
    assert len(ITEMS) > 50
