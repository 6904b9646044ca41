"""Robot files as XML documents: reading, included files, numbers, and warnings that name the file.

`read_root` returns the root element of a file or of XML text. `numbers` and `number` parse attributes. They
replace a malformed attribute by its default and warn with the name of the element: one mistake in a large
file must not prevent the user from reading the rest. `warn_once` issues each warning once per version of the
file.
"""

import codecs
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError, FileWarning, ModelError, check_file
from draisine.model.body import MAX_NUMBER

RIGHT_ANGLE_TOLERANCE = 2e-3
"""Angles within this distance (rad) of a multiple of 90 degrees are rounded to this multiple.

Robot files contain truncated angles such as 1.57 and 3.14, with errors of up to 1.6e-3 rad.
"""

NOTED_ANGLE_CHANGE = 1e-5
"""Smallest change (rad) of a rounded angle that causes a warning; smaller ones are round-off of the file."""

MAX_INCLUDE_DEPTH = 20
"""Largest nesting depth of included files; a deeper nesting is taken as a file that includes itself."""

XML_DECLARATION = re.compile(r"<\?xml\s[^>]*\?>")
"""Pattern of the XML declaration, <?xml version="1.0"?>."""

_CURRENT_FILE: ContextVar[tuple[str, int]] = ContextVar("name and modification time of the file")
_ROUNDS_ANGLES: ContextVar[bool] = ContextVar(
    "whether nearly right angles are rounded", default=True
)
_WARNINGS_GIVEN: set[tuple[str, int, str]] = set()
"""Warnings that have been issued: (file name, modification time of the file, text)."""


@contextmanager
def name_file(file: str | Path, round_angles: bool = True) -> Iterator[None]:
    """Context manager that adds the file name to errors and warnings; XML text has no name.

    `round_angles` selects whether `square_angles` rounds the angles of this file.
    """
    text = is_xml_text(file)
    rounds_before = _ROUNDS_ANGLES.set(round_angles)
    before = _CURRENT_FILE.set(
        ("<robot>", hash(str(file))) if text else (str(file), os.stat(file).st_mtime_ns)
    )
    try:
        yield
    except ModelError as error:
        if text:
            raise
        raise ModelError(f"{file}: {error}") from error
    finally:
        _CURRENT_FILE.reset(before)
        _ROUNDS_ANGLES.reset(rounds_before)


def warn_once(text: str) -> None:
    """Issue a `FileWarning` about the current file, once per version (modification time) of the file."""
    file, stamp = _CURRENT_FILE.get(("<robot>", 0))
    if (file, stamp, text) not in _WARNINGS_GIVEN:
        warnings.warn_explicit(text, FileWarning, file, 0)
        _WARNINGS_GIVEN.add((file, stamp, text))


def is_xml_text(file: str | Path) -> bool:
    """Return whether an argument is XML text instead of the name of a file."""
    return str(file).lstrip().startswith("<")


def read_root(file: str | Path, tag: str) -> Element:
    """Return the root element of a robot file, with included files in place.

    Parameters
    ----------
    file
        Name of the file, or XML text.
    tag
        Required tag of the root element.

    Raises
    ------
    DataError
        If the file cannot be read, is not XML, has another root element, or has xacro macros.
    """
    if is_xml_text(file):
        name = f"the <{tag}>"
        root = _parse(str(file), name)
        folder = Path()
    else:
        name = f"{file!s:.200}"
        root = _parse(_read_text(str(file)), name)
        folder = Path(file).parent
    if root.tag != tag:
        raise DataError(f"{name}: the file must have <{tag}> at its root, not <{root.tag}>.")
    if _has_macros(root):
        raise DataError(
            f"{name}: the file has xacro macros. Expand them first: `xacro FILE > ROBOT.urdf`, or "
            "`draisine new vehicle NAME --from FILE.xacro`."
        )
    with name_file(file):
        _insert_includes(root, folder, name)
    return root


def is_urdf(file: str) -> bool:
    """Return whether a robot file is URDF (root element <robot>); the suffix .xml does not decide."""
    return _parse(_read_text(file), f"{file:.200}").tag == "robot"


def _has_macros(root: Element) -> bool:
    """Return whether a document has elements in the namespace of xacro."""
    prefixes = {"xacro"}
    tags = set()
    for element in root.iter():
        tags.add(element.tag)
        prefixes |= {
            name.removeprefix("xmlns:")
            for name, address in element.attrib.items()
            if name.startswith("xmlns:") and address.endswith("/xacro")
        }
    return any(tag.startswith(f"{prefix}:") for tag in tags for prefix in prefixes)


def _parse(text: str, name: str) -> Element:
    """Parse XML text and return its root element; `name` identifies the file in error messages.

    Namespaces are not resolved: extensions such as <gz:sensor> often have an undeclared prefix. The XML
    declaration is removed: it may follow blank lines or a comment, and its encoding has been decoded. Null
    characters, which some exporters append, are ignored.
    """
    content = XML_DECLARATION.sub("", text, count=1).strip("\ufeff\0 \t\r\n")
    parser = expat.ParserCreate()
    builder = TreeBuilder()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError) as error:
        raise DataError(f"{name}: not an XML file: {error}.") from error
    return builder.close()


def _insert_includes(root: Element, folder: Path, name: str) -> None:
    """Replace each <include file="..."/> by the children of the root of that file.

    A missing file is a warning: appearance and scenery are often included, and the rest of the robot can be
    read without them.
    """
    for depth in range(MAX_INCLUDE_DEPTH + 1):
        parents = [parent for parent in root.iter() if parent.find("include") is not None]
        if not parents:
            return
        if depth == MAX_INCLUDE_DEPTH:
            warn_once(
                f"{name}: included files are nested deeper than {MAX_INCLUDE_DEPTH} levels; the deeper "
                "ones are left out."
            )
        for parent in parents:
            children: list[Element] = []
            for child in parent:
                if child.tag != "include":
                    children.append(child)
                elif depth < MAX_INCLUDE_DEPTH:
                    children += _included(child, folder)
            parent[:] = children


def _included(include: Element, folder: Path) -> list[Element]:
    """Return the elements of an included file, or nothing with a warning if the file does not exist."""
    file = folder / include.get("file", "")
    if not file.is_file():
        warn_once(f"The included file {include.get('file', '')!r} does not exist; it is left out.")
        return []
    return list(_parse(_read_text(str(file)), f"{file!s:.200}"))


def _read_text(file: str) -> str:
    """Return the text of a file."""
    check_file(file)
    try:
        data = Path(file).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: the name has a null character
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{file:.200}: cannot be read: {reason}.") from error
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")  # older editors on Windows; decodes any bytes


def square_angles(angles: Floats) -> Floats:
    """Return angles (rad), each rounded to a multiple of 90 degrees within `RIGHT_ANGLE_TOLERANCE`; warn.

    Files that are read with `round_angles=False` keep their angles.

    >>> [float(angle) for angle in square_angles(np.array([0.0, 1.5707963, 0.25]))]
    [0.0, 1.5707963267948966, 0.25]
    """
    if not _ROUNDS_ANGLES.get():
        return angles
    right = np.round(angles / (np.pi / 2.0)) * (np.pi / 2.0)
    near = (np.abs(angles - right) < RIGHT_ANGLE_TOLERANCE) & (right != 0.0)
    if (np.abs(angles - right)[near] > NOTED_ANGLE_CHANGE).any():
        limit = f"{RIGHT_ANGLE_TOLERANCE:g} rad"
        warn_once(
            f"Angles within {limit} of a right angle, such as 1.57, are rounded to it; round_angles=False "
            "keeps them."
        )
    return np.where(near, right, angles)


def numbers(text: str | None, count: int, default: Sequence[float], where: str) -> Floats:
    """Parse `count` numbers from the `text` of an XML attribute; return them as an array (count,).

    `where` names the element in messages. If the attribute is missing or malformed, return the default; warn
    if it is malformed. If the default is empty, the attribute is required, and a `ModelError` is raised
    instead.

    >>> numbers("1 2 3", 3, (0, 0, 0), "origin").tolist()
    [1.0, 2.0, 3.0]
    """
    if text is None:
        if len(default) < count:
            raise ModelError(f"{where}: {count} numbers are missing.")
        return np.array(default, float)
    try:
        values = _parse_numbers(text, count, where)
    except ModelError as error:
        if len(default) < count:
            raise
        used = " ".join(f"{value:g}" for value in default)
        warn_once(f"{error} {used} is used instead.")
        return np.array(default, float)
    return values


def _parse_numbers(text: str, count: int, where: str) -> Floats:
    """Parse `count` finite numbers from a text; ignore commas and surplus numbers with a warning."""
    try:
        values = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        raise ModelError(f"{where}: {text!r:.200} is not a list of numbers.") from None
    if len(values) < count:
        raise ModelError(f"{where}: {text!r:.200} has {len(values)} numbers instead of {count}.")
    if not (np.abs(values) < MAX_NUMBER).all():
        raise ModelError(
            f"{where}: {text!r:.200} is not finite or larger than {MAX_NUMBER:g}; use SI units."
        )
    if len(values) > count:
        warn_once(
            f"{where}: {text!r:.200} has {len(values)} numbers instead of {count}; the first ones are used."
        )
    elif "," in text:
        warn_once(f"{where}: {text!r:.200} has commas, which are ignored.")
    return values[:count]


def find_numbers(attributes: Mapping[str, str], name: str, count: int, where: str) -> Floats | None:
    """Parse `count` numbers from an optional attribute; None if it is missing or malformed."""
    if name not in attributes:
        return None
    try:
        return numbers(attributes[name], count, (), f"{where}, {name}")
    except ModelError as error:
        warn_once(f"{error} The attribute is left out.")
        return None


def number(attributes: Mapping[str, str], name: str, default: float, where: str) -> float:
    """Parse one number from the attribute `name`; return the default if it is missing or malformed."""
    return float(numbers(attributes.get(name), 1, (default,), f"{where}, {name}")[0])


def nonnegative(attributes: Mapping[str, str], name: str, where: str) -> float:
    """Parse one number of an attribute; zero if it is missing or, with a warning, negative."""
    value = number(attributes, name, 0.0, where)
    if value < 0.0:
        warn_once(f"{where}: {name} = {value:g} is negative; zero is used.")
    return max(value, 0.0)


def is_positive_radius(radius: float, where: str) -> bool:
    """Return whether the radius (m) of a shape is positive; warn if it is not."""
    if not radius > 0.0:
        warn_once(f"{where}: the radius {radius:g} m of a shape is not positive; it is left out.")
    return radius > 0.0
