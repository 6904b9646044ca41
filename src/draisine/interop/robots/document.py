"""Robot files as XML documents: reading, included files, numbers, and warnings that name the file.

`read_root` returns the root element of a file or of XML text. `numbers` and `number` parse attributes and
name the element in their errors. `warn_once` reports an interpretation of the file, once until the file
changes.
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, fromstring

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError, FileWarning, ModelError, check_file
from draisine.model.body import MAX_NUMBER

RIGHT_ANGLE_TOLERANCE = 2e-3
"""Largest distance (rad) of an angle from a multiple of 90 degrees to which it is rounded.

Robot files contain rounded angles like 1.57 and 3.14.

"""

NOTED_ANGLE_CHANGE = 1e-5
"""Smallest change of an angle (rad) that is reported; smaller ones are round-off of the file."""

MAX_INCLUDE_DEPTH = 20
"""Largest nesting depth of included files; deeper nesting means that a file includes itself."""

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
    """Warn about an interpretation of the current file, once until the file changes."""
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
    _strip_namespace(root, tag)
    if root.tag != tag:
        raise DataError(f"{name}: the file must have <{tag}> at its root, not <{root.tag}>.")
    if any("/xacro}" in element.tag for element in root.iter()):
        raise DataError(
            f"{name}: the file has xacro macros. Expand them first: `xacro FILE > ROBOT.urdf`, or "
            "`draisine new vehicle NAME --from FILE.xacro`."
        )
    with name_file(file):
        _insert_includes(root, folder, name)
    return root


def _strip_namespace(root: Element, tag: str) -> None:
    """Remove the default namespace of a document from its tags, if the root has the tag `tag` in it."""
    namespace, _, local = root.tag.rpartition("}")
    if namespace and local == tag:
        for element in root.iter():
            if isinstance(element.tag, str):
                element.tag = element.tag.removeprefix(namespace + "}")


def _parse(text: str, name: str) -> Element:
    """Parse XML text and return its root element; `name` identifies the file in error messages."""
    try:
        return fromstring(text)
    except (ParseError, ValueError) as error:
        raise DataError(f"{name}: not an XML file: {error}.") from error


def _insert_includes(root: Element, folder: Path, name: str) -> None:
    """Replace each <include file="..."/> by the children of the root of that file.

    A missing file is a warning: appearance and scenery are often included, and the rest of the robot can be
    read without them.
    """
    for _ in range(MAX_INCLUDE_DEPTH):
        parents = [parent for parent in root.iter() if parent.find("include") is not None]
        if not parents:
            return
        for parent in parents:
            children: list[Element] = []
            for child in parent:
                children += _included(child, folder) if child.tag == "include" else [child]
            parent[:] = children
    raise DataError(f"{name}: included files are nested deeper than {MAX_INCLUDE_DEPTH} levels.")


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
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{file:.200}: cannot be read: {reason}.") from error


def square_angles(angles: Floats) -> Floats:
    """Round angles (rad) near multiples of 90 degrees to these multiples, with a warning; return all angles.

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
    """Parse `count` numbers from the `text` of an XML attribute.

    The default applies if the attribute is missing; without a default, the attribute is required. `where`
    names the element in error messages.
    """
    if text is None:
        if len(default) < count:
            raise ModelError(f"{where}: {count} numbers are missing.")
        return np.array(default, float)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        raise ModelError(f"{where}: {text!r:.200} is not a list of numbers.") from None
    if len(values) != count:
        raise ModelError(f"{where}: {text!r:.200} has {len(values)} numbers instead of {count}.")
    if not (np.abs(values) < MAX_NUMBER).all():
        raise ModelError(
            f"{where}: {text!r:.200} is not finite or larger than {MAX_NUMBER:g}; use SI units."
        )
    return values


def number(attributes: Mapping[str, str], name: str, default: float, where: str) -> float:
    """Parse one number from the attributes of an XML element."""
    return float(numbers(attributes.get(name), 1, (default,), f"{where}, {name}")[0])


def nonnegative(attributes: Mapping[str, str], name: str, where: str) -> float:
    """Parse one number that must not be negative; zero if it is missing, or negative with a warning."""
    value = number(attributes, name, 0.0, where)
    if value < 0.0:
        warn_once(f"{where}: {name} = {value:g} is negative; zero is used.")
    return max(value, 0.0)


def is_positive_radius(radius: float, where: str) -> bool:
    """Return whether the radius (m) of a shape is positive; warn if it is not."""
    if not radius > 0.0:
        warn_once(f"{where}: the radius {radius:g} m of a shape is not positive; it is left out.")
    return radius > 0.0
