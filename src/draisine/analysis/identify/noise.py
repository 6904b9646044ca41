"""Noise of recordings: first-order autoregressive, estimated by restricted maximum likelihood.

Residuals e of one recording have the covariance `V_ij = s^2 phi^|i - j|`, eq. [autoregressive-noise]. All
recordings of an output share phi: they come from one instrument. Innovations
`(e_i - phi e_(i-1)) / (s sqrt(1 - phi^2))` are independent with unit variance.

Residuals of a fit are less correlated than the noise, because the fit follows the noise. The restricted
likelihood (Patterson and Thompson 1971, doi:10.1093/biomet/58.3.545) corrects this to first order:

    -2 log L = log |V| + log |J' V^-1 J| + e' V^-1 e,    e = residuals after the best linear correction.

The fit itself is by weighted least squares, not by generalised ones: if the model is imperfect, residuals
are smooth, phi is nearly 1, and least squares of innovations would leave large residuals. The
covariance of the unknowns takes the correlation into account, eq. [identification], as Morelli and Klein
1995, doi:10.2514/6.1995-3499, do for flight tests. Weights are those of effective samples: s of a channel
times sqrt((1 + phi) / (1 - phi)).

The degrees of freedom of each unknown follow from the uncertainty of its variance C by Satterthwaite's
formula `2 C^2 / var C` (1946, doi:10.2307/3002019). For one white recording they are the number of
samples less that of unknowns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats

# Largest correlation of successive samples. Beyond it, the noise cannot be distinguished from an
# offset.
MAX_CORRELATION = 0.999
# Smallest standard deviation of the noise, in units of the residuals; integration errors are about
# 1e-8.
MIN_SCALE = 1e-9
# Step of central differences in the noise coefficients log s and artanh phi; the error of a
# difference is its square, 1e-6.
LIKELIHOOD_STEP = 1e-3
# Smallest second derivative of the deviance that is accepted; usual values are twice the number of
# samples.
MIN_CURVATURE = 1e-3
# Largest number of Newton steps that maximise the likelihood; from moment estimates fewer than 10
# are needed.
MAX_LIKELIHOOD_STEPS = 50
# The Newton iteration in log s and artanh phi has converged below this step; the standard error of
# both with n samples is about n^-1/2.
NEWTON_CONVERGED = 1e-5


@dataclass(frozen=True, eq=False)
class SampleBlock:
    """Index range and sampling of one recording in the vector of all residuals."""

    rows: slice
    steps: NDArray[np.int64]  # sampling intervals between successive samples; larger than 1 at gaps
    channel: int


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """Covariance of all residuals as a function of the noise coefficients.

    The coefficients are log s of each scale, then artanh phi of each channel.
    """

    blocks: Sequence[SampleBlock]
    scales: Sequence[int]  # index of the noise scale of each channel
    white: bool = False  # whether the correlation phi is known to be zero

    @property
    def size(self) -> tuple[int, int]:
        """Number of scales and number of channels."""
        return max(self.scales) + 1, len(self.scales)

    @property
    def unit_coefficients(self) -> Floats:
        """Coefficients (log s = 0, artanh phi = 0) of white noise with unit deviation."""
        return np.zeros(sum(self.size))

    @property
    def coefficient_bounds(self) -> list[tuple[float, float]]:
        """Lower and upper bounds of the noise coefficients log s and artanh phi."""
        scales, channels = self.size
        low = np.log(MIN_SCALE)
        high = 0.0 if self.white else np.arctanh(MAX_CORRELATION)
        return [(low, -low)] * scales + [(-high, high)] * channels

    def correlations(self, coefficients: Floats) -> Floats:
        """Return the correlation phi of successive samples of each channel, (channels,)."""
        return np.tanh(coefficients[self.size[0] :])

    def deviations(self, coefficients: Floats) -> Floats:
        """Return the standard deviation s of each channel in the unit of its residuals,
        (channels,).
        """
        return np.exp(coefficients[list(self.scales)])

    def effective_deviations(self, coefficients: Floats) -> Floats:
        """Return the deviation of white noise that would determine slow signals equally well,
        (channels,).
        """
        phi = self.correlations(coefficients)
        return self.deviations(coefficients) * np.sqrt((1.0 + phi) / (1.0 - phi))

    def divide_by_deviations(self, deviations: Floats, rows: Floats) -> Floats:
        """Divide each row of an array (samples, columns) by the standard deviation of its channel."""
        out = np.empty_like(rows)
        for block in self.blocks:
            out[block.rows] = rows[block.rows] / deviations[block.channel]
        return out

    def whiten(self, coefficients: Floats, rows: Floats) -> Floats:
        """Return the innovations (uncorrelated, unit variance) of residuals (samples, columns)."""
        out = np.empty_like(rows)
        phi = self.correlations(coefficients)
        s = self.deviations(coefficients)
        for block in self.blocks:
            c = block.channel
            out[block.rows] = compute_innovations(rows[block.rows], block.steps, phi[c]) / s[c]
        return out

    def log_determinant(self, coefficients: Floats) -> float:
        """Return log |V| of the noise covariance V of all residuals."""
        phi = self.correlations(coefficients)
        s = self.deviations(coefficients)
        total = 0.0
        for block in self.blocks:
            c = block.channel
            total += 2.0 * (len(block.steps) + 1) * np.log(s[c])
            total += float(np.sum(np.log1p(-(phi[c] ** (2 * block.steps)))))
        return total


def compute_innovations(rows: Floats, steps: NDArray[np.int64], phi: float) -> Floats:
    """Return the innovations of one recording (samples, columns), scaled to the variance of its samples."""
    out = rows.copy()
    powers = phi**steps
    out[1:] -= powers[:, None] * rows[:-1]
    out[1:] /= np.sqrt(1.0 - powers**2)[:, None]
    return out


def multiply_correlated(rows: Floats, steps: NDArray[np.int64], phi: float) -> Floats:
    """Return J' R J for rows J (samples, columns) and their correlation matrix R, in linear time."""
    # Compute u_i = sum over j <= i of R_ij J_j recursively, because R_ij is a product of the
    # correlations between successive samples.
    sums = rows.copy()
    for k, power in enumerate(phi**steps):
        sums[k + 1] += power * sums[k]
    half = rows.T @ sums
    return half + half.T - rows.T @ rows


def sampling_steps(time: Floats) -> NDArray[np.int64]:
    """Return the number of sampling intervals between successive times (s), (samples - 1,).

    >>> sampling_steps(np.array([0.0, 0.1, 0.2, 0.5, 0.601]))
    array([1, 1, 3, 1])
    """
    gaps = np.diff(time)
    if not len(gaps):
        return np.zeros(0, np.int64)
    return np.maximum(1, np.rint(gaps / np.median(gaps))).astype(np.int64)


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Weighted least-squares fit, linearised at its solution: residuals, Jacobian J and prior rows.

    Only combinations of unknowns that the data or the prior determine are among the columns of J.
    """

    model: NoiseModel
    deviations: Floats  # standard deviations by which the fit divides the residuals, (channels,)
    residuals: Floats  # residuals at the solution, (samples,)
    # Derivatives of the residuals by the determined combinations of unknowns, (samples,
    # combinations)
    jacobian: Floats
    # Whitened derivatives of the prior's residuals; the last column contains these residuals,
    # (residuals, combinations + 1)
    prior: Floats
    basis: Floats  # determined combinations of unknowns as columns, (unknowns, combinations)

    def triangular_factor(self, coefficients: Floats) -> Floats:
        """Return the triangular QR factor of the whitened [J, e], including the rows of the prior."""
        rows = np.column_stack([self.jacobian, self.residuals])
        stacked = np.vstack([self.model.whiten(coefficients, rows), self.prior])
        return np.asarray(np.linalg.qr(stacked, mode="r"))

    def deviance(self, coefficients: Floats) -> float:
        """Return the deviance, -2 log of the restricted likelihood up to a constant."""
        R = self.triangular_factor(coefficients)
        k = self.jacobian.shape[1]
        information = 2.0 * float(np.sum(np.log(np.abs(np.diag(R)[:k]))))
        # With fewer residuals than unknowns the fit is exact, so that the residuals vanish.
        squares = float(R[k, k] ** 2) if len(R) > k else 0.0
        return self.model.log_determinant(coefficients) + information + squares

    def covariance(self, coefficients: Floats) -> Floats:
        """Return the covariance of the unknowns (unknowns, unknowns) for correlated noise and the
        fit's weights.
        """
        J = self.model.divide_by_deviations(self.deviations, self.jacobian)
        prior = self.prior[:, :-1]
        R = np.linalg.qr(np.vstack([J, prior]), mode="r")
        phi = self.model.correlations(coefficients)
        ratio = self.model.deviations(coefficients) / self.deviations
        middle = prior.T @ prior
        for block in self.model.blocks:
            c = block.channel
            middle += ratio[c] ** 2 * multiply_correlated(J[block.rows], block.steps, phi[c])
        half = self.basis @ np.linalg.inv(R) @ np.linalg.inv(R).T
        return half @ middle @ half.T

    def estimate_noise(self) -> Floats:
        """Return the noise coefficients that maximise the restricted likelihood, by Newton's
        method.
        """
        low, high = np.array(self.model.coefficient_bounds).T
        coefficients = np.clip(self._estimate_moments(), low, high)
        for _ in range(MAX_LIKELIHOOD_STEPS):
            value, slope, hessian = self._expand_deviance(coefficients)
            # A coefficient at its bound keeps its value if the likelihood grows beyond the bound.
            free = ~(
                ((coefficients <= low) & (slope > 0.0)) | ((coefficients >= high) & (slope < 0.0))
            )
            values, vectors = np.linalg.eigh(hessian[np.ix_(free, free)])
            curvature = np.maximum(np.abs(values), MIN_CURVATURE)
            step = np.zeros(len(coefficients))
            step[free] = -vectors @ (vectors.T @ slope[free] / curvature)
            step /= max(1.0, float(np.abs(step).max()))
            while (
                self.deviance(np.clip(coefficients + step, low, high)) > value
                and np.abs(step).max() > 1e-9
            ):
                step /= 2.0
            coefficients = np.clip(coefficients + step, low, high)
            if np.abs(step).max() < NEWTON_CONVERGED:
                break
        return coefficients

    def _estimate_moments(self) -> Floats:
        """Return moment estimates of the noise coefficients: RMS residual, and phi from
        Durbin-Watson.
        """
        model = self.model
        scales, channels = model.size
        squares = [np.zeros(0)] * scales
        pairs: list[list[tuple[Floats, NDArray[np.int64]]]] = [[] for _ in range(channels)]
        for block in model.blocks:
            e = self.residuals[block.rows]
            g = model.scales[block.channel]
            squares[g] = np.append(squares[g], e**2)
            pairs[block.channel].append((e, block.steps))
        phi = np.clip(
            1.0 - 0.5 * np.array([durbin_watson_statistic(each) for each in pairs]), -0.9, 0.9
        )
        variances = np.array([np.mean(each) for each in squares])
        return np.append(
            0.5 * np.log(np.maximum(variances, MIN_SCALE**2)), np.arctanh(np.nan_to_num(phi))
        )

    def _expand_deviance(self, coefficients: Floats) -> tuple[float, Floats, Floats]:
        """Return the deviance, its gradient and its Hessian by central differences."""
        h = LIKELIHOOD_STEP
        units = h * np.eye(len(coefficients))
        value = self.deviance(coefficients)
        plus = np.array([self.deviance(coefficients + u) for u in units])
        minus = np.array([self.deviance(coefficients - u) for u in units])
        hessian = np.diag(plus - 2.0 * value + minus)
        for a in range(len(coefficients)):
            for b in range(a):
                both = self.deviance(coefficients + units[a] + units[b])
                both += self.deviance(coefficients - units[a] - units[b])
                single = plus[a] + minus[a] + plus[b] + minus[b]
                hessian[a, b] = hessian[b, a] = 0.5 * (both - single) + value
        return value, (plus - minus) / (2.0 * h), hessian / h**2

    def degrees_of_freedom(self, coefficients: Floats) -> Floats:
        """Return Satterthwaite's degrees of freedom of each unknown, (unknowns,)."""
        low, high = np.array(self.model.coefficient_bounds).T
        # A coefficient at its bound is fixed, so that it contributes no uncertainty.
        inside = (coefficients > low) & (coefficients < high)
        steps = LIKELIHOOD_STEP * np.eye(len(coefficients))[inside]
        variance = np.diag(self.covariance(coefficients))
        slopes = np.zeros((len(steps), len(variance)))
        for a, h in enumerate(steps):
            ends = self.covariance(coefficients + h) - self.covariance(coefficients - h)
            slopes[a] = np.diag(ends) / (2.0 * LIKELIHOOD_STEP)
        # The covariance of the noise coefficients is twice the inverse Hessian of the deviance.
        hessian = self._expand_deviance(coefficients)[2][np.ix_(inside, inside)]
        values, vectors = np.linalg.eigh(hessian)
        projected = vectors.T @ slopes
        spread = 2.0 * np.sum(projected.T**2 / np.maximum(values, MIN_CURVATURE), axis=1)
        with np.errstate(divide="ignore"):
            return np.maximum(1.0, 2.0 * variance**2 / spread)


def durbin_watson_statistic(blocks: Sequence[tuple[Floats, NDArray[np.int64]]]) -> float:
    """Return the Durbin-Watson statistic: sum of squared successive differences over sum of
    squares.

    The blocks are pairs of residuals (samples,) and sampling intervals between them (samples - 1,).
    The statistic is about 2 for white residuals, less for positive, more for negative correlation.
    Differences over gaps are left out.

    >>> alternating = np.array([1.0, -1.0, 1.0, -1.0])
    >>> float(durbin_watson_statistic([(alternating, np.array([1, 1, 1]))]))
    3.0
    """
    differences = sum(float(np.sum(np.diff(e)[steps == 1] ** 2)) for e, steps in blocks)
    squares = sum(float(np.sum(e**2)) for e, _ in blocks)
    return differences / squares if squares > 0.0 else float("nan")


def count_effective_samples(blocks: Sequence[NDArray[np.int64]], phi: float) -> float:
    """Return the number of independent samples with the same information on the mean: 1' R^-1 1.

    R is the correlation matrix of the samples.

    >>> round(count_effective_samples([np.ones(98, int)], 0.5), 6)  # 1 + 98 (1 - phi) / (1 + phi)
    33.666667
    """
    ones = [np.ones((len(steps) + 1, 1)) for steps in blocks]
    pairs = zip(ones, blocks, strict=True)
    return float(sum(np.sum(compute_innovations(rows, steps, phi) ** 2) for rows, steps in pairs))
