"""The bicycle beside its peers, each in the same run: `python bench/peers.py [--sympy [SECONDS]]
[--json FILE]`.

1. IFToMM's uncontrolled bicycle, manoeuvre M2, against EXUDYN (written for 1.13): processor time,
   spread of energy, final steer and speed.
2. Eigenvalues at 400 speeds, followed from speed to speed, against BicycleParameters.
3. With `--sympy`: linearisation, nothing cached, against SymPy's own bicycle (minutes).

A part whose peer is not installed is left out, and said so. Times are of the processor
(`time.process_time`), the best of runs that take turns. Ratios count; absolute times are those of
the machine at hand.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

import draisine
from draisine.analysis.eigenvalues import eigenvalues
from draisine.analysis.linear import linearise
from draisine.codegen.cache import Store

SPEED, LEAN_RATE, UNTIL = 4.6, 0.5, 20.0
"""Manoeuvre M2: the benchmark bicycle of Meijaard et al. (2007), upright and straight."""

LIMIT = 1e-3
"""Percent of the energy by which the IFToMM library lets it spread, 100 (max E - min E) / E0."""

REFERENCE = {"steer": -2.68690656308e-05, "forward_speed": 4.62244209626}
"""M2 at 20 s, to 12 digits: independent computation (shared reference `benchmarks.json`,
iftomm_uncontrolled_bicycle: DOP853, rtol 3e-14, another model), in draisine's axes: steer to the
left."""

SYMPY = """
import time
from sympy.physics.mechanics.tests.test_kane3 import test_bicycle
start = time.process_time()
test_bicycle()
print(time.process_time() - start)
"""


def installed(module):
    """Return whether a module can be imported."""
    return importlib.util.find_spec(module) is not None


def clock(function):
    """Return the processor time of one call, in seconds."""
    start = time.process_time()
    function()
    return time.process_time() - start


def take_turns(functions, repeat):
    """Return the shortest time of each function, in seconds, called in turns."""
    rounds = [[clock(function) for function in functions] for _ in range(repeat)]
    return np.min(rounds, axis=0)


def spread(energy):
    """Return by how many percent of its first value the energy spreads."""
    return float(100 * np.ptp(energy) / energy[0])


# ---------------------------------------------------------------------- 1. EXUDYN


class Exudyn:
    """The bicycle by EXUDYN: four rigid bodies, three revolute joints, two rolling discs.

    Bodies turn by Tait-Bryan angles, the wheels' spin last, far from the singularity: tried by hand,
    Euler parameters and rotation vectors took 1.4 to 2 times as long per step, and so did, at equal
    spread of energy, a kinematic tree in minimal coordinates.
    """

    def __init__(self, parameters):
        sys.exudynFast = True  # no range checks, vector instructions: before the first import
        import exudyn

        self.exu, self.p = exudyn, parameters
        self.axis = np.array([-np.sin(parameters["lam"]), 0.0, np.cos(parameters["lam"])])
        self.bodies = {name: self._body(name) for name in "RBHF"}

    def _body(self, name):
        """Return mass, centre, axes and inertia in these axes; x forward, y left, z up."""
        p = self.p
        places = {"R": (0.0, -p["rR"]), "F": (p["w"], -p["rF"])}
        x, z = places.get(name) or (p[f"x{name}"], p[f"z{name}"])
        xx, yy = p[f"I{name}xx"], p[f"I{name}yy"]
        zz, xz = p.get(f"I{name}zz", xx), -p.get(f"I{name}xz", 0.0)
        inertia = np.array([[xx, 0.0, xz], [0.0, yy, 0.0], [xz, 0.0, zz]])
        axes = np.eye(3)
        if name in "RF":  # the axle is the third of the wheel's axes
            axes = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
        return p[f"m{name}"], np.array([x, 0.0, -z]), axes, axes.T @ inertia @ axes

    def build(self, watched=False):
        """Return the assembled system and, if watched, its sensors."""
        from exudyn.itemInterface import SensorBody
        from exudyn.rigidBodyUtilities import RigidBodyInertia

        p, mbs = self.p, self.exu.SystemContainer().AddSystem()
        ground, body = mbs.CreateGround(), {}
        for name, (mass, centre, axes, inertia) in self.bodies.items():
            lean = np.array([LEAN_RATE, 0.0, 0.0])
            spin = np.array([0.0, SPEED / p[f"r{name}"] if name in "RF" else 0.0, 0.0])
            body[name] = mbs.CreateRigidBody(
                referencePosition=centre,
                referenceRotationMatrix=axes,
                initialVelocity=np.array([SPEED, 0.0, 0.0]) + np.cross(lean, centre),
                initialAngularVelocity=lean + spin,
                inertia=RigidBodyInertia(mass, inertia),
                gravity=[0.0, 0.0, -p["g"]],
                nodeType=self.exu.NodeType.RotationRxyz,
            )
        rear, front = self.bodies["R"][1], self.bodies["F"][1]
        head = np.array([p["w"] + p["c"], 0.0, 0.0]) + 0.9 * self.axis
        joints = ("BR", rear, [0, 1, 0]), ("HF", front, [0, 1, 0]), ("BH", head, self.axis)
        for (a, b), place, axis in joints:
            mbs.CreateRevoluteJoint(
                itemNumbers=[body[a], body[b]], position=place, axis=axis, useGlobalFrame=True
            )
        for name in "RF":
            mbs.CreateRollingDisc(
                bodyNumbers=[ground, body[name]], axisVector=[0, 0, 1], discRadius=p[f"r{name}"]
            )
        kinds = ("Position", "Velocity", "RotationMatrix", "AngularVelocityLocal")
        sensors = {
            (name, kind): mbs.AddSensor(
                SensorBody(
                    bodyNumber=body[name],
                    outputVariableType=getattr(self.exu.OutputVariableType, kind),
                    storeInternal=True,
                    writeToFile=False,
                )
            )
            for name, kind in (product(body, kinds) if watched else ())
        }
        mbs.Assemble()
        return mbs, sensors

    def settings(self, steps, solver="GeneralizedAlpha", linear="EXUdense", rtol=1e-8, often=False):
        """Return settings; those not named are EXUDYN's own. `often`: one Jacobian per step."""
        settings = self.exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.endTime, integration.numberOfSteps = UNTIL, steps
        integration.adaptiveStep = False
        integration.solverType = getattr(self.exu.DynamicSolverType, solver)
        integration.newton.relativeTolerance = rtol
        integration.newton.modifiedNewtonJacUpdatePerStep = often
        settings.linearSolver.solverType = getattr(self.exu.LinearSolverType, linear)
        settings.solution.file.write = False
        settings.solution.sensors.writePeriod = 1e-9  # every step
        return settings

    def run(self, **choice):
        """Return a function that runs a system built for it, with nothing recorded."""
        settings = self.settings(**choice)
        systems = iter([self.build()[0] for _ in range(10)])
        return lambda: next(systems).SolveDynamic(settings)

    def watch(self, **choice):
        """Return seconds, spread of energy, and steer and speed at the end, from every step."""
        mbs, sensors = self.build(watched=True)
        seconds = clock(lambda: mbs.SolveDynamic(self.settings(**choice), showHints=False))
        seen = {key: mbs.GetSensorStoredData(sensor)[:, 1:] for key, sensor in sensors.items()}
        energy = 0.0
        for name, (mass, _, _, inertia) in self.bodies.items():
            V, W = seen[name, "Velocity"], seen[name, "AngularVelocityLocal"]
            energy = energy + mass * self.p["g"] * seen[name, "Position"][:, 2]
            energy = energy + (mass * np.sum(V * V, axis=1) + np.sum(W @ inertia * W, axis=1)) / 2
        frame, fork = (seen[name, "RotationMatrix"][-1].reshape(3, 3) for name in "BH")
        turn = frame.T @ fork
        twice = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
        steer = np.arctan2(self.axis @ twice, np.trace(turn) - 1)
        yaw, V = np.arctan2(-frame[0, 1], frame[1, 1]), seen["R", "Velocity"][-1]
        speed = V[0] * np.cos(yaw) + V[1] * np.sin(yaw)
        return seconds, spread(energy), float(steer), float(speed)

    def cheapest(self):
        """Return the settings that stay inside the limit in the least time, of a few dozen."""
        found = []
        self.exu.config.printToConsole = False  # some fail, loudly
        for steps, solver, rtol, often in product(
            (500, 667, 770, 800, 900, 1000),
            ("TrapezoidalIndex2", "GeneralizedAlpha"),
            (1e-5, 1e-6, 1e-8),
            (False, True),
        ):
            choice = {"steps": steps, "solver": solver, "rtol": rtol, "often": often}
            choice["linear"] = "EigenDense"
            try:
                seconds, energy, *_ = self.watch(**choice)
            except self.exu.SolverError:
                continue
            if energy < LIMIT:
                found.append((seconds, choice))
        self.exu.config.printToConsole = True
        return min(found, key=lambda pair: pair[0])[1]


def manoeuvre(system, repeat):
    """Return M2 by draisine and EXUDYN: seconds, spread of energy, steer and speed at 20 s."""
    start = draisine.state(system, forward_speed=SPEED, lean_rate=LEAN_RATE)

    def run(choice):
        return draisine.simulate(system, start, UNTIL, **choice)

    def watch(choice):
        data = run(choice).to_xarray()
        steer = data["shape"].sel(joint="steer")[-1]
        return spread(data.energy.values), float(steer), float(data.forward_speed[-1])

    def tolerance(rtol):
        return {"integrator": "dop853", "rtol": rtol, "atol": rtol / 100}

    loose = next(k for k in range(2, 13) if watch(tolerance(10.0**-k))[0] < LIMIT)
    ours = {f"draisine {name}, 5 ms": {"integrator": name, "dt": 0.005} for name in ("abm4", "rk4")}
    ours |= {f"draisine dop853, rtol 1e-{k}": tolerance(10.0**-k) for k in (loose, 12)}
    rows = {name: watch(choice) for name, choice in ours.items()}
    runs = [lambda choice=choice: run(choice) for choice in ours.values()]
    if installed("exudyn"):
        peer = Exudyn(system.parameters)
        best = peer.cheapest()
        theirs = {
            f"EXUDYN tuned, {1e3 * UNTIL / best['steps']:.1f} ms": best,
            "EXUDYN as it comes, 5 ms": {"steps": 4000},
        }
        print("EXUDYN's cheapest settings inside the limit:", best)
        rows |= {name: peer.watch(**choice)[1:] for name, choice in theirs.items()}
        runs += [peer.run(**choice) for choice in theirs.values()]
    else:
        print("skipped: EXUDYN is not installed (pip install exudyn)")
    seconds = take_turns(runs, repeat)
    return {name: (float(s), *row) for s, (name, row) in zip(seconds, rows.items(), strict=True)}


# ---------------------------------------------------------------------- 2. BicycleParameters


def modes(system, repeat):
    """Return seconds for eigenvalues at 400 speeds, and the largest difference between the two."""
    speeds = np.linspace(0.0, 10.0, 400)
    first = clock(lambda: eigenvalues(system, speeds))
    runs = {"draisine, nonlinear model": lambda: eigenvalues(system, speeds)}
    if installed("bicycleparameters"):
        from bicycleparameters.models import Meijaard2007Model, sort_eigenmodes
        from bicycleparameters.parameter_sets import Meijaard2007ParameterSet

        given = Meijaard2007ParameterSet({**system.parameters, "v": 0.0}, True)

        def theirs():
            return sort_eigenmodes(*Meijaard2007Model(given).calc_eigen(v=speeds))

        runs["BicycleParameters, linear model"] = theirs
    else:
        print("skipped: BicycleParameters is not installed (pip install BicycleParameters)")
    seconds = take_turns(list(runs.values()), repeat)
    rows = dict(zip(runs, map(float, seconds), strict=True)) | {"draisine, first call": first}
    if len(runs) == 1:
        return rows, None
    apart = np.abs(eigenvalues(system, speeds).values[:, :, None] - theirs()[0][:, None, :])
    return rows, max(each[linear_sum_assignment(each)].max() for each in apart)


# ---------------------------------------------------------------------- 3. SymPy


def linearisation(limit):
    """Return seconds to linearise, nothing cached; SymPy's in a process of its own."""

    def ours(folder):
        system = draisine.compile("whipple", store=Store(Path(folder)))
        linearise(system, draisine.state(system, forward_speed=5.0))

    with tempfile.TemporaryDirectory() as folder:
        rows = {"draisine, derived and compiled": clock(lambda: ours(folder))}
    if limit is None:
        print("skipped: SymPy's bicycle takes minutes (--sympy)")
    elif not installed("sympy"):
        print("skipped: SymPy is not installed (pip install sympy)")
    else:
        command = [sys.executable, "-c", SYMPY]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, timeout=limit
            )
            rows["SymPy, its test_bicycle"] = float(done.stdout)
        except subprocess.TimeoutExpired:
            print(f"skipped: SymPy's bicycle was not done after {limit:.0f} s")
    return rows


def show_seconds(title, rows):
    """Print seconds, and how many times the first of them each one is."""
    print(f"\n{title}")
    base = next(iter(rows.values()))
    for name, value in rows.items():
        print(f"  {name:34s} {1e3 * value:11.2f} ms   x {value / base:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, choices=range(1, 11), metavar="1..10")
    parser.add_argument("--sympy", type=float, nargs="?", const=900.0, metavar="SECONDS")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    system = draisine.compile("whipple")
    report = {"manoeuvre": manoeuvre(system, options.repeat)}
    rows = report["manoeuvre"]
    base = next((row[0] for name, row in rows.items() if name.startswith("EXUDYN tuned")), np.nan)
    print(f"\nIFToMM M2, {UNTIL:.0f} s; limit of the energy's spread {LIMIT} %")
    print(f"  {'':28s} {'CPU ms':>8s} {'EXUDYN tuned / it':>18s} {'spread %':>9s}", end="")
    print(f" {'steer, rad':>14s} {'error':>8s} {'speed, m/s':>14s} {'error':>8s}")
    steer, speed = REFERENCE["steer"], REFERENCE["forward_speed"]
    print(f"  {'reference':65s} {steer:15.7e} {'':8s} {speed:14.10f}")
    for name, (seconds, energy, a, v) in rows.items():
        print(f"  {name:28s} {1e3 * seconds:8.2f} {base / seconds:18.1f} {energy:9.1e}", end="")
        print(f" {a:14.6e} {a - steer:8.0e} {v:14.10f} {v - speed:8.0e}")
    report["eigenvalues"], apart = modes(system, options.repeat)
    show_seconds("eigenvalues at 400 speeds, 0 to 10 m/s, modes followed", report["eigenvalues"])
    if apart is not None:
        print(f"  largest difference {apart:.1e} 1/s")
    report["linearisation"] = linearisation(options.sympy)
    show_seconds("linearisation, nothing cached", report["linearisation"])
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    sys.exit(main())
