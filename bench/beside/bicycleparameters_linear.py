"""BicycleParameters: eigenvalues of the linear equations of Meijaard et al. (2007)."""

from bicycleparameters.models import Meijaard2007Model, sort_eigenmodes
from bicycleparameters.parameter_sets import Meijaard2007ParameterSet

MODULE, NAME = "bicycleparameters", "BicycleParameters"
NOTE = "linear equations; includes data of measured bicycles and a web application"


def prepare(work):
    """Return its jobs."""
    model = Meijaard2007Model(Meijaard2007ParameterSet({**work.parameters, "v": 0.0}, True))
    return {"eigenvalues": lambda: sort_eigenmodes(*model.calc_eigen(v=work.speeds))}
