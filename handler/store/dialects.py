"""What SQLite and PostgreSQL spell differently, besides `upserts`: statements say what they mean, and this module how.

SQLite's REAL has eight bytes, and PostgreSQL's has four, which would round an instant to two minutes. So it is made
with eight bytes there, in the tables and in every migration.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import REAL, ColumnElement, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import GenericTypeCompiler, SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


@compiles(REAL, "postgresql")
def _real(element: REAL[Any], compiler: GenericTypeCompiler, **options: object) -> str:
    return "DOUBLE PRECISION"


class RowPlace(ColumnElement[Any]):
    """Where a row of the statement's table lies: identifies it within one transaction."""

    inherit_cache = True


@compiles(RowPlace, "sqlite")
def _row_id(element: RowPlace, compiler: SQLCompiler, **options: object) -> str:
    return "rowid"


@compiles(RowPlace, "postgresql")
def _tuple_id(element: RowPlace, compiler: SQLCompiler, **options: object) -> str:
    return "ctid"


class JsonRows(FunctionElement[Any]):
    """The elements of a JSON array in a text, as rows with a column ``value``."""

    inherit_cache = True


@compiles(JsonRows, "sqlite")
def _each(element: JsonRows, compiler: SQLCompiler, **options: object) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(JsonRows, "postgresql")
def _array_elements(element: JsonRows, compiler: SQLCompiler, **options: object) -> str:
    return f"json_array_elements(CAST({compiler.process(element.clauses, **options)} AS json))"


class JsonItem(FunctionElement[str]):
    """One text of a JSON array: ``JsonItem(array, literal_column("0"))`` is the first."""

    inherit_cache = True
    type = Text()


@compiles(JsonItem, "sqlite")
def _extract(element: JsonItem, compiler: SQLCompiler, **options: object) -> str:
    array, index = (compiler.process(clause, **options) for clause in element.clauses)
    return f"json_extract({array}, '$[{index}]')"


@compiles(JsonItem, "postgresql")
def _item(element: JsonItem, compiler: SQLCompiler, **options: object) -> str:
    array, index = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({array} ->> {index})"
