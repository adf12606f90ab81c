from __future__ import annotations

import json
from pathlib import Path

import pytest

from config.document.file import Document
from config.document.schema import SCHEMA, main, schema_text


def test_the_schema_that_is_kept_is_the_one_of_the_document() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text()


def test_a_stale_schema_is_reported_with_its_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "schema.json"
    assert main(["--check"], path) == 1
    assert "make schema" in capsys.readouterr().err
    assert main([], path) == 0
    assert main(["--check"], path) == 0
    path.write_text("{}", encoding="utf-8")
    assert main(["--check"], path) == 1


def test_an_unknown_argument_is_a_matter_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--chekc"]) == 2
    assert "usage" in capsys.readouterr().err


def test_the_schema_tells_editors_of_every_key_and_of_choices() -> None:
    schema = json.loads(schema_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(schema["properties"]) == set(Document.model_fields)
    condition = schema["$defs"]["ConditionDocument"]
    assert {"required": ["above"]} in condition["oneOf"]
    assert condition["additionalProperties"] is False
    assert "null" not in schema_text()


def test_every_key_is_described_and_shown() -> None:
    schema = json.loads(schema_text())
    mappings = [schema, *(entry for name, entry in schema["$defs"].items() if name.endswith("Document"))]
    for mapping in mappings:
        for key, entry in mapping.get("properties", {}).items():
            assert entry["description"], key
            assert entry["examples"], key
