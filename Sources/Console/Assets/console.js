// Live parts, the preview while one types, and times in the reader's zone. Every page shows its data without this.
"use strict";

// Makes `from` look like `to` and keeps what is the same, so that focus, selection and open parts stay.
function morph(from, to) {
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) { from.replaceWith(to); return; }
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
    return;
  }
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && name !== "open") from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  const [old, fresh] = [[...from.childNodes], [...to.childNodes]];
  fresh.forEach((node, index) => { if (old[index]) morph(old[index], node); else from.append(node); });
  old.slice(fresh.length).forEach((node) => node.remove());
}

function fill(element, html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  // A live part is the same for all sessions of a person. Its forms are of this one.
  const token = document.querySelector("[name=csrf]")?.value;
  for (const field of page.querySelectorAll("[name=csrf]")) if (token) field.setAttribute("value", token);
  // It may bring other parts of the page with it.
  for (const part of page.querySelectorAll("[data-for]")) {
    part.remove();
    const place = document.getElementById(part.dataset.for);
    if (place) put(place, part.childNodes);
  }
  put(element, page.body.childNodes);
}
function put(place, nodes) {
  const fresh = place.cloneNode(false);
  fresh.append(...nodes);
  morph(place, fresh);
  localTimes(place);
}

// The server writes UTC. The reader sees the own zone: of an age as the title, of a time as its text, with UTC as the title.
function localTimes(root) {
  fromNow(root);
  for (const time of root.querySelectorAll("time[datetime]")) {
    const date = new Date(time.dateTime);
    if (isNaN(date)) continue;
    const text = date.toLocaleString(undefined, {
      year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
    });
    if (time.classList.contains("exact")) {
      const isToday = date.toDateString() === new Date(Date.now() + clock).toDateString();
      const day = isToday ? {} : { month: "short", day: "numeric" };
      time.textContent = date.toLocaleString(undefined, { ...day, hour: "2-digit", minute: "2-digit", second: "2-digit" });
      time.title = text;
    } else if (time.classList.contains("ago")) {
      if (time.title.endsWith("UTC")) time.title = text;
    } else if (time.textContent.endsWith("UTC")) {
      time.title = time.textContent;
      time.textContent = text;
    }
  }
}

// Times from now go on by the reader's clock, set by the server's. So a live part is sent only if something happened.
const madeAt = (page) => Number(page.querySelector("meta[name=now]").content);
const clock = madeAt(document) - Date.now();
// When the page was made. A look from before may not know what the page knows.
let made = madeAt(document);
function fromNow(root) {
  for (const time of root.querySelectorAll("time.ago")) {
    const seconds = Math.floor((Date.now() + clock - new Date(time.dateTime)) / 1000);
    const size = Math.abs(seconds);
    const text = size < 2 ? "now" : size < 120 ? `${size} s` : size < 7200 ? `${Math.floor(size / 60)} min`
      : size < 172800 ? `${Math.floor(size / 3600)} h` : `${Math.floor(size / 86400)} d`;
    const lasts = time.classList.contains("lasts");
    const shown = lasts ? (text === "now" ? "a moment" : text) : text === "now" ? text : seconds >= 0 ? `${text} ago` : `in ${text}`;
    if (time.textContent !== shown) time.textContent = shown;
  }
}

// Says above the page why it may be old, until every live part of it is read again. One of them speaks for all.
const notice = { silent: new Map(), element: null, text: "" };
function tell(part, text) {
  part.classList.toggle("stale", Boolean(text));
  if (text) notice.silent.set(part, text); else notice.silent.delete(part);
  if (!notice.element) {
    notice.element = document.createElement("p");
    notice.element.className = "problem silent";
    notice.element.setAttribute("role", "status");
    document.querySelector("body").append(notice.element);
  }
  const [first] = notice.silent.values();
  if (first && first !== notice.text) notice.element.textContent = first;
  notice.text = first ?? "";
  notice.element.hidden = !first;
}

// The beginning of the addresses of this app's pages.
const base = document.querySelector("meta[name=base]").content;

// Seconds until the next try, longer after each one that fails: a gateway that comes back has all tabs at once.
function patience() {
  let seconds = 1;
  return {
    next() { seconds = Math.min(60, seconds * 2); return seconds * (750 + Math.random() * 500); },
    reset() { seconds = 1; },
  };
}
const timeOf = (date) => date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const isSignedOut = (answer) => answer.type === "opaqueredirect" || answer.status === 401;

// A hidden tab closes its stream: a browser allows few connections to one server.
function live(element) {
  let events = null;
  let isOver = false;
  let again = 0;
  let since = null;
  const pause = patience();
  const wellAgain = () => { since = null; pause.reset(); tell(element, ""); };
  const open = () => {
    clearTimeout(again);
    if (events || isOver || document.hidden || !element.isConnected) return;
    events = new EventSource(element.dataset.live);
    events.onopen = wellAgain;
    events.onmessage = (event) => {
      if (!element.isConnected) { isOver = true; close(); tell(element, ""); return; }
      if (Number(event.lastEventId) < made) return;
      tell(element, "");
      fill(element, event.data);
      element.dispatchEvent(new Event("lived", { bubbles: true }));
    };
    events.onerror = lost;
    events.addEventListener("unknown", (event) => {
      tell(element, `Redis has not answered since ${timeOf(new Date(event.data))}. This is what was known then.`);
      // A part that says that all is well must not go on to say so.
      for (const word of element.querySelectorAll("[data-silent]")) word.textContent = word.dataset.silent;
    });
    events.addEventListener("end", () => { isOver = true; close(); finished(); });
  };
  const close = () => { clearTimeout(again); if (events) events.close(); events = null; };
  // The browser repeats a broken connection. Any other answer, such as a proxy's 502, ends an EventSource for good.
  const lost = async () => {
    since ??= new Date();
    const silence = `No connection to Lamplighter since ${timeOf(since)}. This is what was known then.`;
    tell(element, silence);
    if (events?.readyState !== EventSource.CLOSED) return;
    close();
    again = setTimeout(open, pause.next());
    try {
      const answer = await fetch(element.dataset.live, { method: "HEAD", redirect: "manual", credentials: "same-origin" });
      if (isSignedOut(answer)) { close(); tell(element, "You are signed out. Sign in again in another tab, then come back."); }
      else if (answer.status === 429) tell(element, "Too many tabs or requests of the console. Close some tabs.");
    } catch { /* It is away. */ }
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}

// A push that goes out or finishes has other buttons, so the page is read again.
async function finished() {
  for (const button of document.querySelectorAll(".head form button.danger")) button.disabled = true;
  const main = document.querySelector("main");
  for (const pause = patience(); ; await new Promise((go) => { setTimeout(go, pause.next()); })) {
    try {
      const answer = await fetch(location.href, { redirect: "manual", credentials: "same-origin" });
      if (isSignedOut(answer)) return location.reload();
      if (!answer.ok) throw new Error(`${answer.status}`);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      made = madeAt(page);
      for (const old of document.querySelectorAll("main > :not(.strip, .notice)")) old.remove();
      main.append(...page.querySelectorAll("main > :not(.strip, .notice)"));
      break;
    } catch { tell(main, "No connection to Lamplighter. This is what was known before."); }
  }
  tell(main, "");
  localTimes(main);
  for (const part of main.querySelectorAll("[data-live]:not(.strip)")) live(part);
}

// The text that the server does not have yet, for the way back from a sign-in or a broken connection.
const stash = {
  key: (form) => `draft ${form.dataset.draft}`,
  put(form) {
    try { sessionStorage.setItem(this.key(form), JSON.stringify([...new FormData(form)])); } catch { /* It is full. */ }
  },
  drop(form) { sessionStorage.removeItem(this.key(form)); },
  take(form) {
    const text = sessionStorage.getItem(this.key(form));
    if (!text) return false;
    const values = new Map(JSON.parse(text).filter(([name]) => !["csrf", "of", "room"].includes(name)));
    let isOther = false;
    for (const field of form.elements) {
      if (!field.name || field.type === "submit" || ["csrf", "of", "zone", "room"].includes(field.name)) continue;
      const value = values.get(field.name);
      if (field.type === "checkbox") { isOther ||= field.checked !== (value !== undefined); field.checked = value !== undefined; }
      else if (value !== undefined && field.value !== value) { isOther = true; field.value = value; }
    }
    return isOther;
  },
};

// The members of a JSON object: the key, the value as it is written, and the place of both in the text. The numbers of a
// browser have 16 digits, so no value goes through them. Null: it is no object.
function members(text) {
  try {
    const object = JSON.parse(text);
    if (object === null || typeof object !== "object" || Array.isArray(object)) return null;
  } catch { return null; }
  const found = [];
  let [depth, member] = [0, null];
  // The text is JSON, so these tokens are enough: strings, signs, and numbers or words.
  for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const end = index + token.length;
    if (token === "}" || token === "]") depth -= 1;
    if (depth === 0 || (depth === 1 && token === ",")) member = null;
    else if (depth === 1 && !member) found.push(member = { key: JSON.parse(token), start: index, from: -1, end });
    else if (member.from >= 0 || token !== ":" || depth > 1) {
      if (member.from < 0) member.from = index;
      member.end = end;
    }
    if (token === "{" || token === "[") depth += 1;
  }
  return found.map((member) => ({ ...member, text: text.slice(member.from, member.end) }));
}

// The text with one member written, or without it (null). The others stay as they are. Null: it is no object.
function withMember(text, key, value) {
  const object = text.trim() === "" ? "{}" : text;
  const found = members(object);
  if (!found) return null;
  const place = found.findLastIndex((member) => member.key === key);
  const { [place]: old, [place - 1]: before, [place + 1]: after, [found.length - 1]: last } = found;
  const put = (from, to, part) => object.slice(0, from) + part + object.slice(to);
  if (value !== null && old) return put(old.from, old.end, value);
  if (value !== null) {
    const written = `\n  ${JSON.stringify(key)}: ${value}`;
    if (last) return put(last.end, last.end, `,${written}`);
    return put(object.indexOf("{") + 1, object.lastIndexOf("}"), `${written}\n`);
  }
  if (!old) return object;
  if (after) return put(old.start, after.start, "");
  return before ? put(before.end, old.end, "") : put(object.indexOf("{") + 1, object.lastIndexOf("}"), "\n  \n");
}

// What somebody typed as a number of JSON, digit for digit. Null: it is none. A browser takes 05 and .5 too.
function numberText(text) {
  const written = text.replace(/^(-?)0+(?=\d)/, (_, sign) => sign).replace(/^(-?)\./, (_, sign) => `${sign}0.`);
  return written === "" || /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(written) ? written : null;
}

// Minutes from a local time to UTC: one value, two if the clocks show the time twice, none if they skip it. Null: it is no time.
function offsetsOf(text) {
  const utc = new Date(`${text}Z`).getTime();
  if (isNaN(utc)) return null;
  // The offsets a day before and after are those on both sides of a change of the clocks.
  const near = new Set([-864e5, 0, 864e5].map((distance) => new Date(utc + distance).getTimezoneOffset()));
  return [...near].filter((offset) => new Date(utc + offset * 60000).getTimezoneOffset() === offset);
}

function compose(form) {
  const fields = () => [...form.querySelectorAll("[data-key]")];
  const address = `${base}/compose?draft=${form.dataset.draft}`;

  const toggle = () => {
    for (const part of form.querySelectorAll("[data-if], [data-unless]")) {
      const [name, value] = (part.dataset.if || part.dataset.unless).split("=");
      part.hidden = (form.elements[name].value === value) !== Boolean(part.dataset.if);
    }
  };

  // The fields write into the JSON, and the JSON into the fields.
  const write = (field) => {
    const state = form.elements.state;
    const { key, kind } = field.dataset;
    const isNumber = kind === "number" || kind === "whole";
    const text = isNumber ? numberText(field.value) : field.value;
    // The browser has no value for a number that it cannot read. That is no wish to remove the member.
    if (text === null || field.validity.badInput) {
      field.setAttribute("aria-invalid", "true");
      return;
    }
    field.removeAttribute("aria-invalid");
    const value = isNumber || kind === "flag" ? text : JSON.stringify(text);
    state.value = withMember(state.value, key, text === "" ? null : value) ?? state.value;
  };
  const show = () => {
    const found = members(form.elements.state.value || "{}");
    if (!found) return;
    for (const field of fields()) {
      const text = found.findLast((member) => member.key === field.dataset.key)?.text ?? "";
      field.value = text === "null" ? "" : text.startsWith('"') ? JSON.parse(text) : text;
      field.removeAttribute("aria-invalid");
    }
  };

  // One request at a time, so that no older draft overtakes a newer one.
  let waiting = 0;
  let changes = 0;
  let isAsking = false;
  const pause = patience();
  const check = async () => {
    if (isAsking) { soon(); return; }
    isAsking = true;
    const number = changes;
    let why = "No connection to Lamplighter.";
    try {
      const body = new URLSearchParams(new FormData(form));
      // The world moved, and nobody has written anything: that makes no draft.
      if (changes === 0) body.set("untouched", "yes");
      const answer = await fetch(`${base}/compose/check?draft=${form.dataset.draft}`, {
        method: "POST", body, credentials: "same-origin",
      });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        fill(document.getElementById("check"), page.getElementById("check").innerHTML);
        if (number === changes) { another(page); stash.drop(form); }
        // Both values are said at once, also while one types.
        const moved = page.getElementById("moved");
        if (moved) {
          fill(document.getElementById("moved"), moved.innerHTML);
          document.getElementById("moved").dataset.seen = moved.dataset.seen;
        }
        if (number > 0) kept();
      } else if (answer.status === 401) {
        tell(form, "You are signed out. ");
        const link = document.createElement("a");
        link.href = `/console/sign-in?next=${encodeURIComponent(address)}`;
        link.textContent = "Sign in: your text is kept";
        if (!notice.element.querySelector("a")) notice.element.append(link);
      } else if (answer.status === 403) {
        // Another session began in this browser. The page comes again with its token and with this text.
        location.replace(address);
      } else if (answer.status === 413) {
        tell(form, "This is too long to be kept.");
      } else {
        why = "Lamplighter cannot look now.";
        throw new Error(`${answer.status}`);
      }
      if (answer.ok) { pause.reset(); tell(form, ""); }
    } catch {
      tell(form, `${why} Your text is kept in this tab, and sent as soon as it is back.`);
      clearTimeout(waiting);
      waiting = setTimeout(check, pause.next());
    }
    isAsking = false;
  };
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(check, 350); };

  // A start of a name whose type is known has that type, and an example of its attributes.
  const start = (known) => {
    const { attributes_type: type, attributes } = form.elements;
    // Nothing is put where somebody writes.
    if (known && type.value === "" && type !== document.activeElement) type.value = known.dataset.start;
    if (known) attributes.placeholder = known.dataset.example;
  };
  // Another name has other fields, another state and another room, and so has a name for which somebody published.
  const another = (page) => {
    const part = page.getElementById("of-name");
    const old = document.getElementById("of-name");
    if (part && !old.contains(document.activeElement)) {
      old.replaceWith(document.adoptNode(part));
      localTimes(part);
      start(part.querySelector("[data-start]"));
      mark();
      toggle();
    }
    for (const id of ["room-name", "soon", "now", "timeline"]) {
      const fresh = page.getElementById(id);
      if (!fresh) continue;
      document.getElementById(id).replaceWith(document.adoptNode(fresh));
      localTimes(fresh);
      if (fresh.dataset.live) live(fresh);
      if (id === "now") form.elements.room.value = form.elements.name.value;
    }
  };
  // Somebody published, or something waits, that this form does not know.
  document.addEventListener("lived", () => {
    const now = document.querySelector("[data-after]")?.dataset;
    // The last check may have come between a push that left its ten seconds and its acceptance.
    const isNew = now && now.standing !== document.getElementById("moved").dataset.seen;
    if (isNew && form.elements.after && now.after !== form.elements.after.value) soon();
  });
  // The fields that differ from the cards, beside what these show.
  const mark = () => {
    for (const field of form.querySelectorAll("[data-was]")) {
      const isChanged = field.value !== field.dataset.was;
      const place = field.closest(".field");
      place.classList.toggle("changed", isChanged);
      place.querySelector(".was").textContent = isChanged ? `was ${field.dataset.was || "nothing"}` : "";
    }
  };
  const kept = () => {
    document.getElementById("kept").hidden = false;
    if (!location.search.includes("draft=")) history.replaceState(null, "", address);
    const time = document.querySelector("#kept time");
    if (time) { time.dateTime = new Date(Date.now() + clock).toISOString(); fromNow(document); }
  };

  const names = suggest(form.elements.name, document.getElementById("names"));

  const time = form.elements.send_at;
  // A copied time is UTC, and the field shows the reader's.
  if (time.dataset.utc !== undefined && time.value) {
    const date = new Date(`${time.value}Z`);
    const local = new Date(date.getTime() - date.getTimezoneOffset() * 60000);
    if (!isNaN(local)) time.value = local.toISOString().slice(0, time.value.length);
  }
  const zoneName = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const hint = form.querySelector("#send-at-zone");
  // As the command line: a time that the clocks skip or show twice is refused, because nobody knows which one is meant.
  const zone = () => {
    const offsets = time.value ? offsetsOf(time.value) : [new Date().getTimezoneOffset()];
    form.elements.zone.value = offsets === null ? "" : offsets.length === 1 ? offsets[0] : offsets.length ? "twice" : "skipped";
    const problem = !offsets || offsets.length === 1 ? "" : offsets.length
      ? `This time happens twice in ${zoneName}: the clocks are put back. Choose another one.`
      : `This time does not exist in ${zoneName}: the clocks are put forward over it. Choose another one.`;
    if (hint) hint.textContent = problem || `Your time, ${zoneName}. Empty: now.`;
  };

  form.addEventListener("input", (event) => {
    if (event.target.dataset.key) write(event.target);
    else if (event.target === form.elements.state) show();
    if (event.target === form.elements.name) names();
    changes += 1;
    zone();
    mark();
    toggle();
    stash.put(form);
    soon();
  });
  form.elements.name.addEventListener("focus", names, { once: true });
  form.addEventListener("submit", () => { clearTimeout(waiting); stash.put(form); });
  // Somebody may have signed out, or in again, in another tab.
  document.addEventListener("visibilitychange", () => { if (!document.hidden && changes) check(); });
  if (stash.take(form)) { changes += 1; show(); mark(); soon(); }
  zone();
  toggle();
}

// The names that begin with what somebody types, for a list of suggestions.
function suggest(field, list) {
  let naming = 0;
  return () => {
    clearTimeout(naming);
    naming = setTimeout(async () => {
      try {
        const answer = await fetch(`${base}/compose/names?q=${encodeURIComponent(field.value)}`);
        if (!answer.ok) return;
        const page = new DOMParser().parseFromString(`<datalist>${await answer.text()}</datalist>`, "text/html");
        list.replaceChildren(...page.querySelectorAll("option"));
      } catch { /* The next letter asks again. */ }
    }, 150);
  };
}

// The field in the head of the page. ⌘K, Ctrl K and / lead to it.
function goTo(form) {
  const field = form.elements.go;
  form.querySelector("kbd").textContent = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘K" : "Ctrl K";
  field.addEventListener("input", suggest(field, form.querySelector("datalist")));
  document.addEventListener("keydown", (event) => {
    const isCommand = (event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
    const isWriting = event.target.closest?.("input, textarea, select, [contenteditable]");
    const isSlash = event.key === "/" && !isWriting && !event.metaKey && !event.ctrlKey && !event.altKey;
    if (!isCommand && !isSlash) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
  field.addEventListener("keydown", (event) => { if (event.key === "Escape") field.blur(); });
}

// The days of a filter are the reader's. A link from another zone keeps its own days, as its page says.
function days(form) {
  const { from, to, zone } = form.elements;
  const offset = (day, more) => {
    const midnight = day ? new Date(`${day}T00:00`) : new Date();
    midnight.setDate(midnight.getDate() + more);
    return midnight.getTimezoneOffset();
  };
  const own = () => [...new Set([offset(from.value || to.value, 0), offset(to.value || from.value, 1)])].join(",");
  if ((from.value || to.value) && zone.value !== own()) return;
  form.querySelector(".zone").textContent = `Days are yours, ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`;
  form.addEventListener("submit", () => { zone.value = from.value || to.value ? own() : ""; });
}

// A form whose button Preview answers with the same page: what it shows follows what one writes.
function previewed(form) {
  let waiting = 0;
  let changes = 0;
  const look = async () => {
    const number = changes;
    const body = new URLSearchParams(new FormData(form));
    body.set("do", "preview");
    try {
      const answer = await fetch(form.action, { method: "POST", body, redirect: "manual", credentials: "same-origin" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelectorAll("[data-preview]");
      if (number !== changes || !fresh.length) return;
      form.querySelectorAll("[data-preview]").forEach((part, index) => fill(part, fresh[index].innerHTML));
    } catch { /* The button says why. */ }
  };
  form.addEventListener("input", () => { changes += 1; clearTimeout(waiting); waiting = setTimeout(look, 350); });
}

// The boxes of a list. Without the script the link loads the page again with all of them checked.
function bulk(form) {
  const boxes = [...document.querySelectorAll(`input[name=entry][form=${form.id}]`)];
  const link = form.querySelector("[data-all]");
  const show = () => {
    const count = boxes.filter((box) => box.checked).length;
    form.querySelector("[data-chosen]").textContent = count ? `${count} chosen` : "";
    link.textContent = count === boxes.length ? "Choose none" : "Choose all on this page";
  };
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const wanted = !boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = wanted;
    show();
  });
  for (const box of boxes) box.addEventListener("change", show);
  addEventListener("pageshow", show);
  show();
}

document.addEventListener("DOMContentLoaded", () => {
  document.documentElement.classList.add("js");
  localTimes(document);
  // A reload says nothing twice.
  const here = new URL(location.href);
  if (here.searchParams.has("notice")) {
    here.searchParams.delete("notice");
    history.replaceState(null, "", here);
  }
  // A menu closes when the reader goes on elsewhere.
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.pick[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  setInterval(() => { if (!document.hidden) fromNow(document); }, 1000);
  // The seconds of a publish that run out.
  setInterval(() => {
    for (const bar of document.querySelectorAll(".runs")) {
      bar.value = Math.max(0, (new Date(bar.dataset.until) - Date.now() - clock) / 1000);
    }
  }, 100);
  for (const element of document.querySelectorAll("[data-live]")) live(element);
  for (const form of document.querySelectorAll("form[data-draft]")) compose(form);
  for (const form of document.querySelectorAll("form[data-bulk]")) bulk(form);
  for (const form of document.querySelectorAll("form[data-previewed]")) previewed(form);
  for (const form of document.querySelectorAll("form.go")) goTo(form);
  for (const form of document.querySelectorAll("form.filters:has(.zone)")) days(form);
  // A way back must not show a secret again: the browser may keep the page.
  const once = document.querySelectorAll("[data-once]");
  addEventListener("pagehide", () => once.forEach((part) => { part.textContent = "not shown again"; }));
  // A second click on the way sends nothing.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches(".out")) sessionStorage.clear();
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    setTimeout(() => delete form.dataset.sent, 4000);
  });
  addEventListener("pageshow", () => document.querySelectorAll("form").forEach((form) => delete form.dataset.sent));
});
