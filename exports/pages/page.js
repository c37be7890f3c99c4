"use strict";
// What all pages do: language, age of the data, and tables that are searched, sorted, narrowed and downloaded.
window.campus = (() => {
  const root = document.documentElement, embedded = document.getElementById("data");
  const data = embedded ? JSON.parse(embedded.textContent) : {};
  const age = data.age ?? window.campusAge;
  const language = () => root.dataset.language;
  const store = { get: () => { try { return localStorage.getItem("language"); } catch { return null; } },
    set: (code) => { try { localStorage.setItem("language", code); } catch { /* A private window remembers nothing. */ } } };
  const switcher = document.getElementById("language"), title = document.querySelector("title");
  const element = (tag, name, ...children) => {
    const created = document.createElement(tag);
    if (name) created.className = name;
    created.append(...children);
    return created;
  };

  function show(code) {
    root.dataset.language = root.lang = code;
    root.dataset.title = document.title = title.dataset[code];
    switcher.textContent = code === "zh" ? "English" : "中文";
    switcher.lang = code === "zh" ? "en" : "zh";
    if (!age) return;
    const days = Math.floor((Date.now() - Date.parse(age.moment)) / 864e5), old = document.getElementById("old");
    old.hidden = !(days >= age.old_days);
    old.textContent = age.old[code].replace("{}", days);
    // A page of one file has its date and its alarms without a script.
    if (!age.alarms) return;
    document.getElementById("as-of").textContent = age.as_of || "—";
    document.getElementById("alarms").replaceChildren(...age.alarms.map((alarm) => element("p", "alarm", alarm[code])));
  }
  switcher.addEventListener("click", () => {
    const code = language() === "zh" ? "en" : "zh";
    store.set(code);
    show(code);
    tables.forEach((table) => table.narrow());
  });
  show(["en", "zh"].includes(store.get()) ? store.get() : language());

  // The state of the tables stands in the address, such as #t1=wang&t1.sort=-3&t1.level=预警, so that a link keeps it.
  // An address without = names an element.
  const stateOfAddress = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const state = stateOfAddress();
  function remember(name, value) {
    if ((state.get(name) ?? "") === value) return;
    if (value) state.set(name, value); else state.delete(name);
    history.replaceState(null, "", `#${state}`);
  }

  // A cell's text in the language of the page. A cell with several reasons has a text for every reason.
  const text = (cell) => {
    const reasons = [...cell.querySelectorAll(".reason")];
    return (reasons.length ? reasons : [cell]).map((container) => (
      container.querySelector(`.${language()}`) ?? container).textContent.trim()).join(language() === "zh" ? "；" : "; ");
  };
  // The value that sorts a cell: its number in the order of the column, a number, or the text.
  const key = (cell) => {
    if (cell.dataset.sort) return Number(cell.dataset.sort);
    const content = text(cell), digits = content.replaceAll(",", "").replace(/%$/, "");
    return digits === "" || Number.isNaN(Number(digits)) ? content : Number(digits);
  };
  const compare = (left, right) => (typeof left === "number" && typeof right === "number" ? left - right
    : String(left).localeCompare(String(right), "zh-CN", { numeric: true }));
  const isEmpty = (value) => value === "—" || value === "";

  // CSV for spreadsheet programs: text that begins like a formula gets a ' before it.
  const isFormula = (content) => /^['\s\u200b\ufeff"|;]*[=+\-@＝＋－＠]/.test(content)
    && !/^[+\-][\d,]{1,9}(\.\d+)?%?$/.test(content);
  const field = (content) => `"${(isFormula(content) ? `'${content}` : content).replaceAll('"', '""')}"`;

  function prepare(tools) {
    const table = document.getElementById(tools.dataset.rows), body = table.tBodies[0], rows = [...body.rows];
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    const input = tools.querySelector("input"), count = tools.querySelector("[role=status]"), all = tools.querySelector(".all");
    // Read at the first search: of thousands of rows it takes a second.
    let texts = null;
    const textsOfRows = () => (texts ??= rows.map((row) => `${row.textContent} ${row.dataset.find || ""}`.toLowerCase()));
    const columns = heads.map((head, index) => ({ index, head, name: `${table.id}.${head.dataset.column}` }));
    const unmatched = tools.parentElement.querySelector(".unmatched"), download = tools.querySelector("a[download]");
    const prepared = { table, filters: [], narrow, pickedRows: rows.length };
    const most = Number(table.dataset.most) || Infinity;
    let isWhole = false, isPrinted = false, matching = new Set(rows), sortedBy = null;
    tools.hidden = false;

    // Shows the rows with all words of the text (in any column, or in what the row is found by besides) and with the values of
    // columns that the address names, as far as the filters of the page let them.
    function narrow() {
      const searched = input ? input.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
      const chosen = columns.filter(({ name }) => state.has(name));
      const isOf = (cell, value) => [cell, ...cell.querySelectorAll("span")].some((inside) => inside.textContent.trim() === value);
      const picked = new Set(rows.filter((row) => prepared.filters.every((filter) => filter(row))));
      matching = new Set(rows.filter((row, index) => picked.has(row) && searched.every((word) => textsOfRows()[index].includes(word))
        && chosen.every((column) => isOf(row.cells[column.index], state.get(column.name)))));
      let visible = 0;
      [...body.rows].forEach((row) => {
        row.hidden = !matching.has(row) || (visible >= most && !isWhole && !isPrinted && !row.matches(".picked"));
        visible += !row.hidden;
      });
      prepared.pickedRows = picked.size;
      count.textContent = visible < picked.size ? `${visible} / ${picked.size}` : "";
      unmatched.hidden = matching.size > 0 || picked.size === 0;
      if (all) all.hidden = visible >= matching.size;
      tools.querySelectorAll(".chosen").forEach((button) => button.remove());
      count.after(...chosen.map(({ head, index, name }) => {
        const value = state.get(name), cell = rows.map((row) => row.cells[index]).find((candidate) => isOf(candidate, value));
        const button = element("button", "chosen", `${text(head)}: ${cell ? text(cell) : value} ×`);
        button.type = "button";
        button.addEventListener("click", () => { remember(name, ""); narrow(); download.focus(); });
        return button;
      }));
    }
    input?.addEventListener("input", () => { remember(table.id, input.value); narrow(); });
    all?.addEventListener("click", () => {
      const hidden = [...body.rows].filter((row) => row.hidden);
      isWhole = true;
      narrow();
      // The button is gone: the keyboard goes on at the first row that it has shown.
      const first = hidden.find((row) => !row.hidden);
      first.tabIndex = -1;
      first.focus();
    });

    // Sorts by a column: up, down, then as the page has it. Cells without a value stay last.
    function sort(column, down) {
      sortedBy = column;
      heads.forEach((head, index) => head.setAttribute("aria-sort", index !== column ? "none" : down ? "descending" : "ascending"));
      const keys = new Map(column === null ? [] : rows.map((row) => [row, key(row.cells[column])]));
      const order = (left, right) => isEmpty(keys.get(left)) - isEmpty(keys.get(right))
        || (down ? -1 : 1) * compare(keys.get(left), keys.get(right));
      body.append(...(column === null ? rows : [...rows].sort(order)));
      narrow();
    }
    heads.forEach((head, column) => {
      const button = element("button", "", ...head.childNodes);
      button.type = "button";
      head.append(button);
      button.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort") || "none"];
        sort(next === "none" ? null : column, next === "descending");
        remember(`${table.id}.sort`, next === "none" ? "" : `${next === "descending" ? "-" : ""}${column + 1}`);
      });
    });
    prepared.follow = () => {
      if (input) input.value = state.get(table.id) || "";
      const sorted = Number(state.get(`${table.id}.sort`)), column = Math.abs(sorted) - 1;
      if (heads[column] || sortedBy !== null) sort(heads[column] ? column : null, sorted < 0);
      else narrow();
    };

    // Paper and the download have all rows that match, also those before a reader asks for all.
    addEventListener("beforeprint", () => { isPrinted = true; narrow(); });
    addEventListener("afterprint", () => { isPrinted = false; narrow(); });
    const workbook = tools.querySelector(".workbook");
    download.addEventListener("click", () => {
      const lines = [heads, ...[...body.rows].filter((row) => matching.has(row)).map((row) => [...row.cells])];
      const csv = lines.map((cells) => cells.map((cell) => field(text(cell))).join(",")).join("\r\n");
      download.href = `data:text/csv;charset=utf-8,${encodeURIComponent(`\ufeff${csv}\r\n`)}`;
    });
    const file = window.campusWorkbooks?.[root.dataset.page];
    if (workbook && file) {
      workbook.href = encodeURIComponent(file);
      workbook.hidden = false;
    }
    return prepared;
  }

  // Phones show the newest weeks first: above the earlier ones, and the right end of a chart.
  if (matchMedia("(max-width: 760px)").matches) {
    document.querySelectorAll("table[data-newest]").forEach(({ tBodies: [body] }) => body.append(...[...body.rows].reverse()));
    document.querySelectorAll(".scroll:has(> .chart)").forEach((region) => { region.scrollLeft = region.scrollWidth; });
  }
  const tables = [...document.querySelectorAll(".tools")].map(prepare);
  tables.forEach((table) => table.follow());
  // A link on the page changes the state, such as the link of a figure to the students behind it.
  window.addEventListener("hashchange", () => {
    if (location.hash && !location.hash.includes("=")) return;
    [...state.keys()].forEach((name) => state.delete(name));
    stateOfAddress().forEach((value, name) => state.set(name, value));
    tables.forEach((table) => table.follow());
    const heading = document.getElementById(`h-${[...state.keys()][0]?.split(".")[0]}`);
    if (heading) { heading.tabIndex = -1; heading.focus(); heading.scrollIntoView(); }
  });
  return { data, element, language, state, remember, switcher, tables };
})();
