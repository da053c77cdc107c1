"""The published schemas: current, and of one mind with the reader."""

import copy
import runpy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from strategies import FULL, documents

from optsched.instances.documents.format import SCHEMAS, InstanceDocument, NetworkDocument, schema, schema_text
from optsched.instances.files import from_document, to_document


@settings(max_examples=15)
@given(document=documents())
def test_schema_agrees_with_reader(document: dict[str, Any]) -> None:
    """Tests that what is read and what is written satisfy the published schema."""
    validator = jsonschema.Draft202012Validator(schema(InstanceDocument))
    validator.validate(document)
    validator.validate(to_document(from_document(document)))


@pytest.mark.parametrize("kind", [InstanceDocument, NetworkDocument])
def test_published_schema_is_current(kind: type[InstanceDocument] | type[NetworkDocument]) -> None:
    """Tests that the schemas that ship are current; `python -m optsched.instances.documents.format` writes them."""
    assert SCHEMAS[kind].read_text(encoding="utf-8") == schema_text(kind)
    jsonschema.Draft202012Validator.check_schema(schema(kind))


def test_schema_refuses_what_the_reader_refuses() -> None:
    """Tests that the schema knows types, limits and unknown fields."""
    validator = jsonschema.Draft202012Validator(schema(InstanceDocument))
    for path, value in (("slots", "2"), ("slots", -1), ("colour", 1), ("load", -0.5), ("running_rates", 3)):
        document = copy.deepcopy(FULL)
        document["nodes"][0][path] = value
        assert not validator.is_valid(document)


def test_rewriting_the_schemas(tmp_path: Path) -> None:
    """Tests that the module, run as a program, writes the schemas beside itself."""
    source = SCHEMAS[InstanceDocument].parent.with_name("format.py")
    (tmp_path / "schemas").mkdir()
    (tmp_path / "format.py").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    runpy.run_path(str(tmp_path / "format.py"), run_name="__main__")
    for path in SCHEMAS.values():
        assert (tmp_path / "schemas" / path.name).read_bytes() == path.read_bytes()
