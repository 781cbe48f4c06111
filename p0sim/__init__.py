"""Simulation and inference for weighted p0 networks released under edge differential privacy."""

from importlib import import_module as _import_module
from typing import Any as _Any

__version__ = "0.1.0"

_HOMES = {
    "BiDegree": "model.bidegree",
    "CannotWriteError": "errors",
    "FlippedBiDegree": "privacy.edge_flip",
    "Graph": "linkpred.graphs",
    "InvalidNetworkError": "errors",
    "InvalidParametersError": "errors",
    "InvalidPrivacyError": "errors",
    "InvalidStudyError": "errors",
    "Network": "model.networks",
    "NoEstimateError": "errors",
    "NoisyBiDegree": "privacy.noisy_bidegree",
    "NotConvergedError": "errors",
    "P0Model": "model.p0",
    "P0Results": "inference.results",
    "P0SimError": "errors",
    "Recommendation": "linkpred.ranking",
    "Release": "privacy.release",
    "Study": "studies.study",
    "StudyMismatchError": "errors",
    "StudyResults": "studies.results",
    "as_graph": "linkpred.graphs",
    "as_network": "model.networks",
    "bidegree": "model.networks",
    "denoise": "estimate.denoise",
    "describe_graphs": "datasets",
    "describe_networks": "datasets",
    "existence": "estimate.existence",
    "explore": "experiments.exploration",
    "extend_study": "studies.study",
    "fit": "inference.results",
    "linear_design": "model.p0",
    "load_graph": "datasets",
    "load_network": "datasets",
    "merge_studies": "studies.merging",
    "open_study": "studies.results",
    "plot_degrees": "studies.fit_plots",
    "plot_exploration": "studies.fit_plots",
    "plot_intervals": "studies.fit_plots",
    "read_degrees": "privacy.release_files",
    "read_graph": "linkpred.graphs",
    "read_network": "model.edge_files",
    "read_release": "privacy.release",
    "register_protocol": "linkpred.scores",
    "recommend": "linkpred.ranking",
    "release": "privacy.release",
    "reproduce": "studies.reproduction",
    "simulate_edge_flip": "privacy.edge_flip",
    "simulate_release": "privacy.simulate",
    "summarise": "performance.summarise",
}

__all__ = sorted([*_HOMES, "__version__"])


def __dir__() -> list[str]:
    return sorted(globals().keys() | _HOMES)


def __getattr__(name: str) -> _Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'p0sim' has no attribute {name!r}")
    return getattr(_import_module(f"p0sim.{_HOMES[name]}"), name)
