"""How the page of a trace looks, in light and in dark."""

STYLE = r"""
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --line: #d1d9e0; --back: #fff; --raised: #f6f8fa;
  --bar: #0969da; --engine: #54aeff; --off: #9a6700; --good: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #9198a1; --line: #3d444d; --back: #0d1117;
  --raised: #151b23; --bar: #4493f8; --engine: #1f6feb; --off: #d29922; --good: #3fb950; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--back); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h3 { font-size: 1rem; margin: 1rem 0 0.25rem; }
a { color: var(--bar); } .skip { position: absolute; left: -99rem; } .skip:focus { position: static; }
:focus-visible { outline: 2px solid var(--bar); outline-offset: 2px; }
.answer { font-size: 1.2rem; font-weight: 600; } .dim { color: var(--dim); } .off { color: var(--off); }
img { max-width: 100%; border-radius: 4px; } .whole { max-height: 20rem; }
figure { display: inline-block; margin: 0.25rem 0.5rem 0.25rem 0; } figcaption { font-size: 0.8rem; color: var(--dim); }
figure img { max-height: 8rem; }
table { border-collapse: collapse; width: 100%; } th { text-align: start; color: var(--dim); font-weight: 500; }
th, td { padding: 0.3rem 0.5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.unused { color: var(--dim); }
details { border-bottom: 1px solid var(--line); } details > div { padding: 0 0 0.75rem 1rem; }
summary { cursor: pointer; display: grid; grid-template-columns: minmax(9rem, 14rem) 1fr 6rem; gap: 0.75rem;
  align-items: center; padding: 0.35rem 0; }
summary svg { width: 100%; height: 0.9rem; background: var(--raised); border-radius: 3px; }
summary > span:first-child::before { content: "\25B8\00A0"; color: var(--dim); }
details[open] > summary > span:first-child::before { content: "\25BE\00A0"; }
.depth1 { margin-inline-start: 1.5rem; } .depth2 { margin-inline-start: 3rem; } .depth3 { margin-inline-start: 4.5rem; }
.bar { fill: var(--bar); } .engine { fill: var(--engine); } .bar.off { fill: var(--off); }
.time { text-align: end; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; margin: 0; }
dt { color: var(--dim); } dd { margin: 0; } mark { background: none; color: var(--good); font-weight: 600; }
@media print { details > div { display: block; } }
""".strip()
