"""Draw the pictures of the first page: `python docs/figures/paths.py`."""

from pathlib import Path

import draisine

for name, figure in (("passive-stabilisation", "motion"), ("ramp-jump", "path")):
    picture = Path(__file__).with_name(f"{name}.png")
    draisine.plot(draisine.run(f"mauny2018/{name}"), figure, picture)
