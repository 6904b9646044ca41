"""Interactive riding in the browser.

In the order of the data:

- `limits`: closed-form limits of acceleration and braking, at which a wheel lifts off.
- `presets`: predefined rides and tasks from `presets.toml`, and the texts of the page in four languages.
- `machine`: the vehicle of a ride with rider and disturbing force, and its stability against speed.
- `own_rate`: integration of the user's own equations of motion.
- `session`: simulation of a ride, from the user's commands to frames for the page.
- `record`: the recorded inputs of a ride. `repeat`: repetition of a record, and conversion to a dataset.
- `server`: web server with one page and one WebSocket, on this computer only. `serve` runs its process.
- `variants`: the bicycles of an exported page. `export`: a page without a server. `minify`: shorter code.
- `page/`: the page as ES modules, for example `words.js` (texts), `tasks.js` (assessment of tasks),
  `webgl.js` (3D drawing), `local.js` (simulation without a server) and `main.js` (start and main loop).
"""
