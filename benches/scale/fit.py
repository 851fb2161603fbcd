"""Power laws."""

import math


def exponent(xs, ys):
    """The b of a · x^b that is nearest to the points, by least squares of logarithms."""
    xs, ys = [math.log(x) for x in xs], [math.log(y) for y in ys]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys))
    return covariance / sum((x - mean_x) ** 2 for x in xs)
