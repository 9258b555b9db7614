/* The calls of one kernel: as a graph in layers by distance, and as a table. */
const MOST = 250, BOX = { w: 212, h: 46, x: 56, y: 14 };
let kernel = -1;
function chooseKernel(index) {
  go({ kernel: keys.get(index), show: "calls" });
  showCalls();
  bringUp("calls");
}
function showCalls() {
  pressView(state.view);
  const named = state.kernel ? kernelNamed(state.kernel) : undefined;
  $("missing").hidden = !state.kernel || named !== undefined;
  kernel = named ?? (state.kernel || !kernels.length ? -1 : busiest());
  if (!$("missing").hidden) tellMissing();
  $("kernel").value = kernel < 0 ? state.kernel : keys.get(kernel);
  const isTable = state.view === "table";
  $("drawing").hidden = $("graphhelp").hidden = isTable || kernel < 0;
  $("calltable").hidden = !isTable || kernel < 0;
  $("chosen").textContent = kernels.length ? "" : "There is no kernel.";
  if (kernel < 0) return;
  const f = functions[kernel], all = reach(kernel);
  $("chosen").textContent = `${counted(f.total, "register")} (its own: ${f.registers}), stack ${stackOf(f)}, ${counted(f.barriers, "barrier")}, ` +
    `${counted(all.length - 1, "function")} reached` + (!isTable && all.length > MOST ? `, the nearest ${MOST} drawn` : "");
  if (isTable) drawCallTable(all); else drawGraph(all);
}
const busiest = () => kernels.reduce((best, i) => functions[i].total > functions[best].total ? i : best, kernels[0]);
/* Names that are nearly the one in the address. */
function tellMissing() {
  const words = state.kernel.toLowerCase(), base = partsOf(words).base;
  const near = kernels.filter(i => functions[i].name.toLowerCase().includes(base)).slice(0, 5);
  const parent = $("missing");
  parent.replaceChildren(`There is no kernel ‘${state.kernel}’ in this link. `);
  if (near.length) parent.append("Perhaps: ");
  near.forEach((i, at) => { if (at) parent.append(", "); link(keys.get(i), addressOfKernel(i), parent); });
}

function layersOf(start, shown) {
  const inside = new Set(shown), layer = new Map([[start, 0]]), caller = new Map();
  for (const i of shown) for (const c of callees(i)) if (inside.has(c) && !layer.has(c)) { layer.set(c, layer.get(i) + 1); caller.set(c, i); }
  return { inside, layer, caller };
}
function drawGraph(all) {
  const shown = all.slice(0, MOST), { inside, layer } = layersOf(kernel, shown);
  const layers = [];
  for (const i of shown) (layers[layer.get(i)] ||= []).push(i);
  const row = new Map();
  layers.forEach((list, depth) => {
    if (depth) {
      const weight = new Map(list.map(i => [i, []]));
      for (const p of layers[depth - 1]) for (const c of callees(p)) if (weight.has(c)) weight.get(c).push(row.get(p));
      const mean = i => weight.get(i).reduce((s, r) => s + r, 0) / (weight.get(i).length || 1);
      list.sort((a, b) => mean(a) - mean(b));
    }
    list.forEach((i, at) => row.set(i, at));
  });
  const tallest = Math.max(...layers.map(list => list.length));
  const width = layers.length * (BOX.w + BOX.x), height = tallest * (BOX.h + BOX.y) + BOX.y;
  const place = i => {
    const list = layers[layer.get(i)], gap = (tallest - list.length) * (BOX.h + BOX.y) / 2;
    return [layer.get(i) * (BOX.w + BOX.x) + 10, gap + row.get(i) * (BOX.h + BOX.y) + BOX.y];
  };
  const svg = svgElement("svg", { width, height });
  const reached = new Map(shown.map(i => [i, new Set(reach(i))]));
  for (const from of shown) {
    const draw = (to, kind) => {
      if (!inside.has(to)) return;
      const [x1, y1] = place(from), [x2, y2] = place(to), back = layer.get(to) <= layer.get(from);
      const a = [x1 + BOX.w, y1 + BOX.h / 2], b = back ? [x2 + BOX.w, y2 + BOX.h / 2 + 6] : [x2, y2 + BOX.h / 2];
      const bend = back ? 50 + Math.abs(y2 - y1) / 8 : BOX.x / 2;
      const end = back ? b[0] + bend : b[0] - bend;
      svg.append(svgElement("path", { d: `M${a} C${a[0] + bend},${a[1]} ${end},${b[1]} ${b}`, class: reached.get(to).has(from) ? kind + " cycle" : kind }));
    };
    functions[from].calls.forEach(to => draw(to, "direct"));
    functions[from].indirect.forEach(to => draw(to, "indirect"));
  }
  for (const i of shown) svg.append(graphBox(i, ...place(i)));
  $("drawing").replaceChildren(svg);
  /* The kernel is in the middle of its layer, which may be far down. */
  $("drawing").scrollTop = place(kernel)[1] + BOX.h / 2 - $("drawing").clientHeight / 2;
  $("drawing").scrollLeft = 0;
}
const isSource = i => functions[kernel].registers === functions[kernel].total ? i === kernel : functions[i].registers === functions[kernel].total;
function graphBox(i, x, y) {
  const f = functions[i], kind = (f.kernel ? "kernel " : "") + (isSource(i) ? "source" : "");
  const text = f.kernel ? `${f.registers} → ${f.total} registers, stack ${stackOf(f)}` : `${counted(f.registers, "register")}, frame ${bytes(f.frame)}`;
  const group = svgElement("g", { class: kind, tabindex: 0, role: "button", "aria-label": `${f.name}: ${text}` });
  group.append(svgElement("rect", { x, y, width: BOX.w, height: BOX.h, rx: 6 }));
  const short = partsOf(f.name).short, name = svgElement("text", { x: x + 9, y: y + 19, class: "name" });
  name.textContent = short.length > 28 ? short.slice(0, 27) + "…" : short;
  const detail = svgElement("text", { x: x + 9, y: y + 36, class: "detail" });
  detail.textContent = text;
  group.append(name, detail);
  const about = () => `${f.name}\n${bytes(f.size)} of code, ${counted(f.registers, "register")}, frame ${bytes(f.frame)}, ${counted(f.barriers, "barrier")}\n${inputOf(f)}`;
  tells(group, about);
  group.onfocus = () => { const frame = group.getBoundingClientRect(); showTip(frame.left, frame.bottom, about()); };
  group.onblur = hideTip;
  const open = () => f.kernel ? chooseKernel(i) : lookUp(f.name);
  group.onclick = open;
  group.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); hideTip(); open(); } };
  return group;
}
function svgElement(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
function drawCallTable(all) {
  const { layer, caller } = layersOf(kernel, all);
  table($("calltable"), [
    { name: "function", cell: (i, td) => nameCell(i, td) },
    { name: "depth", number: true, cell: (i, td) => { td.textContent = layer.get(i); } },
    { name: "called by", wide: true, cell: (i, td) => { td.textContent = caller.has(i) ? partsOf(functions[caller.get(i)].name).short : ""; } },
    { name: "registers", number: true, cell: (i, td) => { td.textContent = functions[i].registers; if (isSource(i)) td.style.fontWeight = 700; } },
    { name: "frame", number: true, cell: (i, td) => { td.textContent = bytes(functions[i].frame); } },
    { name: "code", number: true, wide: true, cell: (i, td) => { td.textContent = bytes(functions[i].size); } },
  ], all);
}
$("kernel").onchange = () => { go({ kernel: $("kernel").value }); showCalls(); };
const pressView = choices($("view"), [["graph", "Graph"], ["table", "Table"]], value => { go({ view: value }); showCalls(); });
{
  const options = document.createDocumentFragment();
  for (const i of kernels) make("option", undefined, options).value = keys.get(i);
  $("kernels").append(options);
}
