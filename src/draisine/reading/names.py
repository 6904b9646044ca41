"""Unique symbols of a page, each with the kind of its quantity, and rules that derive symbols from
names.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from draisine.codegen.formula import GREEK, Expression, Symbol

SPEED = "speed"
"""Symbol kind of speeds and rates."""

INERTIA = "inertia"
"""Symbol kind of masses, first moments and moments of inertia."""

LENGTH = "length"
"""Symbol kind of lengths and other parameters."""

TURN = "turn"
"""Symbol kind of cosines, sines and tangents of angles."""

ENTRY = "entry"
"""Symbol kind of intermediate quantities that are defined on the page itself, such as matrix
entries.
"""

FACTOR_ORDER = {LENGTH: 1, TURN: 0, ENTRY: 2, INERTIA: 3, SPEED: 4}
"""Rank of a kind among the factors of a product: trigonometric functions first, speeds last."""


class Names:
    """All symbols of a page by index, and the index of the cosine that belongs to each sine."""

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.kinds: list[str] = []
        self.pairs: dict[int, int] = {}
        self.angles: dict[int, Symbol] = {}
        self.inline: dict[int, Expression] = {}
        self._taken: set[str] = set()

    def add_name(self, symbol: Symbol, kind: str) -> int:
        """Return the index of a new name; primes are added if its symbol is already in use."""
        while symbol.plain in self._taken:
            symbol = replace(symbol, primes=symbol.primes + 1)
        self._taken.add(symbol.plain)
        self.symbols.append(symbol)
        self.kinds.append(kind)
        return len(self.symbols) - 1

    def add_function(self, expression: Expression) -> int:
        """Return the index of a function value that is written in full at every use."""
        number = self.add_name(Symbol(f"f{len(self.symbols)}"), ENTRY)
        self.inline[number] = expression
        return number

    def add_angle(self, angle: Symbol, is_given: bool = True) -> tuple[int, int]:
        """Return the indices of the cosine and the sine of an angle; `is_given` if the angle is known."""
        cosine = self.add_name(Symbol("c", (angle,)), TURN)
        sine = self.add_name(Symbol("s", (angle,)), TURN)
        self.pairs[sine] = cosine
        if is_given:
            self.angles[sine] = angle
        return cosine, sine

    def add_tangent(self, sine: int) -> int:
        """Return the index of the tangent of the angle of a sine."""
        symbol = Symbol("t", (self.angles[sine],))
        if symbol in self.symbols:
            return self.symbols.index(symbol)
        return self.add_name(symbol, TURN)


def derive_symbol(name: str, symbols: Mapping[str, str]) -> Symbol:
    r"""Return the symbol of a name: the one in `symbols` if listed there, else the one derived by
    rule.

    >>> names = ("lam", "rR", "IBxz", "Izz", "mw", "mu_2", "Cf1", "m_rider", "speed")
    >>> [derive_symbol(x, {}).plain for x in names]
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


LEGEND = {
    "gamma": "ground's normal in the axes of link",
    "sigma": "root: steepness of a wheel's plane",
    "alpha": "angle of contact point",
    "e": "direction to a contact point, or rate of a state, entry",
    "q": "position of contact point in the base's axes",
    "v": "velocity of contact point in the base's axes",
    "chi": "acceleration of contact point at constant speeds",
    "R": "rotation to the parent link",
    "T": "rotation to the base",
    "o": "origin in the base's axes of link",
    "theta": "angle to the base of link",
    "A": "row of a constraint, twist, entry",
    "B": "row of a constraint, joints, entry",
    "b": "right-hand side of the velocity constraints, entry",
    "I": "central inertia of body",
    "m": "mass, or reduced mass matrix, entry",
    "S": "moment of mass of link",
    "J": "moment of inertia of link",
    "p": "position in the parent link",
    "Pi": "force per acceleration of joint, on link",
    "Lambda": "moment per acceleration of joint, on link",
    "M": "mass matrix, entry",
    "omega": "angular velocity of link",
    "epsilon": "angular acceleration of link at constant speeds",
    "a": "acceleration of link at constant speeds",
    "f": "force on link, or reduced force",
    "n": "moment on link",
    "F": "force of free motion, entry",
    "Q": "generalised force, entry",
    "D": "pivot of the elimination, or denominator",
    "U": "elimination, above its pivot",
    "L": "elimination, below its pivot",
    "H": "kernel, entry",
    "nu": "speeds at zero independent speeds, entry",
    "d": "right-hand side of the acceleration constraints, entry",
    "y": "right side of the elimination, entry",
    "kappa": "Hdot u, entry",
    "N": "M H, entry",
    "phi": "reduced force, entry",
    "E": "elimination of the reduced mass matrix, entry",
    "rho": "force of the constraints, entry",
    "w": "intermediate multiplier, entry",
    "lambda": "multiplier",
    "beta": "angle",
    "k": "abbreviation",
    "x": "mass centre, x, of body",
    "z": "mass centre, z, of body",
    "c": "cosine of",
    "s": "sine of",
    "t": "tangent of",
}
"""Meanings of the letters that the naming rules assign."""


def describe_symbol(symbol: Symbol, legend: Mapping[str, str] = LEGEND) -> str:
    """Return the meaning of a symbol in words.

    >>> describe_symbol(Symbol("gamma", ("1x",))), describe_symbol(Symbol("q", ("0y",), dots=1))
    ("ground's normal in the axes of link 1x", "rate: position of contact point in the base's axes 0y")
    """
    below = "".join(b.plain if isinstance(b, Symbol) else b for b in symbol.below)
    words = f"{legend.get(symbol.letter, symbol.letter)} {below}".strip()
    words += ", with all links that it carries" * (symbol.letter in "mSJfn" and symbol.primes > 0)
    return f"rate: {words}" if symbol.dots else words
