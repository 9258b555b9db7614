/* The head of the page, and what the address asks for. */
document.title = `${data.output}: solder report`;
$("title").textContent = lastPart(data.output) || "(no output)";
const code = functions.reduce((sum, f) => sum + f.size, 0), others = functions.length - kernels.length;
if (isSizes) {
  document.title = `${data.output}: solder size`;
  document.querySelector(".brand").textContent = "solder size";
  for (const section of ["calls", "memory", "time", "removed"]) {
    $(section).hidden = true;
    document.querySelector(`nav a[href="#show=${section}"]`).hidden = true;
  }
  document.querySelector("footer .note").hidden = true;
  query.setAttribute("aria-label", "Search functions and architectures");
  $("maphelp").textContent = $("maphelp").textContent.replace("a kernel to see its calls", "a function to find it in the list");
}
$("summary").textContent = isSizes ? `${counted(functions.length, "function")} for ${data.target}` : `${counted(kernels.length, "kernel")} and ${counted(others, "function")} from ${counted(inputs.length, "input")}, for ${data.target}` +
  (data.wholeProgram ? ", compiled as one program" : "");
const time = data.phases.reduce((sum, [, micros]) => sum + micros, 0);
for (const [name, value] of isSizes ? [
  [functions.length === 1 ? "function" : "functions", grouped(functions.length)], ["code", bytes(code)],
  [data.files === 1 ? "file" : "files", data.files === 1 ? bytes(data.size) : `${data.files}, ${bytes(data.size)}`],
] : [
  [kernels.length === 1 ? "kernel" : "kernels", grouped(kernels.length)], [others === 1 ? "function" : "functions", grouped(others)],
  [inputs.length === 1 ? "input" : "inputs", grouped(inputs.length)], ["code", bytes(code)], ["file", bytes(data.size)],
  ["removed", data.removed.count ? bytes(data.removed.size) : "nothing"],
  ["time", time >= 1e6 ? (time / 1e6).toFixed(2) + " s" : (time / 1000).toFixed(1) + " ms"],
]) {
  const card = make("div", undefined, $("figures"));
  make("dt", name, card); make("dd", value, card);
}
function bringUp(section) {
  const element = $(section);
  if (element && element.tagName === "SECTION") element.scrollIntoView();
}
function showAll() {
  const found = readAddress(), before = { ...state };
  Object.assign(state, found);
  if (found.group !== before.group || found.zoom !== before.zoom || !tree.length) showMap();
  if (!isSizes) { showCalls(); showMemory(); }
  showFunctions();
  if (state.show) bringUp(state.show);
}
/* Links of the page keep what is chosen elsewhere. */
document.addEventListener("click", event => {
  const target = event.target.closest("nav a, a.skip");
  if (!target) return;
  event.preventDefault();
  const show = target.getAttribute("href").slice("#show=".length);
  go({ show });
  bringUp(show);
});
addEventListener("hashchange", showAll);
addEventListener("popstate", showAll);
$("save").onclick = event => {
  event.preventDefault();
  const save = make("a");
  save.download = (lastPart(data.output) || "link") + ".report.json";
  save.href = URL.createObjectURL(new Blob([$("data").textContent], { type: "application/json" }));
  save.click();
};
showAll();
if (!isSizes) showRemoved();
document.body.dataset.ready = "yes";
