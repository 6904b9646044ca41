"""Energy of a stored run."""

from pathlib import Path

from draisine.results.store import load


def energy(result: Path, /) -> None:
    """Print the mechanical energy of a stored run at its start and at its end.

    :param result: A result that `draisine run --out` wrote (.nc, .zarr).
    """
    E = load(result)["energy"].values
    print(f"{E[0]:.6g} J at the start, {E[-1] - E[0]:+.1e} J since")
