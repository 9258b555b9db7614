"use strict";
/* What all parts of the page use: the data, names, sizes, elements, and the address. */
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const functions = data.functions, inputs = data.inputs;
/* The page of `solder size`: code of files, not of a link. Its inputs are architectures of files. */
const isSizes = data.sizes === true;
const kernels = functions.map((f, i) => f.kernel ? i : -1).filter(i => i >= 0);
const bytes = n => n >= 1 << 30 ? (n / (1 << 30)).toFixed(1) + " GiB" : n >= 1 << 20 ? (n / (1 << 20)).toFixed(1) + " MiB"
  : n >= 10240 ? (n / 1024).toFixed(1) + " KiB" : n + " B";
const grouped = n => n.toLocaleString("en-US");
const counted = (n, what) => `${grouped(n)} ${what}${n === 1 ? "" : "s"}`;
const stackOf = f => f.stack < 0 ? "unknown" : bytes(f.stack);
/* Folders that all inputs share are left out. */
const folder = inputs.length > 1 ? inputs.reduce((common, name) => {
  let end = 0;
  while (end < common.length && common[end] === name[end]) end++;
  return common.slice(0, common.lastIndexOf("/", end - 1) + 1);
}) : inputs.length ? inputs[0].slice(0, inputs[0].lastIndexOf("/") + 1) : "";
const NO_INPUT = data.wholeProgram ? "(compiled together)" : "(no input)";
const inputName = i => i < 0 ? NO_INPUT : inputs[i].slice(folder.length);
const inputOf = f => inputName(f.input);
/* The last part of a path, or the member of an archive. */
const lastPart = name => name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf(":")) + 1) || name;

const make = (tag, text, parent) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
};
const link = (text, href, parent) => { const element = make("a", text, parent); element.href = href; return element; };

/* `ret ns::scope::base<args>(params)`: its parts. Brackets inside brackets are passed over. */
const partsCache = new Map();
function partsOf(name) {
  let parts = partsCache.get(name);
  if (parts) return parts;
  const open = "(anonymous namespace)";
  /* `[clone f(int)] g(int)` is a copy of g for f. */
  const from = name.startsWith("[clone ") ? name.lastIndexOf("] ") + 2 : 0;
  let depth = 0, start = from, scope = from, end = name.length, template = -1;
  for (let at = from; at < name.length; at++) {
    const c = name[at];
    if (c === "(" && depth === 0 && name.startsWith(open, at)) { at += open.length - 1; continue; }
    if (c === "o" && depth === 0 && /^operator[^\w\s(]+/.test(name.slice(at, at + 12))) {
      at += name.slice(at).match(/^operator[^\w\s(]+/)[0].length - 1;
      continue;
    }
    if (c === "<") { if (depth === 0 && template < 0) template = at; depth++; }
    else if (c === ">") depth = Math.max(0, depth - 1);
    else if (depth === 0 && c === "(") { end = at; break; }
    else if (depth === 0 && c === " ") { start = scope = at + 1; template = -1; }
    else if (depth === 0 && c === ":" && name[at + 1] === ":") { scope = at + 2; template = -1; at++; }
  }
  const qualified = name.slice(start, end);
  parts = {
    scope: scope > start + 2 ? name.slice(start, scope - 2) : "",
    base: name.slice(scope, template >= 0 ? template : end) || name,
    family: template >= 0 ? name.slice(start, template) + "<…>" : qualified || name,
    short: name.slice(scope, end) || name,
    isTemplate: template >= 0,
  };
  partsCache.set(name, parts);
  return parts;
}

/* Colours that differ in hue alone, so that every label on them can be read. */
const dark = matchMedia("(prefers-color-scheme: dark)");
const hue = text => {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return (hash >>> 8) % 360;
};
const color = (text, shade = 0) => `oklch(${(dark.matches ? .66 : .8) + shade} .1 ${hue(text)})`;
const INK = "#0b0d10";

const tip = $("tip");
function showTip(x, y, text) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const left = x + 16 + tip.offsetWidth > innerWidth ? x - tip.offsetWidth - 8 : x + 16;
  tip.style.left = Math.max(4, Math.min(left, innerWidth - tip.offsetWidth - 4)) + "px";
  tip.style.top = Math.max(4, Math.min(y + 12, innerHeight - tip.offsetHeight - 4)) + "px";
}
const hideTip = () => showTip(0, 0, "");
function tells(element, text) {
  element.addEventListener("pointermove", event => showTip(event.clientX, event.clientY, text()));
  element.addEventListener("pointerleave", hideTip);
}

/* Buttons of which one is pressed. */
function choices(parent, options, choose) {
  for (const [value, text] of options) {
    const button = make("button", text, parent);
    button.dataset.value = value;
    button.onclick = () => choose(value);
  }
  return value => { for (const button of parent.children) button.setAttribute("aria-pressed", button.dataset.value === value); };
}

/* Kernels by the name that the address has. Static ones of several files may share a name. */
const keys = new Map(), byKey = new Map();
for (const i of kernels) {
  let key = functions[i].name, number = 2;
  while (byKey.has(key)) key = `${functions[i].name} #${number++}`;
  keys.set(i, key); byKey.set(key, i);
}
function kernelNamed(name) {
  const exact = byKey.get(name) ?? kernels.find(i => functions[i].symbol === name);
  if (exact !== undefined) return exact;
  const alike = kernels.filter(i => {
    const parts = partsOf(functions[i].name);
    return [parts.base, parts.short, parts.family, parts.scope + "::" + parts.base].includes(name);
  });
  return alike.length === 1 ? alike[0] : undefined;
}

/* The address: what is chosen, so that a link shows what its sender saw. */
const DEFAULTS = { kernel: "", group: "input", zoom: "", view: "graph", find: "", sort: "-code", show: "" };
const state = { ...DEFAULTS };
function readAddress() {
  const hash = location.hash.slice(1), found = { ...DEFAULTS };
  /* A reference in the name of a kernel is not the end of it. */
  const known = Object.keys(DEFAULTS).join("|");
  for (const part of hash.split(new RegExp(`&(?=(?:${known})=)`))) {
    const at = part.indexOf("="), key = part.slice(0, at);
    if (!(key in DEFAULTS)) continue;
    let value = part.slice(at + 1);
    try { value = decodeURIComponent(value); } catch { /* It was typed as it is. */ }
    found[key] = value;
  }
  return found;
}
const encode = text => encodeURIComponent(text).replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%20/g, "%20");
const addressOf = values => "#" + Object.keys(DEFAULTS).filter(key => values[key] !== DEFAULTS[key])
  .map(key => `${key}=${encode(values[key])}`).join("&");
const addressOfKernel = i => addressOf({ ...state, kernel: keys.get(i), show: "calls" });
function go(change, keepsPlace) {
  Object.assign(state, change);
  const address = addressOf(state);
  const method = keepsPlace ? "replaceState" : "pushState";
  if (address !== (location.hash || "#")) {
    try { history[method](null, "", address); } catch { location.hash = address; }
  }
}
