"""Minify generated JavaScript: remove comments and unnecessary white space, and shorten generated names."""

import re
from collections import Counter
from collections.abc import Container, Iterator
from itertools import count, product
from string import ascii_lowercase, ascii_uppercase

from draisine.codegen.targets.javascript import JS_RESERVED

_TOKEN = re.compile(
    r"""
    (?P<string>"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`)
    |(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<number>\d[\w.]*(?:(?<=e)[-+]\d+)?)
    |(?P<space>\s+)
    |(?P<mark>\+\+|--|.)
    """,
    re.VERBOSE | re.DOTALL,
)
"""Pattern of one token of generated JavaScript, which contains neither regular expressions nor nested
template literals.
"""

_GENERATED = re.compile(
    r"(routine|record|values|allocate|doubles|integers|flags)_\w+|\w+_program_\d+\w*|[a-z]+_\d+"
)
"""Pattern of the names that the code generator invents. They may be shortened, because only generated code
refers to them.
"""


def minify(text: str) -> str:
    r"""Return equivalent JavaScript without comments and white space, and with short generated names.

    >>> print(minify("// Twice a number.\nfunction routine_double(x) {\n    return 2.0 * x;\n}"))
    function a(x){return 2*x}
    """
    tokens = [
        (match.lastgroup or "", match.group())
        for match in _TOKEN.finditer(re.sub(r"^export ", "", text, flags=re.MULTILINE))
    ]
    uses = Counter(word for kind, word in tokens if kind == "name")
    generated = [word for word, _ in uses.most_common() if _GENERATED.fullmatch(word)]
    short = dict(zip(generated, _short_names(uses.keys()), strict=False))
    parts: list[str] = []
    # First word of the current statement, for each enclosing pair of brackets. It shows whether two
    # neighbouring `const` declarations can be joined.
    first = [""]
    for kind, word in tokens:
        if kind in ("comment", "space"):
            continue
        if kind == "name":
            word = short.get(word, word)
        elif kind == "number":
            word = re.sub(r"^(\d+)\.0$", r"\1", word)
        elif word == "}" and parts[-1] == ";":
            parts.pop()
        if word == "const" and first[-1] == "const" and parts[-1] == ";":
            parts[-1] = ","
            continue
        # Keep a space between two words, and between two equal signs: a - -b differs from a --b.
        is_word = kind in ("name", "number")
        if parts and (
            (is_word and re.fullmatch(r"[\w$]", parts[-1][-1])) or _joins(parts[-1], word)
        ):
            parts.append(" ")
        if not parts or parts[-1] in (";", "{", "}"):
            first[-1] = word
        parts.append(word)
        if word in ("(", "[", "{"):
            first.append("")
        elif word in (")", "]", "}"):
            first.pop()
            if word == "}" and first[-1] != "const":
                first[-1] = ""
    return "".join(parts)


def _joins(before: str, word: str) -> bool:
    """Return whether two tokens would form the operator ++ or -- without a space between them."""
    return before[-1] == word[0] and word[0] in "+-"


def _short_names(taken: Container[str]) -> Iterator[str]:
    """Yield identifiers by increasing length, except JavaScript keywords and the names in `taken`."""
    for length in count(1):
        for letters in product(ascii_lowercase + ascii_uppercase, repeat=length):
            name = "".join(letters)
            if name not in taken and name not in JS_RESERVED:
                yield name
