// Look around by dragging with the left button or one finger; come nearer by the wheel or two fingers.
export function followGestures(element, { turn, zoom }) {
  const fingers = new Map();
  const span = () => {
    const [[a, b], [c, d]] = [...fingers.values()];
    return Math.hypot(a - c, b - d);
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button === 0) fingers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  element.addEventListener("pointermove", (event) => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    const before = fingers.size === 2 ? span() : 0;
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    if (fingers.size === 1) turn(event.clientX - last[0], event.clientY - last[1]);
    else if (before) zoom(before / Math.max(1, span()));
  });
  for (const kind of ["pointerup", "pointercancel", "pointerleave"]) element.addEventListener(kind, (event) => fingers.delete(event.pointerId));
  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(0.001 * event.deltaY));
  }, { passive: false });
}
