"use strict";
(() => {
  const { specs, groups: known, rows, words, age } = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const groups = new Map(known.map((group) => [group.key, group]));
  const cohorts = new Map(known.filter((group) => group.cohort).map((group) => [group.cohort, group.cohort_name]));
  const views = new Map();
  let picked = { kind: "school", key: "", cohort: "" };

  const language = () => root.dataset.language;
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

  // Expressions are interpreted: the page's policy allows no code that is made of text.
  const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: { disableDefaultStyle: true } };

  const unfolded = ({ groups: told, group, values }) => group.map((place, row) => (
    { ...told[place], ...Object.fromEntries(Object.entries(values).map(([name, column]) => [name, column[row]])) }));

  async function draw(place) {
    const name = place.dataset.chart;
    const spec = structuredClone(specs[language()][name]);
    spec.datasets = { rows: unfolded(rows[name]) };
    spec.params.forEach((param) => { if (param.name in picked) param.value = picked[param.name]; });
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

  function tell() {
    const name = picked.kind === "class" ? groups.get(picked.key)?.name : cohorts.get(picked.key);
    document.getElementById("picked").textContent = name ? words.only[language()].replace("{}", name) : "";
    document.getElementById("pick").value = picked.kind === "class" ? picked.key : "";
    each("[data-pick]", (button) => button.setAttribute(
      "aria-pressed", String(button.dataset.pick === picked.kind && button.dataset.key === picked.key)));
    each("tr[data-key]", (row) => row.classList.toggle("picked", row.dataset.key === picked.key));
    let shown = 0, all = 0;
    each("#talks li", (item) => {
      const mine = picked.kind === "school" || (picked.kind === "class" ? item.dataset.key : item.dataset.cohort) === picked.key;
      item.hidden = !mine;
      shown += mine; all += 1;
    });
    const of = document.getElementById("of-these");
    if (of) of.textContent = shown < all ? words.of_these[language()].replace("{}", shown).replace("{}", all) : "";
    const days = Math.floor((Date.now() - Date.parse(age.as_of)) / 864e5), old = document.getElementById("old");
    old.hidden = !(days >= age.old_days);
    old.textContent = words.old[language()].replace("{}", days);
  }

  each("[data-pick]", (button) => button.addEventListener("click", () => pick(button.dataset.pick, button.dataset.key, true)));
  document.getElementById("pick").addEventListener("change", (event) => pick("class", event.target.value, false));
  const switcher = document.getElementById("language");
  switcher.addEventListener("click", () => {
    root.dataset.language = root.lang = language() === "zh" ? "en" : "zh";
    switcher.textContent = language() === "zh" ? "English" : "中文";
    switcher.lang = language() === "zh" ? "en" : "zh";
    document.title = words.title[language()];
    tell();
    drawAll();
  });
  // On paper a chart is as wide as the page, and so high that two pages hold all of them.
  const heights = { weeks: 180, lessons: 190, levels: 175, bands: 290, moved: 190 };
  addEventListener("beforeprint", () => views.forEach((view, name) => view.width(680).height(heights[name]).run()));
  addEventListener("afterprint", drawAll);
  tell();
  drawAll().then(() => { root.dataset.drawn = "all"; });
})();
