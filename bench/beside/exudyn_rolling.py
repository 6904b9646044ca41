"""EXUDYN: redundant coordinates and an implicit integrator, rolling discs of its own."""

import sys

import numpy as np

from beside._work import LEAN_RATE, SPEED, UNTIL

MODULE, NAME = "exudyn", "EXUDYN, trapezoidal, 25 ms"
NOTE = "redundant coordinates and an implicit integrator, for stiff and flexible machines"


class Exudyn:
    """The bicycle by EXUDYN: four rigid bodies, three revolute joints, two rolling discs.

    Bodies turn by Tait-Bryan angles, the wheels' spin last, far from the singularity. Tried by
    hand, tuned likewise: inside the limit, rotation vectors take 1.2 times as long, Euler
    parameters twice, a kinematic tree in joint coordinates 2.8 times.
    """

    def __init__(self, p):
        sys.exudynFast = True  # no range checks, vector instructions: before the first import
        import exudyn
        from exudyn.rigidBodyUtilities import RigidBodyInertia

        self.exu, self.p = exudyn, p
        self.rotation = exudyn.OutputVariableType.RotationMatrix
        self.axis = np.array([-np.sin(p["lam"]), 0.0, np.cos(p["lam"])])
        self.bodies = {name: self._body(name) for name in "RBHF"}
        mbs = self.mbs = exudyn.SystemContainer().AddSystem()
        ground, body = mbs.CreateGround(), {}
        self.body = body
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

    def run(self, steps, solver, rtol):
        """Run from the start in so many steps; return the steer angle at the end."""
        settings = self.exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.endTime, integration.numberOfSteps = UNTIL, steps
        integration.adaptiveStep = False
        integration.solverType = getattr(self.exu.DynamicSolverType, solver)
        integration.newton.relativeTolerance = rtol
        settings.linearSolver.solverType = self.exu.LinearSolverType.EigenDense
        settings.solution.file.write = False
        self.mbs.SolveDynamic(settings, showHints=False)
        frame, fork = (
            np.reshape(self.mbs.GetObjectOutputBody(self.body[name], self.rotation), (3, 3))
            for name in "BH"
        )
        turn = frame.T @ fork
        twice = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
        return float(np.arctan2(self.axis @ twice, np.trace(turn) - 1))


def prepare(work):
    """Return its jobs."""
    bicycle = Exudyn(work.parameters)

    return {"run": lambda: bicycle.run(200, "TrapezoidalIndex2", 1e-6)}
