"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const functions = data.functions, inputs = data.inputs;
const kernels = functions.map((f, i) => f.kernel ? i : -1).filter(i => i >= 0);
const bytes = n => n >= 10240 ? (n / 1024).toFixed(1) + " KiB" : n + " B";
/* Folders that all inputs share are left out. */
const folder = inputs.length > 1 ? inputs.reduce((common, name) => {
  let end = 0;
  while (end < common.length && common[end] === name[end]) end++;
  return common.slice(0, common.lastIndexOf("/", end - 1) + 1);
}) : "";
const inputName = i => i < 0 ? "(no input)" : inputs[i].slice(folder.length);
const inputOf = f => inputName(f.input);
const counted = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const stackOf = f => f.stack < 0 ? "unknown" : bytes(f.stack);
const make = (tag, text, parent) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
};
const hue = text => {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return (hash >>> 8) % 360;
};
const color = text => `hsl(${hue(text)} 45% 62%)`;

document.title = data.output + ": solder report";
$("title").textContent = `${data.output}, ${data.target}`;
const code = functions.reduce((sum, f) => sum + f.size, 0);
$("summary").textContent = `${counted(kernels.length, "kernel")} and ` +
  `${counted(functions.length - kernels.length, "function")} from ${counted(inputs.length, "input")}; ` +
  `${bytes(code)} of code in a file of ${bytes(data.size)}; ` +
  `${counted(data.removed.count, "function")} (${bytes(data.removed.size)}) removed`;

const tip = $("tip");
const showTip = (event, text) => {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const right = event.clientX + 16 + tip.offsetWidth > innerWidth;
  tip.style.left = (right ? event.clientX - tip.offsetWidth - 8 : event.clientX + 16) + "px";
  tip.style.top = Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 4) + "px";
};

/* Reachability; a function's callees are direct and, through prototypes, indirect ones. */
const callees = i => functions[i].calls.concat(functions[i].indirect);
function reach(start) {
  const seen = new Set([start]), queue = [start];
  for (let at = 0; at < queue.length; at++)
    for (const next of callees(queue[at])) if (!seen.has(next)) { seen.add(next); queue.push(next); }
  return queue;
}

/* Treemap: squarified, on a canvas, so that thousands of functions are one drawing. */
const groups = {
  input() {
    const map = new Map();
    functions.forEach((f, i) => {
      const name = inputOf(f);
      if (!map.has(name)) map.set(name, []);
      map.get(name).push(i);
    });
    return [...map].map(([name, list]) => node(name, list.map(leaf)));
  },
  kernel() {
    const owner = new Array(functions.length).fill(-1);
    for (const kernel of kernels)
      for (const i of reach(kernel)) owner[i] = owner[i] === -1 || owner[i] === kernel ? kernel : -2;
    const map = new Map();
    owner.forEach((kernel, i) => {
      const name = kernel === -1 ? "(no kernel)" : kernel === -2 ? "(several kernels)" : functions[kernel].name;
      if (!map.has(name)) map.set(name, []);
      map.get(name).push(i);
    });
    return [...map].map(([name, list]) => node(name, list.map(leaf)));
  },
  function() { return functions.map((_, i) => leaf(i)); },
};
const leaf = i => ({ name: functions[i].name, size: functions[i].size, index: i });
const node = (name, children) => ({ name, children, size: children.reduce((sum, c) => sum + c.size, 0) });

function squarify(items, x, y, w, h, place) {
  items = items.filter(item => item.size > 0).sort((a, b) => b.size - a.size);
  let total = items.reduce((sum, item) => sum + item.size, 0), start = 0;
  const worst = (sum, max, min, side, scale) => {
    const length = sum * scale / side;
    return Math.max(length * length / (min * scale), max * scale / (length * length));
  };
  while (start < items.length && w > 0.5 && h > 0.5) {
    const side = Math.min(w, h), scale = w * h / total;
    let end = start, sum = 0, best = Infinity;
    while (end < items.length) {
      const next = sum + items[end].size;
      const ratio = worst(next, items[start].size, items[end].size, side, scale);
      if (ratio > best) break;
      best = ratio; sum = next; end++;
    }
    const length = sum * scale / side;
    let offset = 0;
    for (const item of items.slice(start, end)) {
      const part = item.size * scale / length;
      if (w >= h) place(item, x, y + offset, length, part); else place(item, x + offset, y, part, length);
      offset += part;
    }
    if (w >= h) { x += length; w -= length; } else { y += length; h -= length; }
    total -= sum; start = end;
  }
}

const canvas = $("map"), context = canvas.getContext("2d");
let tree = [], zoom = null, boxes = [];
function drawMap() {
  const width = canvas.clientWidth, height = canvas.clientHeight, ratio = devicePixelRatio || 1;
  canvas.width = width * ratio; canvas.height = height * ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif"; context.textBaseline = "top";
  boxes = [];
  const items = zoom ? zoom.children : tree;
  squarify(items, 0, 0, width, height, (item, x, y, w, h) => {
    if (!item.children) return drawLeaf(item, x, y, w, h, zoom ? zoom.name : item.name);
    boxes.push({ item, x, y, w, h });
    const head = h > 34 && w > 40 ? 15 : 0;
    context.fillStyle = color(item.name); context.fillRect(x, y, w, h);
    if (head) label(item.name, x, y + 1, w, "#000");
    squarify(item.children, x + 1, y + head, w - 2, h - head - 1,
      (child, cx, cy, cw, ch) => drawLeaf(child, cx, cy, cw, ch, item.name));
    context.strokeStyle = "#0008"; context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
  });
  $("out").hidden = !zoom;
  $("where").textContent = zoom ? `${zoom.name}: ${bytes(zoom.size)}` : "click a group to enlarge it";
}
function drawLeaf(item, x, y, w, h, family) {
  boxes.push({ item, x, y, w, h });
  if (w < 1 || h < 1) return;
  context.fillStyle = `hsl(${hue(family)} 45% ${58 + hue(item.name) % 18}%)`;
  context.fillRect(x, y, w, h);
  if (w > 3 && h > 3) { context.strokeStyle = "#fff6"; context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1); }
  if (w > 46 && h > 14) label(item.name, x, y + 2, w, "#000");
}
function label(text, x, y, w, style) {
  context.save(); context.beginPath(); context.rect(x, y, w - 3, 14); context.clip();
  context.fillStyle = style; context.fillText(text, x + 3, y); context.restore();
}
const boxAt = event => {
  const frame = canvas.getBoundingClientRect(), x = event.clientX - frame.left, y = event.clientY - frame.top;
  for (let i = boxes.length - 1; i >= 0; i--) {
    const box = boxes[i];
    if (x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h) return box.item;
  }
};
const groupOf = item => item.children ? item : tree.find(group => group.children && group.children.includes(item));
canvas.onmousemove = event => {
  const item = boxAt(event);
  if (!item) return showTip(event, "");
  const f = item.index === undefined ? null : functions[item.index];
  showTip(event, f ? `${f.name}\n${bytes(f.size)}, ${f.registers} registers, ${inputOf(f)}` : `${item.name}\n${bytes(item.size)}`);
};
canvas.onmouseleave = event => showTip(event, "");
canvas.onclick = event => {
  const item = boxAt(event);
  if (!item) return;
  const group = groupOf(item);
  if (!zoom && group) zoom = group;
  else if (item.index !== undefined && functions[item.index].kernel) return choose(item.index, true);
  drawMap();
};
$("out").onclick = () => { zoom = null; drawMap(); };
$("group").onchange = () => { zoom = null; tree = groups[$("group").value](); drawMap(); };
addEventListener("resize", drawMap);

/* Call graph of one kernel, in layers by distance. */
const MOST = 250, BOX = { w: 205, h: 44, x: 60, y: 14 };
function choose(index, scroll) {
  $("kernel").value = functions[index].name;
  drawGraph(index);
  if (scroll) $("graph").scrollIntoView();
}
function drawGraph(kernel) {
  const all = reach(kernel), shown = all.slice(0, MOST), layer = new Map([[kernel, 0]]), inside = new Set(shown);
  for (const i of shown) for (const c of callees(i)) if (inside.has(c) && !layer.has(c)) layer.set(c, layer.get(i) + 1);
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
  const final = functions[kernel].total;
  for (const i of shown) {
    const f = functions[i], [x, y] = place(i);
    const source = functions[kernel].registers === final ? i === kernel : f.registers === final;
    const kind = (f.kernel ? "kernel " : "") + (source ? "source" : "");
    const group = svgElement("g", { class: kind });
    group.append(svgElement("rect", { x, y, width: BOX.w, height: BOX.h, rx: 4 }));
    const name = svgElement("text", { x: x + 8, y: y + 17, class: "name" });
    name.textContent = f.name.length > 27 ? f.name.slice(0, 26) + "…" : f.name;
    const detail = svgElement("text", { x: x + 8, y: y + 34 });
    detail.textContent = f.kernel ? `${f.registers} → ${f.total} registers, stack ${stackOf(f)}` : `${f.registers} registers, frame ${bytes(f.frame)}`;
    group.append(name, detail);
    group.onmousemove = event => showTip(event, `${f.name}\n${bytes(f.size)} of code, ${f.registers} registers, frame ${bytes(f.frame)}, ${f.barriers} barriers\n${inputOf(f)}`);
    group.onmouseleave = event => showTip(event, "");
    svg.append(group);
  }
  $("drawing").replaceChildren(svg);
  const f = functions[kernel];
  $("chosen").textContent = `${f.total} registers (own ${f.registers}), stack ${stackOf(f)}, ${f.barriers} barriers, ` +
    `${all.length - 1} functions reached` + (all.length > MOST ? `, the nearest ${MOST} drawn` : "");
}
function svgElement(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
const byName = new Map(kernels.map(i => [functions[i].name, i]));
$("kernel").onchange = () => { const i = byName.get($("kernel").value); if (i !== undefined) drawGraph(i); };
{
  const options = document.createDocumentFragment();
  for (const i of kernels) make("option", undefined, options).value = functions[i].name;
  $("kernels").append(options);
}

/* Bars. */
function bars(parent, rows, limit) {
  const largest = Math.max(limit || 0, ...rows.map(row => row.total), 1);
  for (const row of rows) {
    const line = make("div", undefined, parent); line.className = "row";
    const name = make("span", row.label, line); name.className = "label"; name.title = row.label;
    const track = make("div", undefined, line); track.className = "track";
    const small = largest / 300, rest = row.parts.filter(part => part.size < small);
    const parts = rest.length > 1 ? row.parts.filter(part => part.size >= small) : row.parts;
    if (rest.length > 1) {
      const size = rest.reduce((sum, part) => sum + part.size, 0);
      parts.push({ name: `${rest.length} small ones`, size });
    }
    for (const part of parts) {
      const piece = make("i", undefined, track);
      piece.style.width = 100 * part.size / largest + "%"; piece.style.background = color(part.name);
      piece.onmousemove = event => showTip(event, `${part.name}\n${row.format(part.size)}`);
      piece.onmouseleave = event => showTip(event, "");
    }
    make("span", row.format(row.total), line).className = "amount";
  }
  if (!rows.length) make("p", "none", parent).className = "legend";
}
const TOP = 40;
{
  const users = data.shared.filter(row => row.total > 0).sort((a, b) => b.total - a.total);
  bars($("shared"), users.slice(0, TOP).map(row => ({
    label: functions[row.kernel].name, total: row.total, format: bytes,
    parts: row.parts.map(([variable, size]) => ({ name: data.variables[variable], size })),
  })), data.sharedLimit);
  if (users.length > TOP) make("p", `and ${users.length - TOP} kernels with less`, $("shared")).className = "legend";
  if (users.length) make("p", `A full bar is the limit of ${bytes(data.sharedLimit)}, or the largest kernel.`, $("shared")).className = "legend";
  bars($("constants"), data.constants.map(bank => ({
    label: bank.name, total: bank.size, format: bytes,
    parts: bank.parts.map(([variable, size, input]) => ({ name: `${variable}, ${inputName(input)}`, size })),
  })), 65536);
  const whole = data.phases.reduce((sum, [, time]) => sum + time, 0);
  bars($("phases"), data.phases.map(([name, time]) => ({
    label: name, total: time, format: n => (n / 1000).toFixed(2) + " ms", parts: [{ name, size: time }],
  })), whole);
}

/* Table: sorted and filtered whole, drawn in part. */
const columns = [["name", f => f.name], ["input", inputOf], ["code", f => f.size], ["registers", f => f.registers],
  ["final", f => f.total], ["frame", f => f.frame], ["stack", f => f.kernel ? f.stack : 0], ["barriers", f => f.barriers]];
const ROWS = 200;
let sorted = 2, descending = true;
function drawTable() {
  const text = $("find").value.toLowerCase(), value = columns[sorted][1];
  const found = functions.filter(f => !text || f.name.toLowerCase().includes(text) || inputOf(f).toLowerCase().includes(text));
  found.sort((a, b) => { const x = value(a), y = value(b); return (x < y ? -1 : x > y ? 1 : 0) * (descending ? -1 : 1); });
  const rows = document.createDocumentFragment();
  for (const f of found.slice(0, ROWS)) {
    const line = make("tr", undefined, rows);
    columns.forEach(([name, value], at) => {
      const cell = make("td", name === "stack" && f.stack < 0 && f.kernel ? "unknown" : value(f), line);
      if (at > 1) cell.className = "number";
    });
    if (f.kernel) { line.className = "link"; line.onclick = () => choose(byName.get(f.name), true); }
  }
  $("rows").replaceChildren(rows);
  $("found").textContent = found.length > ROWS ? `${found.length} functions, the first ${ROWS} shown` : `${found.length} functions`;
  $("columns").replaceChildren(...columns.map(([name], at) => {
    const cell = make("th", name + (at === sorted ? (descending ? " ▾" : " ▴") : ""));
    if (at > 1) cell.className = "number";
    cell.onclick = () => { descending = at === sorted ? !descending : at > 1; sorted = at; drawTable(); };
    return cell;
  }));
}
$("find").oninput = drawTable;

tree = groups.input();
drawMap();
drawTable();
if (kernels.length) {
  /* A link to the page can name a kernel. */
  const named = location.hash.startsWith("#kernel=") ? byName.get(decodeURIComponent(location.hash.slice(8))) : undefined;
  const busiest = kernels.reduce((best, i) => functions[i].total > functions[best].total ? i : best, kernels[0]);
  choose(named ?? busiest);
} else make("p", "There is no kernel.", $("drawing"));
document.body.dataset.ready = "yes";
