"""Frames in, matplotlib figures out; nothing here touches a display or a global setting."""

from p0sim.report.consistency_figure import plot_consistency
from p0sim.report.coverage_figure import plot_coverage
from p0sim.report.est_se_figure import plot_est_se
from p0sim.report.mean_figure import plot_mean
from p0sim.report.nested_figure import plot_nested
from p0sim.report.qq_figure import plot_qq
from p0sim.report.selection import slices, with_factors
from p0sim.report.style import save_figure
from p0sim.report.utility_figure import plot_privacy_utility
from p0sim.report.zipper_figure import plot_zipper

__all__ = [
    "plot_consistency",
    "plot_coverage",
    "plot_est_se",
    "plot_mean",
    "plot_nested",
    "plot_privacy_utility",
    "plot_qq",
    "plot_zipper",
    "save_figure",
    "slices",
    "with_factors",
]
