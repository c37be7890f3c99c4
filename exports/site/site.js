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

  // Narrows a table to the rows with all words of the text, in any column.
  document.querySelectorAll("input[data-rows]").forEach((input) => {
    input.closest(".search").hidden = false;
    const rows = [...document.getElementById(input.dataset.rows).tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const count = input.closest(".search").querySelector("[role=status]");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, place) => {
        row.hidden = !words.every((word) => texts[place].includes(word));
        shown += !row.hidden;
      });
      count.textContent = words.length ? `${shown} / ${rows.length}` : "";
    });
  });
})();
