"""The JSON Schema of the file, for editors: ``python -m config.document.schema`` writes it; ``--check`` compares it.

`keep` does so for every file that is made from the document model.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from config.document.file import Document


def keep(text: str, path: Path, arguments: Sequence[str], *, module: str, remedy: str) -> int:
    """Write a file, or with ``--check`` compare it. Returns the exit code: 0 done, 1 stale, 2 usage."""
    if list(arguments) not in ([], ["--check"]):
        sys.stderr.write(f"usage: python -m {module} [--check]\n")
        return 2
    if not arguments:
        path.write_text(text, encoding="utf-8")
        return 0
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{path.name} does not match config/document/file.py: run `{remedy}` and commit the result\n")
    return 1


SCHEMA = Path(__file__).parents[1] / "schema.json"


class _Editors(GenerateJsonSchema):
    """What is written, not what it becomes: no nulls, since an empty value is refused, and no titles."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        default = schema.get("default")
        return inner if default is None else {**inner, "default": default}

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        """Leave keys in the order in which people wrote them: in examples it means something to readers."""
        return value

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def schema() -> dict[str, Any]:
    """The schema with its keys in the order of the document."""
    return Document.model_json_schema(schema_generator=_Editors)


def schema_text() -> str:
    """The schema as it is kept: JSON Schema 2020-12, sorted, with a final line end."""
    described: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema(),
        "title": "Trimtab's declared model",
    }
    return json.dumps(described, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str], path: Path = SCHEMA) -> int:
    """Write the schema, or with ``--check`` compare it. Returns the exit code: 0 done, 1 stale, 2 usage."""
    return keep(schema_text(), path, arguments, module="config.document.schema", remedy="make schema")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
