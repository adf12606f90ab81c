"""What is on disk, in digests and in answers stays as it is, byte for byte, whatever is moved or renamed."""

from __future__ import annotations

import json

import pytest

from config.model import Catalogue
from handler.store.codec import from_text, to_text
from handler.store.tags import TAGS
from tests.golden.kept import FILES, KEPT
from tests.golden.stored import STORED
from tests.support.filled import classes_in


@pytest.mark.parametrize("name", KEPT)
def test_what_is_written_now_is_what_was_written(name: str) -> None:
    assert KEPT[name]() == (FILES / name).read_text(encoding="utf-8")


def test_every_golden_file_is_made_by_something() -> None:
    assert {str(path.relative_to(FILES)) for path in FILES.rglob("*") if path.is_file()} == KEPT.keys()


def test_no_two_classes_have_the_same_tag_and_every_tag_is_in_use() -> None:
    assert len({*TAGS.values()}) == len(TAGS)
    assert TAGS.keys() <= classes_in((*STORED, Catalogue))


def test_every_stored_value_of_the_golden_file_is_read_and_written_again_as_it_was() -> None:
    lines = (FILES / "stored.jsonl").read_text(encoding="utf-8").splitlines()
    classes = {tag: kind for kind, tag in TAGS.items()}
    for line in lines:
        kind = classes[json.loads(line)["type"]]
        assert to_text(from_text(line, kind), kind) == line


def test_every_route_answers_and_none_finds_its_body_wanting() -> None:
    answered = json.loads((FILES / "answers.json").read_text(encoding="utf-8"))["answers"]
    assert {each["status"] for each in answered.values()} <= {200, 201, 202, 403, 409}
    assert {path.partition(" ")[2] for path in answered} >= {"/api/v1/groups", "/metrics", "/readyz"}
