"""The schema that ships is the one of the structs."""

from __future__ import annotations

import json
from importlib import resources

import jsonschema

from f64doctor.report import json_schema

HOW_TO_RENEW = """renew f64doctor/render/report.schema.json with
python -c "import json; from f64doctor.report import json_schema; print(json.dumps(json_schema(), indent=2))" """


def shipped_schema() -> object:
    return json.loads((resources.files("f64doctor.render") / "report.schema.json").read_text(encoding="utf-8"))


def test_the_schema_that_ships_is_current() -> None:
    assert shipped_schema() == json_schema(), HOW_TO_RENEW


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
