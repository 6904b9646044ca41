"""The build hook of the wheel: bundles what the ride's page takes from others.

`npm ci` and `npm run bundle` (esbuild) write `src/draisine/ride/page/vendor.js` with the licences
beside it. A bundle that is there is kept; without node or network the wheel is built without it,
and the page draws by its own means. Editable installs skip all this.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("src/draisine/ride/page")
COMMANDS = (
    ["npm", "ci", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=60000"],
    ["npm", "run", "bundle"],
)


class BundlePage(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the bundle into wheels and source distributions."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the bundle where there is none, if that is possible here."""
        root = Path(self.root)
        if version == "editable":
            return
        if not (root / PAGE / "vendor.js").exists():
            try:
                bundle(root)
            except (OSError, subprocess.CalledProcessError) as error:
                self.app.display_warning(f"the ride's page is built without three.js: {error}")
        for name in ("vendor.js", "vendor-licences.txt"):
            if (root / PAGE / name).exists():
                build_data["artifacts"].append(str(PAGE / name))


def bundle(root: Path) -> None:
    """Write the bundle and the licences of what is in it, from an install of its own."""
    if shutil.which("npm") is None:
        raise OSError("npm is not installed")
    for command in COMMANDS:
        subprocess.run(command, cwd=root, check=True, capture_output=True)
    names = json.loads((root / "package.json").read_text(encoding="utf-8"))["dependencies"]
    texts = [
        f"{name}\n\n{(root / 'node_modules' / name / 'LICENSE').read_text(encoding='utf-8')}"
        for name in names
    ]
    (root / PAGE / "vendor-licences.txt").write_text("\n\n".join(texts), encoding="utf-8")
