"""Scenario files: what is done with which machine, where that comes from, and what must come out.

A scenario is a TOML file with a `kind`:

    run      the machine moves from an initial state until a time
    sweep    such runs that differ in some values
    state    accelerations and forces at one state
    map      one configuration per point of a grid
    linear   straight running: matrices, eigenvalues against speed, critical speeds; of machines that
             are no bicycles the eigenvalues about their steady motions
    cycle    a limit cycle of a machine whose grips take turns, or of a walker
    gait     where a closed path of the shape leads, by the machine's connection

Unknown keys are mistakes. Names and numbers are checked before anything runs.
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
    by_word,
    check_rising,
    record_schema,
)


class ExperimentSource(ScenarioTable):
    """Where an experiment comes from."""

    citation: Text = Field(description="Authors, year, title, journal.")
    doi: str = Field(
        "",
        pattern=r"^(10\.\d{4,9}/\S+)?$",
        description="Without address: 10.1098/rspa.2007.1857; empty where there is none.",
    )
    where: str = Field("", description="Section, table or figure.")
    note: str = Field("", description="What one should know about the source.")


class VehicleTable(ScenarioTable):
    """The machine: a vehicle, a published set of its parameters, and changes to them."""

    name: Text = Field(description="A vehicle's name, or FILE.py:function.")
    parameter_set: str | dict[str, float] | None = Field(
        None,
        description="A parameter set, or a file of BicycleParameters (.txt, .yml) beside this one, whose "
        "numbers results keep; without, the vehicle's defaults.",
    )
    parameters: dict[str, Any] = Field({}, description="Parameters that differ from the set.")
    motions: dict[str, MotionEntry] = Field(
        {},
        description="Motions of joints for arguments such as `steering`: a `name`, the other keys are "
        "its numbers.",
    )


SignalTable = Annotated[
    dict[str, Any],
    WithJsonSchema({"oneOf": [record_schema(one, shape=shape) for shape, one in SIGNALS.items()]}),
]


def _signals(value: Any) -> Any:
    """Return inputs as a list of signals: a table of numbers by input has constant ones.

    >>> _signals({"left": 0.5})
    [{'shape': 'step', 'input': 'left', 'value': 0.5}]
    """
    if not isinstance(value, dict):
        return value
    if "shape" in value:
        return [value]
    return [{"shape": "step", "input": name, "value": x} for name, x in value.items()]


def _laws(value: Any) -> Any:
    """Return laws as a list: a table is one of them."""
    return [value] if isinstance(value, dict) else value


def _or_constants(schema: dict[str, Any]) -> None:
    """Let a schema of signals be one of constant inputs, too."""
    listed = {key: schema.pop(key) for key in ("type", "items")}
    schema["anyOf"] = [listed, {"type": "object", "additionalProperties": NUMBER_SCHEMA}]


SignalTables = Annotated[list[SignalTable], BeforeValidator(_signals)]
LawTables = Annotated[list[dict[str, Any]], BeforeValidator(_laws)]


class RunTable(ScenarioTable):
    """How long and how a run is integrated."""

    until: Duration
    dt: Duration = Field(0.01, description="Step of fixed-step methods, spacing of samples.")
    integrator: Text = "dop853"
    rtol: Positive = 1e-10
    atol: Positive = 1e-12
    drift: DriftValue = Field(
        "project", description="What keeps contacts closed: project, none, or an epsilon in s."
    )
    mode: dict[str, str] = Field({}, description="Statuses of contacts; closed if not named.")
    formulation: Text = Field(
        "projected", description="Others are slow, for passive runs with all contacts closed."
    )
    fall: Limit | None = Field(
        None,
        description="The lean that is a fall (so is a frame that turns over), inf for none; 80 degrees if "
        "not given, and of a wheel alone where it lies flat; it ends the run.",
    )
    events: int = Field(
        1000, ge=1, description="More events than this within a second, on a terrain, are an error."
    )
    expects: list[Literal["fall", "pull", "friction", "steer", "friction_demand"]] = Field(
        [],
        description="Faults that this run is meant to show: it falls, the ground pulls a wheel, friction "
        "exceeds mu, the steer is turned too far, or friction above 1.5 is needed. Others make `draisine "
        "run` fail.",
    )


class ContactTable(ScenarioTable):
    """How wheels meet a terrain."""

    impact: Text | None = Field(
        None, description="An impact model by name; plastic if not given, with friction moreau."
    )
    restitution: dict[str, Quantity] = Field({}, description="The impact model's coefficients.")
    mu: Friction = Field(
        default_factory=lambda: math.inf,
        description="Friction of all wheels, by wheel, or by 'wheel/feature'; ideal rolling where not given.",
    )
    stops: dict[str, Ends] = Field({}, description="Lower and upper end of joints.")
    rest_speed: NotNegative = Field(0.0, description="Slower bounces are plastic, in m/s.")
    resolution: Literal["complete", "reduced"] = "complete"
    solver: Literal["auto", "events", "time_stepping"] | dict[str, Any] = Field(
        "auto",
        description="Event location, time steps of Moreau and Jean, the former as long as it makes "
        "progress (auto), or compliant ground: the `name` of its law, the other keys are its numbers.",
    )
    step: Positive | None = Field(
        None,
        description="Length of time steps in s; by wheel size, gravity and speed if not given.",
    )


class Axis(ScenarioTable):
    """One side of a map: a coordinate and its evenly spaced values."""

    name: Text
    low: Quantity
    high: Quantity
    count: int = Field(ge=2, le=1001)

    @model_validator(mode="after")
    def _rises(self) -> Self:
        return check_rising(self)


class Grid(ScenarioTable):
    """A map: two coordinates over a grid, and what is told of each configuration."""

    x: Axis
    y: Axis
    outputs: list[Text] = Field(min_length=1)
    locked: str | None = Field(
        None, description="A joint that stands still while yaw is followed along a path."
    )
    path: str = Field(
        "straight", description="For yaw: 'lean, steer', 'steer, lean' or 'straight'."
    )


class Speeds(ScenarioTable):
    """Speeds in m/s: evenly spaced, or one by one."""

    low: NotNegative | None = None
    high: Positive | None = None
    count: int | None = Field(None, ge=2, le=10001)
    at: list[NotNegative] | None = Field(
        None, min_length=1, max_length=10001, description="Instead of low, high and count."
    )

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.model_fields_set not in ({"low", "high", "count"}, {"at"}):
            raise ValueError("takes either low, high and count, or at")
        return self if self.at else check_rising(self)

    def values(self) -> NDArray[np.float64]:
        """Return the speeds."""
        if self.at is not None:
            return np.array(self.at)
        assert self.low is not None and self.high is not None and self.count is not None
        return np.linspace(self.low, self.high, self.count)


class Expected(ScenarioTable):
    """Numbers that must come out.

    `values` gives one number per question ("final lean"); or, with `at`, one per time (of a run),
    point (of a map or sweep) or speed (of straight running) for each series ("lean").
    """

    title: Text
    origin: Literal["published", "computed", "law", "measured", "disputed"] = Field(
        description="Printed in the source; computed independently; a law of mechanics; measured, "
        "judged if there is a bound on how far a model of that kind may be off; or printed in the source "
        "and wrong: then the `note` tells why, and our number must differ by more than the bounds."
    )
    at: Places | None = Field(None, description="Times, speeds, or coordinates of points by name.")
    atol: NotNegative = 0.0
    rtol: NotNegative = 0.0
    factor: float = Field(
        1.0, ge=1.0, description="How many times larger or smaller ours may be, of the same sign."
    )
    rms: NotNegative | None = Field(
        None, description="The most that the root mean square of a quantity's deviations may be."
    )
    note: str = ""
    values: dict[str, Numbers] = Field(min_length=1)
    spread: dict[str, Numbers] = Field(
        {}, description="Standard deviations of measured values, by the same names."
    )
    windows: list[tuple[float, float]] | None = Field(
        None, description="From which to which speed each value was measured."
    )

    @property
    def judged(self) -> bool:
        """Whether ours must be near; measured numbers without bounds are drawn and compared alone."""
        bounds = (self.atol, self.rtol, self.factor - 1.0, self.rms is not None)
        return self.origin != "measured" or any(bounds)


class Common(ScenarioTable):
    """What every scenario has."""

    title: Text
    about: str = ""
    source: ExperimentSource | None = None
    vehicle: VehicleTable
    expected: list[Expected] = Field([])


class GroundedScenario(Common):
    """What is asked of a machine that begins somehow, on a ground."""

    initial: dict[str, Any] = Field(
        {},
        description="Outputs, joints, speeds by name; `mode` while the machine is placed; "
        "`at_rest` for the least kinetic energy; on a terrain `place`: wheel, centre, on. Or `steady`, a "
        "table: the steady motion of a run's start by quantities (lean, forward_speed, radius, "
        "forward_acceleration ...), `free` inputs and `inputs`.",
    )
    terrain: GroundPart | None = Field(
        None, description="The ground on which wheels touch, leave and hit; without, contacts stay."
    )
    contact: ContactTable = Field(
        default_factory=lambda: ContactTable.model_validate({}),
        description="How wheels meet the terrain.",
    )


class MotionScenario(GroundedScenario):
    """What a machine does that moves from an initial state until a time."""

    law: LawTables = Field(
        [], description="Control laws: a `name`, the other keys are its numbers."
    )
    inputs: SignalTables = Field(
        [],
        description="Inputs as functions of time: `shape` is step, ramp, sine or table; or a table of "
        "constant ones by name.",
        json_schema_extra=_or_constants,
    )
    run: RunTable


class RunScenario(MotionScenario):
    """A machine that moves from an initial state until a time."""

    kind: Literal["run"]


class SweepScenario(MotionScenario):
    """Runs of a machine that differ in some values."""

    kind: Literal["sweep"]
    sweep: Sweep


class StateScenario(Common):
    """Accelerations and forces at one state."""

    kind: Literal["state"]
    initial: dict[str, Any] = Field({}, description="Outputs, joints, speeds by name.")
    inputs: dict[str, Quantity] = Field({})


class MapScenario(Common):
    """One configuration per point of a grid."""

    kind: Literal["map"]
    map: Grid


class LinearScenario(Common):
    """Straight running of a bicycle, or steady motions of another machine."""

    kind: Literal["linear"]
    speeds: Speeds | None = Field(
        None, description="Without them a bicycle's are 0 to 10 m/s, and of other machines 0."
    )
    law: LawTables = Field(
        [],
        description="Control laws that close the loop: a `name`, the other keys are its numbers.",
    )


class CyclePart(ScenarioTable):
    """Which limit cycle is looked for."""

    near: dict[str, Quantity] = Field(
        description="Where Newton's method starts: of grips that take turns Omega and theta of the "
        "body just after the first took hold; of a walker the joints of its steps and their rates; with "
        "a period outputs, joints and speeds, which then come back."
    )
    period: Quantity | None = Field(
        None,
        gt=0,
        description="How long the cycle takes, s: of any machine that moves by itself, or on a terrain.",
    )
    joint: Literal["free", "held"] = Field(
        "free",
        description="Joints at a change of grips: held on their motions, or free and then set back.",
    )
    longest: Quantity = Field(5.0, gt=0, description="How long a step may take, s.")
    samples: int = Field(200, ge=2, le=100_000, description="Samples of the motion.")

    @property
    def components(self) -> tuple[str, ...]:
        """What comes back after a given period; nothing where the machine decides it."""
        return tuple(self.near) if self.period is not None else ()


class CycleScenario(GroundedScenario):
    """A limit cycle: of a machine whose grips take turns, of a walker, or of a given period."""

    kind: Literal["cycle"]
    cycle: CyclePart


class GaitPart(ScenarioTable):
    """A closed path of all joints, and the sizes by which it is scaled; or shapes with small loops
    about them.
    """

    corners: list[list[Quantity]] | None = Field(
        None, min_length=2, description="Shapes one after the other, the last leads to the first."
    )
    harmonics: list[list[Quantity]] | None = Field(
        None,
        min_length=1,
        description="Instead of corners, for each joint: its mean, the cosines of each order, the sines.",
    )
    shapes: list[list[Quantity]] | None = Field(
        None,
        min_length=1,
        description="Instead of a path: shapes whose curvature, in the plane of two joints, is told.",
    )
    plane: tuple[str, str] | None = Field(
        None, description="The two joints of this plane, the first two where left out."
    )
    sizes: list[Quantity] = Field([1.0], min_length=1)
    ruler: Literal["contacts", "momentum", "drag"] | None = Field(
        None, description="What decides how the base moves; contacts where there are some."
    )

    @model_validator(mode="after")
    def _one_path(self) -> Self:
        given = [x for x in (self.corners, self.harmonics, self.shapes) if x is not None]
        if len(given) != 1:
            raise ValueError("takes one of corners, harmonics and shapes")
        rows = given[0]
        if len({len(row) for row in rows}) > 1:
            raise ValueError("needs as many numbers in every row")
        if self.harmonics is not None and (len(rows[0]) < 3 or len(rows[0]) % 2 == 0):
            raise ValueError("harmonics are a mean, then as many cosines as sines")
        if self.plane is not None and self.shapes is None:
            raise ValueError("a plane belongs to shapes")
        if self.shapes is not None and "sizes" in self.model_fields_set:
            raise ValueError("sizes belong to a path, not to shapes")
        return self


class GaitScenario(Common):
    """Where a closed path of the shape leads, or small loops about shapes."""

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

KINDS = by_word(Scenario, "kind")
"""The kinds of scenario there are."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files, for editors."""
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Scenario, Field(discriminator="kind")])
    found = adapter.json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "draisine scenario",
        **found,
    }
