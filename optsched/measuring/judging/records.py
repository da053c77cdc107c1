"""Reads the records of the papers' claims and figures, selects among them, and finds one by its id."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from optsched.core.errors import UsageError, expect, nearest, unknown_id
from optsched.core.resources import folder

__all__ = ["SHIPPED", "named", "read", "selected"]

#: The shipped papers, in the order in which they are listed. Only the last has no figures.
SHIPPED = ("shen-2016", "sharmilarani", "hsu-freeh", "guo-2012", "agosta", "fischer-2010")

Record = TypeVar("Record", bound=Any)


def read(kind: str, paper: str) -> dict[str, dict[str, Any]]:
    """The fields of a shipped paper's `claims` or `figures` by the name of each, with its id and its paper."""
    content = tomllib.loads((folder("instances") / kind / f"{paper}.toml").read_text(encoding="utf-8"))
    own = {"paper": content["paper"]}
    return {name: {**own, "id": f"{paper}/{name}", **fields} for name, fields in content[kind].items()}


def selected(
    papers: Mapping[str, Sequence[Record]], paper: str | None, words: Iterable[str], fields: Sequence[str]
) -> tuple[Record, ...]:
    """The records of one paper or of all, in whose fields each of these words occurs."""
    expect(paper, (str, type(None)), "a paper has a name, a text", "such as guo-2012")
    expect(words, Iterable, "words are texts", "a text or a list of them")
    if paper is not None and paper not in papers:
        raise UsageError(f'no paper "{paper}"; {nearest(paper, list(papers))}')
    wanted = [str(word).casefold() for word in ([words] if isinstance(words, str) else words)]

    def fits(one: Record) -> bool:
        text = " ".join(str(getattr(one, field)) for field in fields).casefold()
        return all(word in text for word in wanted)

    return tuple(one for name in ([paper] if paper else papers) for one in papers[name] if fits(one))


def named(kind: str, name: str, records: Iterable[Record], command: str) -> Record:
    """The record of an id; UsageError with the nearest ids if there is none."""
    expect(name, str, f"a {kind} has an id, a text", f"{command} lists them")
    known = {one.id: one for one in records}
    if name not in known:
        raise unknown_id(kind, name, list(known), command)
    return known[name]
