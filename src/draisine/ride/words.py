"""Words of the page in all its languages, as Python reads them."""

import json
from functools import cache
from importlib.resources import files


@cache
def page_words() -> dict[str, dict[str, str]]:
    """Return the texts of the page by key, then by language.

    >>> page_words()["weave.title"]["de"]
    'Pendeln'
    """
    text = files("draisine.ride").joinpath("page", "words.js").read_text(encoding="utf-8")
    table = text.partition("export const WORDS = ")[2].rstrip().rstrip(";")
    words: dict[str, dict[str, str]] = json.loads(table)
    return words


def ride_text(name: str, part: str) -> str:
    """Return a part of the English text of a preset (title, lesson, question, answer); "" if it has none."""
    return page_words().get(f"{name}.{part}", {}).get("en", "")
