"""Compiled programs bound to parameters, and bound again to others."""

import numpy as np

import draisine
from draisine.system.compiled import Compiled


def test_rebinding_keeps_machine_code_and_recomputes_the_table():
    bicycle = draisine.compile("whipple")
    other = bicycle.with_parameters(c=0.05, lam=0.4)
    rate = bicycle.machine().rate
    again, anew = rate.rebind(other.values), Compiled(rate.native, other.values)
    assert again.address == rate.address
    assert np.array_equal(again.table, anew.table)
    assert not np.array_equal(again.table, rate.table)
    x = rate.inputs.pack(q=[1.0, 0.0, 0.0, 0.0], u=np.arange(rate.inputs.count("u")) + 1.0)
    first = rate.flat(x)
    assert np.array_equal(again.flat(x), anew.flat(x))
    assert np.array_equal(rate.flat(x), first)
