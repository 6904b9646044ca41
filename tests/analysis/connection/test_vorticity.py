"""Vorticity in the balance of momentum, (1.11) of Mauny's thesis: quadrature of its integrals, and the
motion of a cylinder with a vortex, whose energy is conserved.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import draisine
from draisine.analysis.connection.vorticity import (
    EllipticBody,
    Vortex,
    momentum_velocity,
    vortex_momentum,
)
from draisine.errors import ParameterError
from draisine.mechanics.connection import locomotion, mechanical_connection
from draisine.mechanics.constraints import mode_of
from draisine.mechanics.tree import assemble
from draisine.model import Body, Model, flat_inertia
from draisine.vehicles.fish import fish


def boundary(body, count=2000):
    """Return boundary points of an ellipse, the line elements, and the derivative dz / dzeta there."""
    R, k2 = (body.a + body.b) / 2, (body.a**2 - body.b**2) / 4
    zeta = R * np.exp(2j * np.pi * (np.arange(count) + 0.5) / count)
    turn = np.exp(1j * body.angle)
    z = complex(body.x, body.y) + turn * (zeta + k2 / zeta)
    slope = turn * (1 - k2 / zeta**2)
    return zeta, z, slope * 1j * zeta * 2 * np.pi / count, slope, R, k2


def by_quadrature(body, vortex):
    """Return (p_v, sigma_v) for unit density: the boundary integral of (1.11) plus the vortex."""
    zeta, z, dz, slope, R, k2 = boundary(body)
    local = (complex(vortex.x, vortex.y) - complex(body.x, body.y)) / np.exp(1j * body.angle)
    at = max(np.roots([1.0, -local, k2]), key=abs)
    G = vortex.circulation
    rate = -1j * G / (2 * np.pi) * (1 / (zeta - at) - 1 / (zeta - R * R / np.conj(at)) + 1 / zeta)
    velocity = np.conj(rate / slope)
    normal = -1j * dz / abs(dz)
    assert abs((np.conj(velocity) * normal).real).max() < 1e-9  # the boundary is a streamline
    sheet = (np.conj(normal) * velocity).imag * abs(dz)  # n x u da
    assert abs(sheet.sum()) < 1e-12  # no circulation around the body
    px = (z.imag * sheet).sum() + G * vortex.y
    py = -(z.real * sheet).sum() - G * vortex.x
    sigma = -0.5 * (abs(z) ** 2 * sheet).sum() - 0.5 * G * (vortex.x**2 + vortex.y**2)
    return np.array([px, py, sigma])


@pytest.mark.parametrize("seed", range(8))
def test_closed_form_is_the_integral(seed):
    rng = np.random.default_rng(seed)
    body = EllipticBody(rng.uniform(0.3, 1), rng.uniform(0.1, 0.6), *rng.uniform(-1, 1, 3))
    angle = rng.uniform(0, 2 * np.pi)
    vortex = Vortex(body.x + 2.0 * np.cos(angle), body.y + 2.0 * np.sin(angle), rng.normal())
    found = vortex_momentum(body, [vortex], 1.0)
    assert_allclose(found, by_quadrature(body, vortex), atol=1e-12)
    assert_allclose(vortex_momentum(body, [vortex], 3.0), 3.0 * found)


def test_a_vortex_on_the_surface_of_a_circle_has_no_momentum():
    near = vortex_momentum(EllipticBody(0.5, 0.5), [Vortex(0.5 + 1e-9, 0.0, 1.0)], 1.0)
    assert_allclose(near[:2], 0.0, atol=1e-8)
    with pytest.raises(ParameterError, match="inside"):
        vortex_momentum(EllipticBody(0.5, 0.2), [Vortex(0.0, 0.1, 1.0)], 1.0)


def disc(radius, density):
    """Return a neutrally buoyant cylinder in the plane, as a machine with added mass."""
    mass = density * np.pi * radius**2
    added = np.zeros((6, 6))
    added[0, 0] = added[1, 1] = mass
    inertia = flat_inertia(mass * radius**2 / 2)
    body = Body("disc", mass, (0.0, 0.0, 0.0), inertia, added=added)
    return Model(bodies=[body], joints=[], gravity=np.zeros(3), base="SE(2)")


def test_a_cylinder_and_a_vortex_conserve_energy():
    """Shashikanth et al. (2002, doi:10.1063/1.1445183): the momentum balance alone determines the velocity of
    the cylinder; the energy of cylinder, added mass and vortex then stays constant.
    """
    a, rho, G = 0.5, 1.2, 3.0
    model = disc(a, rho)
    machine = locomotion(assemble(model), mode_of(model), np.eye(3), np.zeros(0))
    start = np.array([0.0, 0.0, 0.9, 0.3])
    first = vortex_momentum(EllipticBody(a, a), [Vortex(0.9, 0.3, G)], rho)

    def velocity(y):
        body = EllipticBody(a, a, y[0], y[1])
        w = vortex_momentum(body, [Vortex(y[2], y[3], G)], rho) - first
        return momentum_velocity(machine, np.zeros(0), w, y[:2], 0.0)

    def rate(_, y):
        V = velocity(y)
        c, z, U = complex(y[0], y[1]), complex(y[2], y[3]), complex(V[0], V[1])
        image = c + a * a / np.conj(z - c)
        w = U * a * a / (z - c) ** 2 + 1j * G / (2 * np.pi) * (1 / (z - image) - 1 / (z - c))
        return [V[0], V[1], w.real, -w.imag]

    def energy(y):
        V = velocity(y)
        r = np.hypot(y[2] - y[0], y[3] - y[1])
        mass = 2 * rho * np.pi * a * a
        return 0.5 * mass * (V[:2] @ V[:2]) + rho * G * G / (4 * np.pi) * np.log(1 - a * a / r**2)

    solution = solve_ivp(rate, (0, 3), start, rtol=1e-12, atol=1e-13)
    energies = [energy(y) for y in solution.y.T]
    assert np.hypot(*(solution.y[:2, -1])) > 0.3  # the cylinder moves
    assert_allclose(energies, energies[0], rtol=1e-9)


def test_without_vorticity_it_is_the_hydrodynamic_connection():
    model = fish()
    machine = locomotion(assemble(model), mode_of(model), np.eye(3), np.array([0.3, -0.5]))
    rates = np.array([0.7, 0.2])
    found = momentum_velocity(machine, rates, np.zeros(3), np.zeros(2), 0.4)
    assert_allclose(found, -np.asarray(mechanical_connection(machine), float) @ rates, atol=1e-14)


def test_a_shed_vortex_turns_a_fish_at_rest():
    """The momentum of fish and vorticity adds up to zero, in the world and about its origin."""
    model = fish()
    r = np.array([0.3, -0.5])
    machine = locomotion(assemble(model), mode_of(model), np.eye(3), r)
    w = vortex_momentum(EllipticBody(0.1, 0.02, -0.6, 0.1), [Vortex(-1.0, 0.3, 0.01)], 1000.0)
    position, angle = np.array([0.2, -0.1]), 0.7
    eta = momentum_velocity(machine, np.zeros(2), w, position, angle)
    system = draisine.compile("fish")
    half = angle / 2
    state = draisine.State(
        np.array([np.cos(half), 0, 0, np.sin(half)]),
        np.array([*position, 0.0]),
        r,
        np.array([*eta, 0, 0]),
    )
    M = system.dynamics(state).M[:3, :3]
    body = M @ eta
    c, s = np.cos(angle), np.sin(angle)
    force = np.array([c * body[0] - s * body[1], s * body[0] + c * body[1]])
    moment = body[2] + position[0] * force[1] - position[1] * force[0]
    assert_allclose([*(force + w[:2]), moment + w[2]], 0.0, atol=1e-12)


def test_it_requires_a_machine_in_the_plane():
    model = draisine.compile("falling_cat").model
    machine = locomotion(assemble(model), mode_of(model), np.eye(3), np.zeros(2))
    with pytest.raises(ParameterError, match="in the plane"):
        momentum_velocity(machine, np.zeros(2), np.zeros(3), np.zeros(2), 0.0)
