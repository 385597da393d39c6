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
  const fresh = element.cloneNode(false);
  fresh.append(...page.body.childNodes);
  morph(element, fresh);
  localTimes(element);
}

// The server writes UTC. The reader sees the own zone, and UTC as the title.
function localTimes(root) {
  fromNow(root);
  for (const time of root.querySelectorAll("time[datetime]:not(.ago)")) {
    if (!time.textContent.endsWith("UTC")) continue;
    const date = new Date(time.dateTime);
    if (isNaN(date)) continue;
    time.title = time.textContent;
    time.textContent = date.toLocaleString(undefined, {
      year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
    });
  }
}

// Times from now go on by the reader's clock, set by the server's. So a live part is sent only if something happened.
const clock = Number(document.querySelector("meta[name=now]").content) - Date.now();
function fromNow(root) {
  for (const time of root.querySelectorAll("time.ago")) {
    const seconds = Math.floor((Date.now() + clock - new Date(time.dateTime)) / 1000);
    const size = Math.abs(seconds);
    const text = size < 2 ? "now" : size < 120 ? `${size} s` : size < 7200 ? `${Math.floor(size / 60)} min`
      : size < 172800 ? `${Math.floor(size / 3600)} h` : `${Math.floor(size / 86400)} d`;
    const shown = text === "now" ? text : seconds >= 0 ? `${text} ago` : `in ${text}`;
    if (time.textContent !== shown) time.textContent = shown;
  }
}

// A hidden tab closes its stream: a browser allows few connections to one server.
function live(element) {
  let events = null;
  let isOver = false;
  // Says why the part may be old, until it is read again.
  const warning = document.createElement("p");
  warning.className = "warning";
  warning.setAttribute("role", "status");
  warning.hidden = true;
  element.before(warning);
  const warn = (text) => {
    if (text && warning.hidden) warning.textContent = text;
    warning.hidden = !text;
    element.classList.toggle("stale", Boolean(text));
  };
  const time = (date) => date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const open = () => {
    if (events || isOver || document.hidden) return;
    events = new EventSource(element.dataset.live);
    events.onopen = () => warn("");
    events.onmessage = (event) => { warn(""); fill(element, event.data); };
    events.onerror = () => warn(`No connection to Lamplighter since ${time(new Date())}. This is what was known then.`);
    events.addEventListener("unknown", (event) =>
      warn(`Redis has not answered since ${time(new Date(event.data))}. This is what was known then.`));
    events.addEventListener("end", () => { isOver = true; close(); finished(element); });
  };
  const close = () => { if (events) events.close(); events = null; };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}

// A finished push has other buttons, so the page is read again.
function finished(element) {
  for (const button of document.querySelectorAll(".head form button.danger")) button.disabled = true;
  fetch(location.href, { credentials: "same-origin" }).then((answer) => answer.text()).then((html) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const [main, fresh] = [document.querySelector("main"), page.querySelector("main")];
    if (fresh) { morph(main, fresh); localTimes(main); }
  }).catch(() => {});
}

function compose(form) {
  const state = form.elements.state;
  const fields = [...form.querySelectorAll("[data-key]")];
  const shows = [...form.querySelectorAll("[data-if], [data-unless]")];

  const toggle = () => {
    for (const part of shows) {
      const [name, value] = (part.dataset.if || part.dataset.unless).split("=");
      part.hidden = (form.elements[name].value === value) !== Boolean(part.dataset.if);
    }
  };

  const read = () => { try { return JSON.parse(state.value || "{}"); } catch { return null; } };

  // The fields write into the JSON, and the JSON into the fields.
  const write = (field) => {
    const object = read();
    if (object === null || typeof object !== "object" || Array.isArray(object)) return;
    const { key, kind } = field.dataset;
    const text = field.value;
    if (text === "") delete object[key];
    else if (kind === "flag") object[key] = text === "true";
    else if (kind === "number" || kind === "whole") object[key] = Number(text);
    else object[key] = text;
    state.value = JSON.stringify(object, null, 2);
  };
  const show = () => {
    const object = read();
    if (object === null || typeof object !== "object") return;
    for (const field of fields) {
      const value = object[field.dataset.key];
      field.value = value === undefined || value === null ? "" : String(value);
    }
  };

  let waiting = 0;
  let asked = 0;
  const check = async () => {
    const number = ++asked;
    try {
      const answer = await fetch(form.dataset.check, {
        method: "POST", body: new URLSearchParams(new FormData(form)), credentials: "same-origin",
      });
      if (answer.ok && number === asked) fill(document.getElementById("check"), await answer.text());
    } catch { /* The next change asks again. */ }
  };
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(check, 350); };

  const time = form.elements.send_at;
  // A copied time is UTC, and the field shows the reader's.
  if (time.dataset.utc !== undefined && time.value) {
    const date = new Date(`${time.value}Z`);
    date.setMinutes(date.getMinutes() - date.getTimezoneOffset());
    if (!isNaN(date)) time.value = date.toISOString().slice(0, time.value.length);
  }
  const zone = () => {
    const date = time.value ? new Date(time.value) : new Date();
    form.elements.zone.value = isNaN(date) ? "" : date.getTimezoneOffset();
  };
  const hint = form.querySelector("#send-at-zone");
  if (hint) hint.textContent = `Your time, ${Intl.DateTimeFormat().resolvedOptions().timeZone}. Empty: now.`;

  form.addEventListener("input", (event) => {
    if (event.target.dataset.key) write(event.target);
    else if (event.target === state) show();
    zone();
    toggle();
    soon();
  });
  zone();
  toggle();
}

document.addEventListener("DOMContentLoaded", () => {
  document.documentElement.classList.add("js");
  localTimes(document);
  setInterval(() => { if (!document.hidden) fromNow(document); }, 1000);
  for (const element of document.querySelectorAll("[data-live]")) live(element);
  for (const form of document.querySelectorAll("form[data-check]")) compose(form);
  // A second click on the way sends nothing.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    setTimeout(() => delete form.dataset.sent, 4000);
  });
  addEventListener("pageshow", () => document.querySelectorAll("form").forEach((form) => delete form.dataset.sent));
});
