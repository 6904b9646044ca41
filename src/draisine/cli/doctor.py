"""`draisine doctor`."""

from draisine.cli._options import Json
from draisine.cli._screen import entry_table, open_console, print_json

EXTRAS = {
    "ride": ("starlette", "uvicorn", "websockets"),
    "symbolic": ("sympy",),
    "jax": ("jax",),
    "casadi": ("casadi",),
    "control": ("control",),
    "gymnasium": ("gymnasium",),
    "fmi": ("ziglang",),
    "store": ("zarr",),
    "dask": ("distributed",),
    "notebook": ("ipywidgets", "jupyterlab"),
    "meshes": ("trimesh",),
}
"""What optional parts need; `pip install 'draisine[NAME]'` brings it."""


def doctor(*, json: Json = False) -> None:
    """Tell versions, CPU, cache, compiler, browser, and what is missing for what."""
    found = {"versions": _versions(), "machine": _machine(), "programs": _programs()}
    found["extras"] = {
        name: "there" if not missing else f"missing; pip install 'draisine[{name}]' brings it"
        for name, missing in ((n, _missing(parts)) for n, parts in EXTRAS.items())
    }
    if json:
        print_json(found)
        return
    console = open_console()
    for heading, entries in found.items():
        console.print(f"[bold]{heading}[/bold]")
        console.print(entry_table(entries))


def _versions() -> dict[str, str]:
    """Return the versions of Python, of draisine and of what it always needs."""
    import platform
    import re
    from importlib.metadata import requires, version

    needed = [x for x in requires("draisine") or [] if "extra ==" not in x]
    names = [re.split(r"[^\w.-]", x)[0] for x in needed]
    own = {"python": platform.python_version(), "draisine": version("draisine")}
    return own | {name: version(name) for name in sorted(names, key=str.lower)}


def _machine() -> dict[str, str]:
    """Return the system, the CPU for which code is compiled, and the state of the cache."""
    import os
    import platform

    from llvmlite import binding

    from draisine.codegen.cache import Store

    store = Store()
    store.put("doctor", b"")
    kept = "cannot be written; nothing is kept"
    if store.get("doctor") is not None:
        kept = "kept"
        (store.folder / "doctor").unlink()
    return {
        "system": platform.platform(),
        "cpu": f"{binding.get_host_cpu_name()}, {os.cpu_count()} threads",
        "cache": f"{store.folder}: {kept}",
    }


def _programs() -> dict[str, str]:
    """Return the programs that some commands use, or what is missing without them."""
    import shutil
    import webbrowser

    compilers = [path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))]
    try:
        browser = webbrowser.get().__class__.__name__
    except webbrowser.Error:
        browser = "none found; open the address that `draisine ride` prints, or pages, yourself"
    return {
        "c compiler": compilers[0] if compilers else "none found; only printed C code needs one",
        "ffmpeg": shutil.which("ffmpeg") or "none found; films can be .gif or .html, not .mp4",
        "browser": browser,
    }


def _missing(modules: tuple[str, ...]) -> list[str]:
    """Return the modules that cannot be imported here."""
    from importlib.util import find_spec

    return [name for name in modules if find_spec(name) is None]
