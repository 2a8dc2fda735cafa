// The game in the browser. The server draws the course and checks the flight; points shown here are only a preview.

const ROW_POINTS = 10;
const STAR_POINTS = 25;
const VISIBLE_MS = 1700;
const FALLING_STARS = 70;

const stage = document.getElementById("stage");
const canvas = document.getElementById("sky");
const score = document.getElementById("score");
const panel = document.getElementById("panel");
const told = document.getElementById("told");
const startButton = document.getElementById("start");
const pen = canvas.getContext("2d");
const colours = getComputedStyle(document.documentElement);
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const sky = Array.from({ length: FALLING_STARS }, () => ({ x: Math.random(), y: Math.random(), depth: 0.2 + Math.random() }));

let flight = null;
let size = { width: 0, height: 0 };

const colour = (name) => colours.getPropertyValue(`--${name}`).trim();

function fit() {
  const scale = window.devicePixelRatio || 1;
  size = { width: stage.clientWidth, height: stage.clientHeight };
  canvas.width = size.width * scale;
  canvas.height = size.height * scale;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
}

async function ask(url, content) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  });
  const answer = await response.json().catch(() => ({ error: "The game does not answer." }));
  if (!response.ok) throw Object.assign(new Error(answer.error ?? "The game said no."), { again: response.status === 503 });
  return answer;
}

async function takeOff() {
  startButton.disabled = true;
  try {
    const match = await ask(stage.dataset.matches, {});
    flight = { ...match, began: performance.now(), lane: 2, shown: 2, path: "", points: 0 };
    panel.hidden = true;
    score.textContent = "0";
    startButton.textContent = "Fly again";
    startButton.onclick = takeOff;
  } catch (error) {
    tell(error.message);
  } finally {
    startButton.disabled = false;
  }
}

async function land(ended) {
  flight = null;
  panel.hidden = false;
  tell("The judges look at your flight …");
  startButton.disabled = true;
  try {
    const { points, pending, standings } = await ask(ended.url, { path: ended.path });
    tell([`${points} points`, ...(pending ? ["They count in a moment."] : standings.map(standingText))].join("\n"));
  } catch (error) {
    tell(error.message);
    if (error.again) {
      startButton.textContent = "Send again";
      startButton.onclick = () => land(ended);
    }
  } finally {
    startButton.disabled = false;
    startButton.focus();
  }
}

function standingText({ window: name, rank, old_rank: old }) {
  if (old === null || old === rank) return `${name}: rank ${rank}`;
  return `${name}: rank ${rank}, ${rank < old ? "up" : "down"} from ${old}`;
}

function tell(text) {
  told.textContent = text;
}

function steer(step) {
  if (flight) flight.lane = Math.min(4, Math.max(0, flight.lane + step));
}

// Take the rows that have come to the ship; the first rock ends the flight.
function meetRows(time) {
  while (flight.path.length < flight.rows.length && flight.times_ms[flight.path.length] <= time) {
    const met = flight.rows[flight.path.length][flight.lane];
    flight.path += flight.lane;
    if (met === "#") return true;
    flight.points += ROW_POINTS + (met === "*" ? STAR_POINTS : 0);
    score.textContent = flight.points;
  }
  return flight.path.length === flight.rows.length;
}

function drawSky(time) {
  pen.clearRect(0, 0, size.width, size.height);
  pen.fillStyle = colour("faint");
  for (const { x, y, depth } of sky) {
    const fallen = calm ? y : (y + (time / 9000) * depth * (flight ? 3 : 1)) % 1;
    pen.globalAlpha = 0.15 + depth / 3;
    pen.fillRect(x * size.width, fallen * size.height, depth * 2, depth * (flight ? 6 : 2));
  }
  pen.globalAlpha = 1;
}

function drawStar(x, y, radius) {
  pen.fillStyle = colour("star");
  pen.beginPath();
  for (let point = 0; point < 10; point += 1) {
    const reach = point % 2 ? radius * 0.45 : radius;
    const angle = (point * Math.PI) / 5 - Math.PI / 2;
    pen.lineTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle));
  }
  pen.fill();
}

function drawRock(x, y, radius, turn) {
  pen.fillStyle = colour("rock");
  pen.beginPath();
  for (let corner = 0; corner < 7; corner += 1) {
    const reach = radius * (0.78 + 0.22 * Math.sin(corner * 12.9 + turn));
    const angle = turn + (corner * 2 * Math.PI) / 7;
    pen.lineTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle));
  }
  pen.fill();
}

function drawShip(x, y, radius) {
  pen.fillStyle = colour("ship");
  pen.beginPath();
  pen.moveTo(x, y - radius);
  pen.lineTo(x + radius * 0.75, y + radius * 0.8);
  pen.lineTo(x, y + radius * 0.4);
  pen.lineTo(x - radius * 0.75, y + radius * 0.8);
  pen.fill();
}

function drawRows(time, place, floor, radius) {
  for (let number = flight.path.length; number < flight.rows.length; number += 1) {
    const ahead = flight.times_ms[number] - time;
    if (ahead > VISIBLE_MS) return;
    const y = floor * (1 - ahead / VISIBLE_MS);
    [...flight.rows[number]].forEach((cell, lane) => {
      if (cell === "#") drawRock(place(lane), y, radius, number + lane);
      if (cell === "*") drawStar(place(lane), y, radius * 0.8);
    });
  }
}

function frame(now) {
  requestAnimationFrame(frame);
  drawSky(now);
  const width = size.width / 5;
  const radius = Math.min(width * 0.36, 34);
  const floor = size.height - radius * 2.2;
  const place = (lane) => (lane + 0.5) * width;
  if (!flight) {
    drawShip(place(2), floor, radius);
    return;
  }
  const time = now - flight.began;
  flight.shown += (flight.lane - flight.shown) * (calm ? 1 : 0.35);
  drawRows(time, place, floor, radius);
  drawShip(place(flight.shown), floor, radius);
  if (meetRows(time)) land(flight);
}

document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, a: -1, ArrowRight: 1, d: 1 }[event.key];
  if (step === undefined || !flight) return;
  event.preventDefault();
  steer(step);
});
stage.addEventListener("pointerdown", (event) => {
  const { left, width } = stage.getBoundingClientRect();
  if (flight) steer(event.clientX - left < width / 2 ? -1 : 1);
});
if (startButton) startButton.onclick = takeOff;
new ResizeObserver(fit).observe(stage);
fit();
requestAnimationFrame(frame);
