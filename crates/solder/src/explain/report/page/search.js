/* One search over everything that has a name. */
const HITS = 6;
const places = [
  ["Kernels", () => kernels.map(i => [keys.get(i), bytes(functions[i].size), () => addressOfKernel(i)])],
  ["Functions", () => functions.filter(f => !f.kernel).map(f => [f.name, inputOf(f), () => addressOf({ ...state, find: f.name, show: "functions" })])],
  [isSizes ? "Architectures" : "Inputs", () => inputs.map((_, i) => [inputName(i), "", () => addressOf({ ...state, group: "input", zoom: inputName(i), show: "size" })])],
  ["Namespaces", () => [...new Set(functions.map(f => partsOf(f.name).scope))].filter(Boolean)
    .map(name => [name, "", () => addressOf({ ...state, group: "namespace", zoom: name, show: "size" })])],
  ["Variables", () => data.variables.map(name => [name, "shared", () => addressOf({ ...state, show: "memory" })]).concat(
    data.constants.flatMap(bank => bank.parts.map(([name]) => [name, bank.name, () => addressOf({ ...state, show: "memory" })])))],
  ["Removed functions", () => removed.map(row => [row[0], inputName(row[3]), () => addressOf({ ...state, show: "removed" })])],
];
let everything = null, chosen = -1;
const query = $("query"), results = $("results");
function showResults() {
  const text = query.value.trim().toLowerCase();
  chosen = -1;
  results.replaceChildren();
  if (text) {
    everything ||= places.map(([title, list]) => [title, list().map(entry => [entry[0].toLowerCase(), entry])]);
    let any = false;
    for (const [title, list] of everything) {
      const hits = list.filter(([name]) => name.includes(text));
      if (!hits.length) continue;
      any = true;
      make("b", `${title} (${grouped(hits.length)})`, results);
      hits.sort((a, b) => a[0].indexOf(text) - b[0].indexOf(text) || a[0].length - b[0].length);
      for (const [, [name, detail, address]] of hits.slice(0, HITS)) {
        const item = link(name, address(), results);
        item.setAttribute("role", "option"); item.tabIndex = -1;
        if (detail) make("small", " " + detail, item);
        item.onclick = closeResults;
      }
    }
    if (!any) make("b", "Nothing has this in its name.", results);
  }
  openResults(Boolean(text));
}
function openResults(isOpen) { results.hidden = !isOpen; query.setAttribute("aria-expanded", isOpen); }
function closeResults() { openResults(false); }
query.oninput = showResults;
query.onfocus = () => { if (query.value) showResults(); };
query.onkeydown = event => {
  const items = [...results.querySelectorAll("a")], step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && items.length) {
    chosen = (chosen + step + items.length + (chosen < 0 && step < 0 ? 1 : 0)) % items.length;
    items.forEach((item, at) => { item.classList.toggle("on", at === chosen); item.setAttribute("aria-selected", at === chosen); });
    items[chosen].scrollIntoView({ block: "nearest" });
  } else if (event.key === "Enter" && items.length) { location.hash = items[Math.max(0, chosen)].getAttribute("href"); closeResults(); }
  else if (event.key === "Escape") closeResults();
  else return;
  event.preventDefault();
};
document.addEventListener("pointerdown", event => { if (!$("search").contains(event.target)) closeResults(); });
$("search").addEventListener("focusout", event => { if (event.relatedTarget && !$("search").contains(event.relatedTarget)) closeResults(); });
document.addEventListener("keydown", event => {
  if (event.key !== "/" || event.target.closest("input")) return;
  event.preventDefault();
  query.focus();
});
