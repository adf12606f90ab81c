"""The JSON Schema of the file, for editors: ``python -m config.schema`` writes it, ``--check`` says if it is stale."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from config.document import Document

SCHEMA = Path(__file__).with_name("schema.json")


class _Editors(GenerateJsonSchema):
    """What is written, not what it becomes: no nulls, since an empty value is refused, and no titles."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        default = schema.get("default")
        return inner if default is None else {**inner, "default": default}

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def schema_text() -> str:
    """The schema as it is kept: JSON Schema 2020-12, sorted, with a final line end."""
    schema = Document.model_json_schema(schema_generator=_Editors)
    described: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Trimtab's declared model",
    }
    return json.dumps(described, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str], path: Path = SCHEMA) -> int:
    """Write the schema, or with ``--check`` compare it. Returns the exit code: 0 done, 1 stale, 2 usage."""
    if list(arguments) not in ([], ["--check"]):
        sys.stderr.write("usage: python -m config.schema [--check]\n")
        return 2
    text = schema_text()
    if not arguments:
        path.write_text(text, encoding="utf-8")
        return 0
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{path.name} does not match config/document.py: run `make schema` and commit the result\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
