"""The tables of scenario files: machine, task, source, and expected values.

A scenario is a TOML file with a `kind`:

    run      simulation from an initial state until a time
    sweep    many such runs with varied values
    state    accelerations and forces at one state
    map      one configuration per point of a grid
    linear   straight running of a bicycle: matrices, eigenvalues over speed, critical speeds; for
             other machines the eigenvalues of their steady motions
    cycle    a limit cycle of a machine with a grip schedule, or of a walker
    gait     displacement by a closed path of the shape, by the connection of the machine

Unknown keys are mistakes. Names and values are checked before anything is computed.
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
from draisine.scenario.terrain import GroundPart
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
    check_rising,
    record_schema,
    tables_by_tag,
)


class ExperimentSource(ScenarioTable):
    """The publication of an experiment."""

    citation: Text = Field(description="Authors, year, title, journal.")
    doi: str = Field(
        "",
        pattern=r"^(10\.\d{4,9}/\S+)?$",
        description="The identifier, not its address: 10.1098/rspa.2007.1857.",
    )
    where: str = Field("", description="Section, table or figure.")
    note: str = Field("", description="Remarks about the source.")


class VehicleTable(ScenarioTable):
    """The machine: a vehicle, a parameter set, and changed parameters."""

    name: Text = Field(description="Name of a vehicle, or FILE.py:function.")
    parameter_set: str | dict[str, float] | None = Field(
        None,
        description="A parameter set, or a file of BicycleParameters (.txt, .yml) relative to this file. "
        "Default: the default values of the vehicle.",
    )
    parameters: dict[str, Any] = Field({}, description="Parameters that replace those of the set.")
    motions: dict[str, MotionEntry] = Field(
        {},
        description="Prescribed motions of joints for arguments such as `steering`: a `name`; the other keys "
        "are its options.",
    )


SignalTable = Annotated[
    dict[str, Any],
    WithJsonSchema({"oneOf": [record_schema(x, shape=shape) for shape, x in SIGNALS.items()]}),
]


def _signals(value: Any) -> Any:
    """Return inputs as a list of signals; numbers by input name are constant signals.

    >>> _signals({"left": 0.5})
    [{'shape': 'step', 'input': 'left', 'value': 0.5}]
    """
    if not isinstance(value, dict):
        return value
    if "shape" in value:
        return [value]
    return [{"shape": "step", "input": name, "value": x} for name, x in value.items()]


def _laws(value: Any) -> Any:
    """Return control laws as a list; a single table is a list of one."""
    return [value] if isinstance(value, dict) else value


def _or_constants(schema: dict[str, Any]) -> None:
    """Extend the JSON Schema of signals by constant inputs."""
    listed = {key: schema.pop(key) for key in ("type", "items")}
    schema["anyOf"] = [listed, {"type": "object", "additionalProperties": NUMBER_SCHEMA}]


SignalTables = Annotated[list[SignalTable], BeforeValidator(_signals)]
LawTables = Annotated[list[dict[str, Any]], BeforeValidator(_laws)]


class RunTable(ScenarioTable):
    """Duration and numerics of a run."""

    until: Duration
    dt: Duration = Field(0.01, description="Step of fixed-step integrators, spacing of samples.")
    integrator: Text = "dop853"
    rtol: Positive = 1e-10
    atol: Positive = 1e-12
    drift: DriftValue = Field(
        "project", description="Correction of constraint drift: project, none, or an epsilon in s."
    )
    mode: dict[str, str] = Field({}, description="Statuses of contacts. Default: closed.")
    formulation: Text = Field(
        "projected", description="Others are slow; they need passive runs with all contacts closed."
    )
    fall: Limit | None = Field(
        None,
        description="Lean that counts as a fall and ends the run, as does a base that turns over; inf "
        "disables it. Default: 80 degrees, for a single wheel lying flat.",
    )
    events: int = Field(
        1000,
        ge=1,
        description="Events per second on a terrain after which the run takes time steps.",
    )
    expects: list[Literal["fall", "pull", "friction", "steer", "friction_demand"]] = Field(
        [],
        description="Faults that are intended: a fall, ground that pulls, friction above mu, a steer angle "
        "beyond its limit, or a required friction above 1.5. With other faults `draisine run` fails.",
    )


class ContactTable(ScenarioTable):
    """Contact options on a terrain."""

    impact: Text | None = Field(
        None, description="Name of the impact model. Default: plastic, with friction moreau."
    )
    restitution: dict[str, Quantity] = Field({}, description="Coefficients of the impact model.")
    mu: Friction = Field(
        default_factory=lambda: math.inf,
        description="Friction coefficient of all wheels, by wheel, or by 'wheel/feature'. Default: inf.",
    )
    stops: dict[str, Ends] = Field({}, description="Lower and upper limits of joints.")
    rest_speed: NotNegative = Field(0.0, description="Slower impacts (m/s) are plastic.")
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
    """One axis of a map: a coordinate and its evenly spaced values."""

    name: Text
    low: Quantity
    high: Quantity
    count: int = Field(ge=2, le=1001)

    @model_validator(mode="after")
    def _rises(self) -> Self:
        return check_rising(self)


class Grid(ScenarioTable):
    """A map: two coordinates over a grid, and the outputs of each configuration."""

    x: Axis
    y: Axis
    outputs: list[Text] = Field(min_length=1)
    locked: str | None = Field(
        None, description="A joint that is locked while yaw is integrated along a path."
    )
    path: str = Field(
        "straight", description="For yaw: 'lean, steer', 'steer, lean' or 'straight'."
    )


class Speeds(ScenarioTable):
    """Speeds in m/s: evenly spaced, or a list."""

    low: NotNegative | None = None
    high: Positive | None = None
    count: int | None = Field(None, ge=2, le=10001)
    at: list[NotNegative] | None = Field(
        None, min_length=1, max_length=10001, description="Instead of low, high and count."
    )

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.model_fields_set not in ({"low", "high", "count"}, {"at"}):
            raise ValueError("needs either low, high and count, or at")
        return self if self.at else check_rising(self)

    def values(self) -> NDArray[np.float64]:
        """Return the speeds."""
        if self.at is not None:
            return np.array(self.at)
        assert self.low is not None and self.high is not None and self.count is not None
        return np.linspace(self.low, self.high, self.count)


class Expected(ScenarioTable):
    """Expected values of a result.

    `values` has one number per query ("final lean"); or, with `at`, one per time (of a run), point (of
    a map or sweep) or speed (of straight running) for each series ("lean").
    """

    title: Text
    origin: Literal["published", "computed", "law", "measured", "disputed"] = Field(
        description="published: printed in the source. computed: by an independent program. law: a law of "
        "mechanics. measured: judged only if bounds are given. disputed: printed in the source but wrong; "
        "the `note` explains why, and our value must differ by more than the bounds."
    )
    at: Places | None = Field(None, description="Times, speeds, or coordinates of points by name.")
    atol: NotNegative = 0.0
    rtol: NotNegative = 0.0
    factor: float = Field(
        1.0, ge=1.0, description="Allowed ratio of our value to the expected one, or its inverse."
    )
    rms: NotNegative | None = Field(
        None, description="Allowed root mean square of the deviations of a quantity."
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
        """Whether our values must agree; measured values without bounds are only compared."""
        bounds = (self.atol, self.rtol, self.factor - 1.0, self.rms is not None)
        return self.origin != "measured" or any(bounds)


class Common(ScenarioTable):
    """Tables of every scenario."""

    title: Text
    about: str = ""
    source: ExperimentSource | None = None
    vehicle: VehicleTable
    expected: list[Expected] = Field([])


class GroundedScenario(Common):
    """Scenarios with initial values and a terrain."""

    initial: dict[str, Any] = Field(
        {},
        description="Outputs, joints and speeds by name; `mode`: statuses of contacts at the start; "
        "`at_rest`: the state of least kinetic energy; on a terrain `place`: wheel, centre, on. Or a table "
        "`steady`: a steady motion by quantities (lean, forward_speed, radius, forward_acceleration ...), "
        "`free` inputs and `inputs`.",
    )
    terrain: GroundPart | None = Field(
        None, description="Ground with unilateral contacts; without it, contacts are bilateral."
    )
    contact: ContactTable = Field(
        default_factory=lambda: ContactTable.model_validate({}),
        description="Contact options on the terrain.",
    )


class MotionScenario(GroundedScenario):
    """Simulations from an initial state until a time."""

    law: LawTables = Field(
        [], description="Control laws: a `name`; the other keys are its options."
    )
    inputs: SignalTables = Field(
        [],
        description="Inputs as functions of time: `shape` is step, ramp, sine or table; or constant inputs "
        "by name.",
        json_schema_extra=_or_constants,
    )
    run: RunTable


class RunScenario(MotionScenario):
    """A simulation from an initial state until a time."""

    kind: Literal["run"]


class SweepScenario(MotionScenario):
    """Many runs of a machine with varied values."""

    kind: Literal["sweep"]
    sweep: Sweep


class StateScenario(Common):
    """Accelerations and forces at one state."""

    kind: Literal["state"]
    initial: dict[str, Any] = Field({}, description="Outputs, joints and speeds by name.")
    inputs: dict[str, Quantity] = Field({})


class MapScenario(Common):
    """One configuration per point of a grid."""

    kind: Literal["map"]
    map: Grid


class LinearScenario(Common):
    """Straight running of a bicycle, or steady motions of another machine."""

    kind: Literal["linear"]
    speeds: Speeds | None = Field(
        None, description="Default: 0 to 10 m/s for a bicycle, 0 for other machines."
    )
    law: LawTables = Field(
        [],
        description="Control laws that close the loop: a `name`; the other keys are its options.",
    )


class CyclePart(ScenarioTable):
    """The limit cycle to find."""

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
        description="Prescribed joints at a change of contacts: held, or free and then reset.",
    )
    longest: Quantity = Field(5.0, gt=0, description="Longest duration of a step in s.")
    samples: int = Field(200, ge=2, le=100_000, description="Number of samples of the motion.")

    @property
    def components(self) -> tuple[str, ...]:
        """The periodic quantities of a cycle with a given period, else nothing."""
        return tuple(self.near) if self.period is not None else ()


class CycleScenario(GroundedScenario):
    """A limit cycle: of a machine with a grip schedule, of a walker, or of a given period."""

    kind: Literal["cycle"]
    cycle: CyclePart


class GaitPart(ScenarioTable):
    """A closed path of all joints with its scale factors, or shapes at which the curvature is computed."""

    corners: list[list[Quantity]] | None = Field(
        None,
        min_length=2,
        description="Shapes in order; the path is closed from the last to the first.",
    )
    harmonics: list[list[Quantity]] | None = Field(
        None,
        min_length=1,
        description="Instead of corners, for each joint: mean, cosine and sine coefficients.",
    )
    shapes: list[list[Quantity]] | None = Field(
        None,
        min_length=1,
        description="Instead of a path: shapes at which the curvature in the plane of two joints is given.",
    )
    plane: tuple[str, str] | None = Field(
        None, description="The two joints of this plane. Default: the first two."
    )
    sizes: list[Quantity] = Field([1.0], min_length=1)
    ruler: Literal["contacts", "momentum", "drag"] | None = Field(
        None,
        description="What determines the motion of the base. Default: contacts, if there are any.",
    )

    @model_validator(mode="after")
    def _one_path(self) -> Self:
        tables = [x for x in (self.corners, self.harmonics, self.shapes) if x is not None]
        if len(tables) != 1:
            raise ValueError("needs one of corners, harmonics and shapes")
        rows = tables[0]
        if len({len(row) for row in rows}) > 1:
            raise ValueError("needs rows of equal length")
        if self.harmonics is not None and (len(rows[0]) < 3 or len(rows[0]) % 2 == 0):
            raise ValueError("needs harmonics with a mean and equal numbers of cosines and sines")
        if self.plane is not None and self.shapes is None:
            raise ValueError("a plane belongs to shapes")
        if self.shapes is not None and "sizes" in self.model_fields_set:
            raise ValueError("sizes belong to a path, not to shapes")
        return self


class GaitScenario(Common):
    """Displacement by a closed path of the shape, or curvature at shapes."""

    kind: Literal["gait"]
    gait: GaitPart


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
"""The tables of scenarios by kind."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files, which editors use for completion."""
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Scenario, Field(discriminator="kind")])
    tables = adapter.json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "draisine scenario",
        **tables,
    }
