"""Slides from a page: the documentation builds `slides.html` from `course/slides.md`.

Each rule (`---`) of the page starts a slide. The file contains its pictures and needs no network; arrow keys
turn the slides, and a browser prints one slide per page.
"""

import base64
import re
from pathlib import Path
from typing import Any

SOURCE = Path("course") / "slides.md"

HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The bicycle as a multibody system</title>
<style>
  html { scroll-snap-type: y mandatory; color: #1d1d1d; }
  html { font: 3.1vmin/1.4 system-ui, "DejaVu Sans", sans-serif; }
  body { margin: 0; }
  section { box-sizing: border-box; height: 100vh; padding: 4vmin 7vmin; scroll-snap-align: start;
    display: flex; flex-direction: column; justify-content: center; gap: 2vmin; break-after: page; }
  h2 { margin: 0; font-size: 1.6em; color: #0072b2; } p { margin: 0; } code { font-size: 1.1em; }
  img { max-width: 100%; max-height: 62vh; object-fit: contain; object-position: left; min-height: 0; }
  math[display=block] { font-size: 1.4em; text-align: left; }
  @page { size: 16in 9in; margin: 0; }
</style>
"""

KEYS = """<script>
addEventListener("keydown", (event) => {
  const forward = ["ArrowRight", "ArrowDown", "PageDown", " "].includes(event.key);
  const step = forward ? 1 : ["ArrowLeft", "ArrowUp", "PageUp"].includes(event.key) ? -1 : 0;
  if (!step) return;
  event.preventDefault();
  const slides = [...document.querySelectorAll("section")];
  const now = Math.round(scrollY / innerHeight);
  slides[Math.max(0, Math.min(slides.length - 1, now + step))].scrollIntoView();
});
</script></html>
"""


def slides(source: Path, draw: Any) -> str:
    """Return the slides of a page as one HTML file.

    `draw` returns the path of the picture that a script of the documentation draws, by the script's name.
    """
    text = source.read_text(encoding="utf-8")
    _, *parts = re.split(r"^---$", text, flags=re.M)
    made = [f"<section>\n{_slide(part, source.parent, draw)}</section>\n" for part in parts]
    return HEAD + "".join(made) + KEYS


def _slide(text: str, folder: Path, draw: Any) -> str:
    """Return one slide as HTML."""
    from markdown_it import MarkdownIt
    from mathml import mathml

    formulas: list[str] = []

    def keep(latex: str, display: str) -> str:
        formulas.append(mathml(latex, display))
        return f"\ue000{len(formulas) - 1}\ue001"

    text = re.sub(
        r"^```\{look\} ([\w/-]+)\n```$",
        lambda found: f"![]({draw(found[1])})",
        text,
        flags=re.M,
    )
    text = re.sub(r"\$\$(.+?)\$\$", lambda found: keep(found[1], "block"), text, flags=re.S)
    text = re.sub(r"\$([^$\n]+)\$", lambda found: keep(found[1], "inline"), text)
    page = MarkdownIt("commonmark").render(text)
    page = re.sub(r'<img src="([^"]+)"', lambda found: _embedded(folder / found[1]), page)
    return re.sub("\ue000(\\d+)\ue001", lambda found: formulas[int(found[1])], page)


def _embedded(picture: Path) -> str:
    """Return the beginning of an image element with the whole picture."""
    kind = "jpeg" if picture.suffix == ".jpg" else "png"
    data = base64.b64encode(picture.read_bytes()).decode("ascii")
    return f'<img src="data:image/{kind};base64,{data}"'


def write_slides(app: Any, error: Exception | None) -> None:
    """Write the slides beside the front page."""
    if error is not None or app.builder.format != "html":
        return
    pictures = Path(app.doctreedir).resolve() / "pictures"
    text = slides(Path(app.srcdir) / SOURCE, lambda name: pictures / f"{name}.png")
    (Path(app.outdir) / "slides.html").write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Connect the hook."""
    app.connect("build-finished", write_slides)
    return {"parallel_read_safe": True}
