/* Treemap: squarified, on a canvas, so that thousands of functions are one drawing. */
const leaf = i => ({ name: functions[i].name, size: functions[i].size, index: i });
const node = (name, children, short) => ({ name, short: short || name, children, size: children.reduce((sum, c) => sum + c.size, 0) });
function groupBy(keyOf, shortOf) {
  const map = new Map();
  functions.forEach((f, i) => {
    const key = keyOf(f, i);
    if (!map.has(key)) map.set(key, []);
    map.get(key).push(leaf(i));
  });
  return [...map].map(([name, list]) => node(name, list, shortOf && shortOf(name)));
}
const groups = {
  input: () => groupBy(inputOf, lastPart),
  namespace: () => groupBy(f => partsOf(f.name).scope || "(global)"),
  template: () => groupBy(f => partsOf(f.name).isTemplate ? partsOf(f.name).family : "(no template)"),
  kernel() {
    const owner = new Array(functions.length).fill(-1);
    for (const kernel of kernels)
      for (const i of reach(kernel)) owner[i] = owner[i] === -1 || owner[i] === kernel ? kernel : -2;
    const name = kernel => kernel === -1 ? "(no kernel)" : kernel === -2 ? "(several kernels)" : keys.get(kernel);
    return groupBy((_, i) => name(owner[i]), text => partsOf(text).short);
  },
  function: () => functions.map((_, i) => leaf(i)),
};
const GROUPS = [["input", isSizes ? "Architecture" : "Input"], ["namespace", "Namespace"], ["template", "Template"], ["kernel", "Kernel"], ["function", "Function"]]
  .filter(([value]) => !isSizes || value !== "kernel");

/* A function's callees are direct and, through prototypes, indirect ones. */
const callees = i => functions[i].calls.concat(functions[i].indirect);
function reach(start) {
  const seen = new Set([start]), queue = [start];
  for (let at = 0; at < queue.length; at++)
    for (const next of callees(queue[at])) if (!seen.has(next)) { seen.add(next); queue.push(next); }
  return queue;
}

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
let tree = [], treeOf = "", zoom = null, boxes = [], cursor = -1;
function showMap() {
  if (!GROUPS.some(([value]) => value === state.group)) state.group = "input";
  if (treeOf !== state.group) { tree = groups[state.group](); treeOf = state.group; }
  zoom = state.zoom ? tree.find(group => group.children && group.name === state.zoom) || null : null;
  cursor = -1;
  pressGroup(state.group);
  drawMap();
}
function drawMap() {
  const width = canvas.clientWidth, height = canvas.clientHeight, ratio = devicePixelRatio || 1;
  canvas.width = width * ratio; canvas.height = height * ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.textBaseline = "middle";
  boxes = [];
  squarify(zoom ? zoom.children : tree, 0, 0, width, height, (item, x, y, w, h) => {
    if (!item.children) return drawLeaf(item, x, y, w, h, zoom ? zoom.name : item.name);
    boxes.push({ item, x, y, w, h });
    const head = h > 40 && w > 46 ? 19 : 0;
    context.fillStyle = color(item.name); context.fillRect(x, y, w, h);
    if (head) label(item.short, x, y + 1, w, 18, "600 12px system-ui, sans-serif");
    squarify(item.children, x + 2, y + head, w - 4, h - head - 2,
      (child, cx, cy, cw, ch) => drawLeaf(child, cx, cy, cw, ch, item.name));
    context.strokeStyle = dark.matches ? "#181c24" : "#ffffff"; context.lineWidth = 2; context.strokeRect(x, y, w, h); context.lineWidth = 1;
  });
  const at = boxes[cursor];
  if (at) {
    context.strokeStyle = INK; context.lineWidth = 3; context.strokeRect(at.x + 2, at.y + 2, at.w - 4, at.h - 4);
    context.strokeStyle = "#fff"; context.lineWidth = 1; context.strokeRect(at.x + 2, at.y + 2, at.w - 4, at.h - 4);
  }
  $("out").hidden = !zoom;
  const many = zoom ? zoom.children.length : tree.length;
  $("where").textContent = zoom ? `${zoom.name}: ${bytes(zoom.size)} in ${counted(many, "function")}` : "";
  const what = GROUPS.find(([value]) => value === state.group)[1].toLowerCase();
  canvas.setAttribute("aria-label", `Treemap of code sizes by ${zoom ? "function of " + zoom.name : what}`);
}
function drawLeaf(item, x, y, w, h, family) {
  boxes.push({ item, x, y, w, h });
  if (w < 1 || h < 1) return;
  context.fillStyle = color(family, (hue(item.name) % 9) / 100);
  context.fillRect(x, y, w, h);
  if (w > 4 && h > 4) { context.strokeStyle = "#0003"; context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1); }
  if (w > 46 && h > 16) {
    label(partsOf(item.name).short, x, y + 1, w, 16, "11.5px system-ui, sans-serif");
    if (h > 34) label(bytes(item.size), x, y + 16, w, 15, "11px system-ui, sans-serif", true);
  }
}
/* The end is what names differ in: what does not fit is left out before it. A number is shown whole or not at all. */
function label(text, x, y, w, h, font, whole) {
  context.font = font; context.fillStyle = INK;
  const room = w - 8, fits = shown => context.measureText(shown).width <= room;
  if (!fits(text)) {
    const cut = fit => text.slice(0, Math.ceil(fit * .6)) + "…" + text.slice(text.length - Math.floor(fit * .4));
    let fit = Math.min(text.length - 1, Math.floor(text.length * room / context.measureText(text).width));
    while (fit > 0 && !fits(cut(fit))) fit--;
    if (whole || fit < 5) return;
    text = cut(fit);
  }
  context.save(); context.beginPath(); context.rect(x, y, w - 2, h); context.clip();
  context.fillText(text, x + 4, y + h / 2); context.restore();
}
const boxAt = event => {
  const frame = canvas.getBoundingClientRect(), x = event.clientX - frame.left, y = event.clientY - frame.top;
  return boxes.findLastIndex(box => x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h);
};
const groupOf = item => item.children ? item : tree.find(group => group.children && group.children.includes(item));
function mapText(item) {
  const f = item.index === undefined ? null : functions[item.index];
  if (f && isSizes) return `${f.name}\n${bytes(f.size)}${f.copies > 1 ? ` in ${grouped(f.copies)} copies` : ""}\n${inputOf(f)}`;
  return f ? `${f.name}\n${f.kernel ? "kernel, " : ""}${bytes(f.size)}, ${counted(f.registers, "register")}\n${inputOf(f)}`
    : `${item.name}\n${bytes(item.size)} in ${counted(item.children.length, "function")}`;
}
function openBox(item) {
  const group = groupOf(item);
  if (!zoom && group) { go({ zoom: group.name }); showMap(); }
  else if (item.index !== undefined && functions[item.index].kernel) chooseKernel(item.index);
  else if (item.index !== undefined) { go({ find: functions[item.index].name, show: "functions" }); showFunctions(); bringUp("functions"); }
}
function zoomOut() { go({ zoom: "" }); showMap(); }
canvas.onpointermove = event => {
  const at = boxAt(event);
  if (at < 0) return hideTip();
  showTip(event.clientX, event.clientY, mapText(boxes[at].item));
};
canvas.onpointerleave = hideTip;
canvas.onclick = event => { const at = boxAt(event); if (at >= 0) openBox(boxes[at].item); };
canvas.onkeydown = event => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (step && boxes.length) {
    /* Groups before their parts: while nothing is enlarged, the keys go from group to group. */
    const stops = boxes.map((box, at) => zoom || box.item.children || !tree[0].children ? at : -1).filter(at => at >= 0);
    const now = stops.indexOf(cursor);
    cursor = stops[(now + step + stops.length) % stops.length];
    drawMap();
    const box = boxes[cursor], frame = canvas.getBoundingClientRect();
    showTip(frame.left + box.x + box.w / 2, frame.top + box.y + box.h / 2, mapText(box.item));
    $("where").textContent = mapText(box.item).replaceAll("\n", ", ");
  } else if (event.key === "Enter" && boxes[cursor]) { hideTip(); openBox(boxes[cursor].item); }
  else if (event.key === "Escape" && zoom) { hideTip(); zoomOut(); }
  else return;
  event.preventDefault();
};
canvas.onblur = hideTip;
$("out").onclick = () => { zoomOut(); canvas.focus(); };
const pressGroup = choices($("group"), GROUPS, value => { go({ group: value, zoom: "" }); showMap(); });
addEventListener("resize", drawMap);
dark.addEventListener("change", () => { drawMap(); if (!isSizes) showMemory(); });
