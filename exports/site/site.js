"use strict";
(() => {
  const root = document.documentElement;
  const language = () => root.dataset.language;
  const store = { get: () => { try { return localStorage.getItem("language"); } catch { return null; } },
    set: (code) => { try { localStorage.setItem("language", code); } catch { /* A private window remembers nothing. */ } } };
  const age = window.campusAge;
  const switcher = document.getElementById("language");

  function show(code) {
    root.dataset.language = root.lang = code;
    switcher.textContent = code === "zh" ? "English" : "中文";
    switcher.lang = code === "zh" ? "en" : "zh";
    if (!age) return;
    document.getElementById("as-of").textContent = age.as_of || "—";
    const days = Math.floor((Date.now() - Date.parse(age.moment)) / 864e5), old = document.getElementById("old");
    old.hidden = !(days >= age.old_days);
    old.textContent = age.old[code].replace("{}", days);
    const alarm = document.getElementById("alarm");
    alarm.hidden = !age.alarm[code];
    alarm.textContent = age.alarm[code];
  }

  switcher.addEventListener("click", () => {
    const code = language() === "zh" ? "en" : "zh";
    store.set(code);
    show(code);
  });
  show(store.get() === "en" || store.get() === "zh" ? store.get() : language());

  // The state of the tables stands in the address, such as #t1=wang&t1.sort=-3, so that a link or a bookmark keeps it.
  const state = new URLSearchParams(location.hash.slice(1));
  function remember(name, value) {
    if (value) state.set(name, value); else state.delete(name);
    history.replaceState(null, "", `#${state}`);
  }

  // A cell's text in the language of the page, and the value that sorts it: a number where the column has numbers.
  const text = (cell) => {
    const pair = cell.querySelector(`:scope .${language()}`);
    return (pair && cell.querySelectorAll(".zh").length === 1 ? pair : cell).textContent.trim();
  };
  const number = (words) => {
    const digits = words.replaceAll(",", "").replace(/%$/, "");
    return digits === "" || Number.isNaN(Number(digits)) ? null : Number(digits);
  };

  // Called when a link on the page changes the state, such as the link of a figure to the students behind it.
  const followers = [];
  window.addEventListener("hashchange", () => {
    if (!location.hash.includes("=")) return;
    const next = new URLSearchParams(location.hash.slice(1));
    [...state.keys()].forEach((name) => state.delete(name));
    next.forEach((value, name) => state.set(name, value));
    followers.forEach((follow) => follow());
    const heading = document.getElementById(`h-${[...next.keys()][0].split(".")[0]}`);
    if (heading) { heading.tabIndex = -1; heading.focus(); heading.scrollIntoView(); }
  });

  // Phones show the newest weeks first: above the earlier ones, and the right end of a chart.
  if (matchMedia("(max-width: 760px)").matches) {
    document.querySelectorAll("table[data-newest]").forEach(({ tBodies: [body] }) => body.append(...[...body.rows].reverse()));
    document.querySelectorAll(".scroll:has(> .chart)").forEach((region) => { region.scrollLeft = region.scrollWidth; });
  }

  document.querySelectorAll(".tools").forEach((tools) => {
    tools.hidden = false;
    const table = document.getElementById(tools.dataset.rows), body = table.tBodies[0], rows = [...body.rows];
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];

    // Narrows the table to the rows with all words of the text: in any column, or in what the row is found by besides.
    const input = tools.querySelector("input"), count = tools.querySelector("[role=status]");
    const texts = rows.map((row) => `${row.textContent} ${row.dataset.find || ""}`.toLowerCase());
    function narrow() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, place) => {
        row.hidden = !words.every((word) => texts[place].includes(word));
        shown += !row.hidden;
      });
      count.textContent = words.length ? `${shown} / ${rows.length}` : "";
    }
    if (input) {
      const follow = () => { input.value = state.get(table.id) || ""; narrow(); };
      input.addEventListener("input", () => { narrow(); remember(table.id, input.value); });
      followers.push(follow);
      follow();
    }

    // Sorts by a column: up, down, then as the page has it. Cells without a value stay last.
    function sort(column, down) {
      heads.forEach((head, place) => head.setAttribute("aria-sort", place !== column ? "none" : down ? "descending" : "ascending"));
      const keys = new Map(rows.map((row) => [row, text(row.cells[column])]));
      const numbers = new Map(rows.map((row) => [row, number(keys.get(row))]));
      const order = (one, two) => {
        const empty = (row) => keys.get(row) === "—" || keys.get(row) === "";
        if (empty(one) || empty(two)) return empty(one) - empty(two);
        const both = numbers.get(one) !== null && numbers.get(two) !== null;
        const compared = both ? numbers.get(one) - numbers.get(two)
          : keys.get(one).localeCompare(keys.get(two), "zh-CN", { numeric: true });
        return down ? -compared : compared;
      };
      body.append(...(column === null ? rows : [...rows].sort(order)));
    }
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort") || "none"];
        sort(next === "none" ? null : column, next === "descending");
        remember(`${table.id}.sort`, next === "none" ? "" : `${next === "descending" ? "-" : ""}${column + 1}`);
      });
    });
    const sorted = Number(state.get(`${table.id}.sort`));
    if (Number.isInteger(sorted) && heads[Math.abs(sorted) - 1]) sort(Math.abs(sorted) - 1, sorted < 0);

    // Downloads the rows that are visible, as CSV for spreadsheet programs: text that begins like a formula gets a ' before it.
    const link = tools.querySelector("a[download]");
    const isFormula = (words) => /^['\s\u200b\ufeff"|;]*[=+\-@＝＋－＠]/.test(words) && !/^[+\-][\d,]{1,9}(\.\d+)?%?$/.test(words);
    const field = (words) => `"${(isFormula(words) ? `'${words}` : words).replaceAll('"', '""')}"`;
    link.addEventListener("click", () => {
      const lines = [heads, ...[...body.rows].filter((row) => !row.hidden).map((row) => [...row.cells])];
      const csv = lines.map((cells) => cells.map((cell) => field(text(cell))).join(",")).join("\r\n");
      link.href = `data:text/csv;charset=utf-8,${encodeURIComponent(`\ufeff${csv}\r\n`)}`;
    });
  });
})();
