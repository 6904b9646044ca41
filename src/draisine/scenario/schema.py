"""The tables of scenario files: vehicle, task, source, and expected values.

A scenario is a TOML file whose key `kind` selects the computation:

    run      simulation from an initial state to a final time
    sweep    many such runs with varied values
    state    accelerations and forces at one state
    map      one configuration per point of a grid
    linear   straight running of a bicycle: matrices, eigenvalues over speed, critical speeds; for
             other vehicles the eigenvalues of their steady motions
    cycle    a limit cycle of a system with a grip schedule, or of a walker
    gait     displacement of the base by a closed path in shape space (local connection)

Unknown keys are reported as mistakes. Names and values are validated before any computation.
"""

import math
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
    WithJsonSchema,
    model_validator,
)

from draisine.control import SIGNALS
from draisine.scenario.sweep import Sweep
from draisine.scenario.terrain import TerrainTable
from draisine.scenario.values import (
    NUMBER_SCHEMA,
    DriftValue,
    Duration,
    Ends,
    Friction,
    Limit,
    MotionEntry,
    NotNegative,
    Numbers,
    Places,
    Positive,
    Quantity,
    ScenarioTable,
    Text,
    check_ends_increase,
    record_schema,
    tables_by_tag,
)


class ExperimentSource(ScenarioTable):
    """The publication from which a scenario is taken."""

    citation: Text = Field(description="Authors, year, title, journal.")
    doi: str = Field(
        "",
        pattern=r"^(10\.\d{4,9}/\S+)?$",
        description="DOI of the publication without the address: 10.1098/rspa.2007.1857.",
    )
    where: str = Field("", description="Section, table or figure of the publication.")
    note: str = Field("", description="Remarks about the source.")


class VehicleTable(ScenarioTable):
    """The vehicle of a scenario: name, parameter set, replaced parameters and prescribed joint motions."""

    name: Text = Field(description="Name of a vehicle, or FILE.py:function.")
    parameter_set: str | dict[str, float] | None = Field(
        None,
        description="Name of a parameter set, or a BicycleParameters file (.txt, .yml) relative to this "
        "file. Default: the default values of the vehicle.",
    )
    parameters: dict[str, Any] = Field(
        {}, description="Parameter values that replace those of the parameter set."
    )
    motions: dict[str, MotionEntry] = Field(
        {},
        description="Prescribed motions of joints for arguments such as `steering`: a `name`; the other keys "
        "are its options.",
    )
    sensors: list[dict[str, Any]] = Field(
        [],
        description="Sensors of the vehicle: `kind` (see `draisine list sensors`) and `name`; the other keys "
        "are options of the kind, with `rate` (Hz), `bias`, `noise`, `quantum` and `seed`.",
    )


SignalTable = Annotated[
    dict[str, Any],
    WithJsonSchema({"oneOf": [record_schema(x, shape=shape) for shape, x in SIGNALS.items()]}),
]


def _normalise_signals(value: Any) -> Any:
    """Normalise the table of inputs to a list of signals; numbers by input name become constant signals.

    >>> _normalise_signals({"left": 0.5})
    [{'shape': 'step', 'input': 'left', 'value': 0.5}]
    """
    if not isinstance(value, dict):
        return value
    if "shape" in value:
        return [value]
    return [{"shape": "step", "input": name, "value": x} for name, x in value.items()]


def _normalise_laws(value: Any) -> Any:
    """Normalise the table of control laws to a list; a single table becomes a list of one."""
    return [value] if isinstance(value, dict) else value


def _allow_constant_inputs(schema: dict[str, Any]) -> None:
    """Extend the JSON Schema of input signals by constant inputs (numbers by input name)."""
    listed = {key: schema.pop(key) for key in ("type", "items")}
    schema["anyOf"] = [listed, {"type": "object", "additionalProperties": NUMBER_SCHEMA}]


SignalTables = Annotated[list[SignalTable], BeforeValidator(_normalise_signals)]
LawTables = Annotated[list[dict[str, Any]], BeforeValidator(_normalise_laws)]


class RunTable(ScenarioTable):
    """Final time and numerical options of a run."""

    until: Duration
    dt: Duration = Field(
        0.01, description="Step of fixed-step integrators and spacing of samples, in s."
    )
    integrator: Text = "dop853"
    rtol: Positive = 1e-10
    atol: Positive = 1e-12
    drift: DriftValue = Field(
        "project",
        description="Correction of constraint drift: project, none, or a time constant in s.",
    )
    mode: dict[str, str] = Field(
        {}, description="Status of each contact by name. Default: all contacts are closed."
    )
    formulation: Text = Field(
        "projected",
        description="Formulation of the equations of motion. Formulations other than projected are "
        "slow and need runs without inputs and with all contacts closed.",
    )
    fall: Limit | None = Field(
        None,
        description="Lean that counts as a fall and ends the run, as does a base that turns over; inf "
        "disables it. Default: 80 degrees, for a single wheel lying flat.",
    )
    events: int = Field(
        1000,
        ge=1,
        description="Number of events per second on a terrain beyond which the run continues in time steps.",
    )
    expects: list[Literal["fall", "pull", "friction", "steer", "stop", "friction_demand"]] = Field(
        [],
        description="Faults that are intended: a fall, ground that pulls, friction above mu, a steer angle "
        "beyond its limit, or a required friction above 1.5. With other faults `draisine run` fails.",
    )


class ContactTable(ScenarioTable):
    """Options of unilateral contacts on a terrain: impact model, friction, stops, solver."""

    impact: Text | None = Field(
        None,
        description="Name of the impact model. Default: plastic without friction, moreau with friction.",
    )
    restitution: dict[str, Quantity] = Field(
        {}, description="Coefficients of restitution of the impact model by name."
    )
    mu: Friction = Field(
        default_factory=lambda: math.inf,
        description="Friction coefficient of all wheels, by wheel, or by 'wheel/feature'. Default: inf.",
    )
    stops: dict[str, Ends] = Field(
        {}, description="Lower and upper limit of joint coordinates, by joint."
    )
    rest_speed: NotNegative = Field(
        0.0, description="Approach speed (m/s) below which impacts are plastic."
    )
    resolution: Literal["complete", "reduced"] = "complete"
    solver: Literal["auto", "events", "time_stepping"] | dict[str, Any] = Field(
        "auto",
        description="events: event location. time_stepping: time steps of Moreau and Jean. auto: event "
        "location as long as it makes progress. A table is a compliant ground: the `name` of its law; the "
        "other keys are its options.",
    )
    step: Positive | None = Field(
        None,
        description="Length of time steps in s. Default: by wheel size, gravity and speed.",
    )


class Axis(ScenarioTable):
    """One axis of a map: name of a coordinate and the range of its evenly spaced values."""

    name: Text
    low: Quantity
    high: Quantity
    count: int = Field(ge=2, le=1001)

    @model_validator(mode="after")
    def _check_ends_increase(self) -> Self:
        """Check that the upper end of the axis is above the lower end."""
        return check_ends_increase(self)


class Grid(ScenarioTable):
    """A map: two coordinates over a grid, and the outputs of each configuration."""

    x: Axis
    y: Axis
    outputs: list[Text] = Field(min_length=1)
    locked: str | None = Field(
        None,
        description="Name of the joint that is locked while the yaw angle is integrated along a path.",
    )
    path: str = Field(
        "straight",
        description="Integration path of the yaw angle: 'lean, steer', 'steer, lean' or 'straight'.",
    )


class Speeds(ScenarioTable):
    """Speeds (m/s) of a linear scenario: evenly spaced, or a list."""

    low: NotNegative | None = None
    high: Positive | None = None
    count: int | None = Field(None, ge=2, le=10001)
    at: list[NotNegative] | None = Field(
        None,
        min_length=1,
        max_length=10001,
        description="List of speeds in m/s, instead of low, high and count.",
    )

    @model_validator(mode="after")
    def _check_one_choice(self) -> Self:
        """Check that the speeds are given either as a range or as a list."""
        if self.model_fields_set not in ({"low", "high", "count"}, {"at"}):
            raise ValueError("the table needs either low, high and count, or at")
        return self if self.at else check_ends_increase(self)

    def values(self) -> NDArray[np.float64]:
        """Return the speeds in m/s, (speeds,)."""
        if self.at is not None:
            return np.array(self.at)
        assert self.low is not None and self.high is not None and self.count is not None
        return np.linspace(self.low, self.high, self.count)


class Expected(ScenarioTable):
    """A block of expected values with which the result of a scenario is compared.

    `values` has one number per scalar query ("final lean"). With `at`, it has one list per time series
    ("lean"): one number per time of a run, grid point of a map or sweep, or speed of straight running.
    """

    title: Text
    origin: Literal["published", "computed", "law", "measured", "disputed"] = Field(
        description="published: printed in the source. computed: by an independent program. law: a law of "
        "mechanics. measured: judged only if bounds are given. disputed: printed in the source but wrong; "
        "the `note` explains why, and our value must differ by more than the bounds."
    )
    at: Places | None = Field(
        None,
        description="Times (s), speeds (m/s), or coordinates of grid points by name, of the values.",
    )
    atol: NotNegative = 0.0
    rtol: NotNegative = 0.0
    factor: float = Field(
        1.0,
        ge=1.0,
        description="Largest allowed ratio of computed to expected value, or of expected to computed value.",
    )
    rms: NotNegative | None = Field(
        None, description="Largest allowed root mean square of the deviations of a quantity."
    )
    note: str = ""
    values: dict[str, Numbers] = Field(min_length=1)
    spread: dict[str, Numbers] = Field(
        {}, description="Standard deviations of measured values, by the same names."
    )
    windows: list[tuple[float, float]] | None = Field(
        None, description="Interval of speeds in which each value was measured."
    )

    @property
    def judged(self) -> bool:
        """Whether computed values must agree within the bounds; measured values without bounds need not."""
        bounds = (self.atol, self.rtol, self.factor - 1.0, self.rms is not None)
        return self.origin != "measured" or any(bounds)


class CommonTables(ScenarioTable):
    """Tables that every kind of scenario has."""

    title: Text
    about: str = ""
    source: ExperimentSource | None = None
    vehicle: VehicleTable
    expected: list[Expected] = Field([])


class GroundedScenario(CommonTables):
    """Base class of scenarios with initial values and a terrain."""

    initial: dict[str, Any] = Field(
        {},
        description="Outputs, joints and speeds by name; `mode`: statuses of contacts at the start; "
        "`at_rest`: the state of least kinetic energy; on a terrain `place`: wheel, centre, on. Or a table "
        "`steady`: a steady motion by quantities (lean, forward_speed, radius, forward_acceleration ...), "
        "`free` inputs and `inputs`.",
    )
    terrain: TerrainTable | None = Field(
        None, description="Ground with unilateral contacts; without it, contacts are bilateral."
    )
    contact: ContactTable = Field(
        default_factory=lambda: ContactTable.model_validate({}),
        description="Contact options on the terrain.",
    )


class MotionScenario(GroundedScenario):
    """Base class of scenarios that simulate from an initial state until a final time."""

    law: LawTables = Field(
        [], description="Control laws: a `name`; the other keys are its options."
    )
    inputs: SignalTables = Field(
        [],
        description="Inputs as functions of time: `shape` is step, ramp, sine or table; or constant inputs "
        "by name.",
        json_schema_extra=_allow_constant_inputs,
    )
    run: RunTable


class RunScenario(MotionScenario):
    """Scenario of one simulation from an initial state until a final time."""

    kind: Literal["run"]


class SweepScenario(MotionScenario):
    """Scenario of many simulations of a vehicle with varied values."""

    kind: Literal["sweep"]
    sweep: Sweep


class StateScenario(CommonTables):
    """Scenario of accelerations and forces at one state."""

    kind: Literal["state"]
    initial: dict[str, Any] = Field({}, description="Outputs, joints and speeds by name.")
    inputs: dict[str, Quantity] = Field({})


class MapScenario(CommonTables):
    """Scenario that solves one configuration per point of a grid of two coordinates."""

    kind: Literal["map"]
    map: Grid


class LinearScenario(CommonTables):
    """Scenario of eigenvalues: straight running of a bicycle, or steady motions of another vehicle."""

    kind: Literal["linear"]
    speeds: Speeds | None = Field(
        None,
        description="Speeds of the steady motions. Default: 0 to 10 m/s for a bicycle, 0 for other machines.",
    )
    law: LawTables = Field(
        [],
        description="Control laws that close the loop: a `name`; the other keys are its options.",
    )


class CycleTable(ScenarioTable):
    """The limit cycle that a scenario computes: kind of return map and initial guess."""

    near: dict[str, Quantity] = Field(
        description="First guess of Newton's method. With a grip schedule: Omega and theta of the body after "
        "the first change of contacts. For a walker: joints and their rates after a step. With a period: "
        "outputs, joints and speeds, which then are periodic."
    )
    period: Quantity | None = Field(
        None,
        gt=0,
        description="Period of the cycle in s, for any autonomous machine, also on a terrain.",
    )
    joint: Literal["free", "held"] = Field(
        "free",
        description="Prescribed joints during an impact: held, or free and reset afterwards.",
    )
    longest: Quantity = Field(5.0, gt=0, description="Longest duration of a step in s.")
    samples: int = Field(200, ge=2, le=100_000, description="Number of samples of the motion.")

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the periodic quantities of a cycle with a prescribed period; empty for other cycles."""
        return tuple(self.near) if self.period is not None else ()


class CycleScenario(GroundedScenario):
    """Scenario of a limit cycle: alternating grips, steps of a walker, or a prescribed period."""

    kind: Literal["cycle"]
    cycle: CycleTable


class GaitTable(ScenarioTable):
    """A gait: closed path of all joint coordinates with its scale factors, or shapes for the curvature."""

    corners: list[list[Quantity]] | None = Field(
        None,
        min_length=2,
        description="Shapes (joint coordinates) along a closed path; the last is connected to the first.",
    )
    harmonics: list[list[Quantity]] | None = Field(
        None,
        min_length=1,
        description="Fourier coefficients of the path of each joint: mean, cosines, sines.",
    )
    shapes: list[list[Quantity]] | None = Field(
        None,
        min_length=1,
        description="Instead of a path: shapes at which the curvature in the plane of two joints is given.",
    )
    plane: tuple[str, str] | None = Field(
        None,
        description="Names of the two joints that span the plane of the curvature. Default: the first two.",
    )
    sizes: list[Quantity] = Field([1.0], min_length=1)
    ruler: Literal["contacts", "momentum", "drag"] | None = Field(
        None,
        description="Physics that determines the motion of the base. Default: contacts, if there are any.",
    )
    frame: Literal["base", "mass centre"] = Field(
        "base",
        description="Frame that moves: that of the base, or one with its axes at the mass centre.",
    )

    @model_validator(mode="after")
    def _check_one_path(self) -> Self:
        """Check that the table specifies exactly one path or list of shapes, with consistent lengths."""
        tables = [x for x in (self.corners, self.harmonics, self.shapes) if x is not None]
        if len(tables) != 1:
            raise ValueError("the table needs exactly one of corners, harmonics and shapes")
        rows = tables[0]
        if len({len(row) for row in rows}) > 1:
            raise ValueError("needs rows of equal length")
        if self.harmonics is not None and (len(rows[0]) < 3 or len(rows[0]) % 2 == 0):
            raise ValueError(
                "the table needs harmonics with a mean and equal numbers of cosines and sines"
            )
        if self.plane is not None and self.shapes is None:
            raise ValueError("a plane belongs to shapes")
        if self.shapes is not None and "sizes" in self.model_fields_set:
            raise ValueError("sizes apply to a path only, not to shapes")
        return self


class GaitScenario(CommonTables):
    """Scenario of the net displacement by a gait, or of the curvature of the local connection at shapes."""

    kind: Literal["gait"]
    gait: GaitTable


Scenario = (
    RunScenario
    | SweepScenario
    | StateScenario
    | MapScenario
    | LinearScenario
    | CycleScenario
    | GaitScenario
)

SCENARIO_TABLES_BY_KIND = tables_by_tag(Scenario, "kind")
"""Record types of scenarios by the value of the key `kind`."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files, which editors use for completion and checks."""
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Scenario, Field(discriminator="kind")])
    tables = adapter.json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "draisine scenario",
        **tables,
    }
