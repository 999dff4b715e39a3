"""Margin losses: derivatives, shape, and the condition of Theorem 2."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.rankers.losses import LOSSES, MarginLoss, get_loss, smoothed_hinge

ALL = [*LOSSES.values(), smoothed_hinge(0.5), smoothed_hinge(1e-3)]
KINKS = {"hinge": [1.0], "squared_hinge": [1.0], "smoothed hinge": [1.0, 0.5, 0.999]}
MARGINS = np.linspace(-6.0, 6.0, 1001) + 1e-4
each = pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)


def away_from_kinks(loss, step):
    near = [np.abs(MARGINS - kink) <= 2 * step for kink in KINKS.get(loss.name, [])]
    return MARGINS[~np.any(near, axis=0)] if near else MARGINS


@each
def test_derivative_is_the_slope_of_the_value(loss):
    h = 1e-6
    x = away_from_kinks(loss, h)
    slope = (loss.value(x + h) - loss.value(x - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(x), slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.curvature], ids=lambda loss: loss.name)
def test_curvature_is_the_slope_of_the_derivative(loss):
    h = 1e-6
    x = away_from_kinks(loss, h)
    slope = (loss.derivative(x + h) - loss.derivative(x - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(x), slope, rtol=1e-6, atol=1e-6)


@each
def test_losses_decrease_and_are_convex(loss):
    x = np.linspace(-8.0, 8.0, 2001)
    value, derivative = loss.value(x), loss.derivative(x)
    assert (value >= 0).all()
    assert (np.diff(value) <= 1e-12).all()
    assert (derivative <= 0).all()
    assert (np.diff(derivative) >= -1e-12).all()
    middle = loss.value((x[:-2] + x[2:]) / 2)
    assert (middle <= (value[:-2] + value[2:]) / 2 + 1e-9).all()
    if loss.curvature:
        assert (loss.curvature(x) >= 0).all()


@pytest.mark.parametrize("name", ["logistic", "hinge", "squared_hinge"])
def test_large_margins_overflow_nothing(name):
    x = np.array([-1e9, -800.0, 800.0, 1e9])
    loss = LOSSES[name]
    for function in (loss.value, loss.derivative, loss.curvature or loss.derivative):
        assert np.isfinite(function(x)).all()
    if name == "logistic":
        np.testing.assert_allclose(loss.value(x), [1e9, 800.0, 0.0, 0.0], atol=1e-300)


def test_the_hinge_values_by_hand():
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    assert LOSSES["hinge"].value(x).tolist() == [2.0, 1.0, 0.5, 0.0, 0.0]
    assert LOSSES["squared_hinge"].value(x).tolist() == [4.0, 1.0, 0.25, 0.0, 0.0]
    np.testing.assert_allclose(LOSSES["logistic"].value(x), np.log(1 + np.exp(-x)))
    np.testing.assert_allclose(LOSSES["exponential"].value(x), np.exp(-x))


@given(st.floats(1e-6, 1.0), st.floats(-5, 5))
def test_the_smoothed_hinge_is_a_maximum_and_near_the_hinge(width, x):
    slopes = np.linspace(0.0, 1.0, 2001)
    maximum = (slopes * (1 - x) - width * slopes**2 / 2).max()
    smooth = float(smoothed_hinge(width).value(np.array(x)))
    sharp = float(LOSSES["hinge"].value(np.array(x)))
    assert maximum - 1e-12 <= smooth <= maximum + 1e-6
    assert sharp - width / 2 - 1e-12 <= smooth <= sharp + 1e-12


# The condition 2 L(x/2) >= L(x) of Theorem 2 (docs/papers.md, A5).


def excess(loss, x):
    return 2 * loss.value(x / 2) - loss.value(x)


@pytest.mark.parametrize("name", ["logistic", "hinge"])
def test_the_condition_of_theorem_2_holds(name):
    x = np.linspace(-60.0, 60.0, 40001)
    assert (excess(LOSSES[name], x) >= -1e-12).all()
    assert LOSSES[name].subadditive


@pytest.mark.parametrize(("name", "threshold"), [("exponential", -2 * np.log(2)), ("squared_hinge", -np.sqrt(2))])
def test_the_condition_of_theorem_2_fails_below_a_threshold(name, threshold):
    loss = LOSSES[name]
    assert not loss.subadditive
    above = np.linspace(threshold + 1e-6, 20.0, 10001)
    below = np.linspace(threshold - 20.0, threshold - 1e-6, 10001)
    assert (excess(loss, above) >= 0).all()
    assert (excess(loss, below) < 0).all()


def test_get_loss():
    for name, loss in LOSSES.items():
        assert get_loss(name) is loss
        assert loss.name == name
    mine = MarginLoss("mine", np.exp, np.exp)
    assert get_loss(mine) is mine

    def linear(x):
        return -x, -np.ones_like(x)

    made = get_loss(linear)
    assert made.name == "linear"
    assert made.curvature is None
    assert not made.subadditive
    assert made.value(np.array([2.0])).tolist() == [-2.0]
    assert made.derivative(np.array([2.0])).tolist() == [-1.0]


def test_an_unknown_loss_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown loss 'hing'") as raised:
        get_loss("hing")
    for name in LOSSES:
        assert name in str(raised.value)
    with pytest.raises(ValueError, match="got int"):
        get_loss(3)
