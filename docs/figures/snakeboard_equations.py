"""The page of equations that the README shows: `python docs/figures/snakeboard_equations.py`.

Needs pdflatex and pdftoppm.
"""

import subprocess
import tempfile
from pathlib import Path

import draisine

HERE = Path(__file__).parent

with tempfile.TemporaryDirectory() as folder:
    draisine.compile("snakeboard").equations().save(Path(folder) / "page.tex")
    command = ["pdflatex", "-interaction=nonstopmode", "page.tex"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    picture = HERE / "snakeboard-equations"
    options = ["-r", "80", "-gray", "-png", "-singlefile"]
    subprocess.run(["pdftoppm", *options, str(Path(folder) / "page.pdf"), str(picture)], check=True)
