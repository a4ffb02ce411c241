// The page: what is typed is checked, what is run is drawn. All of it is text or numbers from this machine's server; texts of
// queries and data are put in as text, never as markup. Only pictures come as markup, drawn by the server as outlines.
"use strict";

const at = (id) => document.getElementById(id);
const state = { data: "", columns: [], roles: {}, lanes: null, clock: "int", asked: 0, turn: 0, runs: 0, chosen: null, ran: null };
const COLOURS = ["#2563c9", "#d9822b", "#23895a", "#9b4dca", "#c23a30", "#1a9aa5", "#8a6d3b", "#c2478f"];
const WORDS = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?|`(?:[^`]|``)*`?)|\b(PATTERN|SEQ|WHERE|WITHIN|RETURN|AND|OR|NOT|IN|BETWEEN|IS|NULL|LIKE|AS|TRUE|FALSE|strict_contiguity|partition_contiguity|skip_till_next_match|skip_till_any_match)\b/gi;

async function ask(question, body) {
  const answer = await fetch("/ask/" + question, {
    method: "POST",
    headers: { "X-Augury": "studio", "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error("the studio does not answer as it should: see the terminal where it runs");
  return answer.json();
}

function made(tag, attributes = {}, text = null) {
  const svg = ["svg", "g", "circle", "line", "path", "text", "title", "rect"].includes(tag);
  const found = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  if (text !== null) found.textContent = text;
  return found;
}

// ---------------------------------------------------------------- the editor

function coloured(error) {
  const text = at("query").value;
  const under = at("under");
  under.replaceChildren();
  const marks = [];
  for (const found of text.matchAll(WORDS)) {
    marks.push([found.index, found.index + found[0].length, found[1] ? "com" : found[2] ? "str" : "kw"]);
  }
  const cuts = new Set([0, text.length]);
  marks.forEach(([from, to]) => { cuts.add(from); cuts.add(to); });
  // Spans count code points, as Python does.
  let bad = null;
  if (error && error.span) {
    const points = Array.from(text);
    const units = (n) => points.slice(0, n).join("").length;
    bad = [units(error.span[0]), units(error.span[1])];
    if (bad[0] >= text.length) bad = [Math.max(0, text.trimEnd().length - 1), text.length];
    bad.forEach((n) => cuts.add(Math.min(n, text.length)));
  }
  const places = [...cuts].sort((a, b) => a - b);
  for (let i = 0; i + 1 < places.length; i++) {
    const [from, to] = [places[i], places[i + 1]];
    const kinds = marks.filter((m) => m[0] <= from && to <= m[1]).map((m) => m[2]);
    if (bad && bad[0] <= from && to <= bad[1]) kinds.push("bad");
    under.append(kinds.length ? made("span", { class: kinds.join(" ") }, text.slice(from, to)) : text.slice(from, to));
  }
  under.append("\n");
  under.scrollTop = at("query").scrollTop;
}

function complain(error) {
  const box = at("error");
  box.replaceChildren();
  if (!error) return;
  const where = error.line ? `line ${error.line}, column ${error.column}: ` : "";
  box.append(where + error.message);
  if (error.hint) box.append(made("span", { class: "hint" }, error.hint));
}

function question() {
  return {
    query: at("query").value, data: state.data, params: at("params").value, time: at("time").value, type: at("type").value,
    key: at("key").value ? [at("key").value] : [], y: at("y").value,
  };
}

async function check() {
  const asked = ++state.asked;
  at("paramsbox").hidden = !/:[A-Za-z_`]/.test(at("query").value.replace(/'(?:[^']|'')*'/g, "")) && !at("params").value;
  let said;
  try { said = await ask("check", question()); } catch (error) { complain({ message: error.message }); return false; }
  if (asked !== state.asked) return false;
  coloured(said.error);
  complain(said.error);
  const picture = at("automaton");
  picture.classList.toggle("old", Boolean(said.error));
  if (!said.error) {
    picture.innerHTML = said.svg || "";
    if (!said.svg) picture.append(made("p", { class: "dim hint" }, "Pictures need Matplotlib: pip install 'augury[plot]'"));
  }
  at("run").disabled = Boolean(said.error) || !state.data;
  keep();
  return !said.error;
}

let waiting = 0;
function typed() {
  coloured(null);
  clearTimeout(waiting);
  waiting = setTimeout(check, 250);
}

function keep() {
  const kept = new URLSearchParams({ sample: at("sample").value, q: at("query").value });
  if (at("sample").value) history.replaceState(null, "", "#" + kept);
}

// ---------------------------------------------------------------- data

function options(id, names, chosen, none) {
  const select = at(id);
  select.replaceChildren();
  if (none !== null) select.append(made("option", { value: "" }, none));
  for (const name of names) select.append(made("option", { value: name }, name));
  select.value = names.includes(chosen) ? chosen : none !== null ? "" : names[0] || "";
}

async function took(said, query) {
  if (said.error) { at("status").textContent = said.error.message; return; }
  state.data = said.data;
  state.columns = said.columns;
  const names = (wanted) => said.columns.filter(wanted).map((c) => c.name);
  options("time", names((c) => c.time), said.time, null);
  options("type", names((c) => c.text), said.type, "one type");
  options("key", names(() => true), (said.key || [])[0] || "", "none");
  options("y", names((c) => c.number), "", "lanes");
  at("data").textContent = `${said.name}, ${said.rows.toLocaleString("en")} events: ` + said.columns.map((c) => c.name).join(", ");
  at("story").textContent = said.story || "";
  at("story").hidden = !said.story;
  if (query) at("query").value = query;
  at("status").textContent = "";
  cleared();
  if (await check()) await run();
}

function cleared() {
  at("timeline").replaceChildren(made("p", { class: "dim hint" }, "Run the query to see its matches here."));
  at("count").textContent = "";
  at("whybox").hidden = true;
  at("resultbox").hidden = true;
}

async function sample(name, query) {
  at("sample").value = name;
  const said = await ask("sample", { name });
  await took(said, query || said.query);
}

async function opened() {
  const file = at("file").files[0];
  if (!file) return;
  at("status").textContent = `reading ${file.name} …`;
  const answer = await fetch("/data", {
    method: "POST", headers: { "X-Augury": "studio", "X-Name": encodeURIComponent(file.name) }, body: file,
  });
  at("sample").value = "";
  history.replaceState(null, "", "#");
  await took(await answer.json(), "");
}

// ---------------------------------------------------------------- matches

async function run() {
  at("run").disabled = true;
  at("status").textContent = "running …";
  let said;
  try { said = await ask("run", question()); } catch (error) { said = { error: { message: error.message } }; }
  at("run").disabled = false;
  if (said.error) { at("status").textContent = ""; complain(said.error); coloured(said.error); return; }
  at("status").textContent = `${said.took} s`;
  const many = `${said.total.toLocaleString("en")} ${said.total === 1 ? "match" : "matches"}`;
  at("count").textContent = said.output === "all" ? many : `${many}; shown are those that do not overlap`;
  state.lanes = said.lanes;
  state.clock = said.clock;
  state.ran = question();
  at("whybox").hidden = true;
  state.chosen = null;
  drawn();
  table(said);
  document.body.dataset.runs = ++state.runs;
}

function table(said) {
  at("resultbox").hidden = false;
  at("shown").textContent = said.rows > said.result.length ? `the first ${said.result.length} of ${said.rows.toLocaleString("en")} rows` : "";
  const head = made("tr");
  said.names.forEach((name) => head.append(made("th", {}, name)));
  const rows = said.result.map((row) => {
    const line = made("tr");
    row.forEach((cell) => line.append(made("td", cell === null ? { class: "dim" } : { title: cell }, cell === null ? "null" : cell)));
    return line;
  });
  at("result").replaceChildren(head, ...rows);
}

function moment(time, whole) {
  if (state.clock === "timestamp") {
    const text = new Date(time / 1000).toISOString();
    return whole ? text.slice(0, 23).replace("T", " ") : text.slice(5, 16).replace("T", " ");
  }
  if (state.clock === "date") return new Date(time * 86400000).toISOString().slice(0, 10);
  return time.toLocaleString("en");
}

function drawn() {
  const box = at("timeline");
  const width = Math.max(240, box.clientWidth - 20);
  const lanes = state.lanes;
  const events = lanes.flatMap((lane) => lane.events);
  box.replaceChildren();
  if (!events.length) { box.append(made("p", { class: "dim hint" }, "There are no events.")); return; }
  const kinds = [...new Set(events.map((e) => e[2]))].slice(0, 12);
  const tint = (kind) => (kinds.length < 2 ? "#8a93a3" : COLOURS[kinds.indexOf(kind) % COLOURS.length] || "#8a93a3");
  if (kinds.length > 1) {
    const legend = made("div", { class: "legend" });
    for (const kind of kinds) {
      const item = made("span", {}, kind === null ? "null" : kind);
      item.prepend(made("i", { style: `background:${tint(kind)}` }));
      legend.append(item);
    }
    box.append(legend);
  }
  const low = Math.min(...events.map((e) => e[1])), high = Math.max(...events.map((e) => e[1]));
  const x = (time) => 12 + ((time - low) / (high - low || 1)) * (width - 24);
  const over = at("y").value !== "" && state.ran.y !== "";
  const svg = made("svg", { role: "img", "aria-label": "events and matches on a line of time" });
  let top = 4;
  for (const lane of lanes) top = drawnLane(svg, lane, top, x, width, tint, over) + 12;
  const ticks = width < 420 ? 2 : 4;
  for (let n = 0; n <= ticks; n++) {
    const time = low + ((high - low) * n) / ticks;
    const anchor = n === 0 ? "start" : n === ticks ? "end" : "middle";
    svg.append(made("text", { x: x(time) + (n === 0 ? -8 : n === ticks ? 8 : 0), y: top + 14, "text-anchor": anchor }, moment(Math.round(time), false)));
  }
  svg.setAttribute("viewBox", `0 0 ${width} ${top + 22}`);
  svg.setAttribute("height", top + 22);
  box.append(svg);
  if (lanes.some((lane) => lane.more)) box.append(made("p", { class: "dim" }, "Of long lanes the first events are drawn, and those of matches."));
}

function drawnLane(svg, lane, top, x, width, tint, over) {
  const values = lane.events.map((e) => e[3]).filter((v) => v !== null);
  const least = Math.min(...values), most = Math.max(...values);
  const range = over && values.length ? `${state.ran.y} from ${least.toLocaleString("en")} to ${most.toLocaleString("en")}` : "";
  const title = [lane.name, range].filter(Boolean).join(", ");
  if (title) {
    svg.append(made("text", { class: "name", x: 4, y: top + 11 }, title));
    top += 18;
  }
  const places = [], above = [];
  const shown = [...lane.matches].sort((a, b) => a.start - b.start);
  const depth = over ? 130 : 8;
  const y = (e) => (over && e[3] !== null ? top + depth - 8 - ((e[3] - least) / (most - least || 1)) * (depth - 20) : top + 8);
  const where = new Map(lane.events.map((e) => [e[0], [x(e[1]), y(e)]]));
  if (over) {
    const points = lane.events.filter((e) => e[3] !== null).map((e) => `${x(e[1]).toFixed(1)},${y(e).toFixed(1)}`);
    if (points.length) svg.append(made("path", { d: "M" + points.join("L"), fill: "none", stroke: "#b4bac4", "stroke-width": 1.2 }));
    shown.slice(0, 200).forEach((match, n) => {
      const line = match.events.map(([row]) => where.get(row)).filter(Boolean);
      const colour = COLOURS[n % COLOURS.length];
      above.push(made("path", { d: "M" + line.map((p) => p.map((v) => v.toFixed(1)).join(",")).join("L"), fill: "none", stroke: colour, "stroke-width": 2.4, "pointer-events": "none" }));
    });
  }
  let below = top + (over ? depth : 18);
  if (!over) {
    svg.append(made("line", { x1: 8, x2: width - 8, y1: top + 8, y2: top + 8, stroke: "#e3e6eb" }));
    let hidden = 0;
    shown.forEach((match, n) => {
      const from = x(match.start), to = x(match.end === null ? match.start : match.end);
      let place = places.findIndex((end) => end < from);
      if (place < 0) place = places.length;
      if (place >= 8) { hidden++; return; }
      places[place] = to + 10;
      const height = below + place * 15 + 6, colour = COLOURS[n % COLOURS.length];
      const group = made("g");
      group.append(made("title", {}, `${moment(match.start, true)} to ${moment(match.end === null ? match.start : match.end, true)}`));
      group.append(made("line", { x1: from, x2: to, y1: height, y2: height, stroke: colour, "stroke-width": 2.4, "stroke-opacity": 0.6 }));
      let before = -100;
      for (const [row, name] of match.events) {
        const point = where.get(row);
        if (!point) continue;
        group.append(made("circle", { cx: point[0], cy: height, r: 3.6, fill: colour, "data-row": row }));
        const long = 6 * name.length + 6, left = point[0] + long > width ? point[0] - long : point[0] + 4;
        if (left > before) {
          group.append(made("text", { class: "var", x: left, y: height - 4, style: `fill:${colour}` }, name));
          before = left + long;
        }
      }
      svg.append(group);
    });
    below += Math.min(places.length, 8) * 15;
    if (hidden) { svg.append(made("text", { x: 8, y: below + 12 }, `and ${hidden.toLocaleString("en")} more`)); below += 15; }
  }
  for (const event of lane.events) {
    const [cx, cy] = where.get(event[0]);
    const dot = made("circle", { cx, cy, r: over ? (lane.events.length > 150 ? 1.5 : 3) : 4.4, fill: tint(event[2]), "data-row": event[0], tabindex: 0, class: event[0] === state.chosen ? "chosen" : "" });
    dot.append(made("title", {}, `${event[2] === null ? "" : event[2] + ", "}row ${event[0]}, ${moment(event[1], true)}${event[3] === null ? "" : ", " + event[3]}: why?`));
    svg.append(dot);
  }
  svg.append(...above);
  return below;
}

// ---------------------------------------------------------------- why

async function why(row) {
  const turn = ++state.turn;
  state.chosen = row;
  document.querySelectorAll("#timeline circle").forEach((c) => c.classList.toggle("chosen", Number(c.dataset.row) === row));
  at("whybox").hidden = false;
  at("whyof").textContent = `row ${row}`;
  at("whytext").textContent = "asking the definition …";
  at("whypicture").replaceChildren();
  at("changes").replaceChildren();
  const said = await ask("why", { ...state.ran, event: row });
  if (turn !== state.turn) return;
  at("changes").replaceChildren();
  at("whytext").textContent = said.error ? said.error.message : said.text;
  if (said.error) return;
  at("whypicture").innerHTML = said.svg || "";
  for (const change of said.changes.slice(0, 5)) {
    const button = made("button", { type: "button", title: "put this into the query" }, change.said);
    button.addEventListener("click", async () => {
      at("query").value = change.query;
      if (await check()) await run();
    });
    at("changes").append(button);
  }
  at("whybox").scrollIntoView({ behavior: "smooth", block: "nearest" });
}

at("timeline").addEventListener("click", (event) => {
  if (event.target.dataset && event.target.dataset.row) why(Number(event.target.dataset.row));
});
at("timeline").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.dataset.row) why(Number(event.target.dataset.row));
});
at("query").addEventListener("input", typed);
at("query").addEventListener("scroll", () => { at("under").scrollTop = at("query").scrollTop; });
at("params").addEventListener("input", typed);
at("query").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); at("run").click(); }
});
at("run").addEventListener("click", async () => { if (await check()) await run(); });
for (const id of ["time", "type", "key", "y"]) at(id).addEventListener("change", async () => { if (await check()) await run(); });
at("file").addEventListener("change", opened);
at("sample").addEventListener("change", () => { if (at("sample").value) sample(at("sample").value, ""); });
let sized = 0;
window.addEventListener("resize", () => { clearTimeout(sized); sized = setTimeout(() => { if (state.lanes) drawn(); }, 120); });

(async () => {
  const { samples } = await ask("samples", {});
  at("sample").append(made("option", { value: "" }, "choose a sample"));
  for (const one of samples) at("sample").append(made("option", { value: one.name, title: one.story }, one.name));
  const kept = new URLSearchParams(location.hash.slice(1));
  const named = samples.some((one) => one.name === kept.get("sample")) ? kept.get("sample") : samples[0].name;
  await sample(named, kept.get("q") || "");
  document.body.dataset.ready = "yes";
})();
