"""Pipeline-parallel training of neural networks on one machine, by libmillrace.

A Job is what to train, given as a dict of the groups and keys of a configuration or by such a file; a Training trains
it. All of the
training is the library's: this package passes values to it and arrays from it.
"""

from ._library import Error, version
from .job import Job, inspect, plan
from .model import Model
from .predictor import Predictor, load
from .training import Evaluation, Step, Training

__all__ = ["Error", "Evaluation", "Job", "Model", "Predictor", "Step", "Training", "inspect", "load", "plan", "version"]
