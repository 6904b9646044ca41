"""From the ideal bicycle to a shimmying one

Real parts of weave, capsize and wobble as the benchmark bicycle becomes more real, step by step:
round tyres, tyres that slip, tyres that lag, a frame that twists, a rider whose hips give. Slip and
camber change the capsize most; the wobble comes with the lag of the tyres, and turns unstable once
the frame gives.
"""

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.vehicles import parameter_set

TYRE = {"name": "load_tyre"} | parameter_set("load_tyre", "city_bicycle")
QUICK = TYRE | {"relaxation": 0.01}
STEPS = {
    "ideal": {},
    "crown": {"crown": 0.02},
    "slip": {"rear_tyre": QUICK, "front_tyre": QUICK},
    "relaxation": {"rear_tyre": TYRE, "front_tyre": TYRE},
    "flexible frame": {"flexible": {"frame_twist": 2000.0, "frame_twist_damper": 5.0}},
    "rider": {"mU": 30.0, "torso_spring": 400.0, "torso_damper": 20.0},
}


def figure() -> Figure:
    """Return the picture."""
    picture = Figure(figsize=(7.5, 7.0), layout="constrained")
    panels = picture.subplots(3, 1, sharex=True)
    speed, given = np.linspace(1.0, 15.0, 57), {}
    for k, (name, step) in enumerate(STEPS.items()):
        given |= step
        modes = TwoWheeler(draisine.compile("whipple", **given)).eigenmodes(speed)
        for axes, mode in zip(panels, ("weave", "capsize", "wobble"), strict=True):
            if mode in modes.names:
                axes.plot(speed, modes.mode(mode).real, color=f"C{k}", label=name)
    for axes, mode in zip(panels, ("weave", "capsize", "wobble"), strict=True):
        axes.axhline(0.0, color="grey", linewidth=0.8)
        axes.set_ylabel(f"{mode} (1/s)")
        axes.set_ylim(-12.0, 6.0)
    panels[0].legend(ncols=3, fontsize="small")
    panels[-1].set_xlabel("forward speed (m/s)")
    return picture
