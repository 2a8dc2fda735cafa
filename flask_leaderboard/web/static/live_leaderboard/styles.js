/** How it looks. What a page may change is a custom property that begins with `--ll-`. */

export const sheet = new CSSStyleSheet();

sheet.replaceSync(`
:host {
  --accent: var(--ll-accent, light-dark(#4b3fd8, #a99dff));
  --surface: var(--ll-surface, light-dark(#ffffff, #15161f));
  --ink: var(--ll-ink, light-dark(#16182b, #f1f1f8));
  --soft: var(--ll-soft, light-dark(#5c6078, #a2a5ba));
  --line: var(--ll-line, light-dark(#e7e8f0, #282a38));
  --up: var(--ll-up, light-dark(#0b7a4b, #4ade9b));
  --down: var(--ll-down, light-dark(#bb2d3f, #ff8b98));
  --gold: var(--ll-gold, #f6c344);
  --silver: var(--ll-silver, #c6ccd8);
  --bronze: var(--ll-bronze, #e0975c);
  --radius: var(--ll-radius, 1.25rem);
  --ahead: 90deg;
  display: block;
  color-scheme: light dark;
  min-width: 0;
  text-align: start;
}
:host([hidden]) { display: none; }
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
.hidden {
  position: absolute; width: 1px; height: 1px; margin: -1px; padding: 0;
  overflow: hidden; clip-path: inset(50%); white-space: nowrap;
}

.card {
  container: card / inline-size;
  position: relative;
  overflow: clip;
  padding: 1.35rem 1.25rem 1rem;
  border: 1px solid var(--line);
  border-radius: var(--radius);
  background: var(--surface);
  color: var(--ink);
  box-shadow: var(--ll-shadow, 0 1px 2px rgb(20 20 50 / 0.05), 0 18px 48px -20px rgb(30 25 90 / 0.22));
  font: 400 1rem/1.4 var(--ll-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif);
  -webkit-font-smoothing: antialiased;
}

.header { display: flex; align-items: flex-start; gap: 1rem; justify-content: space-between; padding: 0 0.35rem; }
.titles { min-width: 0; }
.heading { font-size: 1.45rem; font-weight: 750; letter-spacing: -0.022em; line-height: 1.15; overflow-wrap: anywhere; }
.period { min-height: 1.35em; margin-top: 0.2rem; color: var(--soft); font-size: 0.875rem; }
.header:has(+ .tabs[hidden]) .period:empty { display: none; }

.state {
  display: flex; flex: none; align-items: center; gap: 0.45rem;
  padding: 0.26rem 0.7rem 0.26rem 0.6rem;
  border-radius: 99px;
  background: color-mix(in srgb, var(--tone) 12%, transparent);
  color: color-mix(in srgb, var(--tone) 78%, var(--ink));
  font-size: 0.78rem; font-weight: 650; white-space: nowrap;
  --tone: light-dark(#8a6100, #f3c14b);
}
.state.live { --tone: light-dark(#0b7a4b, #4ade9b); }
.state.offline { --tone: var(--soft); }
.dot { width: 0.5rem; height: 0.5rem; border-radius: 50%; background: currentcolor; }
.state.live .dot { animation: pulse 2.4s ease-out infinite; }
@keyframes pulse {
  0% { box-shadow: 0 0 0 0 color-mix(in srgb, currentcolor 55%, transparent); }
  70%, 100% { box-shadow: 0 0 0 0.5rem transparent; }
}

.tabs {
  position: relative;
  display: flex; gap: 0.2rem;
  margin-top: 1rem; padding: 0.25rem;
  overflow-x: auto; scrollbar-width: none;
  border-radius: calc(var(--radius) * 0.7);
  background: color-mix(in srgb, var(--ink) 6%, transparent);
}
.tabs::-webkit-scrollbar { display: none; }
.tabs.more-before { mask: linear-gradient(90deg, transparent, #000 2.5rem); }
.tabs.more-after { mask: linear-gradient(270deg, transparent, #000 2.5rem); }
.tabs.more-before.more-after { mask: linear-gradient(90deg, transparent, #000 2.5rem calc(100% - 2.5rem), transparent); }
.tab {
  flex: 1 0 auto;
  min-height: 2.3rem; padding: 0.35rem 0.9rem;
  border: 0; border-radius: calc(var(--radius) * 0.5);
  background: none; color: var(--soft);
  font: inherit; font-size: 0.9rem; font-weight: 600; white-space: nowrap;
  cursor: pointer;
  transition: color 0.2s, background-color 0.2s, box-shadow 0.2s;
}
.tab:hover { color: var(--ink); }
.tab[aria-selected="true"] {
  background: light-dark(color-mix(in srgb, var(--surface) 100%, transparent), color-mix(in srgb, var(--ink) 14%, var(--surface)));
  color: var(--ink);
  box-shadow: 0 1px 3px rgb(20 20 50 / 0.16);
}
:is(.tab, .retry, .list):focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.tab:focus-visible { outline-offset: -2px; }

.panel { position: relative; margin-top: 0.9rem; transition: opacity 0.2s 0.15s; }
.panel[aria-busy="true"] { opacity: 0.55; }
.list { position: relative; max-height: var(--ll-max-height, none); overflow-y: auto; overflow-x: clip; scrollbar-width: thin; }
.table, .top, .pinned { display: block; border-spacing: 0; color: inherit; font: inherit; }
.leaving { position: absolute; inset: 0; pointer-events: none; }
.leaving .row { position: absolute; inset-inline-start: 0; }

.row {
  --tint: transparent;
  position: relative;
  display: grid;
  grid-template: "rank player move score" auto / 2.75rem minmax(0, 1fr) auto auto;
  align-items: center; column-gap: 0.7rem;
  min-height: 3.5rem; padding: 0.4rem 0.85rem 0.4rem 0.5rem;
  border-radius: 0.9rem;
  background: var(--surface);
  isolation: isolate;
}
.row::before {
  content: ""; position: absolute; inset: 1px 0; z-index: -1; border-radius: inherit;
  background: linear-gradient(var(--ahead), color-mix(in srgb, var(--tint) 18%, transparent), color-mix(in srgb, var(--tint) 4%, transparent));
}
.row::after {
  content: ""; position: absolute; z-index: -1;
  inset: auto 0.85rem 0.28rem 6.85rem; height: 2px; border-radius: 2px;
  background: linear-gradient(var(--ahead), transparent, var(--bar, var(--accent)));
  transform: scaleX(var(--share, 0)); transform-origin: 0 50%;
  opacity: 0.5;
  transition: transform 0.6s cubic-bezier(0.22, 0.9, 0.24, 1);
}
:host(:dir(rtl)) { --ahead: 270deg; }
:host(:dir(rtl)) .row::after { inset: auto 6.85rem 0.28rem 0.85rem; transform-origin: 100% 50%; }
.medal-1 { --tint: var(--gold); --bar: color-mix(in srgb, var(--gold) 85%, #7a4b00); }
.medal-2 { --tint: var(--silver); --bar: var(--silver); }
.medal-3 { --tint: var(--bronze); --bar: var(--bronze); }
.own { --tint: var(--accent); }
.own::before { box-shadow: inset 0 0 0 1.5px color-mix(in srgb, var(--accent) 60%, transparent); }

td { display: block; padding: 0; min-width: 0; }
.cell-rank { grid-area: rank; text-align: center; }
.cell-player { grid-area: player; }
.cell-move { grid-area: move; text-align: end; }
.cell-score { grid-area: score; min-width: var(--digits); font-weight: 700; text-align: end; }
.rank { color: var(--soft); font-weight: 650; font-variant-numeric: tabular-nums; letter-spacing: -0.01em; }
:is(.medal-1, .medal-2, .medal-3) .rank {
  display: inline-grid; place-items: center;
  width: 2.1rem; height: 2.1rem; border-radius: 50%;
  background:
    radial-gradient(circle at 32% 26%, rgb(255 255 255 / 0.75), transparent 42%),
    radial-gradient(circle, transparent 58%, color-mix(in srgb, var(--tint-medal) 78%, #5a3d00) 60%, transparent 64%),
    linear-gradient(155deg, color-mix(in srgb, var(--tint-medal) 72%, #fff), var(--tint-medal) 55%, color-mix(in srgb, var(--tint-medal) 80%, #6b4a10));
  box-shadow: 0 2px 6px -1px color-mix(in srgb, var(--tint-medal) 55%, transparent), inset 0 0 0 1px rgb(255 255 255 / 0.35);
  color: #2b1f05; font-weight: 800; font-size: 0.95rem;
}
.medal-1 { --tint-medal: var(--gold); }
.medal-2 { --tint-medal: var(--silver); }
.medal-3 { --tint-medal: var(--bronze); }

.player { display: flex; align-items: center; gap: 0.75rem; min-width: 0; }
.avatar {
  flex: none; display: grid; place-items: center; overflow: hidden;
  width: 2.35rem; height: 2.35rem; border-radius: 50%;
  background: light-dark(oklch(0.92 0.055 var(--hue)), oklch(0.36 0.075 var(--hue)));
  color: light-dark(oklch(0.4 0.12 var(--hue)), oklch(0.9 0.06 var(--hue)));
  font-weight: 700; font-size: 1rem; line-height: 1;
  box-shadow: 0 0 0 2px var(--surface);
}
.avatar img { width: 100%; height: 100%; object-fit: cover; }
.title { display: flex; align-items: center; gap: 0.5rem; min-width: 0; }
.name { overflow: hidden; min-width: 0; font-weight: 600; text-overflow: ellipsis; white-space: nowrap; }
.medal-1 .name { font-weight: 750; }
.you {
  flex: none; padding: 0.1rem 0.45rem; border-radius: 99px;
  background: var(--accent); color: light-dark(#fff, #15161f);
  font-size: 0.68rem; font-weight: 750; letter-spacing: 0.03em; text-transform: uppercase;
}
.score { font-weight: 700; font-variant-numeric: tabular-nums; letter-spacing: -0.015em; white-space: nowrap; }
.move { position: relative; display: flex; justify-content: flex-end; font-size: 0.76rem; font-weight: 700; font-variant-numeric: tabular-nums; white-space: nowrap; }
.move > span:first-child { display: inline-block; padding: 0.1rem 0.45rem; border-radius: 99px; background: color-mix(in srgb, currentcolor 11%, transparent); }
.move.up { color: var(--up); }
.move.down { color: var(--down); }

.pinned { position: sticky; bottom: -1px; z-index: 3; margin-top: 0.4rem; padding-block: 0.5rem 1px; background: var(--surface); }
.pinned::before {
  content: ""; display: block; height: 5px; margin: 0.1rem auto 0.45rem;
  width: 33px; background: radial-gradient(circle at 2.5px 50%, var(--soft) 2.4px, transparent 2.6px) 0 0 / 14px 5px repeat-x;
  opacity: 0.55;
}

.footer {
  display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0.25rem 1rem;
  min-height: 1.4em; margin-top: 0.75rem; padding: 0 0.35rem;
  color: var(--soft); font-size: 0.82rem; font-variant-numeric: tabular-nums;
}

.skeleton { display: block; height: 2.6rem; margin: 0.45rem 0.35rem; border-radius: 0.8rem; background: color-mix(in srgb, var(--ink) 7%, transparent); animation: breathe 1.4s ease-in-out infinite alternate; }
.skeleton:nth-child(2n) { animation-delay: 0.2s; }
@keyframes breathe { to { opacity: 0.4; } }

.message { display: grid; justify-items: center; gap: 0.3rem; padding: 2.2rem 1rem 2.6rem; text-align: center; }
.podium {
  width: 4.5rem; height: 3.1rem; margin-bottom: 0.9rem;
  background:
    linear-gradient(var(--silver) 0 0) 0 100% / 30% 58%,
    linear-gradient(var(--gold) 0 0) 50% 100% / 30% 100%,
    linear-gradient(var(--bronze) 0 0) 100% 100% / 30% 38%;
  background-repeat: no-repeat;
  border-radius: 0.3rem;
  opacity: 0.75;
}
.message p { margin: 0; max-width: 28rem; overflow-wrap: anywhere; }
.message-title { font-size: 1.08rem; font-weight: 700; }
.hint { color: var(--soft); font-size: 0.92rem; }
.retry {
  margin-top: 1rem; padding: 0.55rem 1.15rem; border: 0; border-radius: 99px;
  background: var(--accent); color: light-dark(#fff, #15161f);
  font: inherit; font-weight: 650; cursor: pointer;
}

@container card (max-width: 27rem) {
  .header, .footer { padding: 0; }
  .row {
    grid-template: "rank player score" 1fr "move player score" auto / 2.2rem minmax(0, 1fr) auto;
    column-gap: 0.45rem; padding-inline: 0.25rem 0.6rem;
  }
  .row.long { grid-template: "rank player" auto "move score" auto / 2.2rem minmax(0, 1fr); padding-bottom: 0.6rem; }
  .row::after { inset-inline: 5.3rem 0.6rem; }
  .cell-score { min-width: 0; }
  .move { justify-content: center; font-size: 0.66rem; line-height: 1.1; }
  .move > span:first-child { padding: 0; background: none; }
  .you { position: absolute; clip-path: inset(50%); }
  .player { gap: 0.55rem; }
  .avatar { width: 2rem; height: 2rem; font-size: 0.88rem; }
  :is(.medal-1, .medal-2, .medal-3) .rank { width: 1.85rem; height: 1.85rem; font-size: 0.86rem; }
  .tab { padding-inline: 0.7rem; }
}
@media (max-width: 27rem) { .card { padding: 1.05rem 0.8rem 0.85rem; } }
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; } }
@media (forced-colors: active) {
  .own { outline: 2px solid Highlight; outline-offset: -2px; }
  .tab[aria-selected="true"] { outline: 2px solid; outline-offset: -2px; }
  :is(.medal-1, .medal-2, .medal-3) .rank { border: 1px solid; }
}
`);
