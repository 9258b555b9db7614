/* Bars of memory and time, and the tables. */
const TOP = 40, ROWS = 200;
function bars(parent, rows, limit) {
  parent.replaceChildren();
  const largest = Math.max(limit || 0, ...rows.map(row => row.total), 1);
  for (const row of rows) {
    const line = make("div", undefined, parent); line.className = "row";
    const name = row.href ? link(row.label, row.href, line) : make("span", row.label, line);
    name.className = "label"; name.title = row.title || row.label;
    const track = make("div", undefined, line); track.className = "track";
    const small = largest / 300, rest = row.parts.filter(part => part.size < small);
    const parts = rest.length > 1 ? row.parts.filter(part => part.size >= small) : row.parts.slice();
    if (rest.length > 1) parts.push({ name: counted(rest.length, "small one"), size: rest.reduce((sum, part) => sum + part.size, 0) });
    for (const part of parts) {
      const piece = make("i", undefined, track);
      piece.style.width = 100 * part.size / largest + "%";
      if (part.reserved) piece.className = "reserved"; else piece.style.background = color(part.name);
      tells(piece, () => `${part.name}\n${row.format(part.size)}`);
    }
    make("span", row.format(row.total), line).className = "amount";
  }
  if (!rows.length) note("None.", parent);
}
const note = (text, parent) => { make("p", text, parent).className = "note"; };
function showMemory() {
  const users = data.shared.filter(row => row.total > 0).sort((a, b) => b.total - a.total);
  const reserved = data.reservedShared || 0;
  bars($("shared"), users.slice(0, TOP).map(row => ({
    label: partsOf(functions[row.kernel].name).short, title: functions[row.kernel].name, href: addressOfKernel(row.kernel), total: row.total, format: bytes,
    parts: (reserved && row.total >= reserved ? [{ name: "reserved by the system", size: reserved, reserved: true }] : [])
      .concat(row.parts.map(([variable, size]) => ({ name: data.variables[variable], size }))),
  })), data.sharedLimit);
  if (users.length > TOP) note(`And ${counted(users.length - TOP, "kernel")} with less.`, $("shared"));
  if (users.length) note(`A full bar is the limit of ${bytes(data.sharedLimit)}, or the largest kernel.` +
    (reserved ? ` Each size includes ${bytes(reserved)} that the system reserves, the striped part.` : ""), $("shared"));
  bars($("constants"), data.constants.map(bank => ({
    label: bank.name, total: bank.size, format: bytes,
    parts: bank.parts.map(([variable, size, input]) => ({ name: `${variable}, ${inputName(input)}`, size })),
  })), 65536);
  const whole = data.phases.reduce((sum, [, time]) => sum + time, 0);
  bars($("phases"), data.phases.map(([name, time]) => ({
    label: name, total: time, format: n => (n / 1000).toFixed(2) + " ms", parts: [{ name, size: time }],
  })), whole);
}

/* A table that shows some rows at first, and more when they are asked for. */
function table(parent, columns, items, limit = ROWS) {
  const whole = make("table"), head = make("tr", undefined, make("thead", undefined, whole)), body = make("tbody", undefined, whole);
  for (const column of columns) make("th", column.name, head).className = "plain" + (column.number ? " number" : "") + (column.wide ? " wide" : "");
  const more = make("button");
  let shown = 0;
  const add = () => {
    for (const item of items.slice(shown, shown + limit)) {
      const line = make("tr", undefined, body);
      for (const column of columns) {
        const td = make("td", undefined, line);
        td.className = (column.number ? "number" : "") + (column.wide ? " wide" : "");
        column.cell(item, td);
      }
    }
    shown = Math.min(items.length, shown + limit);
    more.hidden = shown === items.length;
    more.textContent = `Show ${counted(Math.min(limit, items.length - shown), "more").replace("mores", "more")} of ${grouped(items.length)}`;
  };
  more.onclick = add;
  add();
  parent.replaceChildren(whole, more);
}
function nameCell(i, td) {
  const f = functions[i];
  if (f.kernel) link(f.name, addressOfKernel(i), td); else td.textContent = f.name;
}

/* All functions: sorted and filtered whole, drawn in part. */
const columns = isSizes ? [["name", f => f.name], ["input", inputOf, "wide"], ["code", f => f.size], ["copies", f => f.copies]]
  : [["name", f => f.name], ["input", inputOf, "wide"], ["code", f => f.size], ["registers", f => f.registers, "wide"],
  ["final", f => f.total], ["frame", f => f.frame, "wide"], ["stack", f => f.kernel ? f.stack : 0, "wide"], ["barriers", f => f.barriers, "wide"]];
let shownRows = ROWS;
function showFunctions() {
  if ($("find").value !== state.find) $("find").value = state.find;
  const text = state.find.toLowerCase(), descending = state.sort.startsWith("-");
  const sorted = Math.max(0, columns.findIndex(([name]) => name === state.sort.replace("-", ""))), value = columns[sorted][1];
  const order = functions.map((_, i) => i).filter(i => !text || functions[i].name.toLowerCase().includes(text) || inputOf(functions[i]).toLowerCase().includes(text));
  order.sort((a, b) => { const x = value(functions[a]), y = value(functions[b]); return (x < y ? -1 : x > y ? 1 : 0) * (descending ? -1 : 1); });
  const rows = document.createDocumentFragment();
  for (const i of order.slice(0, shownRows)) {
    const f = functions[i], line = make("tr", undefined, rows);
    if (i === kernel) line.className = "chosen";
    columns.forEach(([name, value, wide], at) => {
      const cell = make("td", undefined, line);
      if (at === 0) nameCell(i, cell); else cell.textContent = name === "stack" && f.stack < 0 && f.kernel ? "unknown" : value(f);
      cell.className = (at > 1 ? "number " : "") + (wide || "");
    });
  }
  $("rows").replaceChildren(rows);
  $("found").textContent = order.length > shownRows ? `${counted(order.length, "function")}, the first ${grouped(shownRows)} shown` : counted(order.length, "function");
  $("more").hidden = order.length <= shownRows;
  $("more").textContent = `Show ${grouped(Math.min(ROWS, order.length - shownRows))} more`;
  $("columns").replaceChildren(...columns.map(([name, , wide], at) => {
    const cell = make("th"), button = make("button", name + (at === sorted ? (descending ? " ▾" : " ▴") : ""), cell);
    cell.className = (at > 1 ? "number " : "") + (wide || "");
    if (at === sorted) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
    button.dataset.column = name;
    button.onclick = () => {
      const down = at === sorted ? !descending : at > 1;
      go({ sort: (down ? "-" : "") + name });
      showFunctions();
      $("columns").querySelector(`[data-column="${name}"]`).focus();
    };
    return cell;
  }));
}
function lookUp(name) { go({ find: name, show: "functions" }); shownRows = ROWS; showFunctions(); bringUp("functions"); }
$("find").oninput = () => { go({ find: $("find").value }, true); shownRows = ROWS; showFunctions(); };
$("more").onclick = () => { shownRows += ROWS; showFunctions(); };

const removed = data.removed.list || [];
function showRemoved() {
  $("removednote").textContent = data.removed.count
    ? `${counted(data.removed.count, "function")} with ${bytes(data.removed.size)} of code, which no kernel of the output reaches.`
    : data.wholeProgram ? "The compiler left out what nothing reaches, and does not say what that was." : "None: every function of the inputs is in the output.";
  if (!removed.length) return;
  const order = removed.slice().sort((a, b) => b[2] - a[2]);
  table($("removedlist"), [
    { name: "name", cell: (row, td) => { td.textContent = row[0]; } },
    { name: "kind", wide: true, cell: (row, td) => { td.textContent = row[1] ? "kernel" : "function"; } },
    { name: "input", wide: true, cell: (row, td) => { td.textContent = inputName(row[3]); } },
    { name: "code", number: true, cell: (row, td) => { td.textContent = bytes(row[2]); } },
  ], order, 50);
}
