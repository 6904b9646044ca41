"""`draisine figure`: figures of the founding documents."""

from pathlib import Path

from draisine.cli._files import check_figure, open_file, report_written_file, unused_path
from draisine.cli._options import Json, Overwrite, Width
from draisine.cli._screen import escape_markup, open_console, print_json


def figure(
    *names: str,
    out: Path | None = None,
    folder: Path | None = None,
    list: bool = False,
    width: Width = None,
    show: bool = False,
    force: Overwrite = False,
    json: Json = False,
) -> int:
    """Compute and draw figures of the thesis, the paper and the article that draisine reproduces.

    Parameters
    ----------
    names
        Document and number of figures: mauny2018/4.28; or a document for all of its figures: mauny2017.
    out
        Output file of one figure (.png, .jpg, .svg, .pdf). Default: mauny2018-4.28.png.
    folder
        Folder of the output files, created if it does not exist. Default: the current one.
    list
        List all figures with their scenarios and what differs from print.
    show
        Open the figures.
    """
    from draisine.errors import ParameterError
    from draisine.view.documents import document_figures, draw_document_figure

    records = {record.name: record for record in document_figures()}
    if list:
        if json:
            print_json({name: vars(record) for name, record in records.items()})
        else:
            _print_figure_table()
        return 0
    if not names:
        raise ParameterError(
            "Name a figure (draisine figure mauny2018/4.28) or a document (draisine figure mauny2017). "
            "`draisine figure --list` lists all figures."
        )
    chosen = [
        name
        for given in names
        for name in ([n for n in records if n.startswith(f"{given}/")] or [given])
    ]
    if out is not None and len(chosen) > 1:
        raise ParameterError(
            f"--out {out} is one file, but {len(chosen)} figures are selected. Use --folder."
        )
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    targets = {}
    for name in chosen:
        default = (folder or Path()) / f"{name.replace('/', '-')}.png"
        targets[name] = out or unused_path(default, force)
    for target in targets.values():
        check_figure(target)
    for name, target in targets.items():
        with report_written_file("figure", target):
            draw_document_figure(name, target, width=width)
    return max(map(open_file, targets.values())) if show else 0


def _print_figure_table() -> None:
    """Print a table of the figures of all documents."""
    from rich.table import Column, Table

    from draisine.view.documents import document_figures

    table = Table(
        Column("figure", no_wrap=True),
        "shows",
        Column("scenario", no_wrap=True),
        "differs from print",
    )
    for record in document_figures():
        table.add_row(
            record.name,
            escape_markup(record.caption),
            record.scenario or record.vehicle or record.cycles.get("vehicle", "drawing"),
            escape_markup(record.differs),
        )
    open_console().print(table)
