"use strict";
(() => {
  const { specs, cohorts: cohortList, groups: known, rows, words, age, figures, pages, most } = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const groups = new Map(known.map((group) => [group.key, group]));
  const cohorts = new Map(cohortList.map((cohort) => [cohort.key, cohort.name]));
  const views = new Map();
  let picked = { kind: "school", key: "", cohort: "" };
  let reason = "";

  const language = () => root.dataset.language;
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

  // Expressions are interpreted: the page's policy allows no code that is made of text.
  const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: { disableDefaultStyle: true } };

  const value = (column, row) => (column.texts ? column.texts[column.places[row]] : column[row] ?? null);
  const unfolded = ({ groups, group, values }) => group.map((place, row) => (
    { ...groups[place], ...Object.fromEntries(Object.entries(values).map(([name, column]) => [name, value(column, row)])) }));

  async function draw(place) {
    const name = place.dataset.chart;
    const spec = structuredClone(specs[language()][name]);
    spec.datasets = { rows: unfolded(rows[name]) };
    spec.params.forEach((param) => { if (param.name in picked) param.value = picked[param.name]; });
    spec.config.legend.columns = Math.max(1, Math.min(4, Math.floor(place.clientWidth / 130)));
    // Each class has a line, in a school of many a narrower one.
    if (name === "levels") spec.height.step = Math.max(13, Math.min(spec.height.step, 660 / new Set(rows[name].group).size));
    views.get(name)?.finalize();
    place.setAttribute("aria-label", place.dataset[language()]);
    const { view } = await vegaEmbed(place, spec, options);
    view.addEventListener("click", (_event, item) => {
      const datum = item?.datum;
      if (datum?.kind === "class" || datum?.kind === "cohort") pick(datum.kind, datum.key, true);
    });
    views.set(name, view);
  }

  const drawAll = () => Promise.all([...document.querySelectorAll(".drawing")].map(draw));

  function pick(kind, key, toggles) {
    const again = toggles && picked.kind === kind && picked.key === key;
    picked = again || !key ? { kind: "school", key: "", cohort: "" }
      : { kind, key, cohort: kind === "cohort" ? key : groups.get(key)?.cohort ?? "" };
    views.forEach((view) => Object.entries(picked).forEach(([name, value]) => view.signal(name, value)));
    tell();
    return Promise.all([...views.values()].map((view) => view.runAsync()));
  }

  const element = (tag, name, ...children) => {
    const made = document.createElement(tag);
    made.className = name;
    made.append(...children);
    return made;
  };
  const bilingual = (texts) => ["zh", "en"].map((code) => {
    const span = element("span", code, texts[code]);
    span.lang = code;
    return span;
  });

  // The figure of the group that is picked.
  const figureOf = (place) => figures[`${picked.kind} ${picked.key}`][place.dataset.figure];

  function fill(article) {
    const figure = figureOf(article);
    article.querySelector(".value").replaceChildren(...bilingual(figure.value));
    article.querySelector(".detail").replaceChildren(...bilingual(figure.detail));
    article.querySelector(".changes").replaceChildren(...figure.changes.map((change) => element(
      "p", `change ${{ true: "good", false: "bad" }[change.good] ?? ""}`,
      ...bilingual(change.since), " ", element("b", "", ...bilingual(change.text)))));
  }

  // The first entries that are of what is picked. A part of an entry that is not is left out of it. Schools are
  // of the reason that is picked, and the picked school stays among them.
  const ENTRY = ":is(li, tr.part)";
  function narrow(list) {
    const of = picked.kind === "class" ? "classes" : "cohorts";
    const mine = (part) => (part.matches("tr") ? !reason || part.dataset.reasons.split(" ").includes(reason)
      : picked.kind === "school" || part.dataset[of].split(" ").includes(picked.key));
    const entries = [...list.querySelectorAll(ENTRY)].map((entry) => [
      entry, entry.matches(".part") ? [entry] : [...entry.querySelectorAll(".part")]]);
    let shown = 0, all = 0;
    entries.forEach(([entry, parts]) => {
      parts.forEach((part) => { part.hidden = !mine(part); });
      const is_mine = parts.some(mine);
      all += is_mine;
      entry.hidden = !is_mine || (shown >= most[list.id] && entry.dataset.key !== picked.key);
      shown += !entry.hidden;
    });
    const nothing = list.querySelector(".nothing");
    if (nothing) {
      nothing.hidden = shown > 0;
      nothing.replaceChildren(...bilingual(figureOf(list).nothing));
    }
    list.querySelector(".shown").textContent = shown < all
      ? words[list.id][language()].replace("{}", shown).replace("{}", all) : "";
    list.querySelector(".all").hidden = shown >= all;
  }

  function tell() {
    const name = picked.kind === "class" ? groups.get(picked.key)?.name : cohorts.get(picked.key);
    const status = document.getElementById("picked");
    // All schools stay in the table, and in some charts.
    const text = words[document.getElementById("schools") ? "school" : "only"];
    status.textContent = name ? text[language()].replace("{}", name) : "";
    if (pages[picked.kind]?.includes(picked.key)) {
      const link = element("a", "", words.page[language()]);
      link.href = `${picked.kind}/${picked.key}.html`;
      status.append(" · ", link);
    }
    document.getElementById("pick").value = picked.kind === "class" ? picked.key : "";
    each("[data-pick]", (button) => button.setAttribute(
      "aria-pressed", String(button.dataset.pick === picked.kind && button.dataset.key === picked.key)));
    each("[data-reason]", (button) => button.setAttribute("aria-pressed", String(button.dataset.reason === reason)));
    each("tr[data-key]", (row) => row.classList.toggle("picked", row.dataset.key === picked.key));
    each(".figure", fill);
    each(".list", narrow);
    const days = Math.floor((Date.now() - Date.parse(age.as_of)) / 864e5), old = document.getElementById("old");
    old.hidden = !(days >= age.old_days);
    old.textContent = words.old[language()].replace("{}", days);
  }

  each("[data-pick]", (button) => button.addEventListener("click", () => pick(button.dataset.pick, button.dataset.key, true)));
  document.getElementById("pick").addEventListener("change", (event) => pick("class", event.target.value, false));
  each("[data-reason]", (button) => button.addEventListener("click", () => {
    reason = reason === button.dataset.reason ? "" : button.dataset.reason;
    tell();
  }));
  each(".list .all", (button) => button.addEventListener("click", () => {
    const list = button.closest(".list"), hidden = [...list.querySelectorAll(`${ENTRY}[hidden]`)];
    most[list.id] = Infinity;
    tell();
    // The button is gone: the keyboard goes on at the first entry that it has shown.
    const first = hidden.find((entry) => !entry.hidden);
    first.tabIndex = -1;
    first.focus();
  }));
  const switcher = document.getElementById("language");
  switcher.addEventListener("click", () => {
    root.dataset.language = root.lang = language() === "zh" ? "en" : "zh";
    switcher.textContent = language() === "zh" ? "English" : "中文";
    switcher.lang = language() === "zh" ? "en" : "zh";
    document.title = words.title[language()];
    tell();
    drawAll();
  });
  // On paper charts are as wide as a page or half of it. Of the others each class has a line.
  const heights = { weeks: 190, lessons: 190, bands: 240 };
  addEventListener("beforeprint", () => views.forEach((view, name) => {
    view.width(name === "weeks" ? 670 : 315);
    if (heights[name]) view.height(heights[name]);
    view.run();
  }));
  addEventListener("afterprint", drawAll);
  tell();
  drawAll().then(() => { root.dataset.drawn = "all"; });
})();
