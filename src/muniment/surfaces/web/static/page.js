"use strict";
// Keys, menus, selection. All that changes a memory is a form, and works without this file.

const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const typing = (node) => node instanceof HTMLElement && (node.matches("input:not([type=checkbox]), textarea, select") || node.isContentEditable);

// Theme

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("muniment-theme", root.dataset.theme);
  } catch {
    // It holds until the page is left.
  }
}

// Hits: one of them is current, and the list can be walked by keys.

let current = -1;

function step(by) {
  const hits = all("[data-hit]");
  if (!hits.length) return;
  current = Math.max(0, Math.min(hits.length - 1, current + by));
  hits.forEach((hit, at) => hit.classList.toggle("current", at === current));
  one("[data-open]", hits[current]).focus({ preventScroll: true });
  hits[current].scrollIntoView({ block: "nearest" });
}

function counted() {
  const chosen = all("[data-select]").filter((box) => box.checked).length;
  const bar = one("[data-bulk-bar]");
  if (!bar) return;
  bar.hidden = chosen === 0;
  one("[data-bulk-count]", bar).textContent = `${chosen} selected`;
  all("[data-hit]").forEach((hit) => hit.classList.toggle("selected", one("[data-select]", hit).checked));
}

function select() {
  const hit = all("[data-hit]")[current];
  if (!hit) return;
  const box = one("[data-select]", hit);
  box.checked = !box.checked;
  counted();
}

// Typed words: the button is shut until they stand there.

function guardWords(root) {
  all("[data-word]", root).forEach((field) => {
    const button = one("button.dangerous", field.form);
    const judge = () => {
      button.disabled = field.value.trim() !== field.dataset.word;
    };
    field.addEventListener("input", judge);
    judge();
  });
}

// Keys

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const help = one("#help");
  if (event.key === "Escape") return escape(event, help);
  if (typing(event.target) || (help && help.open)) return arrow(event);
  const act = {
    "/": () => (one("#q") ? one("#q").focus() : (location.href = one("nav a").href)),
    j: () => step(1),
    k: () => step(-1),
    x: select,
    n: () => one("[data-new]")?.click(),
    e: () => one("[data-edit]")?.click(),
    "?": () => help?.showModal(),
  }[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
}

function arrow(event) {
  if (event.target.id === "q" && event.key === "ArrowDown") {
    event.preventDefault();
    current = -1;
    step(1);
  }
}

function escape(event, help) {
  if (help && help.open) return;
  const menu = one("details[data-menu][open]");
  if (menu) {
    menu.open = false;
    one("summary", menu).focus();
  } else if (typing(event.target)) {
    event.target.blur();
  } else if (one("[data-back]")) {
    one("[data-back]").click();
  } else if (one("#q") && one("#q").value) {
    one("#q").value = "";
    one("#q").dispatchEvent(new Event("input", { bubbles: true }));
  }
}

// Clicks

const placed = (url, ref) => `${url}${url.includes("?") ? "&" : "?"}ref=${encodeURIComponent(ref)}`;

function click(event) {
  const on = (selector) => event.target.closest?.(selector);
  if (on("[data-theme-toggle]")) toggleTheme();
  if (on("[data-help]")) one("#help").showModal();
  if (on("[data-dismiss]")) on("[data-notice]").remove();
  if (on("[data-bulk-clear]")) {
    all("[data-select]").forEach((box) => (box.checked = false));
    counted();
  }
  if (on("[data-copy]")) copy(on("[data-copy]"));
  const point = on("[data-map] circle");
  if (point) location.href = placed(on("[data-map]").dataset.map, point.dataset.ref);
  all("details[data-menu][open]").forEach((menu) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
}

async function copy(button) {
  const field = one(`#${button.dataset.copy}`);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Press Ctrl+C";
  }
}

// A download is no piece of a page: that button sends its form as browsers do.
document.addEventListener("htmx:confirm", (event) => {
  const by = event.detail.triggeringEvent?.submitter;
  if (by?.hasAttribute("data-plain")) {
    event.preventDefault();
    const form = event.detail.elt;
    const said = Object.assign(document.createElement("input"), { type: "hidden", name: by.name, value: by.value });
    form.append(said);
    form.submit();
    said.remove();
  }
});
document.addEventListener("htmx:beforeRequest", () => document.documentElement.classList.add("asking"));
document.addEventListener("htmx:afterRequest", () => document.documentElement.classList.remove("asking"));
document.addEventListener("htmx:sendError", () => {
  const told = one("#told");
  told.textContent = "";
  const said = Object.assign(document.createElement("div"), { className: "notice bad" });
  said.textContent = "The server does not answer. Is muniment serve still running?";
  told.append(said);
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id === "results") current = -1;
  guardWords(event.target);
  counted();
});
document.addEventListener("keydown", key);
document.addEventListener("click", click);
document.addEventListener("change", (event) => event.target.matches("[data-select]") && counted());
guardWords(document);
counted();
