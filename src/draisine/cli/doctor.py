"""`draisine doctor`: versions, CPU, cache, and optional packages of this installation."""

from draisine.cli._options import Json
from draisine.cli._screen import make_entry_table, open_console, print_json

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
    "ros": ("rosbags",),
    "robots": ("xacro",),
}
"""Optional dependency groups (extras) of the package, and the modules that they install."""


def doctor(*, json: Json = False) -> None:
    """Print versions, CPU, cache, compiler, browser, and missing optional packages."""
    report = {
        "versions": _list_versions(),
        "machine": _describe_machine(),
        "programs": _describe_programs(),
    }
    report["extras"] = {
        name: "installed" if not missing else f"missing; pip install 'draisine[{name}]' installs it"
        for name, missing in ((n, _find_missing_modules(modules)) for n, modules in EXTRAS.items())
    }
    if json:
        print_json(report)
        return
    console = open_console()
    for heading, entries in report.items():
        console.print(f"[bold]{heading}[/bold]")
        console.print(make_entry_table(entries))


def _list_versions() -> dict[str, str]:
    """Return the versions of Python, draisine and its required packages."""
    import platform
    import re
    from importlib.metadata import requires, version

    required = [x for x in requires("draisine") or [] if "extra ==" not in x]
    names = [re.split(r"[^\w.-]", x)[0] for x in required]
    versions = {"python": platform.python_version(), "draisine": version("draisine")}
    return versions | {name: version(name) for name in sorted(names, key=str.lower)}


def _describe_machine() -> dict[str, str]:
    """Return operating system, CPU for which code is compiled, and cache folder."""
    import os
    import platform

    from llvmlite import binding

    from draisine.codegen.cache import Store

    store = Store()
    store.put("doctor", b"")
    state = "cannot be written; code is derived again in every process"
    if store.get("doctor") is not None:
        state = "writable"
        (store.folder / "doctor").unlink()
    return {
        "system": platform.platform(),
        "cpu": f"{binding.get_host_cpu_name()}, {os.cpu_count()} threads",
        "cache": f"{store.folder}: {state}",
    }


def _describe_programs() -> dict[str, str]:
    """Return the external programs that some commands use, or the consequence if they are missing."""
    import shutil
    import webbrowser

    compilers = [path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))]
    try:
        browser = webbrowser.get().__class__.__name__
    except webbrowser.Error:
        browser = "none found; open pages and the address that `draisine ride` prints yourself"
    return {
        "c compiler": compilers[0] if compilers else "none found; needed only for exported C code",
        "ffmpeg": shutil.which("ffmpeg") or "none found; animations can be .gif or .html, not .mp4",
        "browser": browser,
    }


def _find_missing_modules(modules: tuple[str, ...]) -> list[str]:
    """Return the names of the modules that are not installed."""
    from importlib.util import find_spec

    return [name for name in modules if find_spec(name) is None]
