/** Movement: rows glide from where they were to where they are, scores count up. Nothing moves for who asked for that. */

const EASE = "cubic-bezier(0.22, 0.9, 0.24, 1)";
const COUNT_MS = 500;
const stillness = matchMedia("(prefers-reduced-motion: reduce)");
const gliding = new WeakMap();

export function isStill() {
  return stillness.matches || document.hidden;
}

/** Change the order of rows by `act`, and let each glide to its new place. */
export function glide(rows, act, { speed, enters }) {
  if (isStill()) return act();
  const before = new Map(rows().map((row) => [row, row.getBoundingClientRect().top]));
  act();
  for (const row of rows()) {
    gliding.get(row)?.cancel();
    const top = row.getBoundingClientRect().top;
    if (before.has(row)) move(row, before.get(row) - top, speed);
    else if (enters) row.animate({ opacity: [0, 1], translate: ["0 0.75rem", "0 0"] }, { duration: speed, easing: EASE });
  }
}

/** Let a removed row fade where it stood, out of the way of the others. */
export function fade(row, layer, speed) {
  if (isStill()) return row.remove();
  const [at, origin] = [row.getBoundingClientRect(), layer.getBoundingClientRect()];
  Object.assign(row.style, { top: `${at.top - origin.top}px`, width: `${at.width}px`, height: `${at.height}px` });
  layer.append(row);
  row.animate({ opacity: [1, 0], scale: [1, 0.97] }, { duration: speed, easing: "ease-out" }).onfinish = () => row.remove();
}

/** Count from one number to another. */
export function count(from, to, show) {
  if (isStill() || !Number.isFinite(from) || from === to) return show(to);
  const start = performance.now();
  const whole = Number.isInteger(from) && Number.isInteger(to);
  const step = (now) => {
    const part = Math.min(1, Math.max(0, (now - start) / COUNT_MS));
    const value = from + (to - from) * (1 - (1 - part) ** 3);
    if (show(part < 1 ? (whole ? Math.round(value) : value) : to) !== false && part < 1) requestAnimationFrame(step);
  };
  return requestAnimationFrame(step);
}

function move(row, distance, speed) {
  if (Math.abs(distance) < 1) return;
  const lift = distance > 0 ? 2 : 1; // who climbs passes in front
  const steps = { translate: [`0 ${distance}px`, "0 0"], zIndex: [lift, lift] };
  gliding.set(row, row.animate(steps, { duration: speed, easing: EASE }));
}
