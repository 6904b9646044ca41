"""Energy and momentum of the whole machine."""

from draisine.lie import cross
from draisine.mechanics.constraints import Ground
from draisine.mechanics.kinematics import Geometry
from draisine.mechanics.tree import Tree
from draisine.scalar import Array, Scalar


def kinetic(M: Array, speeds: Array) -> Scalar:
    """Return the kinetic energy v' M v / 2."""
    return speeds @ (M @ speeds) / 2


def potential(tree: Tree, geo: Geometry, world: Ground, p: Array, gravity: Array) -> Scalar:
    """Return the energy of weight (zero with every mass at the world's origin) and of springs; p is
    the base origin's position.
    """
    total: Scalar = 0.0
    for j, link in enumerate(tree.links):
        moment = link.mass * (p + world.R @ geo.o0[j]) + world.R @ (geo.R0[j] @ link.S)
        total = total - gravity @ moment
    for k, joint in enumerate(tree.model.joints):
        stretch = geo.r[k] - joint.rest
        total = total + joint.spring * stretch * stretch / 2
    return total


def momenta(M: Array, speeds: Array, world: Ground, p: Array, ref: Array) -> tuple[Array, Array]:
    """Return linear momentum and angular momentum about the world's origin, in world axes."""
    both = M[:6, :] @ speeds
    linear, angular = world.R @ both[:3], world.R @ both[3:]
    return linear, angular + cross(p + world.R @ ref, linear)
