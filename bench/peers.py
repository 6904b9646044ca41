"""The bicycle beside its peers, in the same run: `python bench/peers.py [--sympy [SECONDS]]`.

1. IFToMM's uncontrolled bicycle, manoeuvre M2, against EXUDYN (written for 1.13): processor time,
   spread of energy, steer and speed at the end.
2. Eigenvalues at 400 speeds, modes followed, against BicycleParameters, which is linear only.
3. With `--sympy`, linearisation with nothing cached against SymPy's own bicycle: minutes.

A peer that is not installed is left out, and named. Times are the processor's, the best of runs
that take turns; models are built and compiled before. Ratios count, absolute times are those of the
machine at hand.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

import draisine
from draisine.analysis.bicycle.eigenvalues import eigenvalues
from draisine.analysis.linear import linearise
from draisine.codegen.cache import Store

SPEED, LEAN_RATE, UNTIL = 4.6, 0.5, 20.0
"""Manoeuvre M2: the benchmark bicycle of Meijaard et al. (2007), upright and straight."""

LIMIT = 1e-3
"""Percent by which the IFToMM library lets the energy spread, 100 (max E - min E) / E0."""

STEER, FORWARD = -2.68690656308e-05, 4.62244209626
"""M2 at 20 s to 12 digits, computed independently of this package by another model and DOP853 with
rtol 3e-14; steer counts to the left."""

SYMPY = """
import time
from sympy.physics.mechanics.tests.test_kane3 import test_bicycle
start = time.process_time()
test_bicycle()
print(time.process_time() - start)
"""


def installed(module, name):
    """Return whether a peer can be imported; say so if not."""
    found = importlib.util.find_spec(module) is not None
    if not found:
        print(f"skipped: {name} is not installed (pip install {name})")
    return found


def clock(function):
    """Return the processor time of one call, in seconds."""
    start = time.process_time()
    function()
    return time.process_time() - start


def take_turns(functions, repeat=5):
    """Return the shortest time of each function, in seconds."""
    return np.min([[clock(function) for function in functions] for _ in range(repeat)], axis=0)


def spread(energy):
    """Return by how many percent of its first value the energy spreads."""
    return 100 * np.ptp(energy) / energy[0]


class Exudyn:
    """The bicycle by EXUDYN: four rigid bodies, three revolute joints, two rolling discs.

    Bodies turn by Tait-Bryan angles, the wheels' spin last, far from the singularity. Tried by
    hand, tuned likewise: inside the limit, rotation vectors take 1.2 times as long, Euler
    parameters twice, a kinematic tree in joint coordinates 2.8 times.
    """

    def __init__(self, p):
        sys.exudynFast = True  # no range checks, vector instructions: before the first import
        import exudyn
        from exudyn.itemInterface import SensorBody
        from exudyn.rigidBodyUtilities import RigidBodyInertia

        self.exu, self.p, self.sensors = exudyn, p, {}
        self.axis = np.array([-np.sin(p["lam"]), 0.0, np.cos(p["lam"])])
        self.bodies = {name: self._body(name) for name in "RBHF"}
        mbs = self.mbs = exudyn.SystemContainer().AddSystem()
        ground, body = mbs.CreateGround(), {}
        lean = np.array([LEAN_RATE, 0.0, 0.0])
        for name, (mass, centre, axes, inertia) in self.bodies.items():
            spin = SPEED / p[f"r{name}"] if name in "RF" else 0.0
            body[name] = mbs.CreateRigidBody(
                referencePosition=centre,
                referenceRotationMatrix=axes,
                initialVelocity=np.array([SPEED, 0.0, 0.0]) + np.cross(lean, centre),
                initialAngularVelocity=lean + np.array([0.0, spin, 0.0]),
                inertia=RigidBodyInertia(mass, inertia),
                gravity=[0.0, 0.0, -p["g"]],
                nodeType=exudyn.NodeType.RotationRxyz,
            )
            for kind in ("Position", "Velocity", "RotationMatrix", "AngularVelocityLocal"):
                output = getattr(exudyn.OutputVariableType, kind)
                sensor = SensorBody("", body[name], outputVariableType=output, storeInternal=True)
                self.sensors[name, kind] = mbs.AddSensor(sensor)
        head = np.array([p["w"] + p["c"], 0.0, 0.0]) + 0.9 * self.axis
        hubs = [("B", "R"), ("H", "F")]
        joints = [(a, b, self.bodies[b][1], [0.0, 1.0, 0.0]) for a, b in hubs]
        for a, b, place, axis in [*joints, ("B", "H", head, self.axis)]:
            both = [body[a], body[b]]
            mbs.CreateRevoluteJoint("", both, position=place, axis=axis, useGlobalFrame=True)
        for name in "RF":
            both = [ground, body[name]]
            mbs.CreateRollingDisc("", both, [0, 0, 0], [0, 0, 1], discRadius=p[f"r{name}"])
        mbs.Assemble()

    def _body(self, name):
        """Return mass, centre, axes, and inertia in these; x forward, y left, z up."""
        p = self.p
        places = {"R": (0.0, -p["rR"]), "F": (p["w"], -p["rF"])}
        x, z = places.get(name) or (p[f"x{name}"], p[f"z{name}"])
        inertia = np.diag([p[f"I{name}xx"], p[f"I{name}yy"], p.get(f"I{name}zz", p[f"I{name}xx"])])
        inertia[0, 2] = inertia[2, 0] = -p.get(f"I{name}xz", 0.0)
        axes = np.eye(3)
        if name in "RF":  # the axle is the third of the wheel's axes
            axes = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
        return p[f"m{name}"], np.array([x, 0.0, -z]), axes, axes.T @ inertia @ axes

    def run(self, watched, steps, solver="GeneralizedAlpha", linear="EXUdense", rtol=1e-8, jac=0):
        """Run M2 from its start; `jac`: a Jacobian every step. What is not named is EXUDYN's
        own choice.
        """
        settings = self.exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.endTime, integration.numberOfSteps = UNTIL, steps
        integration.adaptiveStep = False
        integration.solverType = getattr(self.exu.DynamicSolverType, solver)
        integration.newton.relativeTolerance = rtol
        integration.newton.modifiedNewtonJacUpdatePerStep = bool(jac)
        settings.linearSolver.solverType = getattr(self.exu.LinearSolverType, linear)
        settings.solution.file.write = False
        settings.solution.sensors.active = watched
        settings.solution.sensors.writePeriod = UNTIL / steps
        self.mbs.SolveDynamic(settings, showHints=False)

    def watch(self, choice):
        """Return spread of energy over all steps, steer and speed at the end."""
        self.run(True, **choice)
        seen = {k: self.mbs.GetSensorStoredData(each)[:, 1:] for k, each in self.sensors.items()}
        energy = 0.0
        for name, (mass, _, _, inertia) in self.bodies.items():
            V, W = seen[name, "Velocity"], seen[name, "AngularVelocityLocal"]
            energy = energy + mass * self.p["g"] * seen[name, "Position"][:, 2]
            energy = energy + (mass * np.sum(V * V, axis=1) + np.sum(W @ inertia * W, axis=1)) / 2
        frame, fork = (seen[name, "RotationMatrix"][-1].reshape(3, 3) for name in "BH")
        turn = frame.T @ fork
        twice = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
        yaw, V = np.arctan2(-frame[0, 1], frame[1, 1]), seen["R", "Velocity"][-1]
        speed = V[0] * np.cos(yaw) + V[1] * np.sin(yaw)
        return spread(energy), np.arctan2(self.axis @ twice, np.trace(turn) - 1), speed

    def cheapest(self):
        """Return the settings that stay inside the limit in the least time, of some dozens."""
        solvers, inside = ("TrapezoidalIndex2", "GeneralizedAlpha"), []
        self.exu.config.printToConsole = False  # some fail, loudly
        for steps, solver, rtol, jac in product(
            (667, 760, 780, 800, 900, 1000), solvers, (1e-5, 1e-6, 1e-8), (0, 1)
        ):
            choice = {"steps": steps, "solver": solver, "linear": "EigenDense"}
            choice |= {"rtol": rtol, "jac": jac}
            try:
                if self.watch(choice)[0] < LIMIT:
                    inside.append(choice)
            except self.exu.SolverError:
                continue
        self.exu.config.printToConsole = True
        times = take_turns([lambda c=c: self.run(False, **c) for c in inside], 3)
        return inside[np.argmin(times)]


def manoeuvre(system):
    """Return M2 by draisine and EXUDYN: seconds, spread of energy, steer and speed at 20 s."""
    start = draisine.state(system, forward_speed=SPEED, lean_rate=LEAN_RATE)

    def run(choice):
        return draisine.simulate(system, start, UNTIL, numerics=draisine.Numerics(**choice))

    def watch(choice):
        data = run(choice).to_xarray()
        steer = data["shape"].sel(joint="steer")[-1]
        return spread(data.energy.values), float(steer), float(data.forward_speed[-1])

    def within(k):
        return {"integrator": "dop853", "rtol": 10.0**-k, "atol": 10.0 ** -(k + 2)}

    loosest = next(k for k in range(2, 13) if watch(within(k))[0] < LIMIT)
    ours = {f"draisine {name}, 5 ms": {"integrator": name, "dt": 0.005} for name in ("abm4", "rk4")}
    ours |= {f"draisine dop853, rtol 1e-{k}": within(k) for k in (loosest, 12)}
    rows = {name: watch(choice) for name, choice in ours.items()}
    runs = [lambda c=c: run(c) for c in ours.values()]
    if installed("exudyn", "exudyn"):
        peer = Exudyn(system.parameters)
        best = peer.cheapest()
        print("EXUDYN's cheapest settings inside the limit:", best)
        names = f"EXUDYN tuned, {1e3 * UNTIL / best['steps']:.1f} ms", "EXUDYN as it comes, 5 ms"
        for name, choice in zip(names, (best, {"steps": 4000}), strict=True):
            rows[name] = peer.watch(choice)
            runs.append(lambda c=choice: peer.run(False, **c))
    return {name: (s, *row) for s, (name, row) in zip(take_turns(runs), rows.items(), strict=True)}


def show_manoeuvre(rows):
    """Print M2 beside its reference, and how many times each time goes into EXUDYN's best."""
    best = next((row[0] for name, row in rows.items() if name.startswith("EXUDYN")), np.nan)
    print(f"\nIFToMM M2, {UNTIL:.0f} s; the energy may spread by {LIMIT} %")
    heads = ("CPU ms", "EXUDYN/it", "spread %", "steer, rad", "error", "speed, m/s", "error")
    print("  {:28s} {:>8s} {:>9s} {:>8s} {:>14s} {:>8s} {:>13s} {:>8s}".format("", *heads))
    print(f"  {'reference':56s} {STEER:14.6e} {'':8s} {FORWARD:13.9f}")
    for name, (seconds, energy, steer, speed) in rows.items():
        print(f"  {name:28s} {1e3 * seconds:8.2f} {best / seconds:9.1f} {energy:8.1e}", end="")
        print(f" {steer:14.6e} {steer - STEER:8.0e} {speed:13.9f} {speed - FORWARD:8.0e}")


def modes(system):
    """Print seconds for eigenvalues at 400 speeds, and how far the peers are apart."""
    speeds = np.linspace(0.0, 10.0, 400)
    runs = {"draisine, nonlinear model": lambda: eigenvalues(system, speeds)}
    first, apart = clock(lambda: eigenvalues(system, speeds)), []
    if installed("bicycleparameters", "BicycleParameters"):
        from bicycleparameters.models import Meijaard2007Model, sort_eigenmodes
        from bicycleparameters.parameter_sets import Meijaard2007ParameterSet

        given = Meijaard2007ParameterSet({**system.parameters, "v": 0.0}, True)

        def theirs():
            return sort_eigenmodes(*Meijaard2007Model(given).calc_eigen(v=speeds))

        runs["BicycleParameters, linear model"] = theirs
        apart = np.abs(eigenvalues(system, speeds).values[:, :, None] - theirs()[0][:, None, :])
    rows = dict(zip(runs, take_turns(list(runs.values())), strict=True))
    rows["draisine, first call"] = first
    show("eigenvalues at 400 speeds, 0 to 10 m/s, modes followed", rows)
    if len(apart):
        worst = max(each[linear_sum_assignment(each)].max() for each in apart)
        print(f"  largest difference {worst:.1e} 1/s")


def linearisation(limit):
    """Print seconds to linearise with nothing cached; SymPy's in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        system = draisine.compile("whipple", store=Store(Path(folder)))
        linearise(system, draisine.state(system, forward_speed=5.0))
        rows = {"draisine, derived and compiled": time.process_time() - start}
    if limit is None:
        print("skipped: SymPy's bicycle takes minutes (--sympy)")
    elif installed("sympy", "sympy"):
        command = [sys.executable, "-c", SYMPY]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=limit)
            rows["SymPy, its test_bicycle"] = float(done.stdout)
        except subprocess.TimeoutExpired:
            print(f"skipped: SymPy's bicycle was not done after {limit:.0f} s")
    show("linearisation, nothing cached", rows)


def show(title, rows):
    """Print seconds, and how many times the first of them each one is."""
    print(f"\n{title}")
    base = next(iter(rows.values()))
    for name, value in rows.items():
        print(f"  {name:34s} {1e3 * value:11.2f} ms   x {value / base:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    wait = "run SymPy's bicycle, for so many seconds at most (900)"
    parser.add_argument("--sympy", type=float, nargs="?", const=900.0, metavar="SECONDS", help=wait)
    options = parser.parse_args()
    system = draisine.compile("whipple")
    show_manoeuvre(manoeuvre(system))
    modes(system)
    linearisation(options.sympy)


if __name__ == "__main__":
    sys.exit(main())
