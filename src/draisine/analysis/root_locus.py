"""Root loci: eigenvalues about steady motions while one quantity or parameter changes.

The varied value is a quantity of the motion (speed, lean, acceleration, steer torque) or a parameter of the
machine (slope, trail). The search for each motion begins at the previous one, so that a locus follows one
family of motions and ends with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import draisine
from draisine.algebra.scalar import Floats
from draisine.analysis.eigenmodes import track_eigenvalues
from draisine.analysis.equilibrium import Steady, steady
from draisine.analysis.equilibrium.balance import ACCELERATION, quantity_names
from draisine.errors import ConfigurationError, ParameterError, did_you_mean
from draisine.simulation.dataset import call_recipe, provenance
from draisine.simulation.options import CONTACT, ContactOptions
from draisine.system.artifacts import require_system
from draisine.system.state import State
from draisine.system.system import System, compile
from draisine.system.tracing import Law
from draisine.terrain import Terrain
from draisine.vehicles import INCLINE_PARAMETERS

if TYPE_CHECKING:
    from pathlib import Path

    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class RootLocus:
    """Eigenvalues about steady motions while one quantity or parameter changes.

    Attributes
    ----------
    over
        Name of the varied quantity or parameter.
    unit
        Its unit.
    values
        Its values (n,), as far as motions exist.
    motions
        The steady motions.
    eigenvalues
        Eigenvalues (n, states), each column followed from one motion to the next (1/s).
    states
        Names of the states at the first motion that has all of them.
    form
        Linearisation: "steady", "frozen" or "dalembert".
    end
        Reason why the locus ends before the last requested value; empty if it is complete.
    made
        Attributes of a stored locus: system, control law, version and recipe.
    """

    over: str
    unit: str
    values: Floats
    motions: tuple[Steady, ...]
    eigenvalues: Floats
    states: tuple[str, ...]
    form: str
    end: str = ""
    made: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        span = f"{self.values[0]:g} to {self.values[-1]:g} {self.unit}".rstrip()
        ended = f"\n  {self.end}" if self.end else ""
        return (
            f"RootLocus of {len(self.values)} motions over {self.over}, {span} ({self.form}){ended}"
        )

    @property
    def growth(self) -> Floats:
        """Largest real part of the eigenvalues at each value (1/s), (n,)."""
        return self.eigenvalues.real.max(axis=1)

    def to_xarray(self) -> "Dataset":
        """Return eigenvalues, states and inputs of the motions as a dataset over the varied value."""
        import xarray

        system = self.motions[0].machine.system
        inputs = np.array([list(motion.inputs.values()) for motion in self.motions])
        names = [name for name in self.motions[0].values if name not in ("x", "y", "z")]
        about = np.array([[motion.values[name] for name in names] for motion in self.motions])
        return xarray.Dataset(
            {
                "eigenvalue_real": (("value", "root"), self.eigenvalues.real, {"units": "1/s"}),
                "eigenvalue_imaginary": (
                    ("value", "root"),
                    self.eigenvalues.imag,
                    {"units": "rad/s"},
                ),
                "motion": (("value", "quantity"), about, {"units": "SI"}),
                "input_value": (("value", "input"), inputs, {"units": "SI"}),
            },
            coords={
                "value": ("value", self.values, {"units": self.unit, "long_name": self.over}),
                "quantity": names,
                "input": list(system.model.inputs),
                "root": np.arange(self.eigenvalues.shape[1]),
            },
            attrs={
                "title": f"root locus of {system.vehicle.__name__} over {self.over.replace('_', ' ')}",
                **self.made,
                "locus_over": self.over,
                "form": self.form,
                "end": self.end,
            },
        )

    def plot(
        self, figure: str | None = None, path: "str | Path | None" = None, **options: Any
    ) -> Any:
        """Draw the root locus in the complex plane and the real parts; return the axes, see
        `draisine.plot`.
        """
        return draisine.plot(self, figure, path, **options)

    def save(self, path: "str | Path") -> None:
        """Write the root locus into a file (.nc, .zarr), see `draisine.save`."""
        draisine.save(self, path)


def root_locus(
    system: System,
    over: str,
    values: Sequence[float] | Floats,
    *,
    start: State | Steady | None = None,
    free: Sequence[str] = (),
    inputs: Mapping[str, float] | None = None,
    mode: Mapping[str, str] | None = None,
    law: Law | None = None,
    terrain: Terrain | None = None,
    contact: ContactOptions = CONTACT,
    form: Literal["frozen", "dalembert"] | None = None,
    **prescribed: float,
) -> RootLocus:
    """Compute the eigenvalues about steady motions while one quantity or parameter changes.

    Parameters
    ----------
    system
        The compiled system.
    over
        Varied value: a quantity as in `steady` (`forward_speed`, `lean`, `forward_acceleration`,
        `steer_torque`), a parameter of the machine (`c`), or `slope` or `camber` of the ground (rad).
    values
        Its values, in order.
    start
        Initial guess of the first motion, as in `steady`.
    free, inputs, mode, law, terrain, contact
        As in `steady`.
    form
        Linearisation of accelerating motions: "frozen" (the default for them) or "dalembert".
    prescribed
        Other prescribed quantities, as in `steady`.

    Returns
    -------
    RootLocus
        Eigenvalues as far as steady motions exist; `end` says why it ends before the last value.

    Raises
    ------
    ConfigurationError
        If there is no steady motion at the first value.

    Examples
    --------
    >>> import numpy as np
    >>> from draisine import compile
    >>> bicycle = compile("whipple")
    >>> locus = root_locus(
    ...     bicycle, "lean", np.linspace(0.0, 0.3, 4), free=["steer"], forward_speed=5.0
    ... )
    >>> print(locus.eigenvalues.shape, locus.states[:2])
    (4, 5) ('lean', 'steer')
    """
    require_system("root_locus", system)
    requested = np.atleast_1d(np.asarray(values, float))
    if not requested.size:
        raise ParameterError(
            "root_locus: `values` is empty. List the values of the varied quantity."
        )
    ground = {} if terrain is None else {"terrain": terrain, "contact": contact}
    options: dict[str, Any] = {"free": free, "inputs": inputs, "mode": mode, "law": law, **ground}
    guess = start.state if isinstance(start, Steady) else start
    written = options | {"free": list(free), "start": guess, "form": form, **prescribed}
    recipe = call_recipe("locus", root_locus, system, over, requested, **written)
    quantities = quantity_names(system.model) | {"radius": "m"}
    unit = quantities.get(over)
    varied = unit is None
    if varied:
        system = _replace_parameter(system, over, float(requested[0]), list(quantities))
        unit = system.meanings.get(over, ("", ""))[0]
    chosen = form or ("frozen" if ACCELERATION in (over, *prescribed) else "steady")
    motions: list[Steady] = []
    end = ""
    for value in map(float, requested):
        machine = system.with_parameters(**{over: value}) if varied else system
        conditions: dict[str, Any] = dict(prescribed) if varied else {**prescribed, over: value}
        try:
            # Start the search at the last motion only: other starts could jump to another family.
            previous = motions[-1] if motions else start
            motions.append(steady(machine, start=previous, **options, **conditions))
        except ConfigurationError as error:
            if not motions:
                raise
            end = f"The locus ends before {over} = {value:.6g}: {error}"
            break
    linear = [motion.linear(form=chosen if motion.acceleration else "steady") for motion in motions]
    states = max((system.states for system in linear), key=len)
    # A coordinate may be cyclic at some values of the parameter only, such as the yaw at zero slope. It is
    # no state of the linear system at these values, and its eigenvalue is zero.
    eigenvalues = np.zeros((len(motions), len(states)), complex)
    for row, about in zip(eigenvalues, linear, strict=True):
        row[: len(about.states)] = about.eigenvalues()
    eigenvalues = np.take_along_axis(eigenvalues, track_eigenvalues(eigenvalues), axis=1)
    attributes = provenance(motions[0].machine.system, law, recipe)
    return RootLocus(
        over,
        unit or "",
        requested[: len(motions)],
        tuple(motions),
        eigenvalues,
        states,
        chosen,
        end,
        attributes,
    )


def _replace_parameter(
    system: System, name: str, value: float, quantities: Sequence[str]
) -> System:
    """Return the system with a variable parameter.

    The parameter may be an optional argument of its vehicle, or an incline of the ground.
    """
    if name in system.parameters:
        return system
    is_optional = name in system.structure and system.structure[name] is None
    if is_optional or name in INCLINE_PARAMETERS:
        source = system.artifacts
        arguments: dict[str, Any] = {**source.structure, **system.parameters, name: value}
        return compile(source.vehicle, store=source.store, **arguments)
    candidates = [*quantities, *system.parameters, *INCLINE_PARAMETERS]
    raise ParameterError(
        f"root_locus: unknown quantity or parameter {name!r}. {did_you_mean(name, candidates)}"
    )
