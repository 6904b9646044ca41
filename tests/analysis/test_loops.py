"""Loop transfer functions and margins against closed forms; published loops of riders."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.equilibrium import steady
from draisine.analysis.linear import linearise
from draisine.analysis.lqr import balance
from draisine.analysis.rider.loops import (
    design_loops,
    make_single_loop,
    margins,
    nested_loops,
    open_loop,
    stable_speeds,
)
from draisine.analysis.rider.preview import follow_path
from draisine.control import CombinedLaws
from draisine.control.loop_rider import LOOPS, LoopRider
from draisine.control.steer_into_lean import SteerIntoLean
from draisine.errors import ConfigurationError, ParameterError

# Gains of Hess, Moore and Hubbard 2012, doi:10.1109/TSMCA.2011.2164244, from its companion data
# (github.com/moorepants/HumanControl, BenchmarkSteerGains.txt): speed; steer, lean rate, lean, heading,
# lateral position. Its row of 2.5 m/s is a placeholder (load_bikes.m): it repeats that of `browserins`.
PUBLISHED = {
    3.2: (29.2830, -0.0490, 25.6400, 0.0870, 0.1500),
    3.6: (33.1311, -0.0535, 19.8266, 0.1056, 0.1338),
    4.8: (44.6406, -0.0529, 13.2253, 0.1720, 0.1001),
    5.0: (46.5457, -0.0522, 12.6611, 0.1849, 0.0959),
    8.0: (74.9880, -0.0400, 9.3510, 0.4340, 0.0600),
    8.34: (78.2238, -0.0388, 9.2493, 0.4676, 0.0571),
    12.0: (115.3790, -0.0290, 9.2800, 0.8550, 0.0400),
}
# Gains of real bicycles from the paper, as in load_bikes.m of its companion data.
REAL = {
    ("browserins_jason", 2.5): (22.0, -0.090, 23.3, 0.058, 0.195),
    ("browserins_jason", 5.0): (48.0, -0.080, 9.03, 0.161, 0.097),
    ("browserins_jason", 7.5): (74.0, -0.063, 6.31, 0.332, 0.065),
    # The paper has 0.053 for the heading; earlier companion data (2011-05-26) 0.0593.
    ("browser_jason", 2.5): (20.5, -0.086, 24.1, 0.0593, 0.199),
    ("browser_jason", 5.0): (43.0, -0.087, 8.50, 0.173, 0.100),
    ("browser_jason", 7.5): (68.0, -0.060, 6.74, 0.330, 0.065),
    # The paper has 0.662 for the heading, with which the bicycle is unstable, as load_bikes.m remarks.
    ("pista_jason", 2.5): (22.3, -0.130, 15.641, 0.0645, 0.199),
    ("pista_jason", 5.0): (49.0, -0.080, 8.06, 0.170, 0.101),
    ("pista_jason", 7.5): (80.0, -0.058, 5.82, 0.321, 0.066),
    ("fisher_jason", 2.5): (23.0, -0.120, 17.7, 0.065, 0.198),
    ("fisher_jason", 5.0): (50.5, -0.084, 8.26, 0.168, 0.100),
    ("fisher_jason", 7.5): (82.0, -0.062, 5.83, 0.315, 0.065),
}
CROSSOVERS = {"lean": 2.0, "heading": 1.0, "path": 0.5}


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def companion(*denominator):
    """Return A, b, c of 1 / (s^n + ...), from the denominator without its leading coefficient."""
    n = len(denominator)
    A = np.eye(n, k=1)
    A[-1] = -np.array(denominator[::-1])
    return A, np.eye(n)[-1], np.eye(n)[0]


class TestMargins:
    def test_an_integrator_has_a_right_angle(self):
        """L = k / s crosses over at k with 90 degrees and a delay margin of pi / (2 k)."""
        found = margins(make_single_loop(np.zeros((1, 1)), np.ones(1), np.array([3.0])))
        assert found.stable
        assert_allclose(found.crossovers, [3.0], rtol=1e-12)
        assert_allclose([found.phase, found.delay], [math.pi / 2, math.pi / 6], rtol=1e-12)
        assert (found.gain_low, found.gain_high) == (0.0, math.inf)
        assert found.modulus == pytest.approx(1.0, abs=1e-3)

    @pytest.mark.parametrize("k", [0.5, 5.0, 7.0])
    def test_a_chain_of_lags_has_the_gain_margin_of_routh(self, k):
        """L = k / (s (s + 1) (s + 2)) is stable up to k = 6."""
        A, b, c = companion(3.0, 2.0, 0.0)
        found = margins(make_single_loop(A, b, k * c))
        assert found.stable is (k < 6.0)
        assert_allclose(found.phase_crossovers, [math.sqrt(2.0)], rtol=1e-10)
        bound = found.gain_high if k < 6.0 else found.gain_low
        assert bound == pytest.approx(6.0 / k, rel=1e-10)

    def test_an_unstable_plant_has_a_lower_gain_margin(self):
        """L = k / (s - 1) is stable above k = 1; |L| = 1 at sqrt(k^2 - 1)."""
        found = margins(make_single_loop(np.ones((1, 1)), np.ones(1), np.array([2.0])))
        assert found.stable
        assert_allclose(found.crossovers, [math.sqrt(3.0)], rtol=1e-12)
        # L = 2 / (i w - 1): its angle from -1 is atan(w).
        assert found.phase == pytest.approx(math.atan(math.sqrt(3.0)), rel=1e-10)
        assert found.delay == pytest.approx(math.atan(math.sqrt(3.0)) / math.sqrt(3.0), rel=1e-10)

    def test_a_direct_path_counts(self):
        """L = 0.5 + 1 / (s + 1) has |L| = 1 at sqrt(5 / 3)."""
        found = margins(make_single_loop(-np.ones((1, 1)), np.ones(1), np.ones(1), 0.5))
        assert_allclose(found.crossovers, [math.sqrt(5.0 / 3.0)], rtol=1e-10)

    def test_the_delay_margin_is_where_a_delay_destabilises(self, bicycle):
        """A rider with that much more delay, by Pade of high order, is at the border of stability."""
        law = SteerIntoLean(lean_gain=0.0, rate_gain=12.0)
        found = margins(open_loop(steady(bicycle, law=law, forward_speed=4.0)))
        assert found.stable
        for factor, stable in ((0.99, True), (1.01, False)):
            late = replace(law, delay=factor * found.delay, order=8)
            closed = linearise(bicycle, draisine.state(bicycle, forward_speed=4.0), law=late)
            assert bool(closed.eigenvalues().real.max() < 1e-9) is stable

    def test_the_gain_margins_are_where_gains_destabilise(self, bicycle):
        law = SteerIntoLean(lean_gain=0.0, rate_gain=12.0, damping=1.0)
        found = margins(open_loop(steady(bicycle, law=law, forward_speed=4.0)))
        assert 0.0 < found.gain_low < 1.0
        for factor, stable in ((1.01, True), (0.99, False)):
            k = factor * found.gain_low
            weak = SteerIntoLean(0.0, k * 12.0, k * 1.0)
            closed = linearise(bicycle, draisine.state(bicycle, forward_speed=4.0), law=weak)
            assert bool(closed.eigenvalues().real.max() < 1e-9) is stable

    def test_many_inputs_are_refused(self, bicycle):
        whole = linearise(bicycle, draisine.state(bicycle, forward_speed=5.0))
        with pytest.raises(ParameterError, match="3 inputs"):
            margins(whole)

    def test_it_prints_decibels_and_degrees(self):
        text = str(margins(make_single_loop(np.zeros((1, 1)), np.ones(1), np.ones(1))))
        assert "phase margin 90.0 deg" in text
        assert "crossovers at 1 rad/s" in text


class TestOpenLoop:
    def test_closing_the_loop_is_the_closed_loop(self, bicycle):
        """det(1 + L) vanishes at the eigenvalues of the closed loop: A - B C has them."""
        law = SteerIntoLean(lean_gain=5.0, rate_gain=12.0, delay=0.1)
        motion = steady(bicycle, law=law, forward_speed=4.0)
        loop = open_loop(motion)
        closed = np.linalg.eigvals(loop.A - loop.B @ loop.C)
        expected = motion.linear(cyclic=True).eigenvalues()
        assert_allclose(np.sort_complex(closed), np.sort_complex(expected), atol=1e-5)

    def test_the_return_is_that_of_the_law(self, bicycle):
        """L = -(law's gains) (s - A)^-1 B, here with the gains by themselves."""
        law = SteerIntoLean(lean_gain=5.0, rate_gain=12.0)
        loop = open_loop(steady(bicycle, law=law, forward_speed=4.0))
        plant = linearise(
            bicycle, draisine.state(bicycle, forward_speed=4.0), outputs=["lean", "lean_rate"]
        ).part(["steer"])
        omega = np.array([0.5, 3.0, 20.0])
        expected = plant.response(omega)[:, :, 0] @ [5.0, 12.0]
        assert_allclose(loop.response(omega)[:, 0, 0], expected, rtol=1e-8)

    def test_a_rider_in_a_circle(self, bicycle):
        law = follow_path(bicycle, 0.05, 5.0, delay=0.2)
        turn = steady(bicycle, law=law, forward_speed=5.0)
        loop = open_loop(turn)
        closed = np.linalg.eigvals(loop.A - loop.B @ loop.C)
        expected = turn.linear(cyclic=True).eigenvalues()
        # Place and wheel angles are a chain of zeros, which round-off splits.
        closed, expected = (x[np.abs(x) > 0.1] for x in (closed, expected))
        assert_allclose(np.sort_complex(closed), np.sort_complex(expected), rtol=1e-5)

    def test_laws_of_two_inputs_are_refused(self, bicycle):
        law = balance(bicycle, costs={"steer": 1.0, "rear_wheel": 1.0}, forward_speed=4.0)
        both = CombinedLaws((law, SteerIntoLean(0.0, 1.0)))
        with pytest.raises(ConfigurationError, match="other inputs"):
            open_loop(steady(bicycle, law=both, forward_speed=4.0))

    def test_a_motion_without_law_is_refused(self, bicycle):
        with pytest.raises(ParameterError, match="no law"):
            open_loop(steady(bicycle, forward_speed=4.0))


class TestNestedLoops:
    @pytest.mark.parametrize("speed", PUBLISHED)
    def test_the_published_gains_cross_over_where_published(self, bicycle, speed):
        """Lean at 2 rad/s, heading at 1, path at 0.5, to the four digits of the gains."""
        loops = nested_loops(bicycle, LoopRider(*PUBLISHED[speed]), speed)
        assert tuple(loops) == LOOPS
        for name, frequency in CROSSOVERS.items():
            gain = abs(complex(loops[name].response(frequency)[0, 0, 0]))
            assert gain == pytest.approx(1.0, abs=0.01)

    @pytest.mark.parametrize(("name", "speed"), REAL)
    def test_published_gains_of_real_bicycles_cross_over_where_published(self, name, speed):
        """To the two or three digits of these gains."""
        machine = draisine.compile("whipple", parameter_set=name)
        loops = nested_loops(machine, LoopRider(*REAL[name, speed]), speed)
        for loop, frequency in CROSSOVERS.items():
            assert margins(loops[loop]).stable
            gain = abs(complex(loops[loop].response(frequency)[0, 0, 0]))
            assert gain == pytest.approx(1.0, abs=0.035)

    def test_misprints_of_published_gains(self, bicycle):
        """The row of 2.5 m/s is not of the benchmark bicycle, and two heading gains are misprints."""
        lean = nested_loops(bicycle, LoopRider(*REAL["browserins_jason", 2.5]), 2.5)["lean"]
        assert not margins(lean).stable
        for name, printed in (("browser_jason", 0.053), ("pista_jason", 0.662)):
            machine = draisine.compile("whipple", parameter_set=name)
            rider = replace(LoopRider(*REAL[name, 2.5]), heading_gain=printed)
            heading = nested_loops(machine, rider, 2.5)["heading"]
            assert abs(abs(complex(heading.response(1.0)[0, 0, 0])) - 1.0) > 0.1
            assert margins(heading).stable is (name == "browser_jason")

    def test_the_design_finds_the_published_gains(self, bicycle):
        """The companion code states its solution for the inner loops at 5 m/s to nine digits, for the
        damping ratios 0.1289 and 0.0855; the outer gains follow from the crossovers."""
        rider = design_loops(bicycle, 5.0)
        assert rider.steer_gain == pytest.approx(4.65520391e1, rel=1e-7)
        assert rider.rate_gain == pytest.approx(-5.21602768e-2, rel=1e-7)
        outer = [rider.lean_gain, rider.heading_gain, rider.lateral_gain]
        assert_allclose(outer, PUBLISHED[5.0][2:], rtol=2e-3)

    def test_designed_loops_have_the_requested_crossovers(self, bicycle):
        wanted = {"lean": 1.8, "heading": 0.8, "path": 0.3}
        loops = nested_loops(bicycle, design_loops(bicycle, 6.0, wanted), 6.0)
        for name, frequency in wanted.items():
            found = margins(loops[name])
            assert found.stable
            assert found.crossovers[-1] == pytest.approx(frequency, rel=1e-9)

    def test_a_heading_is_kept_without_a_path(self, bicycle):
        rider = design_loops(bicycle, 5.0, {"lean": 2.0, "heading": 1.0})
        assert rider.lateral_gain == 0.0
        assert tuple(nested_loops(bicycle, rider, 5.0)) == LOOPS[:4]

    def test_impossible_loops_are_refused(self, bicycle):
        with pytest.raises(ParameterError, match="no loop"):
            design_loops(bicycle, 5.0, {"roll": 2.0})
        with pytest.raises(ConfigurationError, match="damping ratio"):
            design_loops(bicycle, 5.0, damping={"steer": 2.0})
        with pytest.raises(ConfigurationError, match="unstable"):
            design_loops(bicycle, 5.0, {"lean": 2.0, "heading": 3.5, "path": 3.0})


class TestStableSpeeds:
    def test_the_passive_range_is_the_published_one(self, bicycle):
        """A rider without torque: 4.292382536 to 6.024262015 m/s, Meijaard et al. 2007,
        doi:10.1098/rspa.2007.1857."""
        found = stable_speeds(bicycle, SteerIntoLean(0.0, 0.0), 4.0, 7.0)
        assert_allclose(found, [4.292382536, 6.024262015], atol=1e-8)

    def test_a_rider_reports_his_range(self, bicycle):
        rider = follow_path(bicycle, lambda x: 0.0 * x, 5.0, delay=0.2)
        low, high = stable_speeds(bicycle, rider)
        assert low < 5.0 < high
        for speed in (low, high):
            closed = linearise(
                bicycle, draisine.state(bicycle, forward_speed=speed), law=rider.on(0.0)
            )
            assert_allclose(closed.eigenvalues().real.max(), 0.0, atol=1e-6)

    def test_a_rider_who_falls_is_refused(self, bicycle):
        with pytest.raises(ConfigurationError, match="unstable at 2 m/s"):
            stable_speeds(bicycle, SteerIntoLean(0.0, 0.0), 1.0, 3.0)
