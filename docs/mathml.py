"""Formulas as MathML, made when the documentation is built: pages need no script and no network."""

import re
from html import escape
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert


def mathml(latex: str, display: str) -> str:
    """Return a formula of LaTeX as MathML, `display` being inline or block; what it was stays with it
    as its annotation.
    """
    text = re.sub(
        r"\\begin\{(align|gather|equation)\*?\}|\\end\{(align|gather|equation)\*?\}", "", latex
    )
    structured = re.search(r"\\begin\{(aligned|gathered|\w*matrix|array|cases)\}", text)
    if display == "block" and (r"\\" in text or "&" in text) and not structured:
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    text = re.sub(r"\\(begin|end)\{aligned\}", r"\\\1{align*}", text)  # the converter knows these
    text = text.replace(r"\begin{gathered}", r"\begin{array}{c}").replace("{gathered}", "{array}")
    text = re.sub(r"\\begin\{(\w*matrix)\}.*?\\end\{\1\}", r"{\g<0>}", text, flags=re.DOTALL)
    made = convert(text.strip(), display=display)
    if "<mi>&</mi>" in made or 'linebreak="newline"' in made or not _whole(made):
        raise ValueError(f"the converter does not understand: {latex}")
    note = f'<annotation encoding="application/x-tex">{escape(latex.strip())}</annotation>'
    inside = re.sub(r"^<math[^>]*>|</math>$", "", made)
    head = re.match(r"<math[^>]*>", made)
    assert head is not None
    return f"{head[0]}<semantics>{inside}{note}</semantics></math>"


PARTS = {"msup": 2, "msub": 2, "mfrac": 2, "mover": 2, "munder": 2, "msubsup": 3, "munderover": 3}


def _whole(made: str) -> bool:
    """Return whether every element of MathML has as many parts as it must."""
    root = ElementTree.fromstring(made)
    return all(len(x) == PARTS.get(x.tag.partition("}")[2], len(x)) for x in root.iter())


def write_inline(writer: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def write_block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on its own, with the number by which it is cited."""
    writer.body.append(writer.starttag(node, "div", CLASS="math-block"))
    if node.get("number"):
        number = writer.builder.env.config.math_eqref_format.format(number=node["number"])
        writer.body.append(f'<span class="eqno">{escape(number)}')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    writer.body.append(mathml(node.astext(), "block"))
    writer.body.append("</div>")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Make it the way in which formulas are written."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
