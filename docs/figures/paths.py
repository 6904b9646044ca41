"""Draw the pictures of the first page: `python docs/figures/paths.py`."""

from pathlib import Path

import draisine

for name in ("passive-stabilisation", "ramp-jump"):
    picture = Path(__file__).with_name(f"{name}.png")
    draisine.plot(draisine.run(f"mauny2018/{name}"), "path", picture)
