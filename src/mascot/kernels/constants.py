"""Constants of the method. `native/constants.h` has the same values for C; a test compares the two."""

from __future__ import annotations

import math

TIE = 1e-10  # gains closer than this share of the query's scale are equal
CUTOFF = 0.01  # memberships below this are zero
REACH = math.sqrt(2 * math.log(1 / CUTOFF))  # widths at which a bump falls to the cutoff
SCALE = 8.0  # self-scaled width: root-mean-square distance between two rows, divided by this
SPACING = 1.5  # distance between self-scaled bin centres, in widths; bumps then sum to a flat field
MARGIN = 3  # bins beyond the outermost rows of a self-scaled axis, so that every row keeps its whole bump
OUTLIER = 1 + math.sqrt(5)  # deviations; its square is irrational, so no row of whole numbers lies exactly there
ROUNDS = 3  # passes of the outlier search
LEAST = 1e-13  # share of the deviation of all rows below which the inliers count as equal, and every row is an inlier
BEYOND = 12.0  # widths from the outermost inlier to the position of outliers on an axis
EARTH_KM = 6371.0088
SMALLEST_KM = 0.05  # least self-scaled width on the globe: consumer GPS cannot separate closer points
EPSILON = 1e-8  # added to the range of scores when they are rescaled to 0..1
FENCE = 10.0  # a gap of so many ranges of the next scores makes one or two scores outliers
RIVALS = 3  # candidates for each place of a page whose scores are the range of relevance
FEW = 4  # with fewer candidates no score is an outlier
NOTHING = 1e-100  # coverage below this counts as none
NOVELTY = 1.5  # worth of a vector that is unlike all results, in relevance of the best result
COPY_TOLERANCE = 1e-6  # subtracted from thresholds of similarity: float32 rounds vectors by about as much
LEADERS = 24  # most relevant candidates among which a focus looks for further starts
ALIKE = 0.5 - 1e-10  # share of bins in common from which two candidates lie in the same area
LABEL_PRICE = 0.35  # worth of a new label, in relevance of the best result
FOCUS_PRICE = 1.25  # cost of a new bin under a focus, in the same unit; a spread earns 1
EXCESS = 1000  # the cost of a result beyond a limit; a result beyond or below a share costs 1
SWAPS = 100  # that improve a plan
FEW_SWAPS = 2  # that make room for a pick
TENURE = 7  # steps in which a swap is not undone
RETRIES = 8  # further passes of a page that rules on places cut short
