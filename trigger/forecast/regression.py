"""Recursive least squares, for many groups at once: weights that follow the newest data.

Source: the standard recursion with forgetting, for instance Ljung, System Identification, section 11.2. The trace of
the covariance is bounded, since in a quiet time forgetting alone would let it grow without end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collector.samples import Bools, Floats
from trigger.forecast.arrays import added, constant, every

_FORGETTING = constant(0.9999)
_GROWTH = constant(1.0 / 0.9999)
"""Of the covariance at each step."""
_MOST_TRACE = 1e4
"""For each feature."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regression:
    """A linear model for each column."""

    weights: Floats
    """(feature, column)."""
    covariance: Floats
    """(feature, feature, column)."""

    @classmethod
    def new(cls, weights: Floats, variances: Floats) -> Regression:
        """Begin with these weights, (feature, column), and variances of each, (feature,)."""
        covariance = np.broadcast_to(np.diag(variances)[:, :, None], (len(variances), *weights.shape))
        return cls(weights=weights, covariance=covariance.copy())

    def predict(self, features: Floats) -> Floats:
        """Return the weighted sum of (feature, column) features: (column,)."""
        return added(self.weights * features, 0)

    def learn(self, features: Floats, error: Floats, weight: Floats | float, known: Bools) -> Regression:
        """Return the model after one observation a column.

        Args:
            features: (feature, column).
            error: (column,) observed minus predicted.
            weight: (column,) how much the observation counts; above 0.
            known: (column,) False: there is no observation, and the column stays as it is.
        """
        along = added(self.covariance * features, 1)
        gain = along / (_FORGETTING / weight + added(along * features, 0))
        if not every(known):
            gain = np.where(known, gain, 0.0)
        covariance = gain[:, None] * along
        np.subtract(self.covariance, covariance, out=covariance)  # of many groups this is large: no further copy
        trace = added(covariance.reshape(len(features) ** 2, -1)[:: len(features) + 1], 0)
        forget = known & (trace <= _MOST_TRACE * len(features))
        covariance *= _GROWTH if every(forget) else np.where(forget, _GROWTH, 1.0)
        return Regression(weights=self.weights + gain * error, covariance=covariance)
