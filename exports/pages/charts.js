"use strict";
// What boards alone do: charts, and figures and tables that follow the group that is picked.
(() => {
  const { data, element, language, state, remember, switcher, tables } = window.campus;
  const { specs, groups, rows, texts, figures, pages, is_of_schools: isOfSchools } = data;
  const groupOf = new Map(groups.map((group) => [`${group.kind} ${group.key}`, group]));
  const views = new Map();
  const whole = { kind: "school", key: "", cohort: "" };
  let picked = whole, reason = "";

  const forAll = (selector, act) => document.querySelectorAll(selector).forEach(act);

  // Expressions are interpreted: the page's policy allows no code that is made of text.
  const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: { disableDefaultStyle: true } };

  const unfolded = ({ names, values }) => values.map(([number, ...cells]) => (
    { ...groups[number], ...Object.fromEntries(names.map((name, column) => [name, cells[column]])) }));

  async function draw(drawing) {
    const name = drawing.dataset.chart;
    const spec = structuredClone(specs[language()][name]);
    spec.datasets = { rows: unfolded(rows[name]) };
    spec.params.forEach((param) => { if (param.name in picked) param.value = picked[param.name]; });
    spec.config.legend.columns = Math.max(1, Math.min(4, Math.floor(drawing.clientWidth / 130)));
    const lines = new Set(rows[name].values.map(([number]) => number)).size;
    if (spec.usermeta?.isSqueezed) spec.height.step = Math.max(13, Math.min(spec.height.step, 660 / lines));
    views.get(name)?.finalize();
    const { view } = await vegaEmbed(drawing, spec, options);
    // Vega has put names of its own in their place.
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", drawing.dataset[language()]);
    view.addEventListener("click", (_event, item) => {
      const datum = item?.datum;
      if (datum?.kind === "class" || datum?.kind === "cohort") pick(datum.kind, datum.key, true);
    });
    views.set(name, view);
  }

  const drawAll = () => Promise.all([...document.querySelectorAll(".drawing")].map(draw));

  function pick(kind, key, toggles) {
    const isAgain = toggles && picked.kind === kind && picked.key === key, group = groupOf.get(`${kind} ${key}`);
    picked = isAgain || !key || !group ? whole : { kind, key, cohort: group.cohort };
    views.forEach((view) => Object.entries(picked).forEach(([name, value]) => view.signal(name, value)));
    remember("pick", picked.key && `${picked.kind} ${picked.key}`);
    update();
    return Promise.all([...views.values()].map((view) => view.runAsync()));
  }

  const bilingual = (texts) => ["zh", "en"].map((code) => {
    const span = element("span", code, texts[code]);
    span.lang = code;
    return span;
  });

  // The figure of the group that is picked.
  const figureOf = (container) => figures[`${picked.kind} ${picked.key}`][container.dataset.figure];

  function fill(article) {
    const figure = figureOf(article);
    article.querySelector(".value").replaceChildren(...bilingual(figure.value));
    article.querySelector(".detail").replaceChildren(...bilingual(figure.detail));
    article.querySelector(".changes").replaceChildren(...figure.changes.map((change) => element(
      "p", `change ${{ true: "good", false: "bad" }[change.good] ?? ""}`,
      ...bilingual(change.since), " ", element("b", "", ...bilingual(change.text)))));
  }

  // Rows of what is picked. Schools are of the reason that is picked, and the picked school stays among them.
  const has = (list, key) => (list.match(/[^\s,[\]]+/g) ?? []).includes(key);
  const isPicked = (row) => (isOfSchools ? !reason || has(row.dataset.reasons, reason)
    : picked.kind === "school" || has(row.dataset[picked.kind === "class" ? "classes" : "cohorts"], picked.key));

  function narrow({ table, ...prepared }) {
    const section = table.closest("section"), nothing = section.querySelector(".nothing");
    prepared.narrow();
    if (!nothing) return;
    nothing.hidden = prepared.pickedRows > 0;
    nothing.replaceChildren(...bilingual(figureOf(section).nothing));
  }

  function update() {
    const name = picked.key && groupOf.get(`${picked.kind} ${picked.key}`).name;
    const status = document.getElementById("picked");
    // All schools stay in the table, and in some charts.
    status.textContent = name ? texts[isOfSchools ? "school" : "only"][language()].replace("{}", name) : "";
    if (pages[picked.kind]?.includes(picked.key)) {
      const link = element("a", "", texts.page[language()]);
      link.href = `${picked.kind}/${picked.key}.html`;
      status.append(" · ", link);
    }
    document.getElementById("pick").value = picked.kind === "class" ? picked.key : "";
    forAll("[data-pick]", (button) => button.setAttribute(
      "aria-pressed", String(button.dataset.pick === picked.kind && button.dataset.key === picked.key)));
    forAll("[data-reason]", (button) => button.setAttribute("aria-pressed", String(button.dataset.reason === reason)));
    forAll("tr[data-key]", (row) => row.classList.toggle("picked", row.dataset.key === picked.key));
    forAll(".figure", fill);
    forAll("section[data-figure] > .nothing", (nothing) => {
      const section = nothing.closest("section");
      if (!section.querySelector("table")) nothing.replaceChildren(...bilingual(figureOf(section).nothing));
    });
    tables.forEach(narrow);
  }

  tables.forEach((table) => table.filters.push(isPicked));
  forAll("[data-pick]", (button) => button.addEventListener("click", () => pick(button.dataset.pick, button.dataset.key, true)));
  document.getElementById("pick").addEventListener("change", (event) => pick("class", event.target.value, false));
  forAll("[data-reason]", (button) => button.addEventListener("click", () => {
    reason = reason === button.dataset.reason ? "" : button.dataset.reason;
    update();
  }));
  switcher.addEventListener("click", () => { update(); drawAll(); });
  // On paper charts are as wide as a page or half of it. Of the others each class has a line.
  const heights = { weeks: 190, lessons: 190, bands: 240 };
  addEventListener("beforeprint", () => views.forEach((view, name) => {
    view.width(name === "weeks" ? 670 : 315);
    if (heights[name]) view.height(heights[name]);
    view.run();
  }));
  addEventListener("afterprint", drawAll);
  const pickOfState = () => pick(...(state.get("pick") ?? " ").split(" "), false);
  addEventListener("hashchange", pickOfState);
  pickOfState();
  drawAll().then(() => { document.documentElement.dataset.drawn = "all"; });
})();
