"""Names: symbols as people write them, no two alike, with what kind of quantity each stands for."""

import re
from collections.abc import Mapping
from dataclasses import replace

from draisine.codegen.formula import GREEK, Expression, Symbol

SPEED, INERTIA, LENGTH, TURN, ENTRY = "speed", "inertia", "length", "turn", "entry"
"""Kinds: speeds and rates; masses and moments of mass; lengths and other parameters; sines and
cosines; everything that has been defined on the page."""

ORDER = {LENGTH: 1, TURN: 0, ENTRY: 2, INERTIA: 3, SPEED: 4}
"""In which order the factors of a product are written."""


class Names:
    """All symbols of a page, numbered; sines know their cosines."""

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.kinds: list[str] = []
        self.pairs: dict[int, int] = {}
        self.angles: dict[int, Symbol] = {}
        self.inline: dict[int, Expression] = {}
        self._taken: set[str] = set()

    def new(self, symbol: Symbol, kind: str) -> int:
        """Return the number of a new name; where its symbol is in use already, primes are added."""
        while symbol.plain in self._taken:
            symbol = replace(symbol, primes=symbol.primes + 1)
        self._taken.add(symbol.plain)
        self.symbols.append(symbol)
        self.kinds.append(kind)
        return len(self.symbols) - 1

    def function(self, expression: Expression) -> int:
        """Return the number of a function's value that is written out wherever it stands."""
        number = self.new(Symbol(f"f{len(self.symbols)}"), ENTRY)
        self.inline[number] = expression
        return number

    def turn(self, angle: Symbol, given: bool = True) -> tuple[int, int]:
        """Return the numbers of the cosine and the sine of an angle, which is itself known or not."""
        cosine, sine = self.new(Symbol("c", (angle,)), TURN), self.new(Symbol("s", (angle,)), TURN)
        self.pairs[sine] = cosine
        if given:
            self.angles[sine] = angle
        return cosine, sine

    def tangent(self, sine: int) -> int:
        """Return the number of the tangent of a sine's angle."""
        wanted = Symbol("t", (self.angles[sine],))
        if wanted in self.symbols:
            return self.symbols.index(wanted)
        return self.new(wanted, TURN)


def symbol_of(name: str, symbols: Mapping[str, str]) -> Symbol:
    r"""Return how people write a name: as `symbols` says, else by rule.

    >>> names = ("lam", "rR", "IBxz", "Izz", "mw", "mu_2", "Cf1", "m_rider", "speed")
    >>> [symbol_of(x, {}).plain for x in names]
    ['lambda', 'r_R', 'I_Bxz', 'I_zz', 'm_w', 'mu_2', 'C_f1', 'm_rider', 'speed']
    """
    if name in symbols:
        return Symbol.parse(symbols[name])
    if name not in GREEK and (
        letters := re.fullmatch(r"([A-Z])([a-z0-9]{1,3})|([a-z])([a-z])", name)
    ):
        return Symbol(letters[1] or letters[3], (letters[2] or letters[4],))
    if words := re.fullmatch(r"([A-Za-z])_([a-z_]+)", name):
        return Symbol(words[1], (words[2].replace("_", " "),))
    short = re.fullmatch(r"([A-Za-z]+?)_?([A-Z0-9][A-Za-z0-9]{0,3})?", name)
    letter, below = (short[1], short[2]) if short else (name, None)
    letter = {"lam": "lambda"}.get(letter, letter)
    if len(letter) == 1 or letter in GREEK:
        return Symbol(letter, (below,) if below else ())
    return Symbol(re.sub(r"_", " ", name))
